r"""Weights by named schemes, and targets by a named teacher.

Each array has its own stream of random numbers, made from the seed and its place in the list, so that
which arrays a file brings does not change the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lemmax.campaign.instance.archive import Array
from lemmax.errors import InvalidArgument

Scheme = Callable[[tuple[int, int, int], np.random.Generator], Array]


def gaussian(shape: tuple[int, int, int], rng: np.random.Generator) -> Array:
    """Independent entries from N(0, 1)."""
    return rng.standard_normal(shape)


def xavier(shape: tuple[int, int, int], rng: np.random.Generator) -> Array:
    """Independent entries from N(0, 2 / (rows + columns)), head by head (Glorot and Bengio 2010)."""
    return np.asarray(rng.standard_normal(shape) * np.sqrt(2.0 / (shape[1] + shape[2])))


def orthogonal(shape: tuple[int, int, int], rng: np.random.Generator) -> Array:
    """Each head with orthonormal columns (rows, if there are more columns), from the uniform distribution."""
    heads, rows, columns = shape
    tall = rng.standard_normal((heads, max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, None, :]  # makes the distribution uniform
    return np.ascontiguousarray(q if rows >= columns else np.swapaxes(q, -1, -2))


SCHEMES: Mapping[str, Scheme] = {"gaussian": gaussian, "xavier": xavier, "orthogonal": orthogonal}
"""Schemes by name; each is multiplied by a scale afterwards."""

STREAMS = ("WQ", "WK", "WV", "WO", "teacher WQ", "teacher WK", "teacher WV", "teacher WO")


def draw(name: str, shape: tuple[int, int, int], scheme: str, scale: float, seed: int) -> Array:
    """Return the weight of that name in :data:`STREAMS`.

    Raises:
        InvalidArgument: the scheme is unknown, or the scale or seed makes no sense.
    """
    if scheme not in SCHEMES:
        raise InvalidArgument(f"unknown scheme {scheme!r}: expected one of {', '.join(SCHEMES)}.")
    if not (np.isfinite(scale) and scale > 0):
        raise InvalidArgument(f"scale {scale!r}: expected a positive number.")
    if seed < 0:
        raise InvalidArgument(f"seed {seed!r}: a seed is not negative.")
    rng = np.random.default_rng([seed, STREAMS.index(name)])
    return np.asarray(scale * SCHEMES[scheme](shape, rng), dtype=np.float64)
