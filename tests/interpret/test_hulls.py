"""Distances from Minkowski sums of hulls: constructed instances whose distance is known exactly."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.interpret.hulls import distance, float_numbers

H, n, m = lx.sizes("H n m")
P, y = lx.tensor("P", H, n, m), lx.tensor("y", m)
DISTANCE = lx.hull_distance(P, y)
EPS = np.finfo(float).eps


def outside(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return points, a target, and its distance: a step along the normal of a supporting plane.

    The nearest point is a random point of the face that the plane touches.
    """
    shape = (rng.integers(1, 5), rng.integers(1, 7), rng.integers(1, 5))
    scale = 10.0 ** rng.uniform(-3, 3)
    points = rng.standard_normal(shape)
    normal = rng.standard_normal(shape[-1])
    normal /= np.linalg.norm(normal)
    if kind == "face":  # all points of each hull on one plane: the face is the whole hull
        points = points - (points @ normal)[..., None] * normal
    if kind == "edge" and shape[1] > 1:
        points[:, 1] -= ((points[:, 1] - points[:, 0]) @ normal)[:, None] * normal
    if kind == "duplicates":
        points[:, -1] = points[:, 0]
    if kind == "flat":
        points[..., -1] *= 1e-9
    heights = points @ normal
    on_face = heights >= heights.max(axis=-1, keepdims=True) - 1e-12
    weights = rng.random(shape[:2]) * on_face
    nearest = np.einsum("hn,hnm->m", weights / weights.sum(axis=-1, keepdims=True), points)
    step = 10.0 ** rng.uniform(-6, 2)
    return scale * points, scale * (nearest + step * normal), scale * step


@pytest.mark.parametrize("kind", ["corner", "edge", "face", "duplicates", "flat"])
def test_known_distances(kind: str) -> None:
    rng = np.random.default_rng(0)
    for trial in range(150):
        points, target, expected = outside(rng, kind)
        found = distance(points, target, float_numbers())
        assert found.upper - found.lower <= 200 * EPS * found.scale
        assert abs(found.upper - expected) <= 1000 * EPS * found.scale
        if trial < 20:
            value, radius = lx.evaluate(DISTANCE, P=points, y=target, arithmetic="rounding")
            exact = lx.evaluate(DISTANCE, P=points, y=target, arithmetic="mpmath", digits=40)
            assert abs(exact - value) <= radius <= 1e-10 * found.scale


def test_points_inside_have_distance_zero() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        points = rng.standard_normal((rng.integers(1, 5), rng.integers(1, 7), rng.integers(1, 5)))
        weights = rng.dirichlet(np.ones(points.shape[1]), size=points.shape[0])
        target = np.einsum("hn,hnm->m", weights, points)
        found = distance(points, target, float_numbers())
        assert found.upper <= 100 * EPS * found.scale
        assert found.lower >= 0


@pytest.mark.parametrize("seed", range(20))
def test_against_all_faces(seed: int) -> None:
    """The nearest point of a polytope is the projection on the affine hull of some of its corners."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (2, 3, 2)).astype(float)
    target = rng.integers(-8, 9, 2).astype(float)
    corners = [points[0, i] + points[1, j] for i, j in itertools.product(range(3), repeat=2)]
    best = np.inf
    for size in (1, 2, 3):
        for chosen in itertools.combinations(corners, size):
            edges = np.array([c - chosen[0] for c in chosen[1:]]).reshape(size - 1, 2).T
            weights = np.linalg.lstsq(edges, target - chosen[0], rcond=None)[0]
            if np.all(weights >= -1e-12) and weights.sum() <= 1 + 1e-12:
                best = min(best, float(np.linalg.norm(chosen[0] + edges @ weights - target)))
    assert lx.evaluate(DISTANCE, P=points, y=target) == pytest.approx(best, abs=1e-13)


def test_bounds_hold_in_multiprecision() -> None:
    rng = np.random.default_rng(2)
    for kind in ("corner", "edge", "duplicates"):
        points, target, expected = outside(rng, kind)
        value = lx.evaluate(DISTANCE, P=points, y=target, arithmetic="mpmath", digits=50)
        assert abs(value - expected) <= 1000 * EPS * (abs(points).sum() + abs(target).sum())
        again = lx.evaluate(DISTANCE, P=points, y=target, arithmetic="mpmath", digits=80)
        assert abs(value - again) <= mpmath.mpf(10) ** -45 * again


def test_exact_value() -> None:
    points = np.array([[[0, 0], [1, 0]], [[0, 0], [0, 1]]])  # the unit square
    value = lx.evaluate(DISTANCE, P=points, y=[2, 3], arithmetic="mpmath", digits=50)
    assert abs(value - mpmath.mp.sqrt(5)) < 1e-15
    assert abs(value**2 - 5) < value.context.mpf(10) ** -48
    assert lx.evaluate(DISTANCE, P=points, y=[0.5, 0.25]) <= 4 * EPS


def test_families() -> None:
    N = lx.size("N")
    family = lx.hull_distance(lx.tensor("P", N, H, n, m), lx.tensor("y", N, m))
    rng = np.random.default_rng(3)
    points, targets = rng.standard_normal((4, 2, 3, 2)), 5 * rng.standard_normal((4, 2))
    together = lx.evaluate(family, P=points, y=targets)
    apart = [lx.evaluate(DISTANCE, P=p, y=t) for p, t in zip(points, targets, strict=True)]
    np.testing.assert_array_equal(together, apart)


def test_distance_of_infinite_points_is_undefined() -> None:
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(DISTANCE, P=[[[np.inf, 0.0]]], y=[0.0, 0.0])


def test_bounds_that_do_not_meet_are_an_error() -> None:
    broken = float_numbers()._replace(least_squares=lambda a, b: np.full(a.shape[1], 0.4))
    points = np.array([[[0.0, 1.0], [1.0, 0.0], [3.0, 3.0]]])
    with pytest.raises(lx.EvaluationError, match="did not meet"):
        distance(points, np.array([-1.0, -2.0]), broken)


def test_rounding_of_points_enters_the_radius() -> None:
    exact = lx.evaluate(DISTANCE, P=np.eye(3)[None], y=[1.0, 1.0, 1.0], arithmetic="rounding")
    blurred = lx.evaluate(
        lx.hull_distance(lx.exp(P), y), P=30 * np.eye(3)[None], y=[1.0, 1.0, 1.0], arithmetic="rounding"
    )
    assert blurred.radius > 1e10 * exact.radius
