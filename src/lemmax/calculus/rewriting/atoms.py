r"""Sums inside functions: a product of sums is split into its connected parts, each an entry of one tensor.

``sum_{k l} c u_k v_l A_ki`` becomes ``c * a * b[i]`` with ``a = sum_l v_l`` and
``b[i] = sum_k u_k A_ki``.  The axes of such a tensor are put in a canonical order,
so that equal sums are equal entries.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import sympy as sp

from lemmax.calculus.rewriting.dummies import canonical_term, text_of
from lemmax.calculus.terms import split_factors
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size

Part = tuple[tuple[tuple[sp.Symbol, Size], ...], sp.Expr]


def split_exponentials(expr: sp.Expr) -> list[sp.Expr]:
    """Return the factors, exponentials of sums split into exponentials of summands."""
    factors: list[sp.Expr] = []
    for f in sp.Mul.make_args(expr):
        if isinstance(f, sp.exp) and isinstance(f.args[0], sp.Add):
            factors += [sp.exp(a) for a in f.args[0].args]
        elif isinstance(f, sp.Pow) and f.exp.is_Integer and f.exp > 1 and isinstance(f.base, sp.exp):
            factors += split_exponentials(sp.exp(sp.expand(f.exp * f.base.args[0])))
        else:
            factors.append(f)
    return factors


def connected_parts(term: Term) -> tuple[sp.Expr, list[Part]]:
    """Split a term into what holds no summed index and parts that share no summed index."""
    bound = dict(term.bound)
    outside: list[sp.Expr] = []
    parts: list[tuple[set[sp.Symbol], list[sp.Expr]]] = []
    for factor in split_exponentials(term.expr):
        own = {s for s in factor.atoms(sp.Symbol) if s in bound}
        if not own:
            outside.append(factor)
            continue
        touching = [p for p in parts if p[0] & own]
        parts = [p for p in parts if not (p[0] & own)]
        parts.append((own.union(*(p[0] for p in touching)), [*(f for p in touching for f in p[1]), factor]))
    seen = set().union(*(own for own, _ in parts))
    outside += [size for i, size in term.bound if i not in seen]
    split = [(tuple((i, s) for i, s in term.bound if i in own), sp.Mul(*fs)) for own, fs in parts]
    return sp.Mul(*outside), split


def atomise(term: Term, ranges: Mapping[sp.Symbol, Size], made: dict[str, Lambda]) -> sp.Expr:
    """Return the term as an expression without sums over indices.

    Args:
        term: a summand.
        ranges: the sizes of indices that are not summed in the term.
        made: tensors made here, by digest (added to).
    """
    outside, parts = connected_parts(term)
    return sp.Mul(outside, *[entry_of_part(part, ranges, made) for part in parts])


def entry_of_part(part: Part, ranges: Mapping[sp.Symbol, Size], made: dict[str, Lambda]) -> sp.Expr:
    """Return one connected sum as a coefficient times an entry of a tensor of its own."""
    bound, expr = part
    coefficient, factors = split_factors(expr)
    body = sp.Mul(*factors)
    inner = dict(bound)
    outer = sorted((s for s in body.free_symbols if is_index(s) and s not in inner), key=str)
    best: tuple[str, tuple[sp.Symbol, ...], Term] | None = None
    axes = free_indices(len(outer))
    orders = itertools.permutations(outer) if len(outer) <= 4 else iter([tuple(outer)])
    for order in orders:
        term = canonical_term(Term(bound, body.xreplace(dict(zip(order, axes, strict=True)))))
        text = f"{text_of(term.expr, {})}|{term.bound}|{[ranges[i] for i in order]}"
        if best is None or text < best[0]:
            best = (text, order, term)
    assert best is not None
    _, order, term = best
    tensor = Lambda(tuple(ranges[i] for i in order), axes, (term,))
    made[tensor.digest] = tensor
    return coefficient * tensor.entry(*order)
