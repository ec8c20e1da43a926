"""Expressions with every kind of node, every function and every assumption, for each reading to work on."""

from __future__ import annotations

import numpy as np
import sympy as sp

import lemmax as lx
from lemmax.expr.functions import ELEMENTWISE, step
from lemmax.expr.matrix_functions import cofactors
from lemmax.expr.nodes import ASSUMPTIONS, Apply
from lemmax.expr.tensor import Tensor
from lemmax.rules.matrices import power_derivative
from lemmax.rules.spectra import eigen_projector, polar, singular_dyad

N, n, k = lx.sizes("N n k")
SIZES = {"N": 2, "n": 3, "k": 2}
A, B, T = lx.tensor("A", n, n), lx.tensor("B", n, k), lx.tensor("T", N, n, k)
x, s = lx.tensor("x", n), lx.tensor("s")
ASSUMED = {name: lx.tensor(f"V_{p}", n, n, **{name: True}) for p, name in enumerate(ASSUMPTIONS)}
DOMAINS = {"arcsin": 0.5, "arccos": 0.5, "arctanh": 0.5}


def elementwise() -> dict[str, Tensor]:
    """Every entrywise function, at arguments in its domain."""
    made: dict[str, Tensor] = {}
    for name in ELEMENTWISE:
        argument = 2 + lx.tanh(x) if name in ("log", "sqrt", "arccosh") else lx.tanh(x) * DOMAINS.get(name, 1)
        function = getattr(lx, name)
        made[name] = function(argument)
    made["step"] = lx.tensor_from(lambda i: step(x[i]) * x[i])
    made["powers"] = x**2 + (1 + x * x) ** lx.tanh(s) + (1 + x * x) ** sp.Rational(-3, 2) + 2**x
    made["constants"] = sp.pi * x + sp.sqrt(n) / 3 + 0.1
    made["extremes"] = lx.maximum(x, 0) + lx.minimum(x, s)
    made["cases"] = lx.where(x >= s, lx.exp(x), x) + lx.where(x.eq(0), 1, x)
    made["by position"] = lx.tensor_from(lambda i: sp.Piecewise((x[i], i < 1), (i * x[i], True)))
    made["deltas"] = lx.tensor_from(
        lambda i, j: sp.KroneckerDelta(i, j) * x[i] + sp.KroneckerDelta(i, 0) * A[i, j]
    )
    made["minus infinity"] = lx.softmax(A + lx.causal_mask(n))
    return made


def applications() -> dict[str, Tensor]:
    """Every function that has no body."""
    tame = lx.eye(n) * 2 + lx.tanh(A) / n
    S = lx.softmax(A, axis=0).named("S")
    grid = lx.tensor_from(lambda i, h, j, c: B[j, c] * (1 + i + h), shape=(N, 2, n, k))
    return {
        "softmax": S,
        "softmax_pullback": Apply("softmax_pullback", (S, A), S.shape, {"axis": 0}),
        "logsumexp": lx.logsumexp(T, axis=(0, 2)),
        "max": lx.max(T, axis=1, keepdims=True),
        "min": lx.min(T),
        "prod": lx.prod(T, axis=-1),
        "argmax_mask": Apply("argmax_mask", (T,), T.shape, {"axes": (1, 2)}),
        "argmin_mask": Apply("argmin_mask", (A,), A.shape, {"axes": (0,)}),
        "on_domain": lx.gradient(lx.logdet(tame), A) / (2 + x) + x / x,
        "inv": lx.inv(tame),
        "det": lx.det(tame),
        "logdet": lx.logdet(tame),
        "concat": lx.concat([A, B, A], axis=1),
        "slice": A[1:, :-1],
        "place": Apply("place", (B,), (n + 1, k + 2), {"starts": (sp.S.One, sp.S.One)}),
        "merge": lx.merge(T, (0, 1), (2,)),
        "split": lx.split(lx.vec(T) * 2, ((0, 1, 2),), T.shape),
        "rank": lx.rank(T),
        "sigma": lx.sigma(A, 2),
        "sigma_min": lx.sigma_min(T),
        "spectral_norm": lx.spectral_norm(B),
        "nuclear_norm": lx.nuclear_norm(T),
        "cond": lx.cond(tame),
        "lambda_min": lx.lambda_min(A),
        "lambda_max": lx.lambda_max(A @ A.T),
        "solve": lx.solve(tame, B) + lx.solve(tame, x)[:, None],
        "pinv": lx.pinv(T),
        "matrix_power": lx.matrix_power(tame, n + 4),
        "negative power": lx.matrix_power(tame, -7),
        "power_derivative": power_derivative(A, A.T, 3 * n),
        "cofactors": lx.adjugate(A) + lx.trace(cofactors(A, 2)),
        "singular_dyad": singular_dyad(T, 1) + lx.sum(singular_dyad(A, "last")),
        "eigen_projector": eigen_projector(A, "min") + eigen_projector(A, "max"),
        "polar": polar(T),
        "hull_distance": lx.hull_distance(grid, T[:, 0]),
    }


def lambdas() -> dict[str, Tensor]:
    """Index lambdas of all kinds: products, families, broadcasts, nested sums, names."""
    R = (A @ B - B).named("R")
    return {
        "product": A @ B @ B.T,
        "family": T @ B.T,
        "transposes": lx.permute(T, (2, 0, 1)),
        "trace": lx.trace(A) * lx.sqnorm(R) / 2,
        "norm": lx.norm(R),
        "outer": lx.outer(x, B[0]),
        "kron": lx.kron(B, A),
        "diagonal": lx.diag(x) + lx.diag(lx.diag(A)),
        "broadcast": T * x[:, None] + s,
        "means": lx.mean(T, axis=1) - lx.sum(T, axis=1, keepdims=True)[:, 0],
        "sum in a function": lx.tensor_from(
            lambda i: lx.exp(-(lx.index_sum(lambda j: A[i, j] * A[j, i]) ** 2))
        ),
        "shifted entries": lx.tensor_from(lambda i: x[i] * x[0] - x[-1]),
        "zero": lx.zeros(n, k),
        "constant": lx.full(0.1, n),
        "identity": lx.eye(n),
        "assumptions": sum((v for v in ASSUMED.values()), start=lx.zeros(n, n)),
        "named scalar": (lx.sum(x) + s).named(r"\mu"),
        "tensor without axes": 2 * s,
    }


def derivatives() -> dict[str, Tensor]:
    """Derivatives not yet worked out."""
    product = A @ B
    return {
        "total": lx.Derivative(lx.sum(lx.tanh(A @ B)), A),
        "local": lx.Derivative(product, A, "local"),
    }


def everything() -> dict[str, Tensor]:
    """Return all expressions by what they show."""
    return {**lambdas(), **elementwise(), **applications(), **derivatives()}


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    """Return an array for each input by code name, as its assumption wants it."""
    rng = np.random.default_rng(seed)
    shapes = {"A": (3, 3), "B": (3, 2), "T": (2, 3, 2), "x": (3,), "s": ()}
    found = {name: np.asarray(rng.standard_normal(shape)) for name, shape in shapes.items()}
    shape_to = {
        "positive": np.exp,
        "symmetric": lambda m: m + m.T,
        "positive_definite": lambda m: m @ m.T + np.eye(3),
        "orthogonal": lambda m: np.linalg.qr(m)[0],
        "diagonal": lambda m: np.diag(np.diag(m)),
        "lower_triangular": np.tril,
    }
    for name, t in ASSUMED.items():
        found[lx.identifier(str(t.name))] = shape_to[name](rng.standard_normal((3, 3)))
    return found
