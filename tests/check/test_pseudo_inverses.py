"""Identities of pseudo-inverses: the equations of Penrose, projections, Gram matrices."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx

n, m, k = lx.sizes("n m k")
A, B, S = lx.tensor("A", n, m), lx.tensor("B", m, k), lx.tensor("S", n, n)
M, N, v, y = lx.tensor("M", n, n), lx.tensor("N", k, n), lx.tensor("v", n), lx.tensor("y", n)
P = lx.pinv
H = A @ P(A)

TRUE = {
    "A A+ A": (A @ P(A) @ A, A),
    "A+ A A+": (P(A) @ A @ P(A), P(A)),
    "A A+ symmetric": (H.T, H),
    "A+ A symmetric": ((P(A) @ A).T, P(A) @ A),
    "of itself": (P(P(A)), A),
    "of its transpose": (P(P(A).T), A.T),
    "transpose": (P(A.T), P(A).T),
    "A^T A A+": (A.T @ H, A.T),
    "A+ A+^T A^T": (P(A) @ P(A).T @ A.T, P(A)),
    "trace": (lx.trace(H), lx.trace(P(A) @ A)),
    "idempotent": (H @ H, H),
    "complement": ((lx.eye(n) - H) @ A, lx.zeros(n, m)),
    "complement idempotent": ((lx.eye(n) - H) @ (lx.eye(n) - H), lx.eye(n) - H),
    "multiple": (P(3 * A), P(A) / 3),
    "Gram": (P(A.T @ A), P(A) @ P(A).T),
    "normal equations": (P(A.T @ A) @ A.T, P(A)),
    "wide normal equations": (A.T @ P(A @ A.T), P(A)),
    "hat matrix": (A @ P(A.T @ A) @ A.T, H),
    "between matrices": (N @ H @ M, N @ H.T @ M),
    "congruence": (M @ H @ M.T, M @ H.T @ M.T),
    "in a trace": (lx.trace(H @ M), lx.trace(M.T @ H)),
    "bilinear": (v @ H @ y, y @ H @ v),
    "length": (lx.sqnorm(H @ y), y @ H @ y),
    "residual": (lx.sqnorm(y - H @ y), lx.sqnorm(y) - lx.sqnorm(H @ y)),
}
FALSE = {
    "order": (P(A @ B), P(B) @ P(A)),
    "identity": (H, lx.eye(n)),
    "transpose for it": (P(A) @ A @ P(A), A.T),
    "factor": (A @ P(A) @ A, 2 * A),
    "commuting": (H @ M, M @ H),
    "transposed neighbour": (M @ H @ M, M @ H.T @ M.T),
    "sign": (lx.sqnorm(y - H @ y), lx.sqnorm(y) + lx.sqnorm(H @ y)),
    "not a projection": (H @ M @ H, M @ H),
}


@pytest.mark.parametrize("name", TRUE)
def test_proved(name: str) -> None:
    left, right = TRUE[name]
    assert lx.equal(left, right).name == "proved"
    rng, sizes = np.random.default_rng(0), {"n": 4, "m": 3, "k": 2}
    at = {
        t.name: rng.normal(size=[sizes[str(s)] for s in t.shape])
        for t in (A, M, N, v, y)
        if t.name in lx.compile(left - right).inputs
    }
    if "A" in at:
        at["A"] = at["A"] @ np.diag([1.0, 1.0, 0.0])  # of rank 2
    difference = lx.evaluate(left - right, at)
    np.testing.assert_allclose(difference, 0, atol=1e-13)


@pytest.mark.parametrize("name", FALSE)
def test_never_proved(name: str) -> None:
    assert lx.equal(*FALSE[name]).name == "refuted"


def test_what_holds_for_most_matrices_only_is_not_proved_without_its_condition() -> None:
    assert lx.equal(P(S) @ S, lx.eye(n)).name == "unknown"
    verdict = lx.equal(P(S), lx.inv(S))
    assert verdict.name == "proved"
    assert verdict.conditions == ("S invertible",)
