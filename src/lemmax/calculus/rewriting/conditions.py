r"""Conditions of identities, checked: is a matrix invertible in general, and what a defined logarithm says.

An identity of rational functions that holds on an open dense set of inputs holds wherever both sides are
defined.  So it may divide by what vanishes at some inputs, but not by what vanishes at all of them:
:math:`x y^\top` has no inverse whatever x and y are (from size 2 on).
"""

from __future__ import annotations

import sympy as sp

from lemmax.calculus.terms import entry_tensor, split_factors
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor

_CHOOSING = ("concat", "slice", "place", "argmax_mask", "argmin_mask")


def is_generic(c: sp.Expr) -> bool:
    """Is a coefficient different from 0 for almost all values of what it is made of, for certain?

    Only products of numbers, sizes and scalar inputs are: a sum may vanish identically, unseen.
    """
    for f in sp.Mul.make_args(c):
        base = f.as_base_exp()[0]
        number = base.is_number and base.is_zero is False
        size = isinstance(base, sp.Symbol) and base.is_positive and not is_index(base)
        if not (number or size or isinstance(entry_tensor(base), Input)):
            return False
    return True


def is_invertible_in_general(m: Tensor) -> bool:
    """Is a square matrix invertible for almost all inputs, for certain?

    It is if one summand is a matrix that is invertible in general, and the inputs of all others can be made
    as small as one likes without changing it.
    """
    if isinstance(m, Input):
        return m.ndim == 2 and same_size(*m.shape)
    if isinstance(m, Apply):
        return m.function == "inv" and m.ndim == 2
    if not isinstance(m, Lambda) or m.ndim != 2 or not same_size(*m.shape) or not m.terms:
        return False
    for p, term in enumerate(m.terms):
        others = m.terms[:p] + m.terms[p + 1 :]
        kept = _inputs(term.expr).union(*(_inputs(_not_multiplied(t.expr)) for t in others))
        if _is_invertible_summand(term, m) and all(_vanishes(t, kept) for t in others):
            return True
    return False


def _is_invertible_summand(term: Term, m: Lambda) -> bool:
    i, j = m.indices
    coefficient, factors = split_factors(term.expr)
    if not is_generic(coefficient):
        return False
    if term.bound:
        return _is_chain(factors, [k for k, _ in term.bound], (i, j))
    delta = sp.KroneckerDelta(i, j)
    if delta in factors:
        rest = [f.as_base_exp()[0] for f in factors if f != delta]
        return all(isinstance(entry_tensor(b), Input) for b in rest)
    if len(factors) != 1 or not isinstance(factors[0], sp.Indexed) or set(factors[0].indices) != {i, j}:
        return False
    t = entry_tensor(factors[0])
    assert t is not None
    return t.ndim == 2 and all(map(same_size, t.shape, m.shape)) and is_invertible_in_general(t)


def _is_chain(factors: list[sp.Expr], inner: list[sp.Symbol], ends: tuple[sp.Symbol, sp.Symbol]) -> bool:
    """Are factors a product of square matrices, each invertible in general?  So is their product then."""
    links: dict[sp.Symbol, list[sp.Expr]] = {}
    for f in factors:
        t = entry_tensor(f)
        if not isinstance(f, sp.Indexed) or t is None or t.ndim != 2 or not is_invertible_in_general(t):
            return False
        for k in f.indices:
            links.setdefault(k, []).append(f)
    if set(links) != {*inner, *ends} or len(factors) != len(inner) + 1:
        return False
    if any(len(links[k]) != (1 if k in ends else 2) for k in links):
        return False
    # a path from one end to the other passes all factors; what is left would be a loop, a trace
    at, passed = ends[0], 0
    last: sp.Expr | None = None
    while at != ends[1]:
        (last,) = [f for f in links[at] if f is not last][:1]
        p, q = last.indices
        at, passed = (q if at == p else p), passed + 1
    return passed == len(factors)


def _inputs(expr: sp.Expr) -> set[str]:
    return {
        node.digest
        for f in expr.atoms(sp.Indexed, sp.Symbol)
        if (t := entry_tensor(f)) is not None
        for node in topological_order(t)
        if isinstance(node, Input)
    }


def _is_multiplied(f: sp.Expr) -> bool:
    base, exponent = f.as_base_exp()
    return isinstance(entry_tensor(base), Input) and bool(exponent.is_Integer and exponent > 0)


def _not_multiplied(expr: sp.Expr) -> sp.Expr:
    """Return the factors that are no mere entries of inputs."""
    return sp.Mul(*[f for f in sp.Mul.make_args(expr) if not _is_multiplied(f)])


def _vanishes(term: Term, kept: set[str]) -> bool:
    """Does a summand go to 0 with an input that is none of those kept?"""
    inputs = [entry_tensor(f.as_base_exp()[0]) for f in sp.Mul.make_args(term.expr) if _is_multiplied(f)]
    return any(
        isinstance(t, Input) and t.digest not in kept and "orthogonal" not in t.assumptions for t in inputs
    )


def sees_everything(t: Tensor) -> bool:
    """Does ``t`` depend on every entry of all it is made of, so that being defined says something of each?

    Not if there are case distinctions, deltas, single entries, slices, or sums that may be empty.
    """
    for node in topological_order(t):
        if isinstance(node, Apply) and node.function in _CHOOSING:
            return False
        if isinstance(node, Lambda) and not all(_sees_all(term, node) for term in node.terms):
            return False
    return True


def _sees_all(term: Term, node: Lambda) -> bool:
    ranges = {**dict(zip(node.indices, node.shape, strict=True)), **dict(term.bound)}
    if not all(size.is_positive for size in ranges.values()):
        return False
    if term.expr.has(sp.Piecewise, sp.KroneckerDelta, sp.sign, sp.floor, sp.ceiling, sp.oo, -sp.oo):
        return False
    for e in term.expr.atoms(sp.Indexed):
        shape = e.base.label.tensor.shape
        if len(set(e.indices)) < len(shape):
            return False
        if not all(i in ranges and same_size(ranges[i], s) for i, s in zip(e.indices, shape, strict=True)):
            return False
    return True
