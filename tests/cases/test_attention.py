"""Gradients of attention that users asked for, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from tests.cases.records import agree, draw, slopes, values
from tests.cases.registry import covers

n, m, d, K, p = lx.sizes("n m d K p")


def rows_of(P: lx.Tensor, dP: lx.Tensor) -> lx.Tensor:
    """Return the adjoint of the logits: row by row, with the rank-one term."""
    return P * (dP - lx.sum(P * dP, axis=1)[:, None])


@covers("Q09")
def test_gradient_in_the_queries_goes_row_by_row() -> None:
    Q, Kt, V, G = lx.tensor("Q", n, d), lx.tensor("K", m, d), lx.tensor("V", m, p), lx.tensor("G", n, p)
    P = lx.softmax(Q @ Kt.T, axis=1)
    loss = lx.sum(G * (P @ V))
    g = lx.gradient(loss, Q)
    assert lx.equal(g, rows_of(P, G @ V.T) @ Kt).name == "proved"
    assert lx.equal(g, (P * (G @ V.T)) @ Kt).name == "refuted"  # without the rank-one term
    flat = lx.split(lx.softmax(lx.vec(Q @ Kt.T)), ((0, 1),), (n, m))
    assert lx.equal(g, rows_of(flat, G @ V.T) @ Kt).name == "refuted"  # one softmax over all entries
    logits = lx.tensor("L", n, m)
    blocks = lx.jacobian(lx.softmax(logits, axis=1), logits)
    arrays = draw([logits], np.random.default_rng(0), {})
    table = values(blocks, arrays)
    for i in range(table.shape[0]):
        for k in range(table.shape[0]):
            assert i == k or not table[i, :, k].any()  # block diagonal, one block per row


@covers("Q23")
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["X", "WQ", "WK", "WV"])
def test_gradients_of_self_attention(name: str, masked: bool) -> None:
    X, WQ, WK, WV = (
        lx.tensor(c, *s)
        for c, s in zip(("X", "WQ", "WK", "WV"), ((n, d), (d, K), (d, K), (d, p)), strict=True)
    )
    s, G = lx.tensor("s"), lx.tensor("G", n, p)
    mask = lx.causal_mask(n) if masked else 0
    P = lx.softmax(s * (X @ WQ @ WK.T @ X.T) + mask, axis=1)
    loss = lx.sum(G * (P @ X @ WV))
    dS = rows_of(P, G @ (X @ WV).T)
    right = {
        "WV": X.T @ P.T @ G,
        "WQ": s * (X.T @ dS @ X @ WK),
        "WK": s * (X.T @ dS.T @ X @ WQ),
        "X": P.T @ G @ WV.T + s * (dS @ X @ WK @ WQ.T + dS.T @ X @ WQ @ WK.T),
    }[name]
    variable = {"X": X, "WQ": WQ, "WK": WK, "WV": WV}[name]
    g = lx.gradient(loss, variable)
    assert lx.equal(g, right).name == "proved"
    if name == "X":  # the way through the keys is the usual omission
        assert lx.equal(g, P.T @ G @ WV.T + s * (dS @ X @ WK @ WQ.T)).name == "refuted"

    def value(**a: np.ndarray) -> float:
        logits = a["s"] * a["X"] @ a["WQ"] @ a["WK"].T @ a["X"].T
        logits = np.where(np.tri(len(logits), dtype=bool), logits, -np.inf) if masked else logits
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return float(np.sum(a["G"] * (weights @ a["X"] @ a["WV"])))

    arrays = draw([loss], np.random.default_rng(1), {"X": 0.7, "WQ": 0.7, "WK": 0.7, "s": 0.5})
    agree(values(g, arrays), slopes(value, arrays, name), 1e-7)
