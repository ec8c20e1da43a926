r"""What is known of a tensor from how it is made: symmetric in its last two axes, nonnegative entries."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor, TensorSymbol

_SYMMETRIC = ("symmetric", "positive_definite", "diagonal")


@lru_cache(maxsize=4096)
def is_symmetric(t: Tensor) -> bool:
    """Is ``t`` equal to its transpose for certain?"""
    if t.ndim < 2 or not same_size(t.shape[-1], t.shape[-2]):
        return False
    if isinstance(t, Input):
        return any(a in t.assumptions for a in _SYMMETRIC)
    if isinstance(t, Apply):
        return t.function in ("inv", "pinv", "matrix_power") and is_symmetric(t.operands[0])
    if not isinstance(t, Lambda) or len(t.terms) > 12:
        return False
    from lemmax.calculus.rewriting.dummies import collect

    i, j = t.indices[-2:]
    turned = [Term(term.bound, term.expr.xreplace({i: j, j: i})) for term in t.terms]
    return collect(turned) == collect(t.terms)


@lru_cache(maxsize=4096)
def is_positive_definite(t: Tensor) -> bool:
    """Is ``t`` a matrix that is positive definite by declaration (or the inverse of one)?"""
    if isinstance(t, Input):
        return "positive_definite" in t.assumptions
    return isinstance(t, Apply) and t.function == "inv" and is_positive_definite(t.operands[0])


def is_nonnegative(expr: sp.Expr, positive: frozenset[str] = frozenset()) -> bool:
    """Is a scalar expression at least 0 for certain?

    Args:
        expr: a body of entries, indices and sizes.
        positive: digests of tensors whose entries are known to be positive where the sides are defined.
    """
    if isinstance(expr, sp.Indexed):
        return _has_nonnegative_entries(expr.base.label.tensor, positive) or _on_diagonal(expr)
    if isinstance(expr, TensorSymbol):
        return _has_nonnegative_entries(expr.tensor, positive)
    if expr.is_nonnegative:
        return True
    if isinstance(expr, sp.Add | sp.Mul):
        return all(is_nonnegative(a, positive) for a in expr.args)
    if isinstance(expr, sp.Pow) and expr.exp.is_Integer:
        return int(expr.exp) % 2 == 0 or is_nonnegative(expr.base, positive)
    return isinstance(expr, sp.exp | sp.Abs) or (isinstance(expr, sp.Pow) and bool(expr.exp.is_Rational))


def _on_diagonal(entry: sp.Indexed) -> bool:
    return (
        len(entry.indices) == 2
        and entry.indices[0] == entry.indices[1]
        and is_positive_definite(entry.base.label.tensor)
    )


def _has_nonnegative_entries(t: Tensor, positive: frozenset[str]) -> bool:
    if t.digest in positive:
        return True
    if isinstance(t, Input):
        return "positive" in t.assumptions
    if isinstance(t, Apply):
        if t.function in ("det",):
            return is_positive_definite(t.operands[0])
        if t.function in ("max", "min", "prod"):
            return _has_nonnegative_entries(t.operands[0], positive)
        return t.function in ("softmax", "sigma", "sigma_min", "spectral_norm", "nuclear_norm", "rank")
    return isinstance(t, Lambda) and all(is_nonnegative(term.expr, positive) for term in t.terms)
