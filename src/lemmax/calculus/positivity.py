r"""Why a curvature :math:`K_{z z'}` is positive semidefinite, read off the summands of its normal form.

Each summand, or pair of summands, must be one of these, with weights w that are not negative:

* :math:`w_z \delta_{z z'}`, a diagonal with entries that are not negative;
* :math:`\sum_k w_k \, g_{kz} \, g_{kz'}`, a Gram matrix;
* :math:`w \, (s_z \delta_{z z'} - s_z s_{z'})` with softmax weights s, w times a covariance.

A delta in some of the axes makes a matrix block-diagonal, and its blocks are looked at.  A sum of
positive semidefinite matrices is one.  What is none of these is not claimed to be indefinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.canonical import canonical_term, collect
from lemmax.calculus.normal_form import TooLarge, normal_form
from lemmax.calculus.terms import entry_tensor, indices_of, split_factors
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor

_NOT_NEGATIVE = ("softmax", "argmax_mask", "argmin_mask")
"""Functions whose values are not negative."""


def why_positive_semidefinite(curvature: Tensor) -> str | None:
    """Return why a matrix, given as a tensor with row axes and as many column axes, is positive semidefinite.

    Returns:
        The reason in words, or ``None`` if it was not shown.
    """
    try:
        form = normal_form(curvature)
    except TooLarge:
        return None
    assert isinstance(form, Lambda)
    if not form.terms:
        return "the curvature is zero"
    half = form.ndim // 2
    axes = _Axes(form.indices[:half], form.indices[half:])
    reasons: list[str] = []
    left = list(form.terms)
    while left:
        term = left.pop(0)
        pair = _covariance(term, left, axes)
        if pair is not None:
            left.remove(pair)
            reasons.append("a covariance under softmax weights")
            continue
        diagonal = _diagonal([term, *left], axes)
        if diagonal is not None:
            reason, used = diagonal
            left = [t for t in left if t not in used]
        else:
            gram = _gram(term, axes)
            if gram is None:
                return None
            reason = gram
        reasons.append(reason)
    kinds = list(dict.fromkeys(reasons))
    if len(kinds) == 1:
        return f"the curvature is {kinds[0]}"
    return f"the curvature is a sum: {'; '.join(kinds)}"


@dataclass(frozen=True)
class _Axes:
    """Row indices and column indices of a matrix."""

    rows: tuple[sp.Symbol, ...]
    columns: tuple[sp.Symbol, ...]

    def tie(self, term: Term) -> tuple[Term, list[int]]:
        """Take deltas between a row index and its column index out of a term; return the axes they tie."""
        tied: list[int] = []
        expr = term.expr
        for p, (i, j) in enumerate(zip(self.rows, self.columns, strict=True)):
            delta = sp.KroneckerDelta(i, j)
            if delta in sp.Mul.make_args(expr):
                expr = (expr / delta).xreplace({j: i})
                tied.append(p)
        return Term(term.bound, expr), tied


def _diagonal(terms: Sequence[Term], axes: _Axes) -> tuple[str, list[Term]] | None:
    """Is the sum of all diagonal terms, of which the first is one, a diagonal without negative entries?"""
    diagonal = [t for t in terms if len(axes.tie(t)[1]) == len(axes.rows)]
    if terms[0] not in diagonal:
        return None
    parts = [axes.tie(t)[0] for t in diagonal]
    if all(map(is_not_negative, parts)):
        return "; ".join(dict.fromkeys(map(_describe, parts))), diagonal
    if any(t.bound for t in parts):
        return None
    whole = sp.Add(*[t.expr for t in parts]).rewrite(sp.exp)
    if not _sign(sp.factor(sp.together(whole))):
        return None
    return "a diagonal with entries that are not negative (once written as one fraction)", diagonal


def _describe(bare: Term) -> str:
    coefficient, factors = split_factors(bare.expr)
    if not factors and not bare.bound:
        return "the identity" if coefficient == 1 else f"{coefficient} times the identity"
    positive = all(f.is_positive for f in factors) and coefficient.is_positive
    kind = "positive entries" if positive else "entries that are not negative"
    made_of = sorted({_kind(f) for f in factors})
    return f"a diagonal with {kind} ({' times '.join(made_of)})"


def _kind(factor: sp.Expr) -> str:
    if isinstance(factor, sp.exp):
        return "exponentials"
    t = entry_tensor(factor)
    if isinstance(t, Apply):
        return f"{t.function} weights"
    if factor.is_Pow and factor.exp.is_even:
        return "even powers"
    return "a sum of such" if isinstance(factor, sp.Add) else "positive factors"


def _gram(term: Term, axes: _Axes) -> str | None:
    r"""Is a term :math:`\sum_k w_k g_{kz} g_{kz'}`, in the axes that no delta ties?"""
    bare, tied = axes.tie(term)
    rows = [i for p, i in enumerate(axes.rows) if p not in tied]
    columns = [j for p, j in enumerate(axes.columns) if p not in tied]
    coefficient, factors = split_factors(bare.expr)
    sides = _sides(factors, set(rows), set(columns))
    if sides is None:
        return None
    left, right, weight = (sp.Mul(*s) for s in sides)
    inner = [[(i, s) for i, s in bare.bound if _only_in(i, k, (left, right, weight))] for k in range(3)]
    own = {i for part in inner for i, _ in part}
    # what is summed outside keeps its identity, or canonical names of inner sums would capture it
    apart: dict[sp.Basic, sp.Basic] = {
        i: new for (i, _), new in zip(bare.bound, fresh(len(bare.bound)), strict=True) if i not in own
    }
    left, right, weight = (part.xreplace(apart) for part in (left, right, weight))
    first = canonical_term(Term(tuple(inner[0]), left))
    second = canonical_term(Term(tuple(inner[1]), right.xreplace(dict(zip(columns, rows, strict=True)))))
    if first != second or not is_not_negative(Term(tuple(inner[2]), coefficient * weight)):
        return None
    return "a Gram matrix" if not tied else "block-diagonal with Gram matrices as blocks"


def _sides(
    factors: Sequence[sp.Expr], rows: set[sp.Symbol], columns: set[sp.Symbol]
) -> tuple[list[sp.Expr], ...] | None:
    """Sort factors into those of the rows, those of the columns, and weights; ``None`` if one is of both.

    What hangs on the rows through sums in which the columns have no part belongs to the rows.
    """
    reach = [set(rows), set(columns)]
    sides: tuple[list[sp.Expr], ...] = ([], [], list(factors))
    while True:
        moved = [f for f in sides[2] if any(f.atoms(sp.Symbol) & side for side in reach)]
        for factor in moved:
            symbols = factor.atoms(sp.Symbol)
            on = [bool(symbols & side) for side in reach]
            if all(on):
                return None
            sides[0 if on[0] else 1].append(factor)
            sides[2].remove(factor)
        grown = [{i for f in side for i in f.atoms(sp.Symbol) if is_index(i)} for side in sides[:2]]
        both = grown[0] & grown[1]  # the index of the outer sum
        if not moved:
            return sides
        reach = [side - both for side in grown]


def _only_in(index: sp.Symbol, place: int, parts: tuple[sp.Expr, ...]) -> bool:
    return [index in part.atoms(sp.Symbol) for part in parts] == [p == place for p in range(len(parts))]


def _covariance(term: Term, others: Sequence[Term], axes: _Axes) -> Term | None:
    r"""Return the partner with which a term makes :math:`w (s_z \delta_{zz'} - s_z s_{z'})`, if any."""
    for p, (i, j) in enumerate(zip(axes.rows, axes.columns, strict=True)):
        bare, tied = axes.tie(term)
        if tied != [q for q in range(len(axes.rows)) if q != p]:
            continue
        factors = sp.Mul.make_args(bare.expr)
        for entry in factors:
            other = entry.xreplace({i: j})
            t = entry_tensor(entry)
            if other == entry or other not in factors or not _is_softmax_along(t, entry, i):
                continue
            weight = Term(bare.bound, -bare.expr / (entry * other))
            if weight.expr.atoms(sp.Symbol) & {i, j} or not is_not_negative(weight):
                continue
            deltas = sp.Mul(*[sp.KroneckerDelta(a, b) for a, b in zip(axes.rows, axes.columns, strict=True)])
            (partner,) = collect([Term(bare.bound, weight.expr * entry * deltas)])
            return next((o for o in others if collect([o]) == (partner,)), None)
    return None


def _is_softmax_along(t: Tensor | None, entry: sp.Expr, index: sp.Symbol) -> bool:
    if not isinstance(t, Apply) or t.function != "softmax":
        return False
    axis = t.param("axis")
    assert isinstance(axis, int)
    return [q for q, at in enumerate(indices_of(entry)) if at.has(index)] == [axis]


def is_not_negative(term: Term) -> bool:
    """Is a product, summed over its indices, known not to be negative?"""
    return all(_sign(factor) for factor in sp.Mul.make_args(term.expr))


def _sign(expr: sp.Expr) -> bool:
    t = entry_tensor(expr)
    if isinstance(t, Apply) and t.function in _NOT_NEGATIVE:
        return True
    if expr.is_nonnegative:
        return True
    base, exponent = expr.as_base_exp()
    if exponent.is_Integer and exponent.is_even and base.is_real:
        return True
    if isinstance(expr, sp.Mul):
        return all(_sign(f) for f in expr.args)
    if isinstance(expr, sp.Add):
        return all(_sign(a) for a in expr.args)
    return exponent != 1 and exponent.is_real is True and _sign(base)
