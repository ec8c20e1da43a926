r"""Matrix functions of numbers with a rounding radius."""

from __future__ import annotations

import numpy as np

from lemmax.interpret.floating import FLOAT
from lemmax.interpret.rounded import EPS, SUBNORMAL, Array, Rounded

BACKWARD = 16.0  # backward errors of LAPACK are allowed this factor times the size times EPS


def _radius(x: Rounded) -> Array:
    return np.broadcast_to(x.radius, x.value.shape)


def _frobenius(a: Array) -> Array:
    """Return Frobenius norms, scaled so that squares do not underflow."""
    top = np.max(np.abs(a), axis=(-2, -1), keepdims=True)
    scaled = a / np.where((top > 0) & np.isfinite(top), top, 1.0)
    return np.asarray(top[..., 0, 0] * np.sqrt(np.sum(scaled * scaled, axis=(-2, -1))))


def _backward(x: Rounded) -> Array:
    """Bound in the Frobenius norm on how far the matrix that LAPACK solved for is from the exact one."""
    m, n = x.value.shape[-2:]
    size = _frobenius(x.value)
    far = _frobenius(_radius(x)) + BACKWARD * max(m, n) * EPS * size
    return np.asarray(np.where((far > 0) | (size > 0), far + SUBNORMAL, 0.0))


def inverse(x: Rounded) -> Rounded:
    r"""Return inverses.

    With X the computed inverse and :math:`E = I - A'X`: :math:`A'^{-1} - X = X(E + E^2 + \dots)`, entry by
    entry at most :math:`|X||E| + (|X| 1) \|E\|^2 / (1 - \|E\|)`.
    """
    value = FLOAT.inverse(x.value)
    n = x.value.shape[-1]
    size = np.abs(value)
    entries = np.abs(x.value)
    error = np.abs(np.eye(n) - x.value @ value) + ((n + 3) * EPS * entries + _radius(x)) @ size + n * EPS
    norm = _frobenius(error)[..., None, None]
    rows = np.sum(size, axis=-1, keepdims=True)
    radius = size @ error + rows * norm**2 / np.where(norm < 0.5, 1 - norm, 1.0) + EPS * size
    known = np.isfinite(radius) & (norm < 0.5)
    singular = np.isnan(value) & (_radius(x).max(initial=0.0) > 0)
    value = np.where(singular, 0.0, value)
    return Rounded(value, np.where(np.isnan(value), 0.0, np.where(known, radius, np.inf)))


def _relative_distance(x: Rounded) -> Array:
    """Bound on ``|A^-1 dA|`` in the Frobenius norm; infinite for singular matrices."""
    values = singular_values(x)
    least = (values.value - values.radius)[..., -1]
    return np.where(least > 0, _backward(x) / np.maximum(least, SUBNORMAL), np.inf)


