r"""Numbers with a rounding radius: float64 values, each with a bound on its distance from the exact value.

A *running error analysis* to first order with generous constants: every operation adds to the radius
what its operands' radii contribute and a few units in the last place of its own.  It decides when a
comparison is too close to call; it is not a certificate (that takes directed rounding and proved
bounds for every library function).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

EPS = 2.0**-52  # twice the unit roundoff, so that each rounding is counted twice
FUNCTION_ULPS = 16.0  # allowance for library functions, in units of EPS
SMALLEST = 5e-324
SUBNORMAL = 2.3e-308  # below this, rounding is absolute


class Rounded(NamedTuple):
    """A value and a radius.

    Attributes:
        value: the computed value.
        radius: bound on the rounding error, of the same shape or the number 0.0 (exact).
    """

    value: Array
    radius: Array | float


def is_exact(x: Rounded) -> bool:
    """Is the radius 0 throughout, known without looking at entries?"""
    return type(x.radius) is float and x.radius == 0.0


def is_singular(x: Rounded) -> Array:
    """Where is the value infinite (a mask) or undefined by itself, and not by overflow?"""
    finite = np.isfinite(x.value)
    if finite.all():
        return np.zeros((), dtype=bool)
    return np.asarray(~finite & (np.asarray(x.radius) == 0))


def finish(value: Array, radius: Array | float, singular: Any = False) -> Rounded:
    """Return a result after the cases that are not finite are sorted out.

    Args:
        value: computed value.
        radius: computed radius; NaN where it could not be computed.
        singular: where an operand was infinite or undefined by itself.

    An infinite value is exact if an operand was infinite, else it overflowed and its radius is infinite.
    An undefined value stays undefined if an operand made it so (radius 0, or NaN for want of a number);
    it is undecided, 0 with an infinite radius, if overflow or a radius made it so.
    """
    if np.isfinite(value + radius).all():
        return Rounded(value, radius)
    value = np.array(value)
    radius = np.array(np.broadcast_to(radius, value.shape))
    singular = np.broadcast_to(singular, value.shape)
    infinite = np.isinf(value)
    radius[infinite] = np.where(singular[infinite], 0.0, np.inf)
    undefined = np.isnan(value)
    radius[np.isnan(radius) & ~undefined] = np.inf
    kept = (radius == 0) | (singular & np.isnan(radius))
    value[undefined & ~kept] = 0.0
    radius[undefined] = np.where(kept[undefined], 0.0, np.inf)
    return Rounded(value, radius)


def add(x: Rounded, y: Rounded) -> Rounded:
    """Return ``x + y``."""
    value = x.value + y.value
    radius = (x.radius + y.radius) + EPS * np.abs(value)
    return finish(value, radius, is_singular(x) | is_singular(y))


def multiply(x: Rounded, y: Rounded) -> Rounded:
    """Return ``x y``."""
    value = x.value * y.value
    size = np.abs(value)
    radius = EPS * size
    if not is_exact(y):
        radius = radius + (np.abs(x.value) + x.radius) * y.radius
    if not is_exact(x):
        radius = radius + np.abs(y.value) * x.radius
    if size.min(initial=np.inf) < SUBNORMAL:
        zero = ((x.value == 0) & (np.asarray(x.radius) == 0)) | ((y.value == 0) & (np.asarray(y.radius) == 0))
        radius = radius + np.where((size < SUBNORMAL) & ~zero, SUBNORMAL, 0.0)
    return finish(value, radius, is_singular(x) | is_singular(y))


def divide(x: Rounded, y: Rounded) -> Rounded:
    r"""Return ``x / y``: :math:`|x'/y' - x/y| \le (|x/y| r_y + r_x) / (|y| - r_y)`."""
    value = x.value / y.value
    size = np.abs(value)
    room = np.abs(y.value) - y.radius
    radius = np.where(room > 0, (size * y.radius + x.radius) / room, np.inf) + EPS * size
    if size.min(initial=np.inf) < SUBNORMAL:
        zero = (x.value == 0) & (np.asarray(x.radius) == 0)
        radius = radius + np.where((size < SUBNORMAL) & ~zero & np.isfinite(y.value), SUBNORMAL, 0.0)
    pole = (y.value == 0) & (np.asarray(y.radius) == 0)
    radius = np.where(pole, 0.0, radius)
    return finish(value, radius, is_singular(x) | is_singular(y) | pole)


def power(x: Rounded, p: Rounded) -> Rounded:
    r"""Return ``x^p``: the logarithm :math:`p \log x` is perturbed, the power by ``expm1`` of that."""
    value = np.power(x.value, p.value)
    size = np.abs(value)
    relative = np.where(x.radius < np.abs(x.value), -np.log1p(-(x.radius / np.abs(x.value))), np.inf)
    log = np.abs(np.log(np.abs(x.value)))
    change = np.expm1((np.abs(p.value) + p.radius) * relative + np.where(p.radius > 0, log * p.radius, 0.0))
    near_zero = np.where(
        (p.value > 0) & (np.asarray(p.radius) == 0), np.power(np.abs(x.value) + x.radius, p.value), np.inf
    )
    radius = np.where(
        np.abs(x.value) <= x.radius, np.where(np.asarray(x.radius) == 0, 0.0, near_zero), size * change
    )
    radius = radius + FUNCTION_ULPS * EPS * size * (1 + np.abs(p.value) * np.where(size > 0, log, 0.0))
    radius = radius + np.where((size < SUBNORMAL) & (x.value != 0), SUBNORMAL, 0.0)
    # a negative base has powers with integer exponents only
    blurred = (np.asarray(p.radius) > 0) & (np.abs(p.value - np.round(p.value)) <= p.radius)
    open_ = (x.value < 0) & ((x.value + x.radius >= 0) | blurred)
    radius = np.where(open_, np.inf, np.where((x.value < 0) & np.isnan(value), 0.0, radius))
    return finish(value, radius, is_singular(x) | ((x.value == 0) & (np.asarray(x.radius) == 0)))
