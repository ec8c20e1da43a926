"""Matrix notation as papers write it, against the same built in code."""

from __future__ import annotations

import pytest
import sympy as sp

import lemmax as lx
from tests.parse.inputs import (
    K1,
    A,
    B,
    C,
    G,
    H,
    N,
    W,
    Wq,
    X,
    assert_same,
    d,
    lam,
    loss,
    m,
    n,
    read,
    s,
    t,
    theta,
    u,
    x,
    y,
    z,
)

DIAGONAL = lx.concat([lx.concat([A, lx.zeros(n, m)], axis=1), lx.concat([lx.zeros(n, n), B], axis=1)])
FOUR = lx.concat([lx.concat([A, B], axis=1), lx.concat([G, lx.zeros(n, m)], axis=1)])
BESIDE = lx.merge(lx.permute(W, (1, 0, 2)), (0,), (1, 2))
PRODUCTS = [
    (r"x^\top A y", x @ A @ y),
    (r"x^T A y", x @ A @ y),
    (r"x'Ay", x @ A @ y),
    (r"x^{\prime} A y", x @ A @ y),
    (r"x^{\mathsf T} A y", x @ A @ y),
    (r"x^{\intercal} A y", x @ A @ y),
    (r"\langle x, A y\rangle", x @ A @ y),
    (r"x \cdot y", x @ y),
    (r"A \cdot B", A @ B),
    (r"A\,x\;+\!y", A @ x + y),
    ("A x\n + y", A @ x + y),
    (r"\left(A + G\right)^\top x", (A + G).T @ x),
    (r"\bigl(A - G\bigr) \Bigl[x + y\Bigr]", (A - G) @ (x + y)),
    (r"x y^\top", lx.outer(x, y)),
    (r"x^\top x\, y", (x @ x) * y),
    (r"A y x^\top x", (x @ x) * (A @ y)),
    (r"A x^\top y", A * (x @ y)),
    (r"-A x", -(A @ x)),
    (r"- x + y", y - x),
    (r"x^\top A", (x @ A)[None, :]),
    (r"A^2 x", A @ A @ x),
    (r"A^{3}", A @ A @ A),
    (r"A^{-1} x", lx.inv(A) @ x),
    (r"A^n x", lx.matrix_power(A, n) @ x),
    (r"A^{n-1}", lx.matrix_power(A, n - 1)),
    (r"(A + G)^{-m}", lx.matrix_power(A + G, -m)),
    (r"A^{n \cdot m}", lx.matrix_power(A, n * m)),
    (r"B^+ x", lx.pinv(B) @ x),
    (r"B^{+} x", lx.pinv(B) @ x),
    (r"B^\dagger x", lx.pinv(B) @ x),
    (r"(B C)^{\dagger}", lx.pinv(B @ C)),
    (r"(B^+)^\top z", lx.pinv(B).T @ z),
    (r"A^{-\top} x", lx.inv(A).T @ x),
    (r"A^{-T} x", lx.inv(A).T @ x),
    (r"(A^\top A)^{-1} A^\top y", lx.inv(A.T @ A) @ A.T @ y),
    (r"I_n + x x^\top", lx.eye(n) + lx.outer(x, x)),
    (r"(I + x x^\top) y", y + x * (x @ y)),
    (r"A \mathbf{1}", A.sum(axis=1)),
    (r"A\mathbf 1_n", A.sum(axis=1)),
    (r"\mathbb{1}^\top A", A.sum(axis=0)[None, :]),
    (r"\mathbf{1}_n^\top A \mathbf{1}_n", lx.sum(A)),
    (r"x - \frac1n \mathbf{1}\mathbf{1}^\top x", x - lx.mean(x)),
]
ENTRYWISE = [
    (r"A \odot G", A * G),
    (r"A \circ G", A * G),
    (r"(A x) \odot y", (A @ x) * y),
    (r"2 x \odot y \odot x", 2 * x * y * x),
    (r"A^{\circ 2}", A**2),
    (r"x^{\odot 3}", x**3),
    (r"\exp(x) \odot y", lx.exp(x) * y),
    (r"\tanh(x)", lx.tanh(x)),
    (r"\operatorname{ReLU}(A x)", lx.relu(A @ x)),
    (r"\operatorname{sigmoid}(A)", lx.sigmoid(A)),
    (r"\operatorname{abs}(A)", abs(A)),
    (r"\max(x, 0)", lx.maximum(x, 0)),
    (r"\min(x, y)", lx.minimum(x, y)),
    (r"\sin^2(s)", lx.sin(s) ** 2),
    (r"\exp(s)^2", lx.exp(s) ** 2),
    (r"x \oslash y", x / y),
    (r"\mathbf{1}[A x > 0]", lx.where((A @ x).gt(0), 1, 0)),
    (r"\mathbf{1}_{\{A x > y\}}", lx.where((A @ x).gt(y), 1, 0)),
    (r"\mathbb{1}\{x \le y\} \odot x", lx.where(x.le(y), x, 0)),
    (r"\operatorname{diag}(x) B", x[:, None] * B),
    (r"\operatorname{Diag}(x) B", x[:, None] * B),
    (r"\operatorname{diag}(A)", lx.diag(A)),
    (r"\mathrm{diag}(x^\top A)", lx.diag(x @ A)),
    (r"\operatorname{softmax}(A)", lx.softmax(A)),
    (r"\operatorname{softmax}(x)", lx.softmax(x)),
    (r"\mathrm{softmax}\left(\frac{B C}{\sqrt{n}}\right) B", lx.softmax(B @ C / lx.sqrt(n)) @ B),
    (r"\operatorname{softmax}_{\mathrm{row}}(A)", lx.softmax(A)),
    (r"\operatorname{softmax}_{\mathrm{col}}(A)", lx.softmax(A, axis=0)),
    (r"\operatorname{softmax}(A^\top)^\top", lx.softmax(A, axis=0)),
]
SCALARS = [
    (r"\operatorname{tr}(A B C)", lx.trace(A @ B @ C)),
    (r"\mathrm{Tr}\left(A^\top A\right)", lx.trace(A.T @ A)),
    (r"\text{tr}(A) + \Tr(G)", lx.trace(A) + lx.trace(G)),
    (r"tr(A)", lx.trace(A)),
    (r"\operatorname{tr} A + s", lx.trace(A) + s),
    (r"\langle A, G\rangle", lx.trace(A.T @ G)),
    (r"\|x\|^2", lx.sqnorm(x)),
    (r"\|x\|_2^2", lx.sqnorm(x)),
    (r"\|A\|_F^2", lx.sqnorm(A)),
    (r"\|A\|^2_F", lx.sqnorm(A)),
    (r"||A||_F^2 + ||x||^2", lx.sqnorm(A) + lx.sqnorm(x)),
    (r"\langle A, G\rangle_F", lx.trace(A.T @ G)),
    (r"||s| - |t||", abs(abs(s) - abs(t))),
    (r"\lVert A \rVert_{\mathrm{F}}^2", lx.sqnorm(A)),
    (r"\left\| A x - y \right\|_2^2", lx.sqnorm(A @ x - y)),
    (r"\|x\| \|y\|", lx.norm(x) * lx.norm(y)),
    (r"\| \|x\| y \|", lx.norm(lx.norm(x) * y)),
    (r"\|A\|_*", lx.nuclear_norm(A)),
    (r"\|A\|_2", lx.spectral_norm(A)),
    (r"\|A\|_{\mathrm{op}}", lx.spectral_norm(A)),
    (r"\|x\|_1", lx.sum(abs(x))),
    (r"\|x\|_\infty", lx.max(abs(x))),
    (r"\|A\|_{\max}", lx.max(abs(A))),
    (r"\tfrac12 \|B^\top x - z\|^2", lx.sqnorm(B.T @ x - z) / 2),
    (r"\frac{x^\top A x}{x^\top x}", (x @ A @ x) / (x @ x)),
    (r"(x^\top y)^2", (x @ y) ** 2),
    (r"e^{x^\top y}", lx.exp(x @ y)),
    (r"e^{-s^2/2}", lx.exp(-(s**2) / 2)),
    (r"\mathrm{e}^{s}", lx.exp(s)),
    (r"\log\det A", lx.logdet(A)),
    (r"\ln \det(A)", lx.logdet(A)),
    (r"\det(A)^2", lx.det(A) ** 2),
    (r"\operatorname{rank}(A)", lx.rank(A)),
    (r"\sigma_1(A)", lx.sigma(A, 1)),
    (r"\sigma_{\min}(A)", lx.sigma_min(A)),
    (r"\lambda_{\min}(A)", lx.lambda_min(A)),
    (r"\sqrt{x^\top x}", lx.sqrt(x @ x)),
    (r"\sqrt[3]{s}", s ** sp.Rational(1, 3)),
    (r"|x^\top y|", abs(x @ y)),
    (r"\left| s \right| |t|", abs(s) * abs(t)),
    (r"||s| - t|", abs(abs(s) - t)),
    (r"\max(A)", lx.max(A)),
    (r"\operatorname{logsumexp}(x)", lx.logsumexp(x)),
    (r"\operatorname{prod}(x)", lx.prod(x)),
    (r"s^{n}", s**n),
    (r"2^{-n} s", s * 2 ** (-n)),
    (r"0.5 s", s / 2),
    (r"2 \cdot 3 s", 6 * s),
    (r"\pi s", sp.pi * s),
    (r"\mathrm{loss} \cdot s", loss * s),
]
SCALED = [
    (r"\frac 1 2 x", x / 2),
    (r"\frac1n x", x / n),
    (r"\frac{x}{n}", x / n),
    (r"x/2", x / 2),
    (r"(1/2) x", x / 2),
    (r"A x / n", A @ x / n),
    (r"n^{-1/2} x", x / lx.sqrt(n)),
    (r"\frac{2}{\sqrt n} x", 2 * x / lx.sqrt(n)),
    (r"(n + 1) x", (n + 1) * x),
    (r"\lambda x", lam * x),
    (r"e^{s} x", lx.exp(s) * x),
]
KRONECKER = [
    (r"A \otimes B", lx.kron(A, B)),
    (r"A G \otimes B C", lx.kron(A @ G, B @ C)),
    (r"x \otimes z", lx.kron(x, z)),
    (r"\operatorname{vec}(B)", lx.vec(B)),
    (r"\vec(B)", lx.vec(B)),
    (r"(A \otimes C^\top) \operatorname{vec}(B)", lx.vec(A @ B @ C)),
    (r"(A \otimes C) (G \otimes B)", lx.kron(A @ G, C @ B)),
    (r"K_{nm} \operatorname{vec}(B)", lx.vec(B.T)),
    (r"(x \otimes I_m) z", lx.vec(lx.outer(x, z))),
    (r"\operatorname{blkdiag}(A, B)", DIAGONAL),
    (r"\begin{bmatrix} A & B \\ G & 0 \end{bmatrix}", FOUR),
    (r"\begin{pmatrix} x \\ z \end{pmatrix}", lx.concat([x, z])),
    (r"\begin{bmatrix} x^\top \\ y^\top \end{bmatrix}", lx.stack([x, y])),
    (r"\begin{bmatrix} W^Q_1 & \cdots & W^Q_H \end{bmatrix}", BESIDE),
    (r"[W^Q_h]_{h \le H}", lx.merge(W, (0, 1), (2,))),
]
NAMED = [
    (r"\bar{u}^\top x", u @ x),
    (r"\bar u \odot \theta", u * theta),
    (r"\boldsymbol{\theta}^\top x", theta @ x),
    (r"\mathbf{A}\mathbf{x}", A @ x),
    (r"\mathbf A \mathbf x", A @ x),
    (r"K_1 x", K1 @ x),
    (r"\mathrm{Wq} z", Wq @ z),
    (r"Wq z", Wq @ z),
]
ALL = PRODUCTS + ENTRYWISE + SCALARS + SCALED + KRONECKER + NAMED


