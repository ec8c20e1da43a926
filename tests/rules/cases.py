"""One loss for each function that has a rule: small, with no symmetry that could hide a slip.

``CASES[function]`` is a scalar in which the function is applied to something that depends on ``A``.
"""

from __future__ import annotations

import sympy as sp

import lemmax as lx
from lemmax.expr.matrix_functions import cofactors
from lemmax.expr.nodes import Apply
from lemmax.expr.tensor import Tensor
from lemmax.rules.matrices import power_derivative
from lemmax.rules.spectra import eigen_projector, polar, singular_dyad

SIZES = {"n": 3}
n = lx.size("n")
A, G, H = lx.tensor("A", n, n), lx.tensor("G", n, n), lx.tensor("H", n, n)
g, h = lx.tensor("g", n), lx.tensor("h", n)
P = A @ H  # every function is applied to something that is computed
Q = A @ G  # and extrema to something whose extrema are anywhere


def weighted(t: Tensor, weights: Tensor = G) -> Tensor:
    """Return a scalar whose adjoint of ``t`` depends on ``t`` and on free weights."""
    return lx.sum(weights * lx.sin(t))


def apply(function: str, *operands: Tensor, **params: object) -> Tensor:
    return Apply(function, operands, operands[0].shape, params)  # type: ignore[arg-type]


def placed(t: Tensor) -> Tensor:
    return Apply("place", (t,), (n + 1, n + 2), {"starts": (sp.S.One, sp.S.One)})


CASES: dict[str, Tensor] = {
    "softmax": weighted(lx.softmax(P, axis=0)) + weighted(lx.softmax(P, axis=1), H),
    "softmax_pullback": weighted(apply("softmax_pullback", lx.softmax(P), A @ A, axis=1)),
    "logsumexp": weighted(lx.logsumexp(P, axis=0), g)
    + weighted(lx.logsumexp(P, axis=1, keepdims=True))
    + lx.logsumexp(P) ** 2,
    "max": weighted(lx.max(Q, axis=0), g) + weighted(lx.max(Q, axis=1, keepdims=True)) + lx.max(Q) ** 2,
    "min": weighted(lx.min(Q, axis=0), g) + weighted(lx.min(Q, axis=1, keepdims=True)) + lx.min(Q) ** 2,
    "argmax_mask": weighted(apply("argmax_mask", Q, axes=(1,)) * A),
    "argmin_mask": weighted(apply("argmin_mask", Q, axes=(0,)) * A),
    "prod": weighted(lx.prod(P, axis=0), g) + weighted(lx.prod(P, axis=1, keepdims=True)) + lx.prod(P) ** 2,
    "inv": weighted(lx.inv(P)),
    "det": lx.sin(lx.det(P)) + lx.det(lx.stack([P, G])) @ lx.tensor("e", 2),
    "logdet": lx.sin(lx.logdet(P @ P.T + P * P)) + lx.logdet(lx.eye(n) + P @ P.T),
    "cofactors": weighted(lx.adjugate(P))
    + lx.sum(cofactors(lx.stack([P, G]), 2) * lx.tensor("f2", 2, n, n, n, n)),
    "solve": weighted(lx.solve(P, A @ G)) + weighted(lx.solve(P, A @ g), h) + weighted(lx.solve(G, A)),
    "pinv": weighted(lx.pinv(P[:, :2]), lx.tensor("M3", 2, n))
    + weighted(lx.pinv(P[1:]), lx.tensor("M4", n, n - 1)),
    "matrix_power": weighted(lx.matrix_power(P, 7) / 50) + weighted(lx.matrix_power(P, -n - 4) / 50),
    "power_derivative": weighted(power_derivative(P, A @ G, sp.Integer(4)) / 20)
    + weighted(power_derivative(P, A @ G, -n) / 20),
    "spectral_norm": lx.sin(lx.spectral_norm(Q))
    + weighted(lx.spectral_norm(lx.stack([Q, A])), lx.tensor("e", 2)),
    "nuclear_norm": lx.sin(lx.nuclear_norm(Q[:, :2])) + lx.nuclear_norm(Q[1:]) * lx.nuclear_norm(A),
    "sigma": lx.sin(lx.sigma(Q, 2)) + lx.sigma(A, n - 1) ** 2,
    "sigma_min": lx.sin(lx.sigma_min(Q)) + lx.sigma_min(A[1:]) ** 2,
    "cond": lx.sin(lx.cond(Q) / 5) + lx.log(lx.cond(A[:, :2])),
    "lambda_max": lx.sin(lx.lambda_max(Q)) + lx.lambda_max(A) ** 2,
    "lambda_min": lx.sin(lx.lambda_min(Q)) + lx.lambda_min(A) ** 2,
    "singular_dyad": weighted(singular_dyad(Q, 2))
    + weighted(singular_dyad(A[1:], "last"), lx.tensor("K5", n - 1, n)),
    "polar": weighted(polar(Q))
    + weighted(polar(A[1:]), lx.tensor("K6", n - 1, n))
    + weighted(polar(lx.stack([Q[:, :2], A[:, 1:3]])), lx.tensor("K7", 2, n, 2)),
    "eigen_projector": weighted(eigen_projector(Q, "min")) + weighted(eigen_projector(A, "max"), H),
    "concat": weighted(lx.concat([P, A, P[:, :1]], axis=1), lx.tensor("K", n, 2 * n + 1))
    + weighted(lx.concat([G, P], axis=0), lx.tensor("L", 2 * n, n)),
    "slice": weighted(P[1:, :-1], lx.tensor("M", n - 1, n - 1)) + weighted(P[:2], lx.tensor("M2", 2, n)),
    "place": weighted(placed(P), lx.tensor("N", n + 1, n + 2)),
    "merge": weighted(lx.merge(P, (0, 1)), lx.tensor("q", n * n))
    + weighted(lx.merge(lx.outer(g, P), (0, 1), (2,)), lx.tensor("R", n * n, n)),
    "split": weighted(lx.split(lx.softmax(lx.merge(P, (0, 1))), ((0, 1),), (n, n))),
}
"""A rule for a new function needs a row here; ``test_tables`` says so."""
