"""Sums over indices, entries, rows in small letters, conditions on indices."""

from __future__ import annotations

import pytest
import sympy as sp

import lemmax as lx
from tests.parse.inputs import A, B, C, H, N, W, X, assert_same, m, n, read, s, x, y, z

LOWER = lx.tensor_from(lambda i, j: sp.Piecewise((A[i, j], j <= i), (0, True)))
DIAGONAL = lx.tensor_from(lambda i, j: sp.Piecewise((A[i, j], sp.Eq(i, j)), (-sp.oo, True)))
SUMS = [
    (r"\sum_{i=1}^n x_i y_i", x @ y),
    (r"\sum_i x_i^2", lx.sqnorm(x)),
    (r"\sum_{i,j} A_{ij} x_i y_j", x @ A @ y),
    (r"\sum_{ij} A_{ij} x_i y_j", x @ A @ y),
    (r"\sum_{i} \sum_{j} x_i A_{ij} y_j", x @ A @ y),
    (r"\sum_{i \le n} x_i", lx.sum(x)),
    (r"\sum_{1 \le i \le n} x_i", lx.sum(x)),
    (r"\sum_{i \in [n]} x_i", lx.sum(x)),
    (r"\sum_{i \in \{1, \dots, n\}} x_i", lx.sum(x)),
    (r"\sum_{i=2}^{n} x_i x_{i-1}", lx.sum(x[1:] * x[: n - 1])),
    (r"\sum_{i=1}^{n-1} (x_{i+1} - x_i)^2", lx.sqnorm(x[1:] - x[: n - 1])),
    (r"\sum_{i=1}^{3} x_i", lx.sum(x[:3])),
    (r"\sum_{i}\sum_{j \ne i} A_{ij}", lx.sum(A) - lx.trace(A)),
    (r"\sum_{i=1}^{n}\sum_{j=1}^{n} A_{ij} \mathbf{1}[i \ne j]", lx.sum(A) - lx.trace(A)),
    (
        r"\sum_{i}\sum_{j \le i} A_{ij}",
        lx.sum(lx.tensor_from(lambda i, j: sp.Piecewise((A[i, j], j <= i), (0, True)))),
    ),
    (r"\log \sum_i e^{x_i}", lx.log(lx.sum(lx.exp(x)))),
    (r"\sum_i x_i b_i", B.T @ x),
    (r"\sum_i b_i b_i^\top", B.T @ B),
    (r"\left(\sum_{i} x_i\right)^2", lx.sum(x) ** 2),
    (r"\sum_i \left( x_i - \frac{1}{n}\sum_j x_j \right)^2", lx.sqnorm(x - lx.mean(x))),
    (r"\frac{1}{n} \sum_i -x_i", -lx.mean(x)),
    (r"\sum_{h} W^Q_h z", W.sum(axis=0) @ z),
    (r"\sum_i i x_i", lx.sum(lx.tensor_from(lambda i: (i + 1) * x[i]))),
    (r"\sum_i A_{ii}", lx.trace(A)),
    (r"\sum_{i,j} \delta_{ij} A_{ij}", lx.trace(A)),
]
OVER_INDICES = [
    (r"\max_i x_i", lx.max(x)),
    (r"\max_{i,j} A_{ij}", lx.max(A)),
    (r"\max_j A_{ij}", lx.max(A, axis=1)),
    (r"\min_{1 \le i \le n} x_i", lx.min(x)),
    (r"\prod_i x_i", lx.prod(x)),
    (r"\prod_{i=1}^{n} x_i", lx.prod(x)),
    (r"\max_h W^Q_h", lx.max(W, axis=0)),
    (r"\operatorname*{logsumexp}_{j} A_{ij}", lx.logsumexp(A, axis=1)),
    (r"\min_i \|b_i\|", lx.min(lx.sqrt(lx.sum(B**2, axis=1)))),
]
ENTRIES = [
    (r"A_{11}", A[0, 0]),
    (r"A_{1,2}", A[0, 1]),
    (r"x_3", x[2]),
    (r"b_{1}^\top z", B[0] @ z),
    (r"A_{:,1}", A[:, 0]),
    (r"A_{1,:}", A[0]),
    (r"A_{:1}", A[:, 0]),
    (r"A_{1:}", A[0]),
    (r"x_{1:3}", x[0:3]),
    (r"A_{2:n,1:2}", A[1:, 0:2]),
    (r"(A B)_{1:}", (A @ B)[0]),
    (r"(A x)_{2:n}", (A @ x)[1:]),
    (r"e_1^\top x", x[0]),
    (r"\left| x_1 \right|", abs(x[0])),
]
FREE = [
    (r"\sum_k A_{ik} B_{kj}", A @ B),
    (r"\sum_k B_{kj} A_{ik}", A @ B),
    (r"\sum_{k} a_{ik} x_k", A @ x),
    (r"\sum_k A_{ki} x_k", A.T @ x),
    (r"X_{ijk}", X),
    (r"\sum_k X_{ijk} z_k", X @ z),
    (r"x_i y_j", lx.outer(x, y)),
    (r"\delta_{ij} x_i", lx.diag(x)),
    (r"A_{ii}", lx.diag(A)),
    (r"(A B)_{ij}", A @ B),
    (r"[A x]_i", A @ x),
    (r"A_{ij}^2", A**2),
    (r"x^\top e_i", x),
    (r"b_i^\top z", B @ z),
    (r"s x_i", s * x),
    (r"\operatorname{softmax}(a_i)", lx.softmax(A)),
    (r"\frac{e^{A_{ij}}}{\sum_k e^{A_{ik}}}", lx.exp(A) / lx.exp(A).sum(axis=1, keepdims=True)),
    (r"\begin{cases} A_{ij} & \text{if } j \le i \\ 0 & \text{otherwise} \end{cases}", LOWER),
    (r"\begin{cases} A_{ij}, & i = j, \\ -\infty, & \text{else} \end{cases}", DIAGONAL),
    (r"[A_{ij} x_j]_{ij} B", (A * x) @ B),
    (r"W^Q_h C + W^Q_h C", 2 * (W @ C)),
]
ALL = SUMS + OVER_INDICES + ENTRIES + FREE


