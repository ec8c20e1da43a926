"""Signs that are seen: which entries are never negative, or always positive, where they are defined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import sympy as sp

from lemmax.calculus.kinks import is_sum_of_squares
from lemmax.calculus.terms import entry_tensor
from lemmax.expr.functions import relu, sigmoid, softplus, step
from lemmax.expr.nodes import Apply, Input, Lambda
from lemmax.expr.tensor import Tensor, TensorSymbol

_REMEMBERED = 1 << 15
"""Tensors whose signs are remembered: graphs share parts, which must not be looked at along every path."""

_NOT_NEGATIVE = frozenset(
    {"softmax", "argmax_mask", "argmin_mask", "sigma", "sigma_min", "spectral_norm", "nuclear_norm"}
    | {"cond", "rank", "hull_distance"}
)
_KINDS = (sp.exp, sp.Abs, sp.cosh, sp.erfc, sp.KroneckerDelta, sp.Heaviside, relu, step, sigmoid, softplus)
_KEEPING = frozenset({"max", "min", "prod", "concat", "slice", "place", "merge", "split"})


def is_not_negative(expr: sp.Expr) -> bool:
    """Is an entry visibly never negative where it is defined?"""
    if expr.is_nonnegative:
        return True
    if isinstance(expr, sp.Indexed | TensorSymbol):
        t = entry_tensor(expr)
        return t is not None and tensor_is_not_negative(t)
    if isinstance(expr, sp.Add):
        return all(map(is_not_negative, expr.args)) or _is_complement(expr)
    if isinstance(expr, sp.Mul):
        return all(map(is_not_negative, expr.args))
    if isinstance(expr, sp.Pow):
        return _power_is_not_negative(*expr.as_base_exp())
    if isinstance(expr, sp.Max):
        return any(map(is_not_negative, expr.args))
    if isinstance(expr, sp.Min):
        return all(map(is_not_negative, expr.args))
    if isinstance(expr, sp.Piecewise):
        return all(is_not_negative(value) for value, _ in expr.args)
    return isinstance(expr, _KINDS)


def _power_is_not_negative(base: sp.Expr, exponent: sp.Expr) -> bool:
    if exponent.is_even or is_not_negative(base):
        return True
    # a root is not negative where it is real
    return bool(exponent.is_Rational and exponent.q % 2 == 0)


def _is_complement(expr: sp.Add) -> bool:
    """Is it 1 - u or 1 + u, with u between -1 and 1?"""
    number, rest = expr.as_coeff_Add()
    coefficient, factor = rest.as_coeff_Mul()
    return bool(number >= abs(coefficient)) and _is_at_most_one(factor, bool(coefficient < 0))


def _is_at_most_one(u: sp.Expr, from_below: bool) -> bool:
    """Is u at most 1 (``from_below``), or at least -1?"""
    if isinstance(u, sp.tanh | sp.sin | sp.cos | sp.erf | sigmoid):
        return True
    if isinstance(u, sp.Pow) and u.exp.is_even and u.exp.is_positive:
        return _is_at_most_one(u.base, True) and _is_at_most_one(u.base, False)
    t = entry_tensor(u) if isinstance(u, sp.Indexed | TensorSymbol) else None
    if isinstance(t, Lambda):
        total = _as_one_term(t)
        return total is not None and _is_at_most_one(total, from_below)
    return isinstance(t, Apply) and t.function == "softmax"


@lru_cache(maxsize=_REMEMBERED)
def tensor_is_not_negative(t: Tensor) -> bool:
    """Is no entry of a tensor negative, visibly?"""
    if isinstance(t, Input):
        return "positive" in t.assumptions
    if isinstance(t, Lambda):
        total = _as_one_term(t)
        if is_sum_of_squares(t):
            return True
        if total is not None:
            return is_not_negative(total)
        return all(is_not_negative(term.expr) for term in t.terms)
    if not isinstance(t, Apply):
        return False
    if t.function == "det":
        return has_positive_determinant(t.operands[0])
    if t.function in _KEEPING:
        return all(map(tensor_is_not_negative, t.operands))
    return t.function in _NOT_NEGATIVE


def is_positive(expr: sp.Expr) -> bool:
    """Is an entry visibly positive where it is defined (though it may be too small for a float)?"""
    if expr.is_positive:
        return True
    if isinstance(expr, sp.Indexed | TensorSymbol):
        t = entry_tensor(expr)
        return t is not None and tensor_is_positive(t)
    if isinstance(expr, sp.Add):
        every = all(map(is_not_negative, expr.args)) and any(map(is_positive, expr.args))
        return every or (_is_complement(expr) and not expr.has(sp.sin, sp.cos))
    if isinstance(expr, sp.Mul | sp.Min):
        return all(map(is_positive, expr.args))
    if isinstance(expr, sp.Max):
        return any(map(is_positive, expr.args))
    if isinstance(expr, sp.Pow):
        return is_positive(expr.base)
    if isinstance(expr, sp.Piecewise):
        return all(is_positive(value) for value, _ in expr.args)
    return isinstance(expr, sp.exp | sp.cosh | sp.erfc | sigmoid | softplus)


@lru_cache(maxsize=_REMEMBERED)
def tensor_is_positive(t: Tensor) -> bool:
    """Are all entries of a tensor visibly positive?  Softmax weights are, but for masked ones."""
    if isinstance(t, Input):
        return "positive" in t.assumptions
    if isinstance(t, Lambda):
        total = _as_one_term(t)
        if total is not None:
            return is_positive(total)
        every = all(is_not_negative(term.expr) for term in t.terms)
        return every and any(is_positive(term.expr) for term in t.terms)
    if isinstance(t, Apply) and t.function in _KEEPING - {"place"}:
        return all(map(tensor_is_positive, t.operands))
    return isinstance(t, Apply) and t.function == "softmax"


def learn_signs(order: Sequence[Tensor]) -> None:
    """Find the signs of tensors, operands first, so that no question about one goes deep into a graph."""
    for t in order:
        tensor_is_not_negative(t)
        tensor_is_positive(t)


def _as_one_term(t: Lambda) -> sp.Expr | None:
    """Return the sum of all terms, if none of them sums over an index."""
    return None if any(term.bound for term in t.terms) else sp.Add(*[term.expr for term in t.terms])


def has_positive_determinant(a: Tensor) -> bool:
    """Is a matrix known to have a positive determinant?"""
    return isinstance(a, Input) and "positive_definite" in a.assumptions
