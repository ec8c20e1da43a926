"""Jacobians and Hessians that users asked for: their shapes, their order of vec, their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

import lemmax as lx
from tests.cases.records import SIZES, agree, draw, slopes, values
from tests.cases.registry import covers

n, m, d, K, p = lx.sizes("n m d K p")
A, C, S = (lx.tensor(c, n, n) for c in "ACS")
x, z = lx.tensor("x", n), lx.tensor("z", n)
W, v, y = lx.tensor("W", K, d), lx.tensor("v", d), lx.tensor("y", K)
I = lx.eye(n)  # noqa: E741
probability = lx.softmax(W @ v)
cross = lx.diag(probability) - lx.outer(probability, probability)
s = lx.softmax(z)
left, right = lx.tensor("A", n, n, symmetric=True), lx.tensor("B", m, m, symmetric=True)
X = lx.tensor("X", n, m)
P = lx.inv(S)
PCP = P @ C @ P
size = SIZES["n"]


def centred(x: lx.Tensor) -> lx.Tensor:
    return x - lx.mean(x)


deviation = lx.sqrt(lx.mean(centred(x) ** 2))
normalised = centred(x) / deviation


def np_normalised(x: np.ndarray) -> np.ndarray:
    return np.asarray((x - x.mean()) / x.std())


JACOBIANS: dict[str, tuple[lx.Tensor, lx.Tensor, lx.Tensor, Callable[..., Any], bool]] = {
    "S03": (
        lx.trace(A) * A,
        A,
        lx.tensor_from(lambda i, j, k, q: A[i, j] * I[k, q] + lx.trace(A) * I[i, k] * I[j, q]),
        lambda A: np.trace(A) * A,
        True,
    ),
    "C07": (
        lx.log(lx.exp(z) / lx.sum(lx.exp(z))),
        z,
        I - lx.outer(lx.ones(n), s),
        lambda z: z - logsumexp(z),
        True,
    ),
    "C07 of positive entries": (
        lx.log(lx.tensor("q", n, positive=True) / lx.sum(lx.tensor("q", n, positive=True))),
        lx.tensor("q", n, positive=True),
        lx.tensor_from(
            lambda i, k: (
                I[i, k] / lx.tensor("q", n, positive=True)[i] - 1 / lx.sum(lx.tensor("q", n, positive=True))
            )
        ),
        lambda q: np.log(q / q.sum()),
        True,
    ),
    "Q10": (lx.softmax(z), z, lx.diag(s) - lx.outer(s, s), lambda z: softmax(z), True),
    "Q11": (
        normalised,
        x,
        (I - lx.ones(n, n) / n - lx.outer(normalised, normalised) / n) / deviation,
        np_normalised,
        True,
    ),
}


@covers("S03", "C07", "Q10", "Q11")
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobian(name: str) -> None:
    t, wrt, formula, value, proved = JACOBIANS[name]
    J = lx.jacobian(t, wrt)
    assert J.shape == t.shape + wrt.shape
    verdict = lx.equal(J, formula)
    assert verdict.name == "proved" if proved else verdict.name != "refuted"
    arrays = draw([t], np.random.default_rng(1), {})
    found = values(J, arrays)
    agree(values(formula, arrays), found, 1e-11)
    differences = slopes(value, arrays, str(wrt.name))
    agree(found, np.moveaxis(differences, range(wrt.ndim), range(t.ndim, t.ndim + wrt.ndim)))


@covers("Q10", "Q11")
def test_rows_of_jacobians_that_sum_to_zero_are_no_vanishing_gradient() -> None:
    rng = np.random.default_rng(0)
    point = rng.standard_normal(size)
    J = lx.evaluate(lx.jacobian(s, z), z=point)
    np.testing.assert_allclose(J.sum(axis=0), 0, atol=1e-16)
    np.testing.assert_allclose(J.sum(axis=1), 0, atol=1e-16)
    assert np.linalg.matrix_rank(J) == size - 1  # an upstream gradient passes
    J = lx.evaluate(lx.jacobian(normalised, x), x=point)
    np.testing.assert_allclose(J @ np.ones(size), 0, atol=1e-14)
    np.testing.assert_allclose(J @ np_normalised(point), 0, atol=1e-14)
    assert np.linalg.matrix_rank(J, tol=1e-9) == size - 2
    assert lx.equal(lx.jacobian(normalised, x) @ lx.ones(n), lx.zeros(n)).name == "proved"


HESSIANS: dict[str, tuple[lx.Tensor, lx.Tensor, lx.Tensor, Callable[..., Any], bool]] = {
    "Q07": (
        lx.logsumexp(W @ v) - y @ (W @ v),
        W,
        lx.tensor_from(lambda a, b, c, e: cross[a, c] * v[b] * v[e]),
        lambda W, v, y: np.outer(softmax(W @ v) - y, v),
        True,
    ),
    "Q08": (
        -lx.log(lx.softmax(z))[0],
        z,
        lx.diag(s) - lx.outer(s, s),
        lambda z: softmax(z) - np.eye(size)[0],
        False,
    ),
    "Q22": (
        -n * lx.logdet(S) / 2 - lx.trace(C @ P) / 2,
        S,
        lx.tensor_from(
            lambda i, j, k, q: n * P[j, k] * P[q, i] / 2 - (P[j, k] * PCP[q, i] + PCP[j, k] * P[q, i]) / 2
        ),
        lambda S, C: -size * np.linalg.inv(S).T / 2 + (np.linalg.inv(S) @ C @ np.linalg.inv(S)).T / 2,
        True,
    ),
    "N15": (
        lx.det(lx.tensor("A", 2, 2)),
        lx.tensor("A", 2, 2),
        lx.tensor_from(lambda i, j, k, q: (k - i) * (q - j), shape=(2, 2, 2, 2)),
        lambda A: np.array([[A[1, 1], -A[1, 0]], [-A[0, 1], A[0, 0]]]),
        False,
    ),
}


@covers("Q07", "Q08", "Q22", "N15")
@pytest.mark.parametrize("name", HESSIANS)
def test_hessian(name: str) -> None:
    f, wrt, formula, gradient, proved = HESSIANS[name]
    H = lx.hessian(f, wrt)
    assert H.shape == wrt.shape + wrt.shape
    verdict = lx.equal(H, formula)
    assert verdict.name == "proved" if proved else verdict.name != "refuted"
    arrays = draw([f], np.random.default_rng(2), {})
    found = values(H, arrays)
    agree(values(formula, arrays), found, 1e-11)
    differences = slopes(gradient, arrays, str(wrt.name))
    agree(found, np.moveaxis(differences, range(wrt.ndim), range(wrt.ndim, 2 * wrt.ndim)))


@covers("Q07", "Q19")
def test_order_of_vec() -> None:
    """Row-major vec(W): the factor of the left index comes first; column-major swaps them."""
    logistic = lx.hessian(lx.logsumexp(W @ v), W)
    assert lx.equal(lx.merge(logistic, (0, 1), (2, 3)), lx.kron(cross, lx.outer(v, v))).name == "proved"
    columns = lx.merge(lx.permute(logistic, (1, 0, 3, 2)), (0, 1), (2, 3))
    assert lx.equal(columns, lx.kron(lx.outer(v, v), cross)).name == "proved"
    quadratic = lx.hessian(lx.trace(X.T @ left @ X @ right) / 2, X)
    by_rows = lx.merge(quadratic, (0, 1), (2, 3))
    by_columns = lx.merge(lx.permute(quadratic, (1, 0, 3, 2)), (0, 1), (2, 3))
    assert lx.equal(by_rows, lx.kron(left, right)).name == "proved"
    assert lx.equal(by_columns, lx.kron(right, left)).name == "proved"
    square = lx.tensor("X", n, n)
    other = lx.tensor("B", n, n, symmetric=True)
    H = lx.hessian(lx.trace(square.T @ left @ square @ other) / 2, square)
    assert lx.equal(lx.merge(H, (0, 1), (2, 3)), lx.kron(other, left)).name == "refuted"
    arrays = draw([quadratic], np.random.default_rng(3), {})
    np.testing.assert_allclose(values(by_rows, arrays), np.kron(arrays["A"], arrays["B"]), rtol=1e-13)
    np.testing.assert_allclose(values(by_columns, arrays), np.kron(arrays["B"], arrays["A"]), rtol=1e-13)


@covers("N15")
@pytest.mark.parametrize("matrix", [[[1.3, 0.4], [-0.7, 0.9]], np.eye(2), np.zeros((2, 2)), np.ones((2, 2))])
def test_second_derivative_of_a_determinant(matrix: np.ndarray) -> None:
    """Of a 2 x 2 matrix it is the product of two alternating symbols, whatever the matrix."""
    eps = np.array([[0.0, 1.0], [-1.0, 0.0]])
    H = lx.hessian(lx.det(A), A)
    expected = np.einsum("ik,jl->ijkl", eps, eps)
    np.testing.assert_allclose(lx.evaluate(H, A=np.asarray(matrix)), expected, atol=1e-15)
    np.testing.assert_allclose(lx.compile(H)(A=np.asarray(matrix)), expected, atol=1e-15)


@covers("N14")
def test_diagonal_of_the_hessian_of_the_softmax_loss_and_a_bound_on_it() -> None:
    """p (1 - p) is the diagonal; twice that is a diagonal upper bound, and no diagonal."""
    H = lx.hessian(lx.logsumexp(z), z)
    diagonal = s * (1 - s)
    assert lx.equal(lx.diag(H), diagonal).name == "proved"
    assert lx.equal(lx.diag(H), 2 * diagonal).name == "refuted"
    for seed in range(20):
        point = 3 * np.random.default_rng(seed).standard_normal(size)
        gap = lx.evaluate(lx.diag(2 * diagonal) - H, z=point)
        assert np.linalg.eigvalsh(gap).min() >= -1e-15
