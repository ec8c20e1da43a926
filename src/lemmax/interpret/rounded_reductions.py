r"""Softmax and reductions along axes of numbers with a rounding radius."""

from __future__ import annotations

import numpy as np

from lemmax.interpret.arrays import joined, unjoined
from lemmax.interpret.rounded import (
    EPS,
    FUNCTION_ULPS,
    SUBNORMAL,
    Array,
    Rounded,
    finish,
    multiply,
)


def _weights(x: Rounded, axes: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
    """Return the maximum, weights ``exp(x - max)``, their sum, and a bound on the change of each exponent.

    The maximum only shifts the exponents; its own error has no influence.
    """
    top = np.max(x.value, axis=axes, keepdims=True)
    shift = x.value - np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(shift)
    masked = np.isneginf(x.value)
    change = x.radius + EPS * np.abs(np.where(masked, 0.0, shift)) + FUNCTION_ULPS * EPS
    change = np.where(masked & (np.broadcast_to(x.radius, masked.shape) == 0), 0.0, change)
    return top, weights, np.sum(weights, axis=axes, keepdims=True), change


def _relative_change(weights: Array, change: Array, axes: tuple[int, ...], count: int) -> Array:
    """Return a bound on the relative change of the sum of weights."""
    with np.errstate(over="ignore"):
        terms = weights * np.expm1(change) + np.where(weights < SUBNORMAL, _late(change), 0.0)
    total = np.sum(weights, axis=axes, keepdims=True)
    return np.asarray(np.sum(terms, axis=axes, keepdims=True) / total + (count + 2) * EPS)


def _late(change: Array) -> Array:
    """Bound a weight that underflowed: ``exp(-708)`` times what its exponent may have been off."""
    return np.where(change > 0, np.exp(np.minimum(change, 700.0) - 708.0), 0.0)


def softmax(x: Rounded, axis: int) -> Rounded:
    r"""Return the softmax.

    If exponents are off by :math:`a_j`, weights are off by the factors :math:`1 \pm t_j` with
    :math:`t_j = e^{a_j} - 1`, and their sum by :math:`1 \pm T`; so
    :math:`|s_j' - s_j| \le s_j (t_j + T) / (1 - T)`, and never more than 1.  An entry near 1 depends on the
    others only: its reciprocal is off by :math:`\rho_j = \sum_{l \ne j} s_l (e^{a_l + a_j} - 1)`, relatively.
    """
    _, weights, total, change = _weights(x, (axis,))
    count = x.value.shape[axis]
    value = weights / total
    overall = _relative_change(weights, change, (axis,), count)
    rounding = (count + 2) * EPS
    with np.errstate(over="ignore", invalid="ignore"):
        t = np.expm1(change)
        late = np.where(weights < SUBNORMAL, _late(change), 0.0)
        absolute = value * (t + overall) + late
        radius = np.where(overall < 1, absolute / np.maximum(1 - overall, EPS), 1.0)
        others = np.maximum(overall - value * t, 0.0)
        reciprocal = (1 + t) * others + t * np.maximum(1 - value, 0.0) + rounding
        sharp = np.where(reciprocal < 1, value * reciprocal / np.maximum(1 - reciprocal, EPS), 1.0) + late
        radius = np.fmin(radius, sharp)
    certain_zero = np.isneginf(x.value) & (np.broadcast_to(x.radius, value.shape) == 0)
    radius = np.where(certain_zero, 0.0, np.minimum(np.nan_to_num(radius, nan=1.0) + EPS * value, 1.0))
    # an exponent that overflowed leaves the row open; only a row of nothing but -inf is undefined
    undefined = np.isnan(value)
    overflow = np.any(np.isinf(np.broadcast_to(x.radius, value.shape)), axis=axis, keepdims=True)
    value = np.where(overflow & undefined, 0.0, value)
    return finish(value, np.where(overflow, 1.0, np.where(undefined, 0.0, radius)))


def logsumexp(x: Rounded, axes: tuple[int, ...]) -> Rounded:
    """Return log-sum-exp; its change is at most the largest change of an exponent that matters."""
    top, weights, total, change = _weights(x, axes)
    count = x.value.size // max(total.size, 1)
    value = top + np.log(total)
    overall = _relative_change(weights, change, axes, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        sharp = np.where(overall < 1, -np.log1p(-np.minimum(overall, 1.0)), np.inf)
    coarse = np.max(change, axis=axes, keepdims=True) + (count + 2) * EPS
    radius = np.minimum(sharp, coarse) + FUNCTION_ULPS * EPS * (np.abs(np.log(total)) + np.abs(value))
    exact = np.max(np.broadcast_to(x.radius, x.value.shape), axis=axes, keepdims=True) == 0
    return finish(value, radius, exact & ~np.isfinite(top))


def _candidates(value: Array, radius: Array) -> Array:
    """Return which entries may be the largest along the last axis."""
    unknown = np.isinf(radius)
    least = np.where(unknown, -np.inf, value - radius)
    return np.asarray(unknown | (value + radius >= np.max(least, axis=-1, keepdims=True)))


def extreme(x: Rounded, axes: tuple[int, ...], sign: int) -> Rounded:
    """Return maximum or minimum, with the largest radius among the entries that may be extreme."""
    value, keep = joined(sign * x.value, axes)
    radius, _ = joined(np.broadcast_to(x.radius, x.value.shape), axes)
    candidates = _candidates(value, radius)
    widest = np.max(np.where(candidates, radius, 0.0), axis=-1)
    found = sign * np.max(value, axis=-1)
    return finish(
        found.reshape(keep), widest.reshape(keep), (~np.isfinite(found) & (widest == 0)).reshape(keep)
    )


def extreme_mask(x: Rounded, axes: tuple[int, ...], sign: int) -> Rounded:
    """Mark the first extreme entry; where several may be it, the mark may be off by 1."""
    value, _ = joined(sign * x.value, axes)
    radius, _ = joined(np.broadcast_to(x.radius, x.value.shape), axes)
    first = np.argmax(value, axis=-1)[..., None]
    mask = (np.arange(value.shape[-1]) == first).astype(float)
    candidates = _candidates(value, radius)
    exact_ties = np.take_along_axis(radius, first, axis=-1) + radius == 0
    rivals = candidates & ~exact_ties & (np.sum(candidates, axis=-1, keepdims=True) > 1)
    rivals |= (mask > 0) & np.any(rivals, axis=-1, keepdims=True)
    shape = x.value.shape
    return Rounded(unjoined(mask, shape, axes), unjoined(rivals.astype(float), shape, axes))


def product(x: Rounded, axes: tuple[int, ...]) -> Rounded:
    """Multiply along axes, one entry after the other."""
    value, keep = joined(x.value, axes)
    radius, _ = joined(np.broadcast_to(x.radius, x.value.shape), axes)
    result = Rounded(value[..., 0], radius[..., 0])
    for p in range(1, value.shape[-1]):
        result = multiply(result, Rounded(value[..., p], radius[..., p]))
    return Rounded(
        result.value.reshape(keep), np.broadcast_to(result.radius, result.value.shape).reshape(keep)
    )
