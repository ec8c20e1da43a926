"""Numbers, sizes and powers with sizes in them: printed as papers print them, and read back."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy as sp

import lemmax as lx
from lemmax.typeset.names import latex_expression
from tests.typeset.values import check_printed

n, m, k = lx.sizes("n m k")
x, W, s = lx.tensor("x", n), lx.tensor("W", n, m), lx.tensor("s")

EXPRESSIONS: list[tuple[sp.Expr, str]] = [
    (sp.Function("relu")(n), r"\operatorname{relu}(n)"),
    (sp.log(n / m), r"\log\Bigl( \frac{n}{m} \Bigr)"),
    (sp.Max(m, n) / 2, r"\frac{\max(m, n)}{2}"),
    (n * (n - 1) / 2, r"\frac{n (n - 1)}{2}"),
    ((n - m) ** 2, "(n - m)^{2}"),
    (n * (m + sp.Rational(1, 2)), r"n \Bigl( m + \frac{1}{2} \Bigr)"),
    (sp.exp(-n), "e^{-n}"),
    (sp.sqrt(n + 1), r"\sqrt{n + 1}"),
    (sp.Rational(1, 1000), r"\frac{1}{1000}"),
    (sp.Rational(1, 10**7), "10^{-7}"),
    (sp.Rational(-1, 10**7) * n, "-10^{-7} n"),
    (sp.Rational(3, 10**7), r"\frac{3}{10^{7}}"),
    (sp.Integer(10**22), "10^{22}"),
    (sp.Integer(123 * 10**8), "12300000000"),
]


@pytest.mark.parametrize(("expr", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions_in_sizes(expr: sp.Expr, text: str) -> None:
    assert latex_expression(expr) == text
    back = lx.parse_latex(f"({text}) x", x=x, W=W, like=x)
    assert lx.equal(back, expr * x).name == "proved"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-7, "10^{-7}"), (-1e-7, "-10^{-7}"), (2.5e-9, r"2.5 \cdot 10^{-9}"), (1e22, "10^{22}"), (0.1, "0.1")],
)
def test_floats(value: float, text: str) -> None:
    assert latex_expression(sp.Float(value)) == text
    assert lx.latex(value * x) == f"{text} x"
    back = lx.evaluate(lx.parse_latex(f"{text} x", x=x), x=[1.0])
    assert math.isclose(back.item(), value, rel_tol=1e-15)


POWERS: list[tuple[lx.Tensor, str]] = [
    (x**n, r"x^{\circ n}"),
    (W**k, r"W^{\circ k}"),
    ((x + 1) ** n, r"(x + \mathbf{1}_n)^{\circ n}"),
    (lx.tensor("W^K", n, m) ** k, r"(W^K)^{\circ k}"),
    (x ** (n / 2), r"x^{\circ \frac{n}{2}}"),
    (x**-k, r"x^{\circ (-k)}"),
    (x**s, r"x^{\circ s}"),
    (lx.gradient(lx.sum(x**k), x), r"k x^{\circ (k - 1)}"),
    (lx.hessian(lx.sum(x**k), x), r"k (k - 1) \operatorname{Diag}(x^{\circ (k - 2)})"),
    (Fraction(1, 10**7) * x, "10^{-7} x"),
    (s**n, "s^{n}"),
]


@pytest.mark.parametrize(("t", "text"), POWERS, ids=[text for _, text in POWERS])
def test_powers_with_a_size_or_a_scalar(t: lx.Tensor, text: str) -> None:
    assert lx.latex(t) == text
    assert lx.equal(lx.parse_latex(text, t, like=t), t).name == "proved"
    check_printed(lx.substitute(t, {x: lx.exp(x)}))  # at positive bases, where powers are real