@pytest.mark.parametrize(("text", "want"), ALL, ids=[text for text, _ in ALL])
def test_is_read_as_it_is_built(text: str, want: lx.Tensor) -> None:
    if "-\\infty" in text:
        assert read(text, like=want).shape == want.shape  # infinite values have no differences
        assert lx.equal(lx.exp(read(text, like=want)), lx.exp(want)).name == "proved"
        return
    assert_same(read(text, like=want), want, text)


@pytest.mark.parametrize(
    "text", [r"\sum_i \sum_j x_i y_j", r"\sum_{i} x_i \sum_{j} y_j", r"\Bigl(\sum_i x_i\Bigr) \sum_i y_i"]
)
def test_letters_of_sums_do_not_meet(text: str) -> None:
    assert_same(read(text), lx.sum(x) * lx.sum(y), text)


def test_repeated_indices_are_not_summed_unasked() -> None:
    assert read(r"A_{ij} B_{jk}").shape == (n, n, m)


def test_a_condition_keeps_an_index_inside() -> None:
    want = lx.concat([A, B], axis=1)
    text = r"\begin{cases} A_{il} & \text{if } l \le n \\ B_{i,l - n} & \text{otherwise} \end{cases}"
    assert_same(read(text, like=want), want, text)


def test_an_index_that_stands_for_two() -> None:
    want = lx.vec(B)
    text = r"B_{\lfloor (k - 1) / m \rfloor + 1,((k - 1) \bmod m) + 1}"
    assert_same(read(text, like=want), want, text)
    assert_same(read(rf"\sum_{{k=1}}^{{n m}} ({text})^2"), lx.sqnorm(B), text)


def test_indices_of_blocks() -> None:
    want = lx.merge(lx.einsum("iab,hbc->iahc", X, W.mT), (0, 1), (2, 3))
    text = r"[X_i W^{Q\top}_h]_{i \le N,\, h \le H}"
    assert_same(read(text), want, text)
    assert want.shape == (N * n, H * n) and C.shape == (m, n)
