"""Losses that people write, with the gradients that are right, for several sizes and random arrays.

A kind is an expression, a variable and the gradient as NumPy code from a textbook or by hand. Each kind is
compared with the interpreter on the derived gradient, with generated code, and with complex steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special
import sympy as sp

import lemmax as lx
from lemmax.interpret import Evaluator

n, D, k, m = lx.sizes("n D k m")
SMALL = {"n": 3, "D": 2, "k": 4, "m": 2}
LARGE = {"n": 5, "D": 4, "k": 3, "m": 3}

A, B, C, X = lx.tensor("A", n, n), lx.tensor("B", n, n), lx.tensor("C", n, n), lx.tensor("X", n, n)
W, Z, Y = lx.tensor("W", D, k), lx.tensor("Z", n, D), lx.tensor("Y", n, k)
x, y, w, u = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("w", n), lx.tensor("u", D)
s, t = lx.tensor("s"), lx.tensor("t")
c, F = lx.tensor("c", n, 1), lx.tensor("F", D, D)
ones = np.ones
Arrays = dict[str, np.ndarray]


class Kind(NamedTuple):
    loss: lx.Tensor
    wrt: lx.Tensor
    gradient: Callable[[Arrays], Any]
    policy: str = "raise"
    near_identity: tuple[str, ...] = ()


def tr(z: np.ndarray) -> Any:
    return np.trace(z)


def fro(z: np.ndarray) -> Any:
    return np.linalg.norm(z)


def rows_softmax(z: np.ndarray) -> np.ndarray:
    return scipy.special.softmax(z, axis=-1)


def pull_rows(p: np.ndarray, g: np.ndarray) -> np.ndarray:
    return p * (g - (p * g).sum(-1, keepdims=True))


KINDS: dict[str, Kind] = {
    # traces
    "trace of a square times B": Kind(
        lx.trace(X @ X @ B), X, lambda v: (v["X"] @ v["B"] + v["B"] @ v["X"]).T
    ),
    "trace plus trace of a square": Kind(
        lx.trace(A) + lx.trace(A @ A), A, lambda v: np.eye(len(v["A"])) + 2 * v["A"].T
    ),
    "square of a trace": Kind(
        lx.trace(lx.eye(n) - A) ** 2, A, lambda v: -2 * (len(v["A"]) - tr(v["A"])) * np.eye(len(v["A"]))
    ),
    "trace of a product": Kind(lx.trace(A @ X @ B), X, lambda v: v["A"].T @ v["B"].T),
    "quadratic in X, left": Kind(
        lx.trace(X.T @ A @ X @ B), X, lambda v: v["A"] @ v["X"] @ v["B"] + v["A"].T @ v["X"] @ v["B"].T
    ),
    "quadratic in X, right": Kind(
        lx.trace(X @ B @ X.T @ A),
        X,
        lambda v: v["A"] @ v["X"] @ v["B"] + v["A"].T @ v["X"] @ v["B"].T,
    ),
    "cube": Kind(lx.trace(X @ X @ X), X, lambda v: 3 * (v["X"] @ v["X"]).T),
    "exponential of a trace": Kind(
        lx.exp(lx.trace(A)), A, lambda v: np.exp(tr(v["A"])) * np.eye(len(v["A"]))
    ),
    "trace of a Hadamard square": Kind(
        lx.trace((A @ lx.outer(x, x) @ A.T - lx.outer(y, y)) * (A @ lx.outer(x, x) @ A.T - lx.outer(y, y))),
        x,
        lambda v: (
            4
            * v["A"].T
            @ np.diag(np.diag(np.outer(v["A"] @ v["x"], v["A"] @ v["x"]) - np.outer(v["y"], v["y"])))
            @ v["A"]
            @ v["x"]
        ),
    ),
    # scalars and vectors
    "squared distance to a mean": Kind(lx.sqnorm(x - s), s, lambda v: -2 * np.sum(v["x"] - v["s"])),
    "inner product plus a scalar": Kind(lx.dot(x, w) + s, w, lambda v: v["x"]),
    "scalar added": Kind(lx.dot(x, w) + s, s, lambda v: 1.0),
    "quadratic form": Kind(x @ A @ x, x, lambda v: (v["A"] + v["A"].T) @ v["x"]),
    "quadratic form in the matrix": Kind(x @ A @ y, A, lambda v: np.outer(v["x"], v["y"])),
    "logistic loss": Kind(
        lx.sum(lx.softplus(-(y * (A @ w)))),
        w,
        lambda v: v["A"].T @ (-v["y"] * scipy.special.expit(-v["y"] * (v["A"] @ v["w"]))),
    ),
    "pairwise preference": Kind(
        lx.log(lx.sigmoid(t * (lx.dot(w, x) - lx.dot(w, y)))),
        w,
        lambda v: v["t"] * scipy.special.expit(-v["t"] * (v["w"] @ (v["x"] - v["y"]))) * (v["x"] - v["y"]),
    ),
    "polynomial": Kind(
        lx.sum(x**3) - 2 * lx.sum(x**2) + lx.sum(x), x, lambda v: 3 * v["x"] ** 2 - 4 * v["x"] + 1
    ),
    "mean": Kind(lx.mean(x * x), x, lambda v: 2 * v["x"] / len(v["x"])),
    "variance": Kind(lx.mean((x - lx.mean(x)) ** 2), x, lambda v: 2 * (v["x"] - v["x"].mean()) / len(v["x"])),
    "log of a normalised vector, one entry": Kind(
        lx.log(lx.exp(x)[0] / lx.sum(lx.exp(x))), x, lambda v: np.eye(len(v["x"]))[0] - rows_softmax(v["x"])
    ),
    "product of entries": Kind(
        lx.prod(x), x, lambda v: np.array([np.prod(np.delete(v["x"], i)) for i in range(len(v["x"]))])
    ),
    "log-sum-exp": Kind(lx.logsumexp(x), x, lambda v: rows_softmax(v["x"])),
    "log-sum-exp by hand": Kind(lx.log(lx.sum(lx.exp(x))), x, lambda v: rows_softmax(v["x"])),
    "cross entropy": Kind(
        -lx.sum(y * lx.log_softmax(x)), x, lambda v: v["y"].sum() * rows_softmax(v["x"]) - v["y"]
    ),
    "cross entropy of a linear model": Kind(
        -lx.sum(Y * lx.log_softmax(Z @ W, axis=-1)),
        W,
        lambda v: v["Z"].T @ (v["Y"].sum(-1, keepdims=True) * rows_softmax(v["Z"] @ v["W"]) - v["Y"]),
    ),
    "powers with a symbolic exponent": Kind(
        lx.sum((x * x) ** t), x, lambda v: 2 * v["t"] * v["x"] * (v["x"] ** 2) ** (v["t"] - 1)
    ),
    "a size in the exponent": Kind(
        lx.sum((x * x) ** n),
        x,
        lambda v: 2 * len(v["x"]) * v["x"] ** (2 * len(v["x"]) - 1),
    ),
    "quadratic form of a column": Kind((c.T @ A @ c)[0, 0], c, lambda v: (v["A"] + v["A"].T) @ v["c"]),
    "column added to a matrix": Kind(
        lx.sum(lx.tanh(A + c)), c, lambda v: (1 - np.tanh(v["A"] + v["c"]) ** 2).sum(1, keepdims=True)
    ),
    "family of quadratic forms": Kind(
        lx.logsumexp(lx.einsum("ij,jk,ik->i", Z, F, Z)),
        F,
        lambda v: np.einsum("i,ij,ik->jk", rows_softmax(((v["Z"] @ v["F"]) * v["Z"]).sum(1)), v["Z"], v["Z"]),
    ),
    # norms
    "Frobenius norm": Kind(lx.norm(A), A, lambda v: v["A"] / fro(v["A"])),
    "Frobenius norm by a trace": Kind(lx.sqrt(lx.trace(A.T @ A)), A, lambda v: v["A"] / fro(v["A"])),
    "root of an inner product": Kind((x @ x) ** sp.Rational(1, 2), x, lambda v: v["x"] / fro(v["x"])),
    "root as a float": Kind((x @ x) ** 0.5, x, lambda v: v["x"] / fro(v["x"])),
    "square of a norm": Kind(lx.norm(x) ** 2, x, lambda v: 2 * v["x"]),
    "squares of a Hadamard product": Kind(
        lx.trace((A * X).T @ (A * X)), X, lambda v: 2 * v["A"] ** 2 * v["X"]
    ),
    "Hadamard product with a matrix product": Kind(
        lx.sqnorm(A * (X @ B)), X, lambda v: 2 * (v["A"] ** 2 * (v["X"] @ v["B"])) @ v["B"].T
    ),
    "matrix product of a Hadamard product": Kind(
        lx.sqnorm((A * X) @ B), X, lambda v: 2 * (((v["A"] * v["X"]) @ v["B"]) @ v["B"].T) * v["A"]
    ),
    "regularised weighted least squares": Kind(
        s * lx.sqnorm(X) + (y - X @ x) @ lx.diag(w) @ (y - X @ x),
        X,
        lambda v: 2 * v["s"] * v["X"] - 2 * np.outer(v["w"] * (v["y"] - v["X"] @ v["x"]), v["x"]),
    ),
    "nearest Kronecker factor": Kind(
        lx.sqnorm(lx.tensor("G", 2 * n, 2 * n) - lx.kron(lx.eye(2), X)),
        X,
        lambda v: (
            2
            * sum(
                v["X"]
                - v["G"][p * len(v["X"]) : (p + 1) * len(v["X"]), p * len(v["X"]) : (p + 1) * len(v["X"])]
                for p in range(2)
            )
        ),
    ),
    # determinants, inverses
    "determinant": Kind(t * lx.det(X), X, lambda v: v["t"] * np.linalg.det(v["X"]) * np.linalg.inv(v["X"]).T),
    "one over a determinant": Kind(
        1 / lx.det(X), X, lambda v: -np.linalg.inv(v["X"]).T / np.linalg.det(v["X"])
    ),
    "determinant of a multiple": Kind(
        lx.det(s * A), s, lambda v: len(v["A"]) * v["s"] ** (len(v["A"]) - 1) * np.linalg.det(v["A"])
    ),
    "determinant of a square": Kind(
        lx.det(A @ A), A, lambda v: 2 * np.linalg.det(v["A"]) ** 2 * np.linalg.inv(v["A"]).T
    ),
    "log determinant": Kind(lx.logdet(X), X, lambda v: np.linalg.inv(v["X"]).T, near_identity=("X",)),
    "log determinant of a rank-one update": Kind(
        lx.logdet(lx.eye(n) * sp.Rational(3, 10) + lx.outer(x, x)),
        x,
        lambda v: 2 * v["x"] / (0.3 + v["x"] @ v["x"]),
    ),
    "Gaussian likelihood": Kind(
        -lx.logdet(X) / 2 - lx.trace(C @ lx.inv(X)) / 2,
        X,
        lambda v: (
            -np.linalg.inv(v["X"]).T / 2 + (np.linalg.inv(v["X"]) @ v["C"] @ np.linalg.inv(v["X"])).T / 2
        ),
        near_identity=("X",),
    ),
    "inverse": Kind(
        y @ lx.inv(X) @ x,
        X,
        lambda v: -np.linalg.inv(v["X"]).T @ np.outer(v["y"], v["x"]) @ np.linalg.inv(v["X"]).T,
    ),
    # entries, slices, concatenation
    "one entry": Kind(A[0, 0], A, lambda v: np.eye(len(v["A"]))[[0]].T @ np.eye(len(v["A"]))[[0]]),
    "last entry of a product": Kind((A @ x)[-1], A, lambda v: np.outer(np.eye(len(v["A"]))[-1], v["x"])),
    "a slice": Kind(lx.sum(x[1:] * x[:-1]), x, lambda v: np.r_[v["x"][1:], 0] + np.r_[0, v["x"][:-1]]),
    "total variation, squared": Kind(
        lx.sqnorm(x[1:] - x[:-1]),
        x,
        lambda v: 2 * (np.r_[0, np.diff(v["x"])] - np.r_[np.diff(v["x"]), 0]),
    ),
    "concatenation": Kind(lx.sqnorm(lx.concat([x, 2 * x, y])), x, lambda v: 10 * v["x"]),
    "stack": Kind(
        lx.sum(lx.stack([x, y], axis=1) @ lx.stack([x, y], axis=0)),
        x,
        lambda v: 2 * v["x"].sum() * ones(len(v["x"])),
    ),
    # kernels
    "sum of Gaussians around points": Kind(
        lx.sum(lx.exp(-lx.sum((Z - u) ** 2, axis=1) / 4)),
        u,
        lambda v: np.exp(-((v["Z"] - v["u"]) ** 2).sum(1) / 4) @ (v["Z"] - v["u"]) / 2,
    ),
    "determinant of a Gaussian kernel": Kind(
        lx.det(lx.tensor_from(lambda i, j: lx.exp(-((x[i] - x[j]) ** 2) / 2))),
        x,
        lambda v: (
            lambda L: (
                -2
                * np.linalg.det(L)
                * (np.diag((L * np.linalg.inv(L).T).sum(1)) - L * np.linalg.inv(L).T)
                @ v["x"]
            )
        )(np.exp(-((v["x"][:, None] - v["x"]) ** 2) / 2)),
    ),
    "kernel between columns": Kind(
        lx.trace(
            lx.tensor("P", k, m).T
            @ lx.tensor_from(lambda i, j: lx.exp(-lx.index_sum(lambda c: (W[c, i] - W[c, j]) ** 2) / 2))
            @ lx.tensor("P", k, m)
        ),
        W,
        lambda v: (lambda R: -2 * v["W"] @ (np.diag(R.sum(1)) - R))(
            (v["P"] @ v["P"].T) * np.exp(-((v["W"][:, :, None] - v["W"][:, None, :]) ** 2).sum(0) / 2)
        ),
    ),
    # kinks, on request
    "absolute values": Kind(lx.sum(lx.abs(x)), x, lambda v: np.sign(v["x"]), "subgradient"),
    "ridge with relu": Kind(
        lx.sqnorm(lx.relu(Z @ W) - Y) / 2,
        W,
        lambda v: v["Z"].T @ ((np.maximum(v["Z"] @ v["W"], 0) - v["Y"]) * (v["Z"] @ v["W"] > 0)),
        "subgradient",
    ),
    "hinge": Kind(
        lx.sum(lx.maximum(0, 1 - y * (A @ w))),
        w,
        lambda v: v["A"].T @ (-v["y"] * (1 - v["y"] * (v["A"] @ v["w"]) > 0)),
        "subgradient",
    ),
    "largest entry": Kind(lx.max(A), A, lambda v: (v["A"] == v["A"].max()).astype(float), "subgradient"),
    "smallest row sum": Kind(
        lx.min(lx.sum(A, axis=1)),
        A,
        lambda v: np.outer(v["A"].sum(1) == v["A"].sum(1).min(), ones(len(v["A"]))),
        "subgradient",
    ),
    "piecewise square root": Kind(
        lx.sum(lx.where(x > 0, lx.sqrt(x), x)),
        x,
        lambda v: np.where(v["x"] > 0, 0.5 / np.sqrt(np.abs(v["x"])), 1),
        "subgradient",
    ),
    # attention
    "softmax of logits, weighted": Kind(
        lx.sum(lx.softmax(A) * B), A, lambda v: pull_rows(rows_softmax(v["A"]), v["B"])
    ),
    "softmax attention in the queries": Kind(
        lx.sum(
            (lx.softmax(lx.tensor("Q", n, D) @ lx.tensor("K", n, D).T) @ lx.tensor("V", n, m))
            * lx.tensor("G", n, m)
        ),
        lx.tensor("Q", n, D),
        lambda v: pull_rows(rows_softmax(v["Q"] @ v["K"].T), v["G"] @ v["V"].T) @ v["K"],
    ),
    "softmax attention in the keys": Kind(
        lx.sum(
            (lx.softmax(lx.tensor("Q", n, D) @ lx.tensor("K", n, D).T) @ lx.tensor("V", n, m))
            * lx.tensor("G", n, m)
        ),
        lx.tensor("K", n, D),
        lambda v: pull_rows(rows_softmax(v["Q"] @ v["K"].T), v["G"] @ v["V"].T).T @ v["Q"],
    ),
    "layer normalisation": Kind(
        lx.dot(y, (x - lx.mean(x)) / lx.sqrt(lx.mean((x - lx.mean(x)) ** 2) + 0.5)),
        x,
        lambda v: (lambda h, sd: (v["y"] - v["y"].mean() - h * (h @ v["y"]) / len(h)) / sd)(
            (v["x"] - v["x"].mean()) / np.sqrt(v["x"].var() + 0.5), np.sqrt(v["x"].var() + 0.5)
        ),
    ),
    "linear attention": Kind(
        lx.sqnorm((lx.tensor("Q", n, D) @ lx.tensor("K", n, D).T) @ lx.tensor("V", n, m)) / 2,
        lx.tensor("K", n, D),
        lambda v: v["V"] @ (v["Q"] @ v["K"].T @ v["V"]).T @ v["Q"],
    ),
}


def draw(
    inputs: dict[str, lx.Tensor], sizes: dict[str, int], seed: int, near_identity: tuple[str, ...]
) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, node in inputs.items():
        shape = tuple(int(size.subs({p: sizes[str(p)] for p in size.free_symbols})) for size in node.shape)
        arrays[name] = rng.standard_normal(shape)
        if name in near_identity:
            arrays[name] = np.eye(*shape) + 0.2 * np.tanh(arrays[name])
    return arrays


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", KINDS)
def test_gradient(name: str, sizes: dict[str, int]) -> None:
    kind = KINDS[name]
    g = lx.gradient(kind.loss, kind.wrt, nonsmooth=kind.policy)
    assert g.shape == kind.wrt.shape
    evaluator = Evaluator([g, lx.Derivative(kind.loss, kind.wrt), kind.loss])
    arrays = draw(evaluator.inputs, sizes, len(name), kind.near_identity)
    derived, stepped, _ = evaluator.run(arrays, sizes={p: sizes[p] for p in evaluator.sizes})
    expected = kind.gradient(arrays)
    scale = max(np.max(np.abs(expected)), 1e-3)
    np.testing.assert_allclose(stepped, expected, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(derived, expected, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("name", KINDS)
def test_generated_code(name: str) -> None:
    kind = KINDS[name]
    g = lx.gradient(kind.loss, kind.wrt, nonsmooth=kind.policy)
    fn = lx.compile([kind.loss + 0 * lx.sum(kind.wrt), g])
    evaluator = Evaluator([kind.loss, g])
    arrays = draw(evaluator.inputs, LARGE, 7 + len(name), kind.near_identity)
    _, derived = fn(**arrays)
    expected = np.broadcast_to(kind.gradient(arrays), np.shape(derived))
    np.testing.assert_allclose(derived, expected, rtol=0, atol=1e-11 * max(np.max(np.abs(expected)), 1e-3))


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.policy != "raise"])
def test_kinks_are_named_before_a_subgradient_is_taken(name: str) -> None:
    kind = KINDS[name]
    with pytest.raises(lx.NonSmooth, match=r"kink.*Pass nonsmooth='subgradient'"):
        lx.gradient(kind.loss, kind.wrt)
