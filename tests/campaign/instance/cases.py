"""Instances for tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lemmax.campaign.instance.setup import Instance, Options

Shapes = tuple[int, int, int, int, int, int, int]
SIZES: Shapes = (2, 2, 5, 3, 3, 2, 2)  # N, n, D, d, v, m, H


def instance(seed: int = 0, sizes: Shapes = SIZES, scale: float = 1.0, **arrays: np.ndarray) -> Instance:
    """Return a Gaussian instance; arrays given replace those drawn."""
    N, n, D, d, v, m, H = sizes
    rng = np.random.default_rng(seed)
    drawn: Mapping[str, np.ndarray] = {
        "X": rng.normal(size=(N, n, D)),
        "Y": rng.normal(size=(N, n, m)),
        "WQ": scale * rng.normal(size=(H, D, d)),
        "WK": scale * rng.normal(size=(H, D, d)),
        "WV": scale * rng.normal(size=(H, D, v)),
        "WO": scale * rng.normal(size=(H, v, m)),
    }
    names = dict(zip(("N", "n", "D", "d", "v", "m", "H"), sizes, strict=True))
    return Instance({**drawn, **arrays}, names, dict.fromkeys(drawn, "test"), tuple(range(N)))


def features_by_hand(kernel: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return B_0 (N n, H D), written out."""
    X, WQ, WK = arrays["X"], arrays["WQ"], arrays["WK"]
    rows = []
    for tokens in X:
        blocks = []
        for q, k in zip(WQ, WK, strict=True):
            Q, K = tokens @ q, tokens @ k
            if kernel == "softmax":
                A = Q @ K.T / np.sqrt(q.shape[1])
                S = np.exp(A - A.max(axis=1, keepdims=True))
                S /= S.sum(axis=1, keepdims=True)
            else:
                S = np.exp(-((Q[:, None] - K[None]) ** 2).sum(axis=-1) / np.sqrt(q.shape[1]))
            blocks.append(S @ tokens)
        rows.append(np.hstack(blocks))
    return np.vstack(rows)


QUICK = Options(steps=30)
