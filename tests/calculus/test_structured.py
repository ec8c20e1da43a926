"""Derivatives in symmetric, diagonal, triangular and orthogonal variables, against central differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import lemmax as lx
from lemmax.calculus.structured import structure_of
from lemmax.expr.graph import inputs_of

n = lx.size("n")
B, x = lx.tensor("B", n, n), lx.tensor("x", n)
RNG = np.random.default_rng(0)
ARRAYS = {"B": RNG.standard_normal((3, 3)), "x": RNG.standard_normal(3)}
LINEAR = ("symmetric", "positive_definite", "diagonal", "lower_triangular")

LOSSES: dict[str, tuple[Callable[[lx.Tensor], lx.Tensor], Callable[..., float]]] = {
    "trace": (lambda S: lx.trace(B @ S @ S), lambda S, B, x: np.trace(B @ S @ S)),
    "log det": (
        lambda S: lx.logdet(S) + lx.sum(B * S),
        lambda S, B, x: np.linalg.slogdet(S)[1] + np.sum(B * S),
    ),
    "inverse": (lambda S: x @ lx.inv(S) @ x, lambda S, B, x: x @ np.linalg.inv(S) @ x),
    "entry": (lambda S: S[0, 1] ** 2 + S[1, 0] * S[2, 2], lambda S, B, x: S[0, 1] ** 2 + S[1, 0] * S[2, 2]),
}


def directions(structure: str) -> dict[tuple[int, int], np.ndarray]:
    """Return, for each free entry, how the matrix moves when that entry does."""
    found = {}
    for i, j in product(range(3), repeat=2):
        e = np.zeros((3, 3))
        e[i, j] = 1
        if structure in ("symmetric", "positive_definite"):
            e[j, i] = 1
        elif (structure == "diagonal" and i != j) or (structure == "lower_triangular" and i < j):
            continue
        found[i, j] = e
    return found


def point(structure: str) -> np.ndarray:
    s = RNG.standard_normal((3, 3)) / 4
    s = s + s.T + 2 * np.eye(3)
    return {"diagonal": s * np.eye(3), "lower_triangular": np.tril(s)}.get(structure, s)


def slope(f: Callable[[np.ndarray], Any], at: np.ndarray, along: np.ndarray, h: float = 1e-3) -> Any:
    """Return the derivative along a direction, by differences of order four."""
    steps = ((1, 8), (-1, -8), (2, -1), (-2, 1))
    return sum(w * f(at + k * h * along) for k, w in steps) / (12 * h)


def values(t: lx.Tensor, at: np.ndarray, **more: np.ndarray) -> np.ndarray:
    """Evaluate by the interpreter and by generated code; they must agree."""
    arrays = {"S": at, **ARRAYS, **more}
    used = {str(v.name): arrays[str(v.name)] for v in inputs_of(t)}
    found = np.asarray(lx.evaluate(t, used, sizes=None if used else {"n": 3}))
    if used:
        np.testing.assert_allclose(lx.compile(t)(**used), found, rtol=1e-11, atol=1e-12)
    return found


@pytest.mark.parametrize("structure", LINEAR)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_in_free_entries(structure: str, loss: str) -> None:
    S = lx.tensor("S", n, n, **{structure: True})
    made, value = LOSSES[loss]
    at = point(structure)
    g = values(lx.gradient(made(S), S, structured="entries"), at)
    expected = np.zeros((3, 3))
    for entry, along in directions(structure).items():
        expected[entry] = slope(lambda s: value(s, **ARRAYS), at, along)
    np.testing.assert_allclose(g, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("structure", LINEAR)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_in_the_subspace(structure: str, loss: str) -> None:
    """It lies in the subspace, and its inner product with any direction there is the slope."""
    S = lx.tensor("S", n, n, **{structure: True})
    made, value = LOSSES[loss]
    at = point(structure)
    g = values(lx.gradient(made(S), S, structured="subspace"), at)
    moves = directions(structure)
    in_subspace = sum(g[entry] * along for entry, along in moves.items() if entry[0] >= entry[1])
    np.testing.assert_allclose(g, in_subspace, atol=1e-14)
    for along in moves.values():
        assert np.sum(g * along) == pytest.approx(
            slope(lambda s: value(s, **ARRAYS), at, along), rel=1e-8, abs=1e-9
        )


@pytest.mark.parametrize("structure", ["symmetric", "diagonal", "lower_triangular"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("option", ["entries", "subspace"])
def test_second_derivatives_are_changes_of_the_gradient(structure: str, loss: str, option: str) -> None:
    S, U = lx.tensor("S", n, n, **{structure: True}), lx.tensor("U", n, n)
    f, at = LOSSES[loss][0](S), point(structure)
    first = lx.gradient(f, S, structured=option)
    H, moved_by = lx.hessian(f, S, structured=option), lx.hvp(f, S, U, structured=option)
    table = values(H, at)
    assert table == pytest.approx(np.transpose(table, (2, 3, 0, 1)), abs=1e-12)
    for entry, along in directions(structure).items():
        moved = slope(lambda s: np.asarray(lx.evaluate(first, used(first, s))), at, along)
        by_table = table[:, :, entry[0], entry[1]] if option == "entries" else np.tensordot(table, along)
        np.testing.assert_allclose(by_table, moved, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(values(moved_by, at, U=along), moved, rtol=1e-7, atol=1e-8)


def used(t: lx.Tensor, at: np.ndarray) -> dict[str, np.ndarray]:
    return {str(v.name): {"S": at, **ARRAYS}[str(v.name)] for v in inputs_of(t)}


def test_a_jacobian_in_free_entries_is_a_table_of_slopes() -> None:
    S = lx.tensor("S", n, n, symmetric=True)
    at = point("symmetric")
    J = values(lx.jacobian(S @ S @ x, S, structured="entries"), at)
    for entry, along in directions("symmetric").items():
        expected = slope(lambda s: s @ s @ ARRAYS["x"], at, along)
        np.testing.assert_allclose(J[:, entry[0], entry[1]], expected, rtol=1e-8, atol=1e-9)


def test_gradient_along_orthogonal_matrices() -> None:
    """It is tangent, and its inner product with any tangent is the slope along a curve of rotations."""
    Q = lx.tensor("Q", n, n, orthogonal=True)
    f = lx.trace(B @ Q) + (x @ Q @ Q @ x) ** 2
    g = lx.gradient(f, Q, structured="subspace")
    q = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    found = lx.evaluate(g, Q=q, **ARRAYS)
    np.testing.assert_allclose(lx.compile(g)(Q=q, **ARRAYS), found, rtol=1e-12)
    np.testing.assert_allclose(q.T @ found, -(found.T @ q), atol=1e-13)

    def value(q: np.ndarray) -> float:
        b, v = ARRAYS["B"], ARRAYS["x"]
        return float(np.trace(b @ q) + (v @ q @ q @ v) ** 2)

    for i, j in ((0, 1), (0, 2), (1, 2)):
        k = np.zeros((3, 3))
        k[i, j], k[j, i] = 1, -1
        curve = slope(lambda t, k=k: value(q @ scipy.linalg.expm(t[0] * k)), np.zeros(1), np.ones(1))
        assert np.sum(found * (q @ k)) == pytest.approx(curve, rel=1e-8, abs=1e-9)


def test_families_of_structured_matrices() -> None:
    N = lx.size("N")
    S = lx.tensor("S", N, n, n, symmetric=True)
    g = lx.gradient(lx.sum(S[..., 0] ** 3), S, structured="entries")
    s = np.stack([point("symmetric"), 2 * point("symmetric")])
    single = lx.tensor("S", n, n, symmetric=True)
    one = lx.gradient(lx.sum(single[:, 0] ** 3), single, structured="entries")
    np.testing.assert_array_equal(lx.evaluate(g, S=s), [lx.evaluate(one, S=m) for m in s])


@pytest.mark.parametrize(
    ("held", "structure"),
    [
        ({"symmetric", "diagonal"}, "diagonal"),
        ({"positive_definite", "lower_triangular"}, "diagonal"),
        ({"diagonal", "lower_triangular"}, "diagonal"),
        ({"positive", "symmetric"}, "symmetric"),
        ({"positive"}, None),
    ],
)
def test_structures_together(held: set[str], structure: str | None) -> None:
    assert structure_of(lx.tensor("S", n, n, **dict.fromkeys(held, True))) == structure


def test_refusals_say_the_way_out() -> None:
    S, Q = lx.tensor("S", n, n, symmetric=True), lx.tensor("Q", n, n, orthogonal=True)
    with pytest.raises(lx.InvalidArgument, match=r"structured='subspace'.*'entries'.*'ignore'"):
        lx.gradient(lx.trace(S), S)
    with pytest.raises(lx.InvalidArgument, match="structured='both'"):
        lx.gradient(lx.trace(S), S, structured="both")  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="no free entries"):
        lx.gradient(lx.trace(Q), Q, structured="entries")
    with pytest.raises(lx.UnsupportedYet, match="curvature"):
        lx.hessian(lx.trace(Q), Q, structured="subspace")
    mixed = lx.tensor("M", n, n, orthogonal=True, symmetric=True)
    with pytest.raises(lx.UnsupportedYet, match="isolated points"):
        lx.gradient(lx.trace(mixed), mixed, structured="subspace")
    assert lx.gradient(lx.trace(B @ S), S, structured="ignore") == B.T


def test_equality_knows_structure() -> None:
    S, P = lx.tensor("S", n, n, symmetric=True), lx.tensor("P", n, n, positive_definite=True)
    Dg, L = lx.tensor("D", n, n, diagonal=True), lx.tensor("L", n, n, lower_triangular=True)
    Q = lx.tensor("Q", n, n, orthogonal=True)
    y = lx.tensor("y", n)
    for left, right in [
        (S.T, S),
        (x @ S @ y, y @ S @ x),
        (lx.trace(S @ B), lx.trace(S @ B.T)),
        (lx.gradient(x @ P @ x, x), 2 * P @ x),
        (Dg.T @ x, Dg @ x),
        (Dg @ x, lx.tensor_from(lambda i: Dg[i, i] * x[i])),
        (L[0, 1], 0 * L[0, 0]),
    ]:
        assert lx.equal(left, right).name == "proved", f"{left!r}, {right!r}"
    for left, right in [(lx.inv(S), lx.inv(S).T), (Q.T @ Q, lx.eye(n)), (lx.inv(Q), Q.T)]:
        assert lx.equal(left, right).name == "proved", f"{left!r}, {right!r}"
    assert lx.equal(lx.det(Q) ** 2, 1).name != "refuted"
    g = lx.gradient(lx.logdet(P), P, structured="subspace")
    assert lx.equal(g, lx.inv(P)).name == "proved"
    for left, right in [(B.T, B), (x @ B @ y, y @ B @ x), (L.T, L), (Q.T, Q), (S @ B, B @ S), (P, 2 * P)]:
        assert lx.equal(left, right).name == "refuted", f"{left!r}, {right!r}"


def test_the_exponent_of_a_power_is_drawn_like_other_sizes() -> None:
    power = lx.matrix_power(B, lx.size("k"))
    assert lx.equal(lx.trace(power), lx.trace(power.T)).name == "proved"
    assert lx.equal(lx.trace(power), lx.trace(B)).name == "refuted"
