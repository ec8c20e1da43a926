r"""Entrywise functions of numbers with a rounding radius.

For each function the bound on its change is analytic: the largest slope on the interval
``[x - r, x + r]`` times ``r``, or a sharper form where a slope is unbounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from lemmax.interpret import floating
from lemmax.interpret.rounded import (
    EPS,
    FUNCTION_ULPS,
    SMALLEST,
    SUBNORMAL,
    Array,
    Rounded,
    finish,
    is_singular,
)

Bound: TypeAlias = Callable[[Array, Array, Array], Array]
"""Of the argument, its radius and the value: how far the exact value may be from the value."""


class Function(NamedTuple):
    """A function with a bound on its change.

    Attributes:
        value: the function.
        change: bound on the change under a perturbation of the argument.
        low: left end of the domain.
        high: right end of the domain.
    """

    value: Callable[[Array], Array]
    change: Bound
    low: float = -np.inf
    high: float = np.inf


def apply(function: Function, x: Rounded) -> Rounded:
    """Apply a function; where an argument may lie outside its domain the radius is infinite."""
    radius = np.broadcast_to(x.radius, np.shape(x.value))
    at = np.clip(x.value, function.low, function.high)
    value = np.asarray(function.value(at))
    size = np.abs(value)
    change = np.where(radius == 0, 0.0, function.change(at, radius + np.abs(x.value - at), value))
    bound = change + FUNCTION_ULPS * EPS * size
    singular = is_singular(x)
    bound = np.where(singular, 0.0, bound)
    tiny = (size < SUBNORMAL) & (x.value != 0) & ~singular
    bound = bound + np.where(tiny, SUBNORMAL, 0.0)
    outside = (x.value - radius > function.high) | (x.value + radius < function.low)
    value = np.where(outside, np.nan, value)
    pole = (radius == 0) & np.isinf(value)
    return finish(value, np.where(outside | pole, 0.0, bound), singular | pole)


def _near(x: Array, r: Array) -> Array:
    """Return the least absolute value in the interval."""
    return np.asarray(np.maximum(np.abs(x) - r, 0.0))


def _exp(x: Array, r: Array, v: Array) -> Array:
    return np.asarray(np.maximum(v * np.expm1(r), np.where(v < SUBNORMAL, np.exp(x + r), 0.0)))


def _log(x: Array, r: Array, v: Array) -> Array:
    return np.where(x > r, -np.log1p(-r / np.where(x > r, x, 1.0)), np.inf)


def _sqrt(x: Array, r: Array, v: Array) -> Array:
    inside = x > r
    smaller = np.sqrt(np.where(inside, x - r, 0.0))
    return np.asarray(np.where(inside, r / np.maximum(v + smaller, SMALLEST), np.sqrt(x + r)))


def _tan(x: Array, r: Array, v: Array) -> Array:
    room = np.abs(np.cos(x)) - r
    return np.where(room > 0, r / room**2, np.inf)


def _arcsin(x: Array, r: Array, v: Array) -> Array:
    room = 1.0 - (np.abs(x) + r)
    return np.where(room > 0, r / np.sqrt(np.maximum(room, SMALLEST)), np.pi)


def _arccosh(x: Array, r: Array, v: Array) -> Array:
    room = x - r - 1.0
    return np.where(
        room > 0, r / np.sqrt(np.maximum(2 * room, SMALLEST)), np.arccosh(1.0 + np.abs(x - 1.0) + r)
    )


def _arctanh(x: Array, r: Array, v: Array) -> Array:
    room = 1.0 - (np.abs(x) + r)
    return np.where(room > 0, r / np.maximum(room, SMALLEST), np.inf)


def _sigmoid(x: Array, r: Array, v: Array) -> Array:
    least = floating.sigmoid(_near(x, r))
    other = floating.sigmoid(-_near(x, r))
    return np.asarray(np.minimum(r * least * other, v * np.expm1(r)))


def _jump(height: float) -> Bound:
    return lambda x, r, v: np.where(np.abs(x) <= r, height, 0.0)


def _whole(x: Array, r: Array, v: Array) -> Array:
    """A step function changes by the number of steps in reach: none if no whole number is."""
    steps = np.maximum(np.floor(x + r) - np.floor(x), np.ceil(x) - np.ceil(x - r))
    touched = (np.floor(x + r) != np.floor(x - r)) | (np.floor(x - r) == x - r)
    return np.where(touched, steps + 1.0, 0.0)


FUNCTIONS: dict[str, Function] = {
    "exp": Function(np.exp, _exp),
    "log": Function(np.log, _log, low=0.0),
    "sqrt": Function(np.sqrt, _sqrt, low=0.0),
    "abs": Function(np.abs, lambda x, r, v: r),
    "sign": Function(np.sign, _jump(2.0)),
    "floor": Function(np.floor, _whole),
    "ceil": Function(np.ceil, _whole),
    "step": Function(floating.step, _jump(1.0)),
    "relu": Function(floating.relu, lambda x, r, v: np.where(x + r <= 0, 0.0, r)),
    "sin": Function(np.sin, lambda x, r, v: np.minimum(r, 2.0)),
    "cos": Function(np.cos, lambda x, r, v: np.minimum(r, 2.0)),
    "tan": Function(np.tan, _tan),
    "arcsin": Function(np.arcsin, _arcsin, low=-1.0, high=1.0),
    "arccos": Function(np.arccos, _arcsin, low=-1.0, high=1.0),
    "arctan": Function(np.arctan, lambda x, r, v: r / (1.0 + _near(x, r) ** 2)),
    "sinh": Function(np.sinh, lambda x, r, v: r * np.cosh(np.abs(x) + r)),
    "cosh": Function(np.cosh, lambda x, r, v: r * np.sinh(np.abs(x) + r)),
    "tanh": Function(np.tanh, lambda x, r, v: np.minimum(r / np.cosh(_near(x, r)) ** 2, 2.0)),
    "arcsinh": Function(np.arcsinh, lambda x, r, v: r / np.sqrt(1.0 + _near(x, r) ** 2)),
    "arccosh": Function(np.arccosh, _arccosh, low=1.0),
    "arctanh": Function(np.arctanh, _arctanh, low=-1.0, high=1.0),
    "erf": Function(
        floating.erf, lambda x, r, v: np.minimum(r * 2 / np.sqrt(np.pi) * np.exp(-(_near(x, r) ** 2)), 2.0)
    ),
    "sigmoid": Function(floating.sigmoid, _sigmoid),
    "softplus": Function(floating.softplus, lambda x, r, v: r * floating.sigmoid(x + r)),
}
"""Each function by its name in ``lx``."""
