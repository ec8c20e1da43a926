"""The oracle files: small instances with exact inputs and values computed elsewhere to many digits.

`data/README.md` says where they come from. A case here is the loss as an expression, the arrays of one
file, and the trained weights in the order in which the file stores their gradient.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import lemmax as lx

DATA = Path(__file__).parent / "data"
N, n, D, d, v, m, H, L, r = lx.sizes("N n D d v m H L r")


@dataclass(frozen=True)
class Case:
    """One oracle file.

    Attributes:
        name: file name without its ending.
        loss: the loss as an expression.
        arrays: all inputs by code name.
        trained: the weights whose gradient is stored, in order.
        value: the loss, rounded to float64.
        grad: the gradient in all trained weights, flat, C order.
        digits: 50 digits of the loss and of some entries of the gradient (by position).
    """

    name: str
    loss: lx.Tensor
    arrays: dict[str, np.ndarray]
    trained: tuple[lx.Tensor, ...]
    value: float
    grad: np.ndarray
    digits: dict[str, Any]

    @property
    def saturated(self) -> bool:
        return "saturated" in self.name


def attention_loss(kernel: str, masked: bool) -> tuple[lx.Tensor, dict[str, lx.Tensor]]:
    """Write the squared loss of multi-head attention with the public builders."""
    X, Y = lx.tensor("X", N, n, D), lx.tensor("Y", N, n, m)
    WQ, WK = lx.tensor("W^Q", H, D, d), lx.tensor("W^K", H, D, d)
    WV, WO = lx.tensor("W^V", H, D, v), lx.tensor("W^O", H, v, m)
    Q, K = lx.einsum("ika,hab->ihkb", X, WQ), lx.einsum("ija,hab->ihjb", X, WK)
    if kernel == "softmax":
        logits = lx.einsum("ihkb,ihjb->ihkj", Q, K) / sp.sqrt(d)
    else:
        gap = Q[:, :, :, None, :] - K[:, :, None, :, :]
        logits = -lx.sum(gap**2, axis=-1) / sp.sqrt(d)
    logits = logits.named("A")
    shifted = logits + lx.tensor("M", n, n) if masked else logits
    S = (lx.softmax(shifted) if kernel == "softmax" else lx.exp(shifted)).named("S")
    F = lx.einsum("ihkj,ija,hab,hbc->ikc", S, X, WV, WO)
    return lx.sqnorm(F - Y) / 2, {"Q": WQ, "K": WK, "V": WV, "O": WO}


def exponential_loss(separate: bool) -> tuple[lx.Tensor, dict[str, lx.Tensor]]:
    """Write the exponential loss of one-query softmax attention with the public builders."""
    X, Z = lx.tensor("X", N, L, D), lx.tensor("Z", N, D)
    y, u = lx.tensor("y", N), lx.tensor("v", D)
    K, Q, W = lx.tensor("K", D, r), lx.tensor("Q", D, r), lx.tensor("W", D, D)
    weight = lx.einsum("ab,cb->ac", K, Q) if separate else W
    S = lx.softmax(lx.einsum("ila,ac,ic->il", X, weight, Z)).named("S")
    phi = lx.einsum("il,ila,a->i", S, X, u)
    return lx.sum(lx.exp(-y * phi)), ({"K": K, "Q": Q} if separate else {"W": W})


@functools.cache
def index() -> dict[str, Any]:
    return {o["file"]: o for o in json.loads((DATA / "index.json").read_text())["oracles"]}


def names() -> list[str]:
    return sorted(path.stem for path in DATA.glob("*.npz"))


def _shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Read a list such as ``Q:(1, 3, 2) K:(1, 3, 2) C-order concatenated``."""
    shapes = {}
    for part in text.replace(" C-order concatenated", "").replace(", ", ",").split():
        name, _, numbers = part.partition(":")
        shapes[name] = tuple(int(k) for k in numbers.strip("()").split(","))
    return shapes


@functools.cache
def load(name: str) -> Case:
    entry = index()[f"{name}.npz"]
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        stored = {key: file[key] for key in file}
    squared = "kernel" in entry["meta"]
    if squared:
        loss, weights = attention_loss(
            {"gauss": "gaussian"}.get(entry["meta"]["kernel"], "softmax"), "mask" in stored
        )
        arrays = {"X": stored["X"], "Y": stored["Y"]}
        if "mask" in stored:
            arrays["M"] = np.where(stored["mask"] == 1, 0.0, -np.inf)
    else:
        loss, weights = exponential_loss(entry["meta"]["mode"] == "KQ")
        arrays = {key: stored[key] for key in ("X", "Z", "y", "v")}
    shapes = _shapes(entry["params"])
    start = 0
    for key, shape in shapes.items():
        size = int(np.prod(shape))
        arrays[lx.identifier(weights[key].name)] = stored["w"][start : start + size].reshape(shape)
        start += size
    assert start == len(stored["w"])
    for key in weights:
        if f"frozen_{key}" in stored:
            arrays[lx.identifier(weights[key].name)] = stored[f"frozen_{key}"]
    trained = tuple(weights[key] for key in shapes)
    return Case(name, loss, arrays, trained, float(stored["value"]), stored["grad"], entry["mpmath50"])
