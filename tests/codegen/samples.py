"""Expressions of every kind, and arrays for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy as sp

import lemmax as lx
from lemmax.expr.graph import inputs_of
from lemmax.expr.nodes import Apply

n, D, k, N, H = lx.sizes("n D k N H")
SIZES = {n: 3, D: 5, k: 4, N: 2, H: 2}

A, B = lx.tensor("A", n, n), lx.tensor("B", n, n)
P = lx.tensor("P", n, n, positive=True)
X, W, Y, Z = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k), lx.tensor("Z", n, D)
T = lx.tensor("T", N, n, D)
G = lx.tensor("G", N, H, n, n)
x, y = lx.tensor("x", n), lx.tensor("y", n)
s = lx.tensor("s")

EXPRESSIONS: dict[str, Callable[[], lx.Tensor]] = {
    # products
    "matrix product": lambda: X @ W,
    "residual": lambda: X @ W - Y,
    "chain": lambda: A @ B @ A @ X,
    "power of a matrix": lambda: A @ A @ A @ A @ A @ A @ A @ A,
    "more factors than are searched exhaustively": lambda: A @ B @ A.T @ B @ A @ B.T @ A @ B @ X,
    "transpose": lambda: A.T,
    "trace": lambda: lx.trace(A @ B),
    "Frobenius product": lambda: lx.dot(A, B),
    "quadratic form": lambda: lx.dot(x, A @ y),
    "outer product": lambda: lx.outer(x, y),
    "outer product of matrices": lambda: lx.outer(A, x),
    "Hadamard": lambda: A * B * A,
    "Hadamard in a product": lambda: (A * B) @ X,
    "family product": lambda: T @ W,
    "Gram matrices": lambda: T @ T.mT,
    "Gram over two axes": lambda: lx.einsum("iak,hak->ih", T, T),
    "contraction over samples": lambda: lx.einsum("iak,iab->kb", T, lx.einsum("iab,bc->iac", T, W)),
    "three operands": lambda: lx.einsum("ijk,kl,jm->ilm", T, W, A),
    "batched vectors": lambda: lx.einsum("iab,ib->ia", T, lx.sum(T, axis=1)),
    "batched dot": lambda: lx.einsum("iab,iab->i", T, T),
    "family of families": lambda: lx.einsum("ihkj,ija,ab->hkb", G, T, W),
    "a label in no operand of the result": lambda: lx.einsum("ij,kl->i", A, B),
    "Kronecker": lambda: lx.kron(A, B),
    # sums
    "sum over an axis": lambda: lx.sum(T, axis=0),
    "sum of all": lambda: lx.sum(T),
    "mean": lambda: lx.mean(T, axis=(0, 2)),
    "squared norm": lambda: lx.sqnorm(T) / 2,
    "norm": lambda: lx.norm(A),
    "row norms": lambda: lx.sum(T**2, axis=-1),
    "cubes": lambda: lx.sum(T**3, axis=-1),
    "max over an axis": lambda: lx.max(T, axis=1),
    "max of all": lambda: lx.max(T),
    "min over two axes": lambda: lx.min(T, axis=(0, 2)),
    "max with kept axes": lambda: lx.max(T, axis=(0, 1), keepdims=True) - T,
    "prod": lambda: lx.prod(A, axis=0),
    "prod of all": lambda: lx.prod(A),
    "logsumexp": lambda: lx.logsumexp(T, axis=-1),
    "logsumexp of all": lambda: lx.logsumexp(T),
    "logsumexp with kept axes": lambda: lx.logsumexp(T, axis=(0, 2), keepdims=True),
    "argmax mask": lambda: Apply("argmax_mask", (T,), T.shape, {"axes": (0, 2)}),
    "argmin mask": lambda: Apply("argmin_mask", (T,), T.shape, {"axes": (1,)}),
    # entrywise
    "exp": lambda: lx.exp(-A / 2),
    "exp in a product": lambda: lx.exp(A) @ X,
    "sum of exp": lambda: lx.sum(lx.exp(A) * x, axis=-1),
    "log": lambda: lx.log(P),
    "sqrt": lambda: lx.sqrt(P + 1),
    "abs and sign": lambda: lx.abs(A) * lx.sign(B),
    "trigonometric": lambda: lx.sin(A) + lx.cos(A) * lx.tan(B) + lx.arctan(A),
    "inverse trigonometric": lambda: lx.arcsin(A / 9) + lx.arccos(B / 9),
    "hyperbolic": lambda: lx.sinh(A) - lx.cosh(A) + lx.tanh(B) + lx.arcsinh(A),
    "inverse hyperbolic": lambda: lx.arccosh(P + 1) + lx.arctanh(A / 9),
    "erf": lambda: lx.erf(A),
    "sigmoid": lambda: lx.sigmoid(A),
    "softplus": lambda: lx.softplus(A),
    "relu": lambda: lx.relu(A),
    "log of sigmoid": lambda: lx.log(lx.sigmoid(A)),
    "maximum": lambda: lx.maximum(A, 0) + lx.minimum(A, B),
    "power": lambda: P**3 + P ** sp.Rational(5, 2),
    "power of powers": lambda: lx.exp(s) ** 2 * s,
    "quotients": lambda: A / P - 1 / P + (A @ B) / x,
    "quotient inside a function": lambda: lx.tensor_from(
        lambda i, j: sp.exp(-2 * A[i, j] / (1 + P[i, j])) + sp.tanh(3 / P[i, j])
    ),
    "polynomial": lambda: (A + B) ** 2 - 3 * A + sp.Rational(1, 3),
    "scalars": lambda: s * A + s**2,
    "sizes in the formula": lambda: A / (n * lx.sqrt(n)) + n,
    "where": lambda: lx.where(A.ge(0), lx.log(P), A),
    "where with an illegal branch": lambda: lx.where(A.gt(0), lx.log(A), lx.sqrt(-A)),
    # softmax
    "softmax": lambda: lx.softmax(T, axis=1),
    "log_softmax": lambda: lx.log_softmax(T, axis=-1),
    "log of softmax": lambda: lx.log(lx.softmax(A)),
    "causal softmax": lambda: lx.softmax(A + lx.causal_mask(n)),
    "causal Gaussian kernel": lambda: lx.exp(-(A**2) + lx.causal_mask(n)),
    # index notation
    "index as a number": lambda: lx.tensor_from(lambda i, j: A[i, j] * i + j),
    "delta": lambda: lx.tensor_from(lambda i, j: A[i, j] * sp.KroneckerDelta(i, j)),
    "delta with a number": lambda: lx.tensor_from(lambda i, j: A[i, j] * sp.KroneckerDelta(i, 1)),
    "delta under a sum": lambda: lx.tensor_from(
        lambda i: lx.index_sum(lambda j, m: A[i, j] * sp.KroneckerDelta(j, m) * B[m, i])
    ),
    "sum over an index that does not occur": lambda: lx.tensor_from(
        lambda i: x[i] * lx.index_sum(lambda j: x[i] + 0 * j, n), shape=(n,)
    ),
    "fixed entries": lambda: lx.tensor_from(lambda i: T[i, 0, 2]),
    "triangle": lambda: lx.tensor_from(lambda i, j: sp.Piecewise((A[i, j], i >= j), (B[j, i], True))),
    "diagonal of three": lambda: lx.tensor_from(lambda i: G[0, 0, i, i] * A[i, i]),
    # shapes
    "diagonal matrix": lambda: lx.diag(x),
    "diagonal": lambda: lx.diag(A),
    "diagonal times matrix": lambda: lx.diag(x) @ A,
    "identity": lambda: A + lx.eye(n),
    "broadcast": lambda: lx.ones(n, 3) * 2 + x[:, None],
    "zero": lambda: A - A,
    "concat": lambda: lx.concat([X, Y], axis=1),
    "stack": lambda: lx.stack([A, B], axis=1),
    "slice": lambda: T[:, 1:3],
    "symbolic slice": lambda: T[:, : n - 1, 1:],
    "entry": lambda: T[0, :, -1],
    "new axes": lambda: A[:, None] * B[None],
    "merge": lambda: lx.merge(T, (0, 1), (2,)),
    "split": lambda: lx.split(lx.merge(T, (0, 1), (2,)), ((0, 1), (2,)), T.shape),
    "vec": lambda: lx.vec(A),
    "place": lambda: Apply("place", (x,), (n + 3,), {"starts": (sp.Integer(2),)}),
    # matrix functions
    "inverse": lambda: lx.inv(A) @ X,
    "determinant": lambda: lx.det(A),
    "log determinant": lambda: lx.logdet(A @ A.T + lx.eye(n)),
    "rank": lambda: lx.rank(X @ X.T),
    "singular value": lambda: lx.sigma(X, 2),
    "singular value beyond the last": lambda: lx.sigma(X, 7),
    "singular value by size": lambda: lx.sigma(X, n),
    "smallest singular values": lambda: lx.sigma_min(G),
    "spectral norms": lambda: lx.spectral_norm(G),
    "nuclear norm": lambda: lx.nuclear_norm(X),
    "condition number": lambda: lx.cond(X),
    "eigenvalues": lambda: lx.lambda_max(A) - lx.lambda_min(A),
    # gradients
    "gradient of least squares": lambda: lx.gradient(lx.sqnorm(X @ W - Y) / 2, W),
    "gradient through a log determinant": lambda: lx.gradient(lx.logdet(X @ X.T + lx.eye(n)), X),
    "gradient through softmax": lambda: lx.gradient(lx.sum(lx.softmax(T @ W) ** 2), W),
    "gradient through logsumexp": lambda: lx.gradient(lx.sum(lx.logsumexp(X @ W, axis=-1)), W),
    "gradient through max": lambda: lx.gradient(lx.sum(lx.max(T, axis=1)), T, nonsmooth="subgradient"),
    "gradient through relu": lambda: lx.gradient(lx.sqnorm(lx.relu(X @ W)), W, nonsmooth="subgradient"),
    "gradient through an inverse": lambda: lx.gradient(lx.trace(lx.inv(A) @ B), A),
    "gradient through slices": lambda: lx.gradient(lx.sqnorm(lx.concat([T[:, 1:], T], axis=1)), T),
    "gradient of a quotient": lambda: lx.gradient(lx.dot(x, A @ x) / lx.dot(x, x), x),
}


@functools.cache
def compiled(name: str) -> lx.codegen.CompiledFunction:
    """Return the compiled function of an expression."""
    return lx.compile(EXPRESSIONS[name]())


def arrays_for(
    t: lx.Tensor, rng: np.random.Generator, sizes: Mapping[sp.Symbol, int] = SIZES
) -> dict[str, np.ndarray[Any, Any]]:
    """Return a random array for each input of ``t``, by the name it has in code."""
    found = {}
    for variable in inputs_of(t):
        shape = tuple(int(sp.sympify(extent).xreplace(dict(sizes))) for extent in variable.shape)
        array = rng.standard_normal(shape)
        found[lx.identifier(str(variable.name))] = (
            np.abs(array) + 0.1 if "positive" in variable.assumptions else array
        )
    return found


def relative_error(value: Any, reference: Any) -> float:
    """Return the largest difference, relative to the largest entry of the reference."""
    a, b = np.asarray(value), np.asarray(reference)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ"
    finite = np.isfinite(b)
    assert np.array_equal(a[~finite], b[~finite])
    if not finite.any():
        return 0.0
    return float(np.abs(a[finite] - b[finite]).max() / max(np.abs(b[finite]).max(), 1e-300))
