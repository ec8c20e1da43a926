r"""Enclosures of real numbers: intervals with endpoints rounded outwards, or undefined.

Endpoints are mpmath's binary floats; mpmath rounds the lower one down and the upper one up.  What has no real
value, and what the interval is too wide to decide, is undefined, and so is all that is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from mpmath.libmp import (
    from_int,
    from_rational,
    libmpi,
    mpf_ceil,
    mpf_floor,
    mpf_le,
    mpf_lt,
    mpf_sign,
    to_rational,
)
from mpmath.libmp.libmpf import finf, fnan, fninf, round_ceiling, round_floor

PRECISION = 200
"""Bits; about 60 decimal digits."""

Ends: TypeAlias = tuple[Any, Any]

_INFINITE = (finf, fninf, fnan)


class Enclosure:
    """An interval that holds the exact number, or ``ends=None``: undefined or undecided.

    Infinite numbers occur as additive masks; they may be added to and exponentiated, and nothing else.
    """

    __slots__ = ("ends",)

    def __init__(self, ends: Ends | None) -> None:
        """Keep the ends."""
        self.ends = ends

    @classmethod
    def of(cls, x: Any) -> Enclosure:
        """Return an enclosure of an integer, fraction or float, as sharp as it can be."""
        if isinstance(x, Enclosure):
            return x
        if isinstance(x, float) and (x != x or x in (float("inf"), -float("inf"))):
            return cls(None) if x != x else cls((finf, finf) if x > 0 else (fninf, fninf))
        p, q = Fraction(x).as_integer_ratio()
        if q == 1 and abs(p) < 2**PRECISION:
            return cls((from_int(p), from_int(p)))
        return cls(
            (from_rational(p, q, PRECISION, round_floor), from_rational(p, q, PRECISION, round_ceiling))
        )

    # -- what is known ---------------------------------------------------------------------------
    @property
    def is_defined(self) -> bool:
        """Is it a finite interval?"""
        return self.ends is not None and not any(e in _INFINITE for e in self.ends)

    @property
    def is_exact(self) -> bool:
        """Is it one number?"""
        return self.is_defined and self.ends[0] == self.ends[1]  # type: ignore[index]

    def sign(self) -> int | None:
        """Return the sign, or ``None`` if it is not decided."""
        if self.ends is None:
            return None
        low, high = map(mpf_sign, self.ends)
        return int(low) if low == high else None

    def below(self, other: Enclosure) -> bool:
        """Is it less than another for certain?"""
        if self.ends is None or other.ends is None:
            return False
        return bool(mpf_lt(self.ends[1], other.ends[0]))

    def middle(self) -> Fraction:
        """Return the middle as a fraction."""
        assert self.ends is not None
        low, high = (Fraction(*map(int, to_rational(e))) for e in self.ends)
        return (low + high) / 2

    def radius(self) -> Fraction:
        """Return half the width as a fraction."""
        assert self.ends is not None
        low, high = (Fraction(*map(int, to_rational(e))) for e in self.ends)
        return (high - low) / 2

    # -- arithmetic ----------------------------------------------------------------------------
    def _with(self, other: object, f: Callable[..., Ends]) -> Enclosure:
        y = Enclosure.of(other)
        if not (self.is_defined and y.is_defined):
            return Enclosure(None)
        return Enclosure(f(self.ends, y.ends, PRECISION))

    def __add__(self, other: object) -> Enclosure:
        """Return the sum."""
        y = Enclosure.of(other)
        if self.ends is None or y.ends is None:
            return Enclosure(None)
        infinite = {e for e in (*self.ends, *y.ends) if e in _INFINITE}
        if infinite:
            return Enclosure(
                (e := infinite.pop(), e) if len(infinite) == 1 and fnan not in infinite else None
            )
        return Enclosure(libmpi.mpi_add(self.ends, y.ends, PRECISION))

    __radd__ = __add__

    def __neg__(self) -> Enclosure:
        """Return the negative."""
        return Enclosure(None if self.ends is None else libmpi.mpi_neg(self.ends))

    def __sub__(self, other: object) -> Enclosure:
        """Return the difference."""
        return self + -Enclosure.of(other)

    def __rsub__(self, other: object) -> Enclosure:
        """Return the difference."""
        return Enclosure.of(other) + -self

    def __mul__(self, other: object) -> Enclosure:
        """Return the product."""
        return self._with(other, libmpi.mpi_mul)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Enclosure:
        """Return the quotient, undefined unless the divisor's sign is decided and not 0."""
        y = Enclosure.of(other)
        return self._with(y, libmpi.mpi_div) if y.sign() else Enclosure(None)

    def __rtruediv__(self, other: object) -> Enclosure:
        """Return the quotient."""
        return Enclosure.of(other) / self

    def power(self, exponent: Enclosure) -> Enclosure:
        """Return a real power: of any number if the exponent is an integer, else of positive ones (and 0)."""
        if not (self.is_defined and exponent.is_defined):
            return Enclosure(None)
        y = exponent.middle()
        if exponent.is_exact and y.denominator == 1:
            n = int(y)
            if n < 0:
                return Enclosure.of(1) / self.power(Enclosure.of(-n))
            return Enclosure(libmpi.mpi_pow_int(self.ends, n, PRECISION))
        if exponent.is_exact and y == Fraction(1, 2):
            return self.apply("sqrt")
        if self.is_exact and self.sign() == 0 and exponent.sign() == 1:
            return Enclosure.of(0)
        return (exponent * self.apply("log")).apply("exp")

    # -- functions -------------------------------------------------------------------------------
    def apply(self, name: str) -> Enclosure:
        """Return a function's value; the names are the keys of :data:`FUNCTIONS`."""
        if name == "exp" and self.ends == (fninf, fninf):
            return Enclosure.of(0)
        return FUNCTIONS[name](self) if self.is_defined else Enclosure(None)


