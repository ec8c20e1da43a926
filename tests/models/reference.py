"""The attention losses and the matrix form of their gradients in NumPy, one sample and head at a time."""

from __future__ import annotations

import numpy as np

Arrays = dict[str, np.ndarray]
MASKS = (None, "causal", "additive")
KERNELS = ("softmax", "gaussian")


def draw_attention(rng: np.random.Generator, mask: str | None, sizes: tuple[int, ...]) -> Arrays:
    """Draw all inputs; ``sizes`` are N, n, D, d, v, m, H. Every row of the mask keeps one entry."""
    N, n, D, d, v, m, H = sizes
    shapes = {
        "X": (N, n, D), "Y": (N, n, m), "WQ": (H, D, d), "WK": (H, D, d), "WV": (H, D, v), "WO": (H, v, m)
    }  # fmt: skip
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    if mask == "additive":
        arrays["M"] = np.where(rng.random((n, n)) < 0.3, -np.inf, rng.standard_normal((n, n)))
        arrays["M"][np.arange(n), rng.integers(0, n, n)] = 0.0
    return arrays


def mask_of(arrays: Arrays, mask: str | None) -> np.ndarray:
    n = arrays["X"].shape[1]
    if mask == "causal":
        return np.where(np.tri(n, dtype=bool), 0.0, -np.inf)
    return arrays.get("M", np.zeros((n, n)))


def attention_matrix(arrays: Arrays, kernel: str, mask: str | None, i: int, h: int) -> np.ndarray:
    q, k = arrays["X"][i] @ arrays["WQ"][h], arrays["X"][i] @ arrays["WK"][h]
    root = np.sqrt(q.shape[1])
    if kernel == "softmax":
        A = q @ k.T / root + mask_of(arrays, mask)
        e = np.exp(A - A.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    gaps = ((q[:, None] - k[None]) ** 2).sum(-1)
    return np.exp(-gaps / root + mask_of(arrays, mask))


def attention(arrays: Arrays, kernel: str, mask: str | None) -> dict[str, np.ndarray]:
    """Return value, parts, and gradients by the formulas in matrix form."""
    X, Y, WQ, WK, WV, WO = (arrays[name] for name in ("X", "Y", "WQ", "WK", "WV", "WO"))
    N, n, D = X.shape
    H, _, d = WQ.shape
    S = np.array([[attention_matrix(arrays, kernel, mask, i, h) for h in range(H)] for i in range(N)])
    heads = np.array([[S[i, h] @ X[i] @ WV[h] @ WO[h] for h in range(H)] for i in range(N)])
    F = heads.sum(axis=1)
    R = F - Y
    found = {name: np.zeros_like(arrays[name]) for name in ("WQ", "WK", "WV", "WO")}
    for i in range(N):
        for h in range(H):
            q, k = X[i] @ WQ[h], X[i] @ WK[h]
            found["WO"][h] += (S[i, h] @ X[i] @ WV[h]).T @ R[i]
            found["WV"][h] += X[i].T @ S[i, h].T @ R[i] @ WO[h].T
            E = S[i, h] * (R[i] @ WO[h].T @ WV[h].T @ X[i].T)
            rows, columns = E.sum(axis=1), E.sum(axis=0)
            if kernel == "softmax":
                G = (E - rows[:, None] * S[i, h]) / np.sqrt(d)
                found["WQ"][h] += X[i].T @ G @ k
                found["WK"][h] += X[i].T @ G.T @ q
            else:
                found["WQ"][h] -= 2 / np.sqrt(d) * X[i].T @ (rows[:, None] * q - E @ k)
                found["WK"][h] += 2 / np.sqrt(d) * X[i].T @ (E.T @ q - columns[:, None] * k)
    attended = np.array([[S[i, h] @ X[i] for h in range(H)] for i in range(N)])
    stack = attended.transpose(0, 2, 1, 3)
    values = (attended @ WV).transpose(0, 2, 1, 3)
    return {
        "S": S,
        "heads": heads,
        "F": F,
        "R": R,
        "B": stack.reshape(N * n, H * D),
        "C": values.reshape(N * n, -1),
        "loss": np.array((R**2).sum() / 2),
        **{f"g{name}": g for name, g in found.items()},
    }


WEIGHTS = {"separate": ("K", "Q"), "combined": ("W",), "diagonal": ("k", "q")}


def draw_classifier(rng: np.random.Generator, weights: str, sizes: tuple[int, ...]) -> Arrays:
    """Draw all inputs; ``sizes`` are N, L, d, r."""
    N, L, d, r = sizes
    shapes = {"X": (N, L, d), "Z": (N, d), "v": (d,)}
    shapes |= {
        "separate": {"K": (d, r), "Q": (d, r)},
        "combined": {"W": (d, d)},
        "diagonal": {"k": (d,), "q": (d,)},
    }[weights]
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return {**arrays, "y": rng.choice([-1.0, 1.0], N)}


def classifier(arrays: Arrays, weights: str) -> dict[str, np.ndarray]:
    """Return value, parts, and gradients by the formulas in matrix form."""
    X, Z, y, v = arrays["X"], arrays["Z"], arrays["y"], arrays["v"]
    W = {
        "separate": lambda a: a["K"] @ a["Q"].T,
        "combined": lambda a: a["W"],
        "diagonal": lambda a: np.diag(a["k"] * a["q"]),
    }[weights](arrays)
    logits = np.einsum("ila,ab,ib->il", X, W, Z)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    S = e / e.sum(axis=1, keepdims=True)
    Phi = np.array([v @ X[i].T @ S[i] for i in range(len(X))])
    G = np.zeros_like(W)
    for i in range(len(X)):
        J = np.diag(S[i]) - np.outer(S[i], S[i])
        G -= y[i] * np.exp(-y[i] * Phi[i]) * X[i].T @ J @ np.outer(X[i] @ v, Z[i])
    gradients = {
        "separate": lambda a: {"K": G @ a["Q"], "Q": G.T @ a["K"]},
        "combined": lambda a: {"W": G},
        "diagonal": lambda a: {"k": np.diag(G) * a["q"], "q": np.diag(G) * a["k"]},
    }[weights](arrays)
    return {
        "logits": logits,
        "S": S,
        "Phi": Phi,
        "loss": np.array(np.exp(-y * Phi).sum()),
        **{f"g{name}": g for name, g in gradients.items()},
    }