def determinant(x: Rounded) -> Rounded:
    r"""Return determinants.

    :math:`|\det(A + E) - \det A| \le n \|E\| (\|A\| + \|E\|)^{n-1}`, and relative to det A at most
    :math:`(1 + \|A^{-1}E\|)^n - 1`.
    """
    value = FLOAT.determinant(x.value)
    n = x.value.shape[-1]
    far = _backward(x)
    absolute = n * far * (_frobenius(x.value) + far) ** (n - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        relative = np.abs(value) * np.expm1(n * np.log1p(_relative_distance(x)))
    radius = np.fmin(absolute, relative) + n * EPS * np.abs(value)
    return Rounded(value, np.where(np.isnan(value), 0.0, radius))


def log_determinant(x: Rounded) -> Rounded:
    r"""Return log det; its change is at most :math:`-n \log(1 - \|A^{-1}E\|)`."""
    value = FLOAT.log_determinant(x.value)
    n = x.value.shape[-1]
    near = _relative_distance(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(near < 1, -n * np.log1p(-np.minimum(near, 1.0)), np.inf)
        radius = radius + BACKWARD * n * EPS * (1 + np.abs(np.log(np.maximum(_frobenius(x.value), 1e-300))))
    open_ = np.isnan(value) & (near >= 1)  # the sign of the determinant is not decided
    value = np.where(open_, 0.0, value)
    return Rounded(value, np.where(np.isnan(value), 0.0, radius + EPS * np.abs(value)))


def singular_values(x: Rounded) -> Rounded:
    r"""Return singular values; none moves by more than the norm of the perturbation (Weyl)."""
    value = FLOAT.singular_values(x.value)
    return _spectrum(value, _backward(x))


def eigenvalues(x: Rounded) -> Rounded:
    """Return eigenvalues of the symmetric part; Weyl's bound as for singular values."""
    return _spectrum(FLOAT.eigenvalues(x.value), _backward(x))


def _spectrum(value: Array, moved: Array) -> Rounded:
    radius = np.broadcast_to(moved[..., None], value.shape)
    open_ = np.isnan(value) & ~np.isfinite(radius)
    return Rounded(np.where(open_, 0.0, value), np.where(np.isnan(value) & ~open_, 0.0, radius))


def rank(x: Rounded) -> Rounded:
    """Count singular values that are certainly not 0; the radius counts those that may or may not be."""
    values = singular_values(x)
    certain = np.sum(values.value > values.radius, axis=-1)
    possible = values.value.shape[-1] - certain
    zero = np.all((x.value == 0) & (_radius(x) == 0), axis=(-2, -1))
    return Rounded(certain.astype(float), np.where(zero, 0.0, possible.astype(float)))


def solve(x: Rounded, y: Rounded) -> Rounded:
    """Return solutions, from the inverse and its bound."""
    from lemmax.interpret.rounding import ROUNDING

    return ROUNDING.contract("...ij,...jk->...ik", [inverse(x), y], x.value.shape[-1])


def pseudo_inverse(x: Rounded) -> Rounded:
    r"""Return Moore-Penrose inverses of matrices of full rank; of others the radius is infinite.

    :math:`\|B^+ - A^+\|_F \le 2 \|A^+\|_2 \|B^+\|_2 \|B - A\|_F` for equal ranks (Wedin, BIT 13 (1973)).
    """
    value = FLOAT.pseudo_inverse(x.value)
    values = singular_values(x)
    least = (values.value - values.radius)[..., -1]
    moved = np.where(least > 0, 4 * _backward(x) / np.maximum(least, SUBNORMAL) ** 2, np.inf)
    return _all_entries(value, moved)


def _all_entries(value: Array, moved: Array) -> Rounded:
    radius = np.broadcast_to(moved[..., None, None], value.shape)
    return Rounded(value, np.where(np.isnan(value), 0.0, radius))


def _turned(values: Rounded, k: int, x: Rounded) -> Array:
    """Bound on how far a product of unit vectors turns: perturbation over gap (Wedin's sine theorem)."""
    at = values.value[..., k, None]
    apart = np.abs(np.delete(values.value, k, axis=-1) - at)
    gap = np.min(np.concatenate([apart, np.full_like(at, np.inf)], axis=-1), axis=-1) - 2 * _backward(x)
    return np.where(gap > 0, 8 * _backward(x) / np.maximum(gap, SUBNORMAL), np.inf)


def singular_dyad(x: Rounded, k: int) -> Rounded:
    """Return outer products of singular vectors."""
    values = singular_values(x)
    at = np.maximum((values.value - values.radius)[..., k], 0.0)
    near_zero = np.where(at > 0, 8 * _backward(x) / np.maximum(at, SUBNORMAL), np.inf)
    return _all_entries(FLOAT.singular_dyad(x.value, k), np.maximum(_turned(values, k, x), near_zero))


def eigen_projector(x: Rounded, k: int) -> Rounded:
    """Return outer squares of eigenvectors of the symmetric part."""
    return _all_entries(FLOAT.eigen_projector(x.value, k), _turned(eigenvalues(x), k, x))


def polar_factor(x: Rounded) -> Rounded:
    r"""Return polar factors: at most :math:`2 \|dA\|_F / (\sigma_m + \sigma_m')` apart (R.-C. Li, 1995)."""
    values = singular_values(x)
    least = (values.value - values.radius)[..., -1]
    moved = np.where(least > 0, 4 * _backward(x) / np.maximum(least, SUBNORMAL), np.inf)
    return _all_entries(FLOAT.polar_factor(x.value), moved)


def hull_distance(points: Rounded, target: Rounded) -> Rounded:
    r"""Return distances from Minkowski sums of hulls.

    The distance moves by at most :math:`\sum_h \max_j \|dp_{hj}\| + \|dy\|`; the gap between the computed
    bounds is added.
    """
    from lemmax.interpret.hulls import distances

    upper, lower, scale = distances(points.value, target.value)
    moved = np.sum(np.max(np.sqrt(np.sum(_radius(points) ** 2, axis=-1)), axis=-1), axis=-1)
    moved = moved + np.sqrt(np.sum(_radius(target) ** 2, axis=-1))
    count = points.value.shape[-3] + points.value.shape[-1]
    return Rounded(upper, (upper - lower) + moved + BACKWARD * count * EPS * scale)
