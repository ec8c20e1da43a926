r"""Factorials, whole parts, logarithms to a base, slopes ``f'``, norms with weights: read, or refused."""

from __future__ import annotations

import pytest
import sympy as sp

import lemmax as lx
from tests.parse.inputs import A, B, G, assert_same, n, read, readings, s, x, y

NUMBERS = [
    (r"\lceil s / 2 \rceil", lx.ceil(s / 2)),
    (r"\left\lceil s \right\rceil x", lx.ceil(s) * x),
    (r"\binom{n}{2} s", n * (n - 1) / 2 * s),
    (r"\tbinom{3}{1} s", 3 * s),
    (r"3! s", 6 * s),
    (r"n! x", lx.gamma(x * 0 + n + 1) * x),
    (r"(n - 1)! n x", lx.gamma(x * 0 + n + 1) * x),
    (r"\binom{n}{s} x", lx.gamma(n + 1 + 0 * s) / (lx.gamma(s + 1) * lx.gamma(n - s + 1)) * x),
    (r"\Gamma(s + 1)^2", lx.gamma(s + 1) ** 2),
    (r"\log_2 s", lx.log(s) / sp.log(2)),
    (r"\log_{10}(s) x", lx.log(s) / sp.log(10) * x),
    (r"\log_e s", lx.log(s)),
]
SLOPES = [
    (r"\tanh'(A x)", 1 - lx.tanh(A @ x) ** 2),
    (r"\tanh''(s)", -2 * lx.tanh(s) * (1 - lx.tanh(s) ** 2)),
    (r"\operatorname{sigmoid}'(x)", lx.sigmoid(x) * (1 - lx.sigmoid(x))),
    (r"\log'(s)", 1 / s),
    (r"\operatorname{erf}'(x_i)", 2 / lx.sqrt(sp.pi) * lx.exp(-(x**2))),
]
NORMS = [
    (r"\|x\|_A^2", x @ A @ x),
    (r"\|x - y\|_{G^{-1}}^2", (x - y) @ lx.inv(G) @ (x - y)),
    (r"\|x^\top\|_A", lx.sqrt(x @ A @ x)),
    (r"\|x\|_4^4", lx.sum(x**4)),
    (r"\|A x\|_3", lx.norm(A @ x, ord=3)),
    (r"\|x\|_{1.5}", lx.norm(x, ord=1.5)),
]
PLACES = [
    (r"\sum_i y_i A_{i \cdot}", A.T @ y),
    (r"\sum_j A_{\cdot j} y_j", A @ y),
    (r"\sum_j A_{\cdot, j} y_j", A @ y),
    (r"\sum_i \mathbb{I}(x_i > 0) y_i", lx.sum(lx.where(x > 0, y, 0))),
    (r"\vec{x}^\top A \vec{y}", x @ A @ y),
]
CASES = [*NUMBERS, *SLOPES, *NORMS, *PLACES]


@pytest.mark.parametrize(("text", "want"), CASES, ids=[text for text, _ in CASES])
def test_formulas(text: str, want: lx.Tensor) -> None:
    like = want if want.ndim else None
    assert_same(read(text, like=like), want, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s!!", "double factorial"),
        ("x!", "must be a scalar"),
        (r"\log_b s", "whole number from 2 on"),
        (r"\ln_2 s", "no meaning"),
        (r"\operatorname{sign}'(x)", "has no formula"),
        (r"\operatorname{tr}'(A)", "a prime on the function"),
        (r"\operatorname{softmax}'(x)", "a prime on the function"),
        (r"\|x\|_p", "not known"),
        (r"\|x\|_0", "not known"),
        (r"\|x\|_{0.5}", "not known"),
        (r"\|x\|_B", "do not fit"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(lx.ParseError, match=said):
        lx.parse_latex(text, [A, B, x, s])


def test_the_norm_2_1_of_a_matrix_has_two_meanings() -> None:
    with pytest.raises(lx.ParseError) as caught:
        read(r"\|A\|_{2,1}")
    columns, rows = (text.partition(",  of")[0].rpartition(", of")[0] for text in readings(caught.value))
    assert_same(read(columns), lx.sum(lx.norm(A, axis=0)))
    assert_same(read(rows), lx.sum(lx.norm(A, axis=1)))
