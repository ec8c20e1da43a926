r"""Distance of a point from a Minkowski sum of convex hulls.

Minimise :math:`\|y - \sum_h c_h\|` over :math:`c_h \in conv\{p_{h1}, \dots, p_{hn}\}`: the point of least
norm in the polytope :math:`\sum_h conv_j(p_{hj}) - y`.  Its vertices are never listed; the best one in a
direction is found summand by summand.  The method is P. Wolfe, *Finding the nearest point in a polytope*,
Mathematical Programming 11 (1976).

For any point x of the polytope, any direction u and the vertex p that is best against u, duality gives

.. math:: \langle u, p\rangle / \|u\| \le dist \le \|x\|,

so every answer carries a lower bound of its own; the gap is checked, not assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lemmax.errors import EvaluationError

Array: TypeAlias = npt.NDArray[Any]

ROUNDS = 1000  # far more than a polytope of this kind needs; rounding stops progress first


class Numbers(NamedTuple):
    """What the method needs of an arithmetic.

    Attributes:
        least_squares: ``(A, b)`` to the x of least norm that minimises ``|A x - b|``.
        sqrt: the square root of a number.
        eps: the relative rounding error.
        accepted: the largest gap, relative to the size of the data, with which an answer is given out.
    """

    least_squares: Callable[[Array, Array], Array]
    sqrt: Callable[[Any], Any]
    eps: Any
    accepted: Any


class Distance(NamedTuple):
    """An upper and a lower bound, equal up to rounding, and the size of the data (a sum of norms)."""

    upper: Any
    lower: Any
    scale: Any


def distance(points: Array, target: Array, numbers: Numbers) -> Distance:
    """Return the distance of ``target`` (m,) from the sum over h of the hulls of ``points`` (H, n, m).

    It is undefined (NaN) if an entry is not finite.

    Raises:
        EvaluationError: the bounds do not meet.
    """
    lengths = np.vectorize(numbers.sqrt, otypes=[points.dtype])(np.sum(points * points, axis=-1))
    scale = np.sum(np.max(lengths, axis=-1)) + numbers.sqrt(np.sum(target * target))
    if not scale < np.inf:
        return Distance(np.nan, np.nan, np.inf)
    x = np.sum(points[:, 0], axis=0) - target
    corral, weights = [x], [1]
    lower = 0 * scale
    for _ in range(ROUNDS):
        norm = numbers.sqrt(np.sum(x * x))
        if norm <= 4 * numbers.eps * scale:
            break
        direction = _across(x, corral, numbers)
        vertex = _best_vertex(points, direction) - target
        lower = max(lower, np.sum(direction * vertex) / numbers.sqrt(np.sum(direction * direction)))
        if norm - lower <= 4 * numbers.eps * scale or any(np.all(vertex == p) for p in corral):
            break
        corral.append(vertex)
        weights.append(0)
        corral, weights = _nearest(corral, weights, numbers)
        closer = np.sum([w * p for w, p in zip(weights, corral, strict=True)], axis=0)
        if not np.sum(closer * closer) < np.sum(x * x):
            break  # no progress beyond rounding
        x = closer
    upper = numbers.sqrt(np.sum(x * x))
    if upper - lower > numbers.accepted * scale:
        raise EvaluationError(f"hull_distance: the bounds {lower} and {upper} did not meet.")
    return Distance(upper, lower, scale)


def _best_vertex(points: Array, direction: Array) -> Array:
    """Return the vertex of the sum of hulls with the least inner product with ``direction``."""
    products = np.sum(points * direction, axis=-1)
    best = np.argmin(products, axis=-1)
    return np.asarray(np.sum(points[np.arange(len(points)), best], axis=0))


def _across(x: Array, corral: list[Array], numbers: Numbers) -> Array:
    """Return x less what rounding left of it along the edges of the corral.

    A sum of large corners that is short has a poor direction; any direction gives a valid lower bound,
    this one gives a sharp one.
    """
    if len(corral) == 1:
        return x
    edges = np.stack([p - corral[0] for p in corral[1:]], axis=-1)
    across = x - np.sum(edges * numbers.least_squares(edges, x), axis=-1)
    return across if np.sum(across * across) > 0 else x


def _nearest(corral: list[Array], weights: list[Any], numbers: Numbers) -> tuple[list[Array], list[Any]]:
    """Return the point of least norm in the simplex of ``corral``, dropping vertices it does not need.

    Walks from the present weights towards the point of least norm of the affine hull; where the walk
    leaves the simplex, the vertex whose weight vanishes is dropped and the walk goes on.
    """
    while True:
        base = corral[0]
        if len(corral) == 1:
            return corral, [1]
        edges = np.stack([p - base for p in corral[1:]], axis=-1)
        rest = numbers.least_squares(edges, -base)
        goal = [1 - np.sum(rest), *rest]
        if all(g > 0 for g in goal):
            return corral, goal
        steps = [w / (w - g) if g <= 0 else None for w, g in zip(weights, goal, strict=True)]
        length = min(s for s in steps if s is not None)
        moved = [w + length * (g - w) for w, g in zip(weights, goal, strict=True)]
        left = [p for p, s in enumerate(steps) if s is None or s > length]
        corral = [corral[p] for p in left]
        kept = [max(moved[p], 0) for p in left]
        weights = [w / sum(kept) for w in kept]


def float_numbers() -> Numbers:
    """Return what the method needs, in float64."""

    def least_squares(a: Array, b: Array) -> Array:
        return np.asarray(np.linalg.lstsq(a, b, rcond=None)[0])

    return Numbers(least_squares, np.sqrt, np.finfo(float).eps, 1e-10)


def distances(points: Array, target: Array, numbers: Numbers | None = None) -> tuple[Array, Array, Array]:
    """Return upper bounds, lower bounds and data sizes for points (..., H, n, m) and targets (..., m)."""
    numbers = float_numbers() if numbers is None else numbers
    lead = np.broadcast_shapes(points.shape[:-3], target.shape[:-1])
    points = np.broadcast_to(points, lead + points.shape[-3:])
    target = np.broadcast_to(target, lead + target.shape[-1:])
    result = np.empty((3, *lead), dtype=np.result_type(points, target))
    for at in np.ndindex(lead):
        result[(slice(None), *at)] = distance(points[at], target[at], numbers)
    return result[0], result[1], result[2]
