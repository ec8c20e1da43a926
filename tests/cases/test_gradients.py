"""Gradients that users asked for: of traces, determinants, norms, products, kernels and losses.

Each is one of a kind: beside the case itself stand others of its kind.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lemmax as lx
from tests.cases.records import Case, check
from tests.cases.registry import CASES, covers

n, m, d, K, N, P, p, j = lx.sizes("n m d K N P p j")
A, B, C, X, M = (lx.tensor(c, n, n) for c in "ABCXM")
x, y, w = (lx.tensor(c, n) for c in "xyw")
s, b, k, mu = lx.tensor("s", positive=True), lx.tensor("b"), lx.tensor("k"), lx.tensor("mu")
E, F, v, t, u = (
    lx.tensor("E", m, n),
    lx.tensor("F", d, n),
    lx.tensor("v", m),
    lx.tensor("t", n),
    lx.tensor("u", m),
)
L, lam = lx.tensor("L", n, m), lx.tensor("lam", positive=True)
S = lx.tensor("S", n, n, symmetric=True)
I = lx.eye(n)  # noqa: E741
tr, det, inv = np.trace, np.linalg.det, np.linalg.inv


def single(row: int, column: int) -> lx.Tensor:
    """Return the matrix with one entry 1."""
    return lx.tensor_from(lambda a, c: I[a, row] * I[c, column])


TRACES = {
    "S01": Case(
        lx.trace(X @ X @ B), X, (X @ B + B @ X).T, lambda X, B: tr(X @ X @ B), (I + X.T) @ B.T @ (I + X.T)
    ),
    "S06": Case(lx.trace(A) + lx.trace(A @ A), A, I + 2 * A.T, lambda A: tr(A) + tr(A @ A), 0 * A),
    "S06 plus a constant": Case(
        lx.trace((A + I) @ (A + I)), A, 2 * (A + I).T, lambda A: tr((A + np.eye(3)) @ (A + np.eye(3)))
    ),
    "S07a": Case(
        lx.sqnorm(x - mu * lx.ones(n)),
        mu,
        -2 * lx.sum(x - mu),
        lambda x, mu: np.sum((x - mu) ** 2),
        2 * lx.sum(x - mu),
    ),
    "S07b": Case(lx.trace(x[None, :] @ w[:, None]) + b, w, x, lambda x, w, b: x @ w + b, 0 * x),
    "S08": Case(lx.trace(I - A) ** 2, A, -2 * lx.trace(I - A) * I, lambda A: tr(np.eye(3) - A) ** 2, 0 * A),
    "S08 exp": Case(lx.exp(lx.trace(A) / 4), A, lx.exp(lx.trace(A) / 4) / 4 * I, lambda A: np.exp(tr(A) / 4)),
    "Q01": Case(
        lx.trace(X.T @ A @ X @ B),
        X,
        A @ X @ B + A.T @ X @ B.T,
        lambda X, A, B: tr(X.T @ A @ X @ B),
        (A + A.T) @ X @ B,
    ),
    "Q02": Case(
        lx.trace(X @ B @ X.T @ A),
        X,
        A @ X @ B + A.T @ X @ B.T,
        lambda X, A, B: tr(X @ B @ X.T @ A),
        A @ X @ (B + B.T),
    ),
    "Q02 symmetric": Case(
        lx.trace(X @ B @ X.T @ S), X, S @ X @ (B + B.T), lambda X, B, S: tr(X @ B @ X.T @ S), 2 * S @ X @ B
    ),
    "Q21": Case(lx.trace(A @ X @ B), X, A.T @ B.T, lambda A, X, B: tr(A @ X @ B), B @ A),
    "Q15": Case(
        lx.trace((A * X).T @ (A * X)), X, 2 * A * A * X, lambda A, X: tr((A * X).T @ (A * X)), 2 * A * X
    ),
    "Q16": Case(
        lx.sqnorm(A * (X @ B)),
        X,
        2 * (A * A * (X @ B)) @ B.T,
        lambda A, X, B: np.sum((A * (X @ B)) ** 2),
        2 * (((A * X) @ B) @ B.T) * A,
    ),
    "Q16 the other reading": Case(
        lx.sqnorm((A * X) @ B),
        X,
        2 * (((A * X) @ B) @ B.T) * A,
        lambda A, X, B: np.sum(((A * X) @ B) ** 2),
        2 * (A * A * (X @ B)) @ B.T,
    ),
    "S16": Case(M[0, 0], M, single(0, 0), lambda M: M[0, 0], 0 * M),
    "S16 a product of entries": Case(
        M[0, 1] * M[1, 0], M, M[1, 0] * single(0, 1) + M[0, 1] * single(1, 0), lambda M: M[0, 1] * M[1, 0]
    ),
}

outer_difference = E @ lx.outer(x, x) @ E.T - lx.outer(v, v)
residual = t - L @ u
blocks = lx.tensor("A", P * n, P * n)
quarters = lx.split(blocks, ((0, 1), (2, 3)), (P, n, P, n))
PRODUCTS = {
    "Q03": Case(
        lx.sqnorm(blocks - lx.kron(lx.eye(P), X)),
        X,
        2 * P * X - 2 * lx.tensor_from(lambda a, c: lx.index_sum(lambda q: quarters[q, a, q, c])),
        lambda A, X: np.sum((A - np.kron(np.eye(2), X)) ** 2),
        P * X - lx.tensor_from(lambda a, c: lx.index_sum(lambda q: quarters[q, a, q, c])),
    ),
    "Q05": Case(
        lx.logdet(Fraction(3, 10) * I + lx.outer(x, x)),
        x,
        2 * x / (Fraction(3, 10) + x @ x),
        lambda x: np.linalg.slogdet(0.3 * np.eye(3) + np.outer(x, x))[1],
        x / (Fraction(3, 10) + x @ x),
    ),
    "Q14": Case(
        lx.trace(outer_difference * outer_difference),
        x,
        4 * (E.T @ lx.diag(lx.diag(outer_difference)) @ E @ x),
        lambda E, x, v: tr((np.outer(E @ x, E @ x) - np.outer(v, v)) ** 2),
        4 * (E.T @ outer_difference @ E @ x),
    ),
    "Q18": Case(
        lam * lx.sqnorm(L) + residual @ S @ residual,
        L,
        2 * lam * L - 2 * lx.outer(S @ residual, u),
        lambda lam, L, t, S, u: lam * np.sum(L**2) + (t - L @ u) @ S @ (t - L @ u),
        2 * lam * L - lx.outer(S @ residual, u),
    ),
    "S18": Case(
        lx.sum(lx.gradient(lx.prod(x), x)) * y[0],
        y,
        lx.tensor_from(lambda a: I[a, 0] * lx.prod(x) * lx.sum(1 / x)),
        lambda x, y: y[0] * sum(np.prod(np.delete(x, i)) for i in range(3)),
        lx.tensor_from(lambda a: I[a, 0] * n * lx.prod(x)),
        proved=False,
    ),
}

DETERMINANTS = {
    "S12": Case(k * lx.det(X), X, k * lx.det(X) * lx.inv(X).T, lambda k, X: k * det(X), k * lx.inv(X).T),
    "S12 reciprocal": Case(
        1 / lx.det(X), X, -lx.inv(X).T / lx.det(X), lambda X: 1 / det(X), -lx.inv(X).T / lx.det(X) ** 2
    ),
    "S12 logarithm": Case(lx.logdet(X), X, lx.inv(X).T, lambda X: np.log(det(X)), lx.inv(X)),
    "S13": Case(
        lx.det(lx.matrix_power(A, j)),
        A,
        j * lx.det(A) ** j * lx.inv(A).T,
        lambda A: det(A) ** 3,
        lx.det(A) ** j * lx.inv(A).T,
        scale={"A": 0.5},
    ),
    "S13 trace": Case(
        lx.trace(lx.matrix_power(A, j)),
        A,
        j * lx.matrix_power(A, j - 1).T,
        lambda A: tr(A @ A @ A),
        j * lx.matrix_power(A, j - 1),
        proved=False,
    ),
    "S14": Case(
        lx.det(k * A), k, n * k ** (n - 1) * lx.det(A), lambda k, A: k**3 * det(A), n * k**n * lx.det(A)
    ),
    "S14 shifted": Case(
        lx.det(k * I + A),
        k,
        lx.trace(lx.adjugate(k * I + A)),
        lambda k, A: det(k * np.eye(3) + A),
        lx.det(k * I + A) * lx.trace(A),
    ),
}

NORMS = {
    "S09": Case(lx.sqrt(lx.trace(A.T @ A)), A, A / lx.norm(A), lambda A: np.linalg.norm(A), A * lx.norm(A)),
    "S10": Case(
        lx.sqrt(x @ x),
        x,
        x / lx.sqrt(x @ x),
        lambda x: np.sqrt(x @ x),
        x * lx.sqrt(x @ x),
    ),
    "S10 cubed": Case(
        lx.norm(x - y) ** 3, x, 3 * lx.norm(x - y) * (x - y), lambda x, y: np.linalg.norm(x - y) ** 3
    ),
}

centres = lx.tensor("X", N, n)
kernel = lx.exp(-lx.sum((x - centres) ** 2, axis=1) / b**2)
pairs = lx.exp(-((x[:, None] - x[None, :]) ** 2) / (2 * s**2))
weighted = pairs * lx.inv(pairs).T
points, weights = lx.tensor("X", d, n), lx.tensor("A", n, m)
gram = lx.exp(-lx.sum((points[:, :, None] - points[:, None, :]) ** 2, axis=0) / (2 * s**2))
coupling = (weights @ weights.T) * gram


def np_gram(X: np.ndarray, s: float) -> np.ndarray:
    return np.asarray(np.exp(-np.sum((X[:, :, None] - X[:, None, :]) ** 2, axis=0) / (2 * s**2)))


KERNELS = {
    "Q20": Case(
        lx.sum(kernel),
        x,
        -2 / b**2 * (kernel @ (x - centres)),
        lambda x, X, b: np.sum(np.exp(-np.sum((x - X) ** 2, axis=1) / b**2)),
        -1 / b**2 * (kernel @ (x - centres)),
    ),
    "Q12": Case(
        lx.det(pairs),
        x,
        -(2 * lx.det(pairs) / s**2) * ((lx.diag(lx.sum(weighted, axis=1)) - weighted) @ x),
        lambda x, s: det(np.exp(-((x[:, None] - x[None, :]) ** 2) / (2 * s**2))),
        (2 * lx.det(pairs) / s**2) * ((lx.diag(lx.sum(weighted, axis=1)) - weighted) @ x),
    ),
    "Q13": Case(
        lx.trace(weights.T @ gram @ weights),
        points,
        -(2 / s**2) * (points @ (lx.diag(lx.sum(coupling, axis=1)) - coupling)),
        lambda X, A, s: tr(A.T @ np_gram(X, s) @ A),
        (2 / s**2) * (points @ coupling),
    ),
}

winner, loser = x @ y, x @ w
entries = lx.tensor("a", p)
LOSSES = {
    "E02": Case(
        -lx.log(lx.sigmoid(b * (winner - loser))),
        x,
        -b * lx.sigmoid(-b * (winner - loser)) * (y - w),
        lambda x, y, w, b: np.log1p(np.exp(-b * (x @ y - x @ w))),
        -b * lx.sigmoid(-b * (winner - loser)) * (w - y),
    ),
    "E03": Case(-lx.log(lam), lam, -1 / lam, lambda lam: -np.log(lam), 1 / (1 - lam)),
    "E04": Case(
        lx.sum(lx.tensor_from(lambda i: entries[i] * k**i, shape=(p,))),
        k,
        lx.sum(lx.tensor_from(lambda i: i * entries[i] * k ** (i - 1), shape=(p,))),
        lambda a, k: np.polyval(a[::-1], k),
        lx.sum(lx.tensor_from(lambda i: i * entries[i] * k**i, shape=(p,))),
    ),
}

ALL = {**TRACES, **PRODUCTS, **DETERMINANTS, **NORMS, **KERNELS, **LOSSES}


@covers(*[name for name in ALL if name in CASES])
@pytest.mark.parametrize("name", ALL)
def test_gradient(name: str) -> None:
    check(ALL[name])


@pytest.mark.parametrize("name", ["S01", "Q16", "S12", "Q20", "Q05"])
def test_a_wrong_formula_and_a_wrong_value_are_caught(name: str) -> None:
    case = ALL[name]
    with pytest.raises(AssertionError):
        check(replace(case, right=2 * case.right))
    with pytest.raises(AssertionError):
        check(replace(case, value=lambda **arrays: 1.001 * case.value(**arrays)))
    with pytest.raises(AssertionError):
        check(replace(case, wrong=case.right))
