r"""Bodies of index lambdas: each term is split into factors, the factors into a contraction.

A Kronecker delta is never multiplied: it *chooses*.  A summed index under a delta is
replaced, a free one is put on the diagonal afterwards, so that an infinite entry off the
diagonal has no influence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.interpret.contraction import contraction
from lemmax.interpret.entries import is_plain, plain_entry
from lemmax.interpret.frame import Frame, compile_size
from lemmax.interpret.parts import Part, Run, Scope, aligned, combine, multiply
from lemmax.interpret.protocol import Value
from lemmax.interpret.scalars import choose, compile_scalar, delta_condition


def compile_lambda(tensor: Lambda) -> Run:
    """Return a function that computes an index lambda from the values of its operands."""
    runs = [compile_term(term, tensor) for term in tensor.terms]
    shape = [compile_size(s) for s in tensor.shape]

    def run(frame: Frame) -> Value:
        arithmetic = frame.arithmetic
        wanted = tuple(size(frame.sizes) for size in shape)
        value = runs[0](frame) if runs else arithmetic.rational(0, 1)
        for term in runs[1:]:
            value = arithmetic.add(value, term(frame))
        have = arithmetic.shape(value)
        if have[len(have) - len(wanted) :] == wanted:
            return value
        lead = have[: max(len(have) - len(wanted), 0)] if runs else ()
        return arithmetic.rearrange(lambda x: np.broadcast_to(x, lead + wanted), value)

    return run


def compile_term(term: Term, tensor: Lambda) -> Run:
    """Return a function that computes one term, with an axis (of length 1 if need be) for each free index."""
    sizes = {**dict(zip(tensor.indices, tensor.shape, strict=True)), **dict(term.bound)}
    scope = Scope(tuple(sizes), {i: compile_size(s) for i, s in sizes.items()})
    expr, bound, deltas = contract_deltas(term.expr, [i for i, _ in term.bound], sizes)
    open_symbols = {s for delta in deltas for s in delta.free_symbols}
    pending = [i for i in bound if i in open_symbols]
    value = _product(sp.Mul.make_args(expr), [i for i in bound if i not in open_symbols], scope)
    for delta in deltas:
        value = choose(delta_condition(delta, scope), value, scope)
    if pending:
        kept = tuple(i for i in value.indices if i not in pending)
        value = contraction([(value.indices, value.run)], kept, scope)
    return aligned(value, tensor.indices)


def contract_deltas(
    expr: sp.Expr, bound: Sequence[sp.Symbol], sizes: Mapping[sp.Symbol, Size]
) -> tuple[sp.Expr, list[sp.Symbol], list[sp.KroneckerDelta]]:
    """Use up the Kronecker deltas among the factors of ``expr``.

    Returns:
        The other factors, the summed indices that are left, and the deltas that have still to choose.
    """
    left = list(bound)
    chosen: list[sp.KroneckerDelta] = []
    while True:
        factors = sp.Mul.make_args(expr)
        delta = next((f for f in factors if isinstance(f, sp.KroneckerDelta)), None)
        if delta is None:
            return expr, left, chosen
        expr = sp.Mul(*[f for f in factors if f is not delta])
        a, b = delta.args[:2]
        if not (is_index(a) and is_index(b) and same_size(sizes[a], sizes[b])):
            chosen.append(delta)
            continue
        old, new = (b, a) if b in left else (a, b)
        if old in left:
            left.remove(old)
            deltas = [d.xreplace({old: new}) for d in chosen]
            expr = sp.Mul(*[d for d in deltas if not isinstance(d, sp.KroneckerDelta)], expr)
            chosen = [d for d in deltas if isinstance(d, sp.KroneckerDelta)]
        else:
            chosen.append(delta)
        expr = expr.xreplace({old: new})


def _product(factors: Sequence[sp.Expr], summed: Sequence[sp.Symbol], scope: Scope) -> Part:
    """Multiply factors and sum over ``summed``."""
    scalars: list[Part] = []
    tensors: list[tuple[tuple[sp.Symbol, ...], Run]] = []
    for factor in factors:
        if factor == 1:
            continue
        if isinstance(factor, sp.Indexed) and is_plain(factor):
            indices, run = plain_entry(factor)
        else:
            indices, run = compile_scalar(factor, scope)
        if indices:
            tensors.append((indices, run))
        else:
            scalars.append(Part((), run))
    seen = {i for indices, _ in tensors for i in indices}
    scalars += [_count(i, scope) for i in summed if i not in seen]
    output = scope.sort(i for i in seen if i not in summed)
    parts = [contraction(tensors, output, scope)] if tensors else []
    if not parts and not scalars:
        return compile_scalar(sp.S.One, scope)
    return combine([*scalars, *parts], scope, multiply)


def _count(index: sp.Symbol, scope: Scope) -> Part:
    """Return the size of an index: summing what does not depend on it multiplies by that."""
    size = scope.ranges[index]
    return Part((), lambda frame: frame.arithmetic.integers(np.array(size(frame.sizes))))
