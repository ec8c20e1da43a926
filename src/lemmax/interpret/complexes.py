r"""Complex arithmetic for the complex step.

A real-analytic function satisfies :math:`f(x + i h) = f(x) + i h f'(x) + O(h^2)`; with a tiny h the
imaginary part gives the derivative without cancellation (Squire and Trapp, SIAM Review 40 (1998)).
Values stay real where nothing complex has come in, and a real factor never meets the imaginary part of
an infinite entry: -inf in a mask stays -inf.

All inputs of lemmax are real, so the real part decides: branches, maxima and domains (the logarithm
of a number with negative real part is undefined).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lemmax.errors import UnsupportedYet
from lemmax.interpret import decompositions as dec
from lemmax.interpret.arrays import Array
from lemmax.interpret.floating import FloatArithmetic, erf
from lemmax.interpret.special import first_order

TINY = 1e-10  # imaginary parts below this are a first-order perturbation: their squares are below rounding


def _absolute(x: Array) -> Array:
    return np.where(x.real < 0, -x, x)


def _log1p(x: Array) -> Array:
    real = np.log1p(x.real * (2 + x.real) + x.imag**2) / 2
    return np.asarray(real + 1j * np.arctan2(x.imag, 1 + x.real))


def _sigmoid(x: Array) -> Array:
    small = np.exp(-_absolute(x))
    return np.asarray(np.where(x.real >= 0, 1, small) / (1 + small))


def _softplus(x: Array) -> Array:
    return np.asarray(np.where(x.real > 0, x, 0) + _log1p(np.exp(-_absolute(x))))


def _within(function: Callable[..., Any], low: float, high: float = np.inf) -> Callable[[Array], Array]:
    """Restrict a function to real parts between two bounds; outside it is undefined, as for real numbers."""

    def restricted(x: Array) -> Array:
        return np.where((x.real >= low) & (x.real <= high), function(x), np.nan)

    return restricted


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": _within(np.log, 0),
    "sqrt": _within(np.sqrt, 0),
    "abs": _absolute,
    "sign": lambda x: np.sign(x.real),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": _within(np.arcsin, -1, 1),
    "arccos": _within(np.arccos, -1, 1),
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsinh": np.arcsinh,
    "arccosh": _within(np.arccosh, 1),
    "arctanh": _within(np.arctanh, -1, 1),
    "erf": erf,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "relu": lambda x: np.where(x.real > 0, x, 0),
    "floor": lambda x: np.floor(x.real),
    "ceil": lambda x: np.ceil(x.real),
    "step": lambda x: np.where(x.real > 0, 1.0, 0.0),
}


def by_parts(operation: Callable[..., Array], x: Array, *rest: Any) -> Array:
    """Apply a real-linear operation to real and imaginary part."""
    real = np.asarray(operation(np.real(x), *rest))
    out = np.empty(real.shape, dtype=complex)
    out.real = real
    out.imag = operation(np.imag(x), *rest)
    return out


class ComplexArithmetic(FloatArithmetic):
    """complex128 where needed, float64 elsewhere."""

    name = "complex"

    def real(self, x: Array) -> Array:
        """Return the real part."""
        return np.real(x)

    def array(self, numbers: Array) -> Array:
        """Take over real or complex numbers."""
        if numbers.dtype.kind == "O" and any(isinstance(item, complex) for item in numbers.flat):
            numbers = numbers.astype(complex)
        return numbers.astype(complex) if numbers.dtype.kind == "c" else super().array(numbers)

    def function(self, name: str, x: Array) -> Array:
        """Apply an entrywise function."""
        if np.iscomplexobj(x) and name in _FUNCTIONS:
            return _FUNCTIONS[name](np.asarray(x))
        special = first_order(name, np.asarray(x)) if np.iscomplexobj(x) else None
        if special is not None:
            return special
        return super().function(name, x)

    def multiply(self, x: Array, y: Array) -> Array:
        """Return ``x y``; a real factor scales real and imaginary part."""
        if np.iscomplexobj(x) == np.iscomplexobj(y):
            return x * y
        return by_parts(np.multiply, x, y) if np.iscomplexobj(x) else by_parts(np.multiply, y, x)

    def divide(self, x: Array, y: Array) -> Array:
        """Return ``x / y``."""
        if np.iscomplexobj(x) and not np.iscomplexobj(y):
            return by_parts(np.divide, x, y)
        return x / y

    def power(self, x: Array, exponent: Array) -> Array:
        """Return ``exp(exponent log x)``; a negative real part has powers with integer exponents only."""
        if not np.iscomplexobj(x) and not np.iscomplexobj(exponent):
            return super().power(x, exponent)
        base = np.asarray(x, dtype=complex)
        size = self.function("exp", self.multiply(self.function("log", _absolute(base)), exponent))
        whole = np.round(np.real(exponent))
        sign = np.where(exponent == whole, 1 - 2 * (whole % 2), np.nan)
        return np.where(base.real < 0, self.multiply(size, sign), size)

    def contract(self, subscripts: str, xs: Sequence[Array], count: int) -> Array:
        """Sum products; a single complex factor goes by parts."""
        complex_ones = [p for p, x in enumerate(xs) if np.iscomplexobj(x)]
        if len(complex_ones) != 1:
            return super().contract(subscripts, xs, count)
        (at,) = complex_ones

        def of(part: Array) -> Array:
            factors = [*xs[:at], part, *xs[at + 1 :]]
            return super(ComplexArithmetic, self).contract(subscripts, factors, count)

        return by_parts(of, xs[at])

    def softmax(self, x: Array, axis: int) -> Array:
        r"""Return the softmax.

        For a first-order imaginary part d it is :math:`s + i s_j \sum_l s_l (d_j - d_l)`, which keeps its
        accuracy in saturated rows; in general the formula of the definition is used.
        """
        if not np.iscomplexobj(x) or np.max(np.abs(x.imag)) > TINY:
            return super().softmax(x, axis)
        s = np.moveaxis(super().softmax(x.real, axis), axis, -1)
        d = np.moveaxis(x.imag, axis, -1)
        turned = s * np.einsum("...l,...jl->...j", s, d[..., :, None] - d[..., None, :])
        return np.asarray(np.moveaxis(s + 1j * turned, -1, axis))

    # -- matrices -------------------------------------------------------------------------------
    def log_determinant(self, x: Array) -> Array:
        """Return log det, undefined unless the real part of the determinant is positive."""
        if not np.iscomplexobj(x):
            return super().log_determinant(x)
        sign, value = np.linalg.slogdet(x)
        return np.asarray(np.where(sign.real > 0, value + 1j * np.angle(sign), np.nan))

    def singular_values(self, x: Array) -> Array:
        """Return singular values of a real matrix, with first-order changes."""
        return _first_order("singular values", super().singular_values, dec.change_of_singular_values, x)

    def eigenvalues(self, x: Array) -> Array:
        """Return eigenvalues of the symmetric part of a real matrix, with first-order changes."""
        return _first_order("eigenvalues", super().eigenvalues, dec.change_of_eigenvalues, x)

    def rank(self, x: Array) -> Array:
        """Return ranks of real matrices."""
        return super().rank(_real_only("rank", x))

    def pseudo_inverse(self, x: Array) -> Array:
        r"""Return pseudo-inverses; of complex matrices, of full rank, :math:`(A^\top A)^{-1} A^\top`."""
        if not np.iscomplexobj(x):
            return super().pseudo_inverse(x)
        rows, columns = x.shape[-2:]
        if np.any(super().rank(x.real) < min(rows, columns)):
            raise UnsupportedYet(
                "pinv of a matrix without full rank has no complex step; evaluate with arithmetic='mpmath'."
            )
        t = dec.transposed(x)
        if rows >= columns:
            return np.asarray(np.linalg.solve(t @ x, t))
        return dec.transposed(np.linalg.solve(x @ t, x))

    def singular_dyad(self, x: Array, k: int) -> Array:
        """Return dyads of a real matrix, with first-order changes."""
        value = super().singular_dyad
        return _first_order(
            "singular vectors", lambda a: value(a, k), lambda a, e: dec.change_of_dyad(a, e, k), x
        )

    def eigen_projector(self, x: Array, k: int) -> Array:
        """Return projectors of a real matrix, with first-order changes."""
        value = super().eigen_projector
        return _first_order(
            "eigenvectors", lambda a: value(a, k), lambda a, e: dec.change_of_projector(a, e, k), x
        )

    def polar_factor(self, x: Array) -> Array:
        """Return polar factors of a real matrix, with first-order changes."""
        return _first_order("polar factor", super().polar_factor, dec.change_of_polar, x)

    def hull_distance(self, points: Array, target: Array) -> Array:
        """Return distances for real data."""
        return super().hull_distance(_real_only("hull_distance", points), _real_only("hull_distance", target))


def _first_order(
    what: str, value: Callable[[Array], Array], change: Callable[[Array, Array], Array], x: Array
) -> Array:
    """Return a function of decompositions at real matrices, or to first order around them.

    Raises:
        UnsupportedYet: the imaginary part is too large for that.
    """
    found = dec.first_order(value, change, x, TINY)
    return value(_real_only(what, x)) if found is None else found


def _real_only(what: str, x: Array) -> Array:
    """Return the real part of what is real.

    Raises:
        UnsupportedYet: there is an imaginary part.
    """
    if np.iscomplexobj(x) and np.any(x.imag != 0):
        raise UnsupportedYet(
            f"{what} of a complex argument: these functions have no complex step. "
            "Evaluate with arithmetic='mpmath', where formal derivatives are central differences."
        )
    return np.real(x)


COMPLEX = ComplexArithmetic()
