"""Expressions that people write every day, for checks of values and for stored outputs."""

from __future__ import annotations

import sympy as sp

import lemmax as lx
from lemmax.expr.tensor import Tensor

n, m, C, k, H, N = lx.sizes("n m C k H N")
A, B, M = lx.tensor("A", n, n), lx.tensor("B", n, n), lx.tensor("M", n, n)
X, W, Y = lx.tensor("X", n, m), lx.tensor("W", m, C), lx.tensor("Y", n, C)
K, V = lx.tensor("K", m, m), lx.tensor("V", C, C)
x, y, v, w, b = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("v", n), lx.tensor("w", m), lx.tensor("b", C)
s, lam = lx.tensor("s"), lx.tensor("lam", positive=True)
Sigma = lx.tensor("Sigma", n, n, positive_definite=True)
U, Q = lx.tensor("U", n, k), lx.tensor("Q", m, k)
T3, T4 = lx.tensor("T", n, m, k), lx.tensor("T", N, H, n, m)
XN, YN, WH = lx.tensor("X", N, n, m), lx.tensor("Y", N, n, C), lx.tensor("W", H, m, k)
x1, W1, L1 = lx.tensor("x_1", n), lx.tensor("W_1", m, k), lx.tensor("L^{1}", n, n)
P = lx.tensor("P", N, n, H, n, m)


def grad(f: Tensor, wrt: Tensor, kinks: bool = False) -> Tensor:
    g = lx.gradient(f, wrt, nonsmooth="subgradient" if kinks else "raise")
    assert isinstance(g, Tensor)
    return g


