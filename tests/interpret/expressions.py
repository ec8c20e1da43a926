"""Expressions of all kinds, each with what NumPy makes of it.

A case is (name, expression, reference). The reference takes the arrays by code name and is written
without lemmax. All inputs are drawn by :func:`draw` at the sizes in :data:`SIZES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.special
import sympy as sp

import lemmax as lx
from lemmax.expr.nodes import Apply

SIZES = {"N": 2, "n": 3, "D": 4, "k": 2}
N, n, D, k = lx.sizes("N n D k")
X, Y = lx.tensor("X", n, D), lx.tensor("Y", n, D)
W, A, C = lx.tensor("W", D, k), lx.tensor("A", n, n), lx.tensor("C", n, n)
T = lx.tensor("T", N, n, D)
a, b, u = lx.tensor("a", n), lx.tensor("b", n), lx.tensor("u", D)
s, t = lx.tensor("s"), lx.tensor("t")
INPUTS = (X, Y, W, A, C, T, a, b, u, s, t)

Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    name: str
    tensor: lx.Tensor
    reference: Callable[[Arrays], object]


def draw(seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    return {x.name: rng.standard_normal([SIZES[str(size)] for size in x.shape]) for x in INPUTS}


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return scipy.special.softmax(x, axis=axis)


def pullback(S: np.ndarray, G: np.ndarray, axis: int) -> np.ndarray:
    return S * G - S * np.sum(S * G, axis=axis, keepdims=True)


def svd(x: np.ndarray) -> np.ndarray:
    return np.linalg.svd(x, compute_uv=False)


def positive(x: np.ndarray) -> np.ndarray:
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-2])


PRODUCTS = [
    Case("sum", X + Y - 2, lambda z: z["X"] + z["Y"] - 2),
    Case("hadamard", X * Y / 3, lambda z: z["X"] * z["Y"] / 3),
    Case("scalar_by_matrix", s * X + t, lambda z: z["s"] * z["X"] + z["t"]),
    Case("quotient", X / (Y * Y + 1), lambda z: z["X"] / (z["Y"] ** 2 + 1)),
    Case("vector_by_matrix", X * u, lambda z: z["X"] * z["u"]),
    Case("column_by_matrix", X * a[:, None], lambda z: z["X"] * z["a"][:, None]),
    Case("matmul", X @ W, lambda z: z["X"] @ z["W"]),
    Case("matvec", X @ u, lambda z: z["X"] @ z["u"]),
    Case("family_matmul", T @ W, lambda z: z["T"] @ z["W"]),
    Case("transpose", X.T @ Y, lambda z: z["X"].T @ z["Y"]),
    Case("gram_of_family", T @ T.mT, lambda z: z["T"] @ np.swapaxes(z["T"], 1, 2)),
    Case("permute", lx.permute(T, (2, 0, 1)), lambda z: z["T"].transpose(2, 0, 1)),
    Case("trace", lx.trace(A @ C), lambda z: np.trace(z["A"] @ z["C"])),
    Case("diagonal", lx.diag(A), lambda z: np.diag(z["A"])),
    Case("diagonal_matrix", lx.diag(a) @ X, lambda z: np.diag(z["a"]) @ z["X"]),
    Case("eye", lx.eye(n) - A, lambda z: np.eye(3) - z["A"]),
    Case("outer", lx.outer(a, u), lambda z: np.outer(z["a"], z["u"])),
    Case("dot", lx.dot(X, Y), lambda z: np.sum(z["X"] * z["Y"])),
    Case("kron", lx.kron(A, W), lambda z: np.kron(z["A"], z["W"])),
    Case("quadratic", a @ A @ b, lambda z: z["a"] @ z["A"] @ z["b"]),
    Case(
        "einsum",
        lx.einsum("aij,jb,ik->akb", T, W, A),
        lambda z: np.einsum("aij,jb,ik->akb", z["T"], z["W"], z["A"]),
    ),
    Case(
        "five_factors",
        lx.einsum("ij,jk,ik,i,kj->", A, C, A, a, C),
        lambda z: np.einsum("ij,jk,ik,i,kj->", z["A"], z["C"], z["A"], z["a"], z["C"]),
    ),
    Case("powers", X**3 + X**2, lambda z: z["X"] ** 3 + z["X"] ** 2),
    Case("negative_power", (X * X + 1) ** -2, lambda z: (z["X"] ** 2 + 1) ** -2.0),
    Case("broken_power", (X * X + 1) ** sp.Rational(2, 3), lambda z: (z["X"] ** 2 + 1) ** (2 / 3)),
    Case("power_of_two_tensors", (X * X + 1) ** Y, lambda z: (z["X"] ** 2 + 1) ** z["Y"]),
    Case(
        "roots",
        lx.sqrt(X * X + 1) + 1 / lx.sqrt(Y * Y + 1),
        lambda z: np.sqrt(z["X"] ** 2 + 1) + (z["Y"] ** 2 + 1) ** -0.5,
    ),
    Case("sizes_as_numbers", X / sp.sqrt(D) + n * X, lambda z: z["X"] / 2 + 3 * z["X"]),
    Case("constants", X * sp.pi + sp.E, lambda z: z["X"] * np.pi + np.e),
    Case("float_constant", X * 0.1, lambda z: z["X"] * 0.1),
    Case("zeros", lx.zeros(n, D) + 0 * X, lambda z: np.zeros((3, 4))),
    Case("ones_summed", lx.ones(n, D) @ W, lambda z: np.ones((3, 4)) @ z["W"]),
    Case("size_of_a_sum", lx.sum(lx.ones(n, D)) * s, lambda z: 12 * z["s"]),
    Case("named", ((X @ W).named("F") ** 2).named("G"), lambda z: (z["X"] @ z["W"]) ** 2),
]

INDICES = [
    Case(
        "indices_as_numbers",
        lx.tensor_from(lambda i, j: i - 2 * j, shape=(n, n)) + 0 * A,
        lambda z: np.arange(3)[:, None] - 2.0 * np.arange(3),
    ),
    Case("entry", A[0, 2] * X, lambda z: z["A"][0, 2] * z["X"]),
    Case("row", X[1] + u, lambda z: z["X"][1] + z["u"]),
    Case("negative_entry", X[-1, 0] + a, lambda z: z["X"][-1, 0] + z["a"]),
    Case("slices", T[1, 1:, :2] ** 2, lambda z: z["T"][1, 1:, :2] ** 2),
    Case("new_axis", T[:, None], lambda z: z["T"][:, None]),
    Case("reversed", lx.tensor_from(lambda i: a[n - 1 - i], shape=(n,)), lambda z: z["a"][::-1]),
    Case(
        "shifted",
        lx.tensor_from(lambda i: sp.Piecewise((a[i + 1], i < n - 1), (a.entry(0), True)), shape=(n,)),
        lambda z: np.roll(z["a"], -1),
    ),
    Case(
        "delta_with_shift",
        lx.tensor_from(lambda i, j: sp.KroneckerDelta(i + 1, j) * a[i], shape=(n, n)),
        lambda z: np.diag(z["a"][:-1], 1),
    ),
    Case(
        "delta_with_number",
        lx.tensor_from(lambda i: sp.KroneckerDelta(i, 1) * a[i]),
        lambda z: z["a"] * [0, 1, 0],
    ),
    Case(
        "delta_summed_over_shift",
        lx.tensor_from(lambda i: lx.index_sum(lambda q: sp.KroneckerDelta(i + 1, q) * a[q]), shape=(n,)),
        lambda z: np.append(z["a"][1:], 0),
    ),
    Case(
        "delta_chain",
        lx.tensor_from(
            lambda i: lx.index_sum(
                lambda p, q: sp.KroneckerDelta(p, q) * sp.KroneckerDelta(q, i) * A[p, q], n, n
            ),
            shape=(n,),
        ),
        lambda z: np.diag(z["A"]),
    ),
    Case(
        "delta_under_sum_of_terms",
        lx.tensor_from(lambda i, j: (sp.KroneckerDelta(i, j) - a[j]) * b[i]),
        lambda z: (np.eye(3) - z["a"]) * z["b"][:, None],
    ),
    Case(
        "two_deltas",
        lx.tensor_from(
            lambda i, j, p, q: sp.KroneckerDelta(i, p) * sp.KroneckerDelta(j, q), shape=(n, k, n, k)
        ),
        lambda z: np.einsum("ip,jq->ijpq", np.eye(3), np.eye(2)),
    ),
    Case(
        "nested_sum",
        lx.tensor_from(lambda i: lx.exp(lx.index_sum(lambda j: A[i, j] * a[j]))),
        lambda z: np.exp(z["A"] @ z["a"]),
    ),
    Case("causal_mask", A + lx.causal_mask(n), lambda z: np.where(np.tri(3) > 0, z["A"], -np.inf)),
    Case(
        "pairwise_differences",
        lx.sum((a[:, None] - b[None, :]) ** 2 * A, axis=1),
        lambda z: np.sum((z["a"][:, None] - z["b"]) ** 2 * z["A"], axis=1),
    ),
    Case("where", lx.where(X.gt(Y), X, 2 * Y), lambda z: np.where(z["X"] > z["Y"], z["X"], 2 * z["Y"])),
    Case(
        "where_hides_what_it_drops",
        lx.where(X.gt(0), lx.log(X), 0 * X),
        lambda z: np.where(z["X"] > 0, np.log(np.abs(z["X"])), 0),
    ),
    Case(
        "conditions",
        lx.tensor_from(
            lambda i, j: sp.Piecewise(
                (A[i, j], sp.And(i < j, sp.Ne(j, 2))), (C[i, j], sp.Or(sp.Eq(i, 0), sp.Not(j > 1))), (1, True)
            )
        ),
        lambda z: np.array(
            [
                [
                    z["A"][i, j] if i < j and j != 2 else z["C"][i, j] if i == 0 or j <= 1 else 1
                    for j in range(3)
                ]
                for i in range(3)
            ]
        ),
    ),
]

STRUCTURE = [
    Case("concat", lx.concat([X, Y, X], axis=1), lambda z: np.concatenate([z["X"], z["Y"], z["X"]], axis=1)),
    Case("stack", lx.stack([a, b], axis=1), lambda z: np.stack([z["a"], z["b"]], axis=1)),
    Case("merge", lx.merge(T, (0, 1), (2,)), lambda z: z["T"].reshape(6, 4)),
    Case("split", lx.split(lx.merge(T, (0, 1), (2,)), ((0, 1), (2,)), T.shape), lambda z: z["T"]),
    Case("vec", lx.vec(X), lambda z: z["X"].ravel()),
    Case(
        "place",
        Apply("place", (X[1:, :2],), (n, D), {"starts": (sp.S.One, sp.S.Zero)}),
        lambda z: np.pad(z["X"][1:, :2], ((1, 0), (0, 2))),
    ),
]

REDUCTIONS = [
    Case("sum_axis", lx.sum(T, axis=1), lambda z: z["T"].sum(axis=1)),
    Case("mean", lx.mean(T, axis=(0, 2), keepdims=True), lambda z: z["T"].mean(axis=(0, 2), keepdims=True)),
    Case("sqnorm", lx.sqnorm(X), lambda z: np.sum(z["X"] ** 2)),
    Case("norm", lx.norm(X), lambda z: np.linalg.norm(z["X"])),
    Case("max", lx.max(T, axis=(0, 2)), lambda z: z["T"].max(axis=(0, 2))),
    Case("min", lx.min(T, axis=1, keepdims=True), lambda z: z["T"].min(axis=1, keepdims=True)),
    Case("prod", lx.prod(T, axis=(0, 1)), lambda z: z["T"].prod(axis=(0, 1))),
    Case("logsumexp", lx.logsumexp(T, axis=(1, 2)), lambda z: scipy.special.logsumexp(z["T"], axis=(1, 2))),
    Case("softmax", lx.softmax(T, axis=1), lambda z: softmax(z["T"], 1)),
    Case(
        "masked_softmax",
        lx.softmax(A + lx.causal_mask(n)),
        lambda z: softmax(np.where(np.tri(3) > 0, z["A"], -np.inf)),
    ),
    Case("log_softmax", lx.log_softmax(X), lambda z: scipy.special.log_softmax(z["X"], axis=-1)),
    Case(
        "pullback",
        Apply("softmax_pullback", (lx.softmax(T, axis=1), T), T.shape, {"axis": 1}),
        lambda z: pullback(softmax(z["T"], 1), z["T"], 1),
    ),
    Case(
        "pullback_of_any",
        Apply("softmax_pullback", (T, T * T), T.shape, {"axis": 2}),
        lambda z: pullback(z["T"], z["T"] ** 2, 2),
    ),
    Case(
        "argmax_mask",
        Apply("argmax_mask", (T,), T.shape, {"axes": (1, 2)}),
        lambda z: (z["T"] == z["T"].max(axis=(1, 2), keepdims=True)).astype(float),
    ),
    Case(
        "argmin_mask",
        Apply("argmin_mask", (T,), T.shape, {"axes": (0,)}),
        lambda z: (z["T"] == z["T"].min(axis=0)).astype(float),
    ),
    Case(
        "maximum",
        lx.maximum(X, Y) - lx.minimum(X, 0),
        lambda z: np.maximum(z["X"], z["Y"]) - np.minimum(z["X"], 0),
    ),
]

MATRICES = [
    Case("inv", lx.inv(A + 3 * lx.eye(n)), lambda z: np.linalg.inv(z["A"] + 3 * np.eye(3))),
    Case("det", lx.det(A), lambda z: np.linalg.det(z["A"])),
    Case("logdet", lx.logdet(T @ T.mT + lx.eye(n)), lambda z: np.linalg.slogdet(positive(z["T"]))[1]),
]

FUNCTIONALS = [
    Case("rank", lx.rank(lx.outer(a, u)) + lx.rank(X), lambda z: 4.0),
    Case("rank_of_zero", lx.rank(0 * X), lambda z: 0.0),
    Case("sigma", lx.sigma(T, 2), lambda z: svd(z["T"])[:, 1]),
    Case("sigma_beyond", lx.sigma(X, D), lambda z: 0.0),
    Case("sigma_symbolic", lx.sigma(X, n), lambda z: svd(z["X"])[2]),
    Case("sigma_min", lx.sigma_min(T), lambda z: svd(z["T"])[:, -1]),
    Case("spectral_norm", lx.spectral_norm(W), lambda z: svd(z["W"])[0]),
    Case("nuclear_norm", lx.nuclear_norm(T), lambda z: svd(z["T"]).sum(axis=-1)),
    Case("cond", lx.cond(X), lambda z: np.linalg.cond(z["X"])),
    Case("cond_of_singular", lx.cond(0 * X), lambda z: np.inf),
    Case("lambda_min", lx.lambda_min(A), lambda z: np.linalg.eigvalsh((z["A"] + z["A"].T) / 2)[0]),
    Case("lambda_max", lx.lambda_max(T @ T.mT), lambda z: svd(z["T"])[:, 0] ** 2),
    Case(
        "hull_distance",
        lx.hull_distance(T[:, None], T[:, 0] + T[:, 0]),
        lambda z: np.array([hull_of_one(p, 2 * p[0]) for p in z["T"]]),
    ),
]


def hull_of_one(points: np.ndarray, target: np.ndarray) -> float:
    """Distance from the hull of three points: the best of the triangle, its edges and its corners."""
    best = np.inf
    for size in (1, 2, 3):
        for chosen in itertools.combinations(range(len(points)), size):
            corners = points[list(chosen)]
            edges = (corners[1:] - corners[0]).T
            weights = np.linalg.lstsq(edges, target - corners[0], rcond=None)[0]
            if np.all(weights >= 0) and weights.sum() <= 1:
                best = min(best, float(np.linalg.norm(corners[0] + edges @ weights - target)))
    return best


SMOOTH_CASES = [*PRODUCTS, *INDICES, *STRUCTURE, *REDUCTIONS, *MATRICES]
CASES = [*SMOOTH_CASES, *FUNCTIONALS]