def extreme(x: Enclosure, y: Enclosure, sign: int) -> Enclosure:
    """Return the larger (sign 1) or smaller (sign -1) of two numbers."""
    if x.ends is None or y.ends is None:
        return Enclosure(None)
    (a, b), (c, d) = x.ends, y.ends
    if sign > 0:
        return Enclosure((c if mpf_lt(a, c) else a, d if mpf_lt(b, d) else b))
    return Enclosure((a if mpf_lt(a, c) else c, b if mpf_lt(b, d) else d))


def _of_interval(f: Callable[[Ends, int], Ends]) -> Callable[[Enclosure], Enclosure]:
    def of(x: Enclosure) -> Enclosure:
        assert x.ends is not None
        return Enclosure(f(x.ends, PRECISION))

    return of


def _log(x: Enclosure) -> Enclosure:
    return _of_interval(libmpi.mpi_log)(x) if x.sign() == 1 else Enclosure(None)


def _sqrt(x: Enclosure) -> Enclosure:
    assert x.ends is not None
    return _of_interval(libmpi.mpi_sqrt)(x) if mpf_le(from_int(0), x.ends[0]) else Enclosure(None)


def _abs(x: Enclosure) -> Enclosure:
    return extreme(x, -x, 1)


def _sigmoid(x: Enclosure) -> Enclosure:
    return 1 / (1 + (-x).apply("exp"))


def _tanh(x: Enclosure) -> Enclosure:
    return 1 - 2 / (1 + (2 * x).apply("exp"))


def _softplus(x: Enclosure) -> Enclosure:
    return (1 + x.apply("exp")).apply("log")


def _tan(x: Enclosure) -> Enclosure:
    return x.apply("sin") / x.apply("cos")


def _hyperbolic(sign: int) -> Callable[[Enclosure], Enclosure]:
    return lambda x: (x.apply("exp") + sign * (-x).apply("exp")) / 2


def _relu(x: Enclosure) -> Enclosure:
    return extreme(x, Enclosure.of(0), 1)


def _sign(x: Enclosure) -> Enclosure:
    s = x.sign()
    return Enclosure(None) if s is None else Enclosure.of(s)


def _step(x: Enclosure) -> Enclosure:
    s = x.sign()
    return Enclosure(None) if s is None else Enclosure.of(int(s > 0))


def _rounded(to: Callable[[Ends], Any]) -> Callable[[Enclosure], Enclosure]:
    """Return a rounding to integers, which is monotone."""

    def of(x: Enclosure) -> Enclosure:
        assert x.ends is not None
        low, high = x.ends
        return Enclosure((to(low), to(high)))

    return of


FUNCTIONS: dict[str, Callable[[Enclosure], Enclosure]] = {
    "exp": _of_interval(libmpi.mpi_exp),
    "log": _log,
    "sqrt": _sqrt,
    "abs": _abs,
    "sin": _of_interval(libmpi.mpi_sin),
    "cos": _of_interval(libmpi.mpi_cos),
    "tan": _tan,
    "arctan": _of_interval(libmpi.mpi_atan),
    "sinh": _hyperbolic(-1),
    "cosh": _hyperbolic(1),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "relu": _relu,
    "sign": _sign,
    "step": _step,
    "floor": _rounded(mpf_floor),
    "ceil": _rounded(mpf_ceil),
}
"""Functions of one number by their names in ``lx``."""
