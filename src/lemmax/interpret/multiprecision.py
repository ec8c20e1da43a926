r"""Multiprecision arithmetic: mpmath numbers in object arrays, in a context of their own.

mpmath's global context is never touched: two evaluations at different precision can go on side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lemmax.errors import EvaluationError, InvalidArgument
from lemmax.interpret.arrays import Array, ArrayArithmetic
from lemmax.interpret.protocol import IntArray
from lemmax.interpret.special import precise_function

_DIRECT = {
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "abs": "fabs",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "erf": "erf",
    "floor": "floor",
    "ceil": "ceil",
}
"""Functions under their names here and in mpmath."""


class MpArithmetic(ArrayArithmetic):
    """Real numbers with ``digits`` decimal digits.

    Rounding is not tracked: evaluate at two precisions to see how many digits agree.  Ranks count the
    singular values above ``10^(-digits/2)`` relative to the largest.
    """

    name = "mpmath"

    def __init__(self, digits: int = 50) -> None:
        """Make a context with ``digits`` digits."""
        import mpmath

        if isinstance(digits, bool) or not isinstance(digits, int) or digits < 1:
            raise InvalidArgument(f"digits={digits!r}: expected a positive integer.")
        self.digits = digits
        self.context: Any = mpmath.MPContext()
        self.context.dps = digits
        self.resolution = self.context.mpf(10) ** -digits
        c = self.context
        scalar: dict[str, Callable[[Any], Any]] = {name: getattr(c, mp) for name, mp in _DIRECT.items()}
        scalar["sign"] = c.sign
        scalar["sigmoid"] = lambda x: 1 / (1 + c.exp(-x))
        scalar["softplus"] = lambda x: (x if x > 0 else 0) + c.log1p(c.exp(-abs(x)))
        scalar["relu"] = lambda x: x if x > 0 else c.zero
        scalar["step"] = lambda x: c.one if x > 0 else c.zero
        self._functions = {name: self._entrywise(f, 1) for name, f in scalar.items()}
        self._divide = self._entrywise(self._quotient, 2)
        self._power = self._entrywise(self._real_power, 2)
        self._convert = np.frompyfunc(self._number, 1, 1)

    # -- single numbers -----------------------------------------------------------------------------
    def _entrywise(self, f: Callable[..., Any], arguments: int) -> Callable[..., Array]:
        """Return ``f`` entry by entry; where a real function has no real value, it is undefined (NaN)."""
        nan = self.context.nan

        def real(*xs: Any) -> Any:
            try:
                value = f(*xs)
            except (ZeroDivisionError, ValueError):
                return nan
            return nan if hasattr(value, "_mpc_") else value

        entrywise: Callable[..., Array] = np.frompyfunc(real, arguments, 1)
        return entrywise

    def _quotient(self, x: Any, y: Any) -> Any:
        if y != 0:
            return x / y
        return self.context.nan if x == 0 or x != x else self.context.sign(x) * self.context.inf

    def _real_power(self, x: Any, y: Any) -> Any:
        if x < 0:  # has powers with integer exponents only
            return self.context.power(x, int(y)) if y == self.context.floor(y) else self.context.nan
        return self.context.power(x, y)

    def _number(self, x: Any) -> Any:
        """Return any real number of Python, NumPy or mpmath exactly (fractions: rounded)."""
        if hasattr(x, "_mpf_"):
            return self.context.make_mpf(x._mpf_)
        if isinstance(x, complex | np.complexfloating) or hasattr(x, "_mpc_"):
            raise EvaluationError("the mpmath arithmetic is real; complex numbers were given.")
        if isinstance(x, np.longdouble):
            high = float(x)
            return self.context.mpf(high) + float(x - np.longdouble(high))
        if isinstance(x, int | np.integer):
            return self.context.convert(int(x))
        if hasattr(x, "numerator") and hasattr(x, "denominator"):
            return self.context.mpf(int(x.numerator)) / int(x.denominator)
        return self.context.convert(float(x))

    # -- coming in -----------------------------------------------------------------------------------
    def array(self, numbers: Array) -> Array:
        """Take over real numbers exactly."""
        if numbers.dtype == np.longdouble:
            numbers = np.array([*numbers.flat], dtype=object).reshape(numbers.shape)
        return np.asarray(self._convert(numbers), dtype=object)

    def rational(self, numerator: int, denominator: int) -> Array:
        """Return a quotient of integers."""
        return np.asarray(self.context.mpf(numerator) / denominator, dtype=object)

    def constant(self, name: str) -> Array:
        """Return a constant."""
        c = self.context
        values = {"pi": c.pi, "e": c.e, "inf": c.inf, "-inf": c.ninf, "nan": c.nan}
        return np.asarray(+values[name], dtype=object)

    def integers(self, numbers: IntArray) -> Array:
        """Take over integers."""
        return self.array(np.asarray(numbers))

    def one(self) -> Array:
        """Return the number 1."""
        return np.asarray(self.context.one, dtype=object)

    # -- operations that NumPy reads differently for objects --------------------------------------------
    def outgoing(self, x: Array) -> Array:
        """Make an array of a number."""
        return np.asarray(x, dtype=object)

    def rearrange(self, move: Callable[..., Array], *xs: Array) -> Array:
        """Move entries; operations on scalars return bare numbers, which are wrapped here."""
        return move(*[np.asarray(x, dtype=object) for x in xs])

    def function(self, name: str, x: Array) -> Array:
        """Apply an entrywise function."""
        if name not in self._functions:
            special = precise_function(name, self.context)
            if special is None:
                return super().function(name, x)
            self._functions[name] = self._entrywise(special, 1)
        return np.asarray(self._functions[name](x), dtype=object)

    def divide(self, x: Array, y: Array) -> Array:
        """Return ``x / y``, with infinities instead of exceptions."""
        return np.asarray(self._divide(x, y), dtype=object)

    def power(self, x: Array, exponent: Array) -> Array:
        """Return a real power."""
        return np.asarray(self._power(x, exponent), dtype=object)

    def contract(self, subscripts: str, xs: Sequence[Array], count: int) -> Array:
        """Sum products."""
        return np.asarray(np.einsum(subscripts, *[np.asarray(x, dtype=object) for x in xs]), dtype=object)

    # -- matrices ------------------------------------------------------------------------------------------
    def _each(self, f: Callable[[Any], Any], x: Array, shape: tuple[int, ...]) -> Array:
        """Apply a function of one mpmath matrix to stacked matrices; undefined where it fails."""
        lead = x.shape[:-2]
        out = np.full((*lead, *shape), self.context.nan, dtype=object)
        for at in np.ndindex(lead):
            entries = x[at]
            if any(not self.context.isfinite(e) for e in entries.flat):
                continue
            try:
                result = f(self.context.matrix(entries.tolist()))
            except ZeroDivisionError:
                continue
            out[at] = np.array(result, dtype=object).reshape(shape) if shape else result
        return out

    def inverse(self, x: Array) -> Array:
        """Return inverses, undefined for singular matrices."""

        def one(a: Any) -> Any:
            try:
                return self.context.inverse(a).tolist()
            except TypeError:  # mpmath stumbles over a column in which no pivot is left
                raise ZeroDivisionError("singular matrix") from None

        return self._each(one, x, x.shape[-2:])

    def determinant(self, x: Array) -> Array:
        """Return determinants, by elimination; small pivots count, where mpmath would return 0."""
        return self._each(self._eliminated, x, ())

    def _eliminated(self, a: Any) -> Any:
        rows = a.tolist()
        det = self.context.one
        while rows:
            row = max(range(len(rows)), key=lambda p: abs(rows[p][0]))
            pivot = rows[row][0]
            if pivot == 0:
                return self.context.zero
            det *= pivot if row % 2 == 0 else -pivot
            first = rows.pop(row)
            rows = [[x - r[0] / pivot * y for x, y in zip(r[1:], first[1:], strict=True)] for r in rows]
        return det

    def log_determinant(self, x: Array) -> Array:
        """Return log det, undefined unless the determinant is positive."""
        det = self.determinant(x)
        return self.select(
            self.compare(">", det, self.rational(0, 1)), self.function("log", det), self.constant("nan")
        )

    def singular_values(self, x: Array) -> Array:
        """Return singular values."""
        k = min(x.shape[-2:])
        return self._each(lambda a: list(self.context.svd_r(a, compute_uv=False)), x, (k,))

    def eigenvalues(self, x: Array) -> Array:
        """Return eigenvalues of the symmetric part."""
        symmetric = (x + np.swapaxes(x, -1, -2)) / 2
        return self._each(lambda a: list(self.context.eigsy(a, eigvals_only=True)), symmetric, x.shape[-1:])

    def rank(self, x: Array) -> Array:
        """Count the singular values above ``10^(-digits/2)`` relative to the largest."""
        values = self.singular_values(x)
        tolerance = self.context.mpf(10) ** (-self.context.mpf(self.digits) / 2)
        counts = np.sum(values > tolerance * values[..., :1], axis=-1)
        return np.where(values[..., 0] != values[..., 0], self.context.nan, self.integers(np.asarray(counts)))

    def solve(self, x: Array, y: Array) -> Array:
        """Return solutions, undefined for singular matrices."""
        return self.contract("...ij,...jk->...ik", [self.inverse(x), y], x.shape[-1])

    def _decomposed(self, a: Any) -> tuple[Any, list[Any], Any]:
        u, s, vt = self.context.svd_r(a)
        return u, list(s), vt

    def pseudo_inverse(self, x: Array) -> Array:
        """Return Moore-Penrose inverses; singular values below ``10^(-digits/2)`` sigma_1 count as 0."""
        least = self.context.mpf(10) ** (-self.context.mpf(self.digits) / 2)

        def one(a: Any) -> Any:
            u, s, vt = self._decomposed(a)
            inverse = [1 / e if e > least * s[0] else self.context.zero for e in s]
            return (vt.T * self.context.diag(inverse) * u.T).tolist()

        return self._each(one, x, (x.shape[-1], x.shape[-2]))

    def singular_dyad(self, x: Array, k: int) -> Array:
        """Return outer products of singular vectors."""

        def one(a: Any) -> Any:
            u, _, vt = self._decomposed(a)
            return (u[:, k] * vt[k, :]).tolist()

        return self._each(one, x, x.shape[-2:])

    def eigen_projector(self, x: Array, k: int) -> Array:
        """Return outer squares of eigenvectors of the symmetric part."""

        def one(a: Any) -> Any:
            _, q = self.context.eigsy(a)
            return (q[:, k] * q[:, k].T).tolist()

        return self._each(one, (x + np.swapaxes(x, -1, -2)) / 2, x.shape[-2:])

    def polar_factor(self, x: Array) -> Array:
        """Return products of singular vectors."""
        least = self.context.mpf(10) ** (-self.context.mpf(self.digits) / 2)

        def one(a: Any) -> Any:
            u, s, vt = self._decomposed(a)
            kept = [self.context.mpf(e > least * s[0]) for e in s]
            return (u * self.context.diag(kept) * vt).tolist()

        return self._each(one, x, x.shape[-2:])

    def hull_distance(self, points: Array, target: Array) -> Array:
        """Return distances from Minkowski sums of hulls."""
        from lemmax.interpret.hulls import Numbers, distances

        c = self.context
        accepted = c.mpf(10) ** (-c.mpf(self.digits) * 3 / 5)
        return distances(points, target, Numbers(self._least_squares, c.sqrt, c.eps, accepted))[0]

    def _least_squares(self, a: Array, b: Array) -> Array:
        solution, _ = self.context.qr_solve(self.context.matrix(a.tolist()), self.context.matrix(b.tolist()))
        return np.array(list(solution), dtype=object)
