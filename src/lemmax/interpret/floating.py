r"""Floating-point arithmetic (float64)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from lemmax.errors import EvaluationError
from lemmax.interpret import decompositions
from lemmax.interpret.arrays import BLAS_FROM, Array, ArrayArithmetic
from lemmax.interpret.protocol import IntArray

_CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def erf(x: Array) -> Array:
    """Return the error function (of real or complex entries)."""
    import scipy.special

    return np.asarray(scipy.special.erf(x))


def sigmoid(x: Array) -> Array:
    r"""Return :math:`1/(1+e^{-x})` without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def softplus(x: Array) -> Array:
    r"""Return :math:`\log(1+e^x)` without overflow."""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


def relu(x: Array) -> Array:
    """Return ``max(x, 0)``."""
    return np.asarray(np.maximum(x, 0.0))


def step(x: Array) -> Array:
    """Return 1 for positive entries, else 0."""
    return np.asarray(np.where(x > 0, 1.0, 0.0))


def per_matrix(function: Any, x: Array, undefined: Array) -> Array:
    """Apply a function of stacked matrices one by one; NaN where LAPACK gives up."""
    lead = x.shape[:-2]
    out = np.empty((*lead, *undefined.shape), dtype=np.result_type(x, undefined))
    for at in np.ndindex(lead):
        try:
            out[at] = function(x[at])
        except np.linalg.LinAlgError:
            out[at] = undefined
    return out


class FloatArithmetic(ArrayArithmetic):
    """float64, with NumPy's functions and LAPACK.

    Ranks are counted with NumPy's usual tolerance ``max(m, n) eps sigma_1``; whoever must *decide* a
    rank evaluates with a rounding bound or more digits.
    """

    name = "float"
    functions: ClassVar = {
        "exp": np.exp,
        "log": np.log,
        "sqrt": np.sqrt,
        "abs": np.abs,
        "sign": np.sign,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "arcsin": np.arcsin,
        "arccos": np.arccos,
        "arctan": np.arctan,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "tanh": np.tanh,
        "arcsinh": np.arcsinh,
        "arccosh": np.arccosh,
        "arctanh": np.arctanh,
        "erf": erf,
        "sigmoid": sigmoid,
        "softplus": softplus,
        "relu": relu,
        "step": step,
        "floor": np.floor,
        "ceil": np.ceil,
    }

    def array(self, numbers: Array) -> Array:
        """Take over real numbers.

        Raises:
            EvaluationError: they are complex, or too large for float64.
        """
        if numbers.dtype.kind == "c":
            raise EvaluationError(
                "complex numbers were given; pass arithmetic='complex' to compute with them."
            )
        try:
            return numbers.astype(float)
        except (TypeError, ValueError, OverflowError) as error:
            raise EvaluationError(f"the numbers cannot be read as float64: {error}.") from None

    def rational(self, numerator: int, denominator: int) -> Array:
        """Return the nearest float."""
        return np.float64(numerator / denominator)  # type: ignore[return-value]

    def constant(self, name: str) -> Array:
        """Return a constant."""
        return np.float64(_CONSTANTS[name])  # type: ignore[return-value]

    def integers(self, numbers: IntArray) -> Array:
        """Return integers as floats."""
        return numbers.astype(float)

    def has_nan(self, x: Array) -> bool:
        """Is an entry undefined?"""
        return bool(np.isnan(x).any())

    def power(self, x: Array, exponent: Array) -> Array:
        """Return a real power (undefined for a negative base and a broken exponent)."""
        return np.asarray(np.power(x, exponent))

    def contract(self, subscripts: str, xs: Sequence[Array], count: int) -> Array:
        """Sum products, by BLAS if that pays."""
        large = len(xs) > 1 and xs[0].size * xs[1].size > BLAS_FROM
        return np.asarray(np.einsum(subscripts, *xs, optimize=True) if large else np.einsum(subscripts, *xs))

    # -- matrices -----------------------------------------------------------------------------
    def inverse(self, x: Array) -> Array:
        """Return inverses, undefined for singular matrices."""
        try:
            return np.asarray(np.linalg.inv(x))
        except np.linalg.LinAlgError:
            return per_matrix(np.linalg.inv, x, np.full(x.shape[-2:], np.nan))

    def determinant(self, x: Array) -> Array:
        """Return determinants."""
        return np.asarray(np.linalg.det(x))

    def log_determinant(self, x: Array) -> Array:
        """Return log det, undefined unless the determinant is positive."""
        sign, value = np.linalg.slogdet(x)
        return np.asarray(np.where(sign > 0, value, np.nan))

    def singular_values(self, x: Array) -> Array:
        """Return singular values."""
        if not np.isfinite(x).all():
            return np.full((*x.shape[:-2], min(x.shape[-2:])), np.nan)
        try:
            return np.asarray(np.linalg.svd(x, compute_uv=False))
        except np.linalg.LinAlgError:
            return per_matrix(
                lambda a: np.linalg.svd(a, compute_uv=False), x, np.full(min(x.shape[-2:]), np.nan)
            )

    def eigenvalues(self, x: Array) -> Array:
        """Return eigenvalues of the symmetric part."""
        if not np.isfinite(x).all():
            return np.full(x.shape[:-1], np.nan)
        return np.asarray(np.linalg.eigvalsh((x + np.swapaxes(x, -1, -2)) / 2))

    def rank(self, x: Array) -> Array:
        """Count the singular values above ``max(m, n) eps sigma_1``."""
        values = self.singular_values(x)
        tolerance = max(x.shape[-2:]) * np.finfo(float).eps * values[..., :1]
        return np.asarray(np.where(np.isnan(values[..., 0]), np.nan, np.sum(values > tolerance, axis=-1)))

    def solve(self, x: Array, y: Array) -> Array:
        """Return solutions by elimination, undefined for singular matrices."""
        try:
            return np.asarray(np.linalg.solve(x, y))
        except np.linalg.LinAlgError:
            return np.asarray(self.inverse(x) @ y)

    def pseudo_inverse(self, x: Array) -> Array:
        """Return Moore-Penrose inverses; singular values below ``max(m, n) eps sigma_1`` count as 0."""
        if not np.isfinite(x).all():
            return np.full((*x.shape[:-2], x.shape[-1], x.shape[-2]), np.nan)
        return np.asarray(np.linalg.pinv(x, max(x.shape[-2:]) * self.resolution))

    def singular_dyad(self, x: Array, k: int) -> Array:
        """Return outer products of singular vectors."""
        return decompositions.dyad(x, k) if np.isfinite(x).all() else np.full(x.shape, np.nan)

    def eigen_projector(self, x: Array, k: int) -> Array:
        """Return outer squares of eigenvectors of the symmetric part."""
        return decompositions.projector(x, k) if np.isfinite(x).all() else np.full(x.shape, np.nan)

    def polar_factor(self, x: Array) -> Array:
        """Return products of singular vectors."""
        tolerance = max(x.shape[-2:]) * self.resolution
        return decompositions.polar(x, tolerance) if np.isfinite(x).all() else np.full(x.shape, np.nan)

    def hull_distance(self, points: Array, target: Array) -> Array:
        """Return distances from Minkowski sums of hulls."""
        from lemmax.interpret.hulls import distances

        return distances(points, target)[0]


FLOAT = FloatArithmetic()
