r"""Reading a matrix as a Kronecker product, or as a sum with an outer product."""

from __future__ import annotations

import sympy as sp

from lemmax.calculus.rewriting.atoms import connected_parts
from lemmax.calculus.rewriting.merged import groups_of
from lemmax.calculus.terms import has_indices
from lemmax.expr.indices import free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor


def kronecker_factors(m: Apply) -> tuple[Tensor, Tensor] | None:
    """Return A and B if a merged matrix is their Kronecker product, A and B square."""
    t = m.operands[0]
    if not isinstance(t, Lambda) or t.ndim != 4 or groups_of(m) != ((0, 1), (2, 3)) or len(t.terms) != 1:
        return None
    if not (same_size(t.shape[0], t.shape[2]) and same_size(t.shape[1], t.shape[3])):
        return None
    i, k, j, q = t.indices
    outside, parts = connected_parts(t.terms[0])
    first: list[sp.Expr] = []
    second: list[sp.Expr] = []
    bounds: tuple[list[tuple[sp.Symbol, sp.Expr]], list[tuple[sp.Symbol, sp.Expr]]] = ([], [])
    for bound, expr in [((), f) for f in sp.Mul.make_args(outside)] + parts:
        own = expr.free_symbols & {i, j, k, q}
        if own <= {i, j}:
            first.append(expr)
            bounds[0].extend(bound)
        elif own <= {k, q}:
            second.append(expr)
            bounds[1].extend(bound)
        else:
            return None
    a = Lambda((t.shape[0], t.shape[2]), (i, j), (Term(tuple(bounds[0]), sp.Mul(*first)),))
    b = Lambda((t.shape[1], t.shape[3]), (k, q), (Term(tuple(bounds[1]), sp.Mul(*second)),))
    return (a, b) if has_indices(sp.Mul(*first)) and has_indices(sp.Mul(*second)) else None


def rank_one_parts(m: Lambda) -> tuple[Tensor, Tensor, Tensor] | None:
    """Return A, u and v if the matrix is the sum of some matrix A and the outer product of u and v."""
    i, j = m.indices
    for p, term in enumerate(m.terms):
        outer = None if term.bound else _outer(term.expr, i, j)
        if outer is None or len(m.terms) == 1:
            continue
        (axis,) = free_indices(1)
        u = Lambda((m.shape[0],), (axis,), (Term((), outer[0].xreplace({i: axis})),))
        v = Lambda((m.shape[1],), (axis,), (Term((), outer[1].xreplace({j: axis})),))
        return Lambda(m.shape, m.indices, m.terms[:p] + m.terms[p + 1 :]), u, v
    return None


def _outer(expr: sp.Expr, i: sp.Symbol, j: sp.Symbol) -> tuple[sp.Expr, sp.Expr] | None:
    rows: list[sp.Expr] = []
    columns: list[sp.Expr] = []
    for f in sp.Mul.make_args(expr):
        own = f.free_symbols & {i, j}
        if len(own) == 2 or isinstance(f, sp.KroneckerDelta):
            return None
        (columns if own == {j} else rows).append(f)
    if not any(f.has(i) for f in rows) or not columns:
        return None
    return sp.Mul(*rows), sp.Mul(*columns)