def everyday() -> dict[str, Tensor]:
    """Return expressions by what they are."""
    lsq = lx.sqnorm(X @ W - Y) / 2
    ridge = lx.sqnorm(X @ w - y) / 2 + lam * lx.sqnorm(w) / 2
    two_layer = lx.sqnorm(lx.relu(X @ W) @ V - Y) / 2
    logistic = lx.sum(lx.softplus(-y * (X @ w)))
    multiclass = lx.sum(lx.logsumexp(X @ W, axis=1)) - lx.sum(Y * (X @ W))
    cosine = (x @ y) / lx.sqrt((x @ x) * (y @ y))
    centred = X - lx.mean(X, axis=0)
    distances = lx.tensor_from(lambda i, j: lx.index_sum(lambda a: (X[i, a] - X[j, a]) ** 2))
    return {
        "least squares": lsq,
        "least squares, gradient": grad(lsq, W),
        "ridge": ridge,
        "ridge, gradient": grad(ridge, w),
        "two layers": two_layer,
        "two layers, gradient in W": grad(two_layer, W, kinks=True),
        "two layers, gradient in V": grad(two_layer, V),
        "bias": lx.relu(X @ W + b),
        "bias, gradient": grad(lx.sqnorm(lx.tanh(X @ W + b) - Y) / 2, b),
        "logistic": logistic,
        "logistic, gradient": grad(logistic, w),
        "squared sigmoid, gradient": grad(lx.sqnorm(lx.sigmoid(X @ w) - y) / 2, w),
        "multiclass": multiclass,
        "multiclass, gradient": grad(multiclass, W),
        "hinge": lx.sum(lx.maximum(1 - y * (X @ w), 0)),
        "quadratic form": x @ A @ x,
        "quadratic form, gradient": grad(x @ A @ x, x),
        "bilinear form": x @ A @ y,
        "trace": lx.trace(A.T @ B @ A @ M),
        "trace, gradient": grad(lx.trace(A.T @ B @ A @ M), A),
        "cycle of four": lx.einsum("ij,jk,kl,li->", A, A, A, A),
        "log det, gradient": grad(lx.logdet(A @ A.T + Sigma), A),
        "det, gradient": grad(lx.det(A), A),
        "trace of inverse, gradient": grad(lx.trace(lx.inv(A) @ B), A),
        "Gaussian likelihood": x @ lx.inv(Sigma) @ x + lx.logdet(Sigma),
        "factorisation": lx.sqnorm(U @ Q.T - X) / 4,
        "factorisation, gradient in U": grad(lx.sqnorm(U @ Q.T - X) / 4, U),
        "factorisation, gradient in Q": grad(lx.sqnorm(U @ Q.T - X) / 4, Q),
        "symmetric factorisation, gradient": grad(lx.sqnorm(U @ U.T - A) / 4, U),
        "norm, gradient": grad(lx.norm(X @ w - y), w),
        "norm, subgradient": grad(lx.norm(X @ w - y), w, kinks=True),
        "cosine": cosine,
        "cosine, gradient": grad(cosine, x),
        "mean": lx.mean(X, axis=0),
        "centred": centred,
        "variance": lx.sqnorm(centred) / n,
        "covariance": centred.T @ centred / (n - 1),
        "standardised": (x - lx.mean(x)) / lx.norm(x - lx.mean(x)),
        "squared distances": distances,
        "Gaussian kernel": lx.exp(-distances / 2),
        "scaled rows and columns": lx.diag(v) @ A @ lx.diag(y),
        "entrywise product": A * B,
        "entrywise product, gradient": grad(lx.sqnorm(A * M - B) / 2, M),
        "entrywise quotient": A / B,
        "Gram products": (X @ X.T) * (Y @ Y.T),
        "normalised rows": lx.exp(A) / lx.sum(lx.exp(A), axis=1, keepdims=True),
        "outer": lx.outer(x, w),
        "Kronecker": lx.kron(A @ A, K),
        "vec": lx.vec(X @ W),
        "all entries": lx.sum(X),
        "absolute entries": lx.sum(lx.abs(X)),
        "inner product": lx.sum(lx.exp(A) * lx.log(A**2 + 1)),
        "polynomial": x**3 - 2 * x + 1,
        "one minus": 1 - lx.sigmoid(x),
        "reciprocal": x**-2,
        "negative sum": -A - B,
        "cubic": lx.sum((X @ w) ** 3) / 6,
        "cubic, gradient": grad(lx.sum((X @ w) ** 3) / 6, w),
        "quartic": lx.sqnorm(X @ w) ** 2 / 4,
        "quartic, gradient": grad(lx.sqnorm(X @ w) ** 2 / 4, w),
        "scalar times matrix": s * A,
        "form times vector": (x @ y) * A @ x,
        "matrix over squared norm": A / (x @ x),
        "softmax times scalar": x * (1 / lx.sum(lx.exp(x))) * lx.exp(x),
        "Gaussian density": lx.exp(-lx.sqnorm(x) / 2) * x,
        "power of a number": 2 ** lx.sum(x),
        "diagonal": lx.diag(A),
        "diagonal of a diagonal": lx.diag(lx.diag(A @ B)),
        "row sums": lx.sum(A * B, axis=1),
        "resolvent": lx.inv(A + lam * lx.eye(n)) @ x,
        "entries of an inverse": lx.inv(A @ A + lx.eye(n))[0, 1],
        "centring matrix": lx.eye(n) - lx.ones(n, n) / n,
        "constant": lx.full(3, n, m),
        "unit vector": lx.eye(n)[0],
        "self-attention": lx.softmax((X @ K) @ X.T / lx.sqrt(m)) @ X,
        "linear attention": (X @ K) @ (X.T @ X) / n,
        "causal": lx.softmax(A + lx.causal_mask(n)),
        "tensor, two vectors": lx.einsum("ijk,j,k->i", T3, w, lx.tensor("z", k)),
        "tensor, one vector": lx.einsum("ijk,i->jk", T3, x),
        "samples": lx.sqnorm(XN @ W - YN) / 2,
        "samples, gradient": grad(lx.sqnorm(XN @ W - YN) / 2, W),
        "heads": lx.min(lx.sigma(WH, k), axis="H") ** 2,
        "maximum": lx.max(A),
        "maxima of rows": lx.max(A @ A, axis=1),
        "maximum over samples": lx.max(XN, axis=0),
        "log-sum-exp": lx.logsumexp(x),
        "log-sum-exp of columns": lx.logsumexp(A, axis=0),
        "product": lx.prod(x),
        "softmax of columns": lx.softmax(A, axis=0),
        "softmax over samples": lx.softmax(XN, axis=0),
        "side by side": lx.concat([X, X @ K], axis=1),
        "on top": lx.concat([A, B]),
        "stacked": lx.stack([x, 2 * x], axis=1),
        "blocks": lx.merge(lx.permute(T4, (0, 2, 1, 3)), (0, 1), (2, 3)),
        "samples below one another": lx.merge(XN, (0, 1), (2,)),
        "range": A[1:, :2] @ A[:2, 1:],
        "row of a product": (A @ B)[0],
        "column": A[:, 1],
        "entry": A[0, 1],
        "padded": lx.Apply("place", (X,), (n + 2, m), {"starts": (sp.Integer(1), sp.Integer(0))}),
        "first maximum": lx.Apply("argmax_mask", (A,), (n, n), {"axes": (1,)}),
        "chosen entries": lx.where(A.gt(0), A, B),
        "clipped": lx.maximum(lx.minimum(x, 1), 0),
        "spectral norm": lx.spectral_norm(X @ W),
        "nuclear norm": lx.nuclear_norm(X),
        "smallest eigenvalue": lx.lambda_min(A + A.T),
        "condition": lx.cond(A),
        "rank": lx.rank(X @ W),
        "singular value": lx.sigma(X, m),
        "determinants": lx.det(XN @ lx.permute(XN, (0, 2, 1))),
        "hull": lx.hull_distance(P, XN),
        "own scripts": L1.T @ x1 + (L1**2) @ x1,
        "own scripts, squared": lx.sqnorm(x1) * W1,
        "index as a number": lx.tensor_from(lambda i, j: A[i, j] * (j - i), shape=(n, n)),
        "diagonal entries": lx.tensor_from(lambda i: A[i, i] * x[i] ** 2),
    }