@pytest.mark.parametrize(("text", "want"), ALL, ids=[text for text, _ in ALL])
def test_is_read_as_it_is_built(text: str, want: lx.Tensor) -> None:
    assert_same(read(text, like=want), want, text)


def test_column_is_a_vector_and_row_a_matrix_of_one_row() -> None:
    assert read("A x").shape == (n,)
    assert read(r"x^\top A").shape == (1, n)
    assert read(r"x^\top x").shape == ()
    assert read(r"x x^\top").shape == (n, n)


def test_sums_of_matrix_and_nothing() -> None:
    assert_same(read("A + 0"), A)
    assert_same(read("0", like=A), lx.zeros(n, n))
    assert_same(read(r"0_{n \times m} + B"), B)


def test_vec_runs_down_columns_on_request() -> None:
    down = lx.vec(B.T)
    assert_same(read(r"\operatorname{vec}(B)", vec="column"), down)
    assert_same(read(r"(C^\top \otimes A) \operatorname{vec}(B)", vec="column"), lx.vec((A @ B @ C).T))
    assert_same(read(r"K_{nm} \operatorname{vec}(B)", vec="column"), lx.vec(B))


def test_families_are_subscripts() -> None:
    want = lx.einsum("iab,hcb->ihac", X, W)
    assert_same(read(r"X_i W^{Q\top}_h", like=want), want)
    assert_same(read(r"X_i (W^Q_h)^\top", like=want), want)
    assert_same(read(r"\sum_{i=1}^{N} X_i", like=X[0]), X.sum(axis=0))
    assert d in lx.ones(N, d).shape and H in W.shape


def test_a_bare_name_may_have_any_number_of_axes() -> None:
    assert read("X") == X and read("W^Q") == W
    assert lx.ones(m).shape == (m,) and G.shape == (n, n) and t.shape == ()
