r"""Multi-head softmax attention under the squared loss, written by hand: value and gradient.

All query, key and value weights of all heads lie in one array W (D, 3, H, d), the output weights
in WO (H d, o); that fusion is what an expert would choose when the layout is free.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

SIZES = {
    "small": {"N": 4, "n": 4, "D": 16, "d": 4, "H": 2, "o": 4},
    "medium": {"N": 16, "n": 8, "D": 64, "d": 8, "H": 4, "o": 16},
    "large": {"N": 64, "n": 16, "D": 256, "d": 16, "H": 4, "o": 64},
}


def make(size: str | dict[str, int], seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Return X (N, n, D), Y (N, n, o), W (D, 3, H, d) and WO (H d, o) of a named or given size."""
    extents = SIZES[size] if isinstance(size, str) else size
    N, n, D, d, H, o = (extents[k] for k in ("N", "n", "D", "d", "H", "o"))
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((N, n, D)), rng.standard_normal((N, n, o))
    W = rng.standard_normal((D, 3, H, d)) / math.sqrt(D) * 1.3
    return X, Y, W, rng.standard_normal((H * d, o)) / math.sqrt(H * d)


def value_and_gradient_lean(X: Array, Y: Array, W: Array, WO: Array) -> tuple[float, Array, Array]:
    """Return the loss and its gradients in W and WO, with few Python-level operations."""
    D, _, H, d = W.shape
    N, n = X.shape[:2]
    s = d**-0.5
    Xf = X.reshape(N * n, D)
    P = (Xf @ W.reshape(D, 3 * H * d)).reshape(N, n, 3, H, d).transpose(2, 0, 3, 1, 4)
    Q, K, V = P[0], P[1], P[2]
    A = Q @ K.transpose(0, 1, 3, 2)
    A -= A.max(-1, keepdims=True)
    A *= s
    np.exp(A, A)
    A /= np.add.reduce(A, -1, keepdims=True)
    C = np.empty((N, n, H, d))
    np.matmul(A, V, C.transpose(0, 2, 1, 3))
    Cf = C.reshape(N * n, H * d)
    R = Cf @ WO
    R -= Y.reshape(R.shape)
    dC = (R @ WO.T).reshape(N, n, H, d).transpose(0, 2, 1, 3)
    dP = np.empty((N, n, 3, H, d))
    dPt = dP.transpose(2, 0, 3, 1, 4)
    np.matmul(A.transpose(0, 1, 3, 2), dC, dPt[2])
    dA = dC @ V.transpose(0, 1, 3, 2)
    dA *= A
    dA -= A * np.add.reduce(dA, -1, keepdims=True)
    dA *= s
    np.matmul(dA, K, dPt[0])
    np.matmul(dA.transpose(0, 1, 3, 2), Q, dPt[1])
    return 0.5 * np.vdot(R, R), (Xf.T @ dP.reshape(N * n, 3 * H * d)).reshape(W.shape), Cf.T @ R


class Workspace:
    """The same with all temporaries allocated once per shape; results live in arrays that it owns."""

    def __init__(self, X: Array, W: Array, WO: Array) -> None:
        """Allocate for arrays of these shapes."""
        D, _, H, d = W.shape
        N, n = X.shape[:2]
        o = WO.shape[1]
        self.P, self.dP = np.empty((N * n, 3 * H * d)), np.empty((N * n, 3 * H * d))
        self.A, self.G, self.tmp = (np.empty((N, H, n, n)) for _ in range(3))
        self.C, self.dC, self.R = np.empty((N * n, H * d)), np.empty((N * n, H * d)), np.empty((N * n, o))
        self.gW, self.gO, self.m = np.empty((D, 3 * H * d)), np.empty((H * d, o)), np.empty((N, H, 1, n))
        self.Q, self.K, self.V = self.P.reshape(N, n, 3, H, d).transpose(2, 0, 3, 1, 4)
        self.dQ, self.dK, self.dV = self.dP.reshape(N, n, 3, H, d).transpose(2, 0, 3, 1, 4)
        self.Ch = self.C.reshape(N, n, H, d).transpose(0, 2, 1, 3)
        self.dCh = self.dC.reshape(N, n, H, d).transpose(0, 2, 1, 3)
        self.s, self.dims = d**-0.5, (N, n, D)

    def __call__(self, X: Array, Y: Array, W: Array, WO: Array) -> tuple[float, Array, Array]:
        """Return the loss and its gradients in W and WO."""
        N, n, D = self.dims
        A, G, m, R = self.A, self.G, self.m, self.R
        Xf = X.reshape(N * n, D)
        np.matmul(Xf, W.reshape(D, -1), self.P)
        # transposed logits: the softmax reduces over the outer of two short axes
        np.matmul(self.K, self.Q.swapaxes(-1, -2), A)
        np.maximum.reduce(A, -2, None, m, True)
        np.subtract(A, m, A)
        np.multiply(A, self.s, A)
        np.exp(A, A)
        np.add.reduce(A, -2, None, m, True)
        np.divide(A, m, A)
        np.matmul(A.swapaxes(-1, -2), self.V, self.Ch)
        np.matmul(self.C, WO, R)
        np.subtract(R, Y.reshape(R.shape), R)
        np.matmul(R, WO.T, self.dC)
        np.matmul(A, self.dCh, self.dV)
        np.matmul(self.V, self.dCh.swapaxes(-1, -2), G)
        np.multiply(G, A, G)
        np.add.reduce(G, -2, None, m, True)
        np.multiply(A, m, self.tmp)
        np.subtract(G, self.tmp, G)
        np.multiply(G, self.s, G)
        np.matmul(G.swapaxes(-1, -2), self.K, self.dQ)
        np.matmul(G, self.Q, self.dK)
        np.matmul(Xf.T, self.dP, self.gW)
        np.matmul(self.C.T, R, self.gO)
        return 0.5 * np.vdot(R, R), self.gW.reshape(W.shape), self.gO
