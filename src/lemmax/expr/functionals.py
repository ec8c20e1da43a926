r"""Functionals of matrices that are evaluated and compared: rank, singular values, norms, eigenvalues.

All act on the last two axes; leading axes are families.  They are differentiated only under
conditions, which no rule states yet: asking for a derivative raises ``MissingRule``.
"""

from __future__ import annotations

import sympy as sp

from lemmax.errors import InvalidArgument, ShapeError
from lemmax.expr.arguments import of_tensors
from lemmax.expr.linalg import square_size
from lemmax.expr.nodes import Apply
from lemmax.expr.sizes import Size, as_size, is_one
from lemmax.expr.tensor import Tensor


def _functional(name: str, a: Tensor, **params: sp.Expr) -> Tensor:
    if a.ndim < 2:
        raise ShapeError(f"{name} acts on matrices (the last two axes), got {a.label()}.")
    return Apply(name, (a,), a.shape[:-2], dict(params))


@of_tensors
def rank(a: Tensor) -> Tensor:
    """Return the matrix rank (over the reals) of the last two axes."""
    return _functional("rank", a)


@of_tensors
def sigma(a: Tensor, k: Size | int) -> Tensor:
    """Return the ``k``-th largest singular value, ``k >= 1``; it is 0 for ``k > min(shape)``."""
    return _functional("sigma", a, k=as_size(k))


@of_tensors
def sigma_min(a: Tensor) -> Tensor:
    """Return the smallest of the ``min(rows, columns)`` singular values."""
    return _functional("sigma_min", a)


@of_tensors
def spectral_norm(a: Tensor) -> Tensor:
    """Return the largest singular value."""
    return _functional("spectral_norm", a)


@of_tensors
def nuclear_norm(a: Tensor) -> Tensor:
    """Return the sum of the singular values."""
    return _functional("nuclear_norm", a)


@of_tensors
def cond(a: Tensor) -> Tensor:
    """Return the condition number in the spectral norm, sigma_1 / sigma_min (infinite if sigma_min is 0)."""
    return _functional("cond", a)


@of_tensors
def lambda_min(a: Tensor) -> Tensor:
    """Return the smallest eigenvalue of the symmetric part of square matrices."""
    square_size("lambda_min", a)
    return _functional("lambda_min", a)


@of_tensors
def lambda_max(a: Tensor) -> Tensor:
    """Return the largest eigenvalue of the symmetric part of square matrices."""
    square_size("lambda_max", a)
    return _functional("lambda_max", a)


@of_tensors
def hull_distance(points: Tensor, target: Tensor) -> Tensor:
    r"""Return the Euclidean distance of ``target`` from a Minkowski sum of convex hulls.

    ``points`` (..., H, n, m) holds, for each h, n points of R^m; ``target`` is (..., m).  The
    value is :math:`\min \{\|y - \sum_h c_h\| : c_h \in conv\{p_{h1}, ..., p_{hn}\}\}`.
    """
    if points.ndim < 3 or target.ndim < 1:
        raise InvalidArgument(
            f"hull_distance: points need axes (..., H, n, m), target (..., m); got {points.label()},"
            f" {target.label()}."
        )
    if points.ndim - 3 != target.ndim - 1 or points.shape[:-3] + points.shape[-1:] != target.shape:
        raise ShapeError(f"hull_distance: points {points.label()} and target {target.label()} do not fit.")
    return Apply("hull_distance", (points, target), target.shape[:-1])


def is_matrix(a: Tensor) -> bool:
    """Has the tensor exactly two axes, neither of size 1?"""
    return a.ndim == 2 and not any(is_one(s) for s in a.shape)
