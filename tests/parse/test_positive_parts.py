"""Positive parts and roundings in formulas."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx

n, m = lx.sizes("n m")
x, t, A, X = lx.tensor("x", n), lx.tensor("t"), lx.tensor("A", n, n), lx.tensor("X", n, m)
KNOWN = [x, t, A, X]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("x_+", lx.relu(x)),
        ("t_+", lx.relu(t)),
        ("t_{+}^2", lx.relu(t) ** 2),
        ("(t)_+^2", lx.relu(t) ** 2),
        ("[1 - t]_+", lx.relu(1 - t)),
        (r"\{t\}_+", lx.relu(t)),
        (r"\left[1 - t\right]_{+}", lx.relu(1 - t)),
        (r"\sum_i (1 - x_i)_+", lx.sum(lx.relu(1 - x))),
        (r"\sum_i [1 - x_i]_+^2", lx.sum(lx.relu(1 - x) ** 2)),
        (r"x_+^\top x", lx.sum(lx.relu(x) * x)),
        (r"\|(A x)_+\|^2", lx.sum(lx.relu(A @ x) ** 2)),
        ("X_+", lx.relu(X)),
        (r"\lfloor x \rfloor", lx.floor(x)),
        (r"\sum_i \lceil 2 x_i \rceil x_i", lx.sum(lx.ceil(2 * x) * x)),
        (r"\lceil X \rceil", lx.ceil(X)),
    ],
)
def test_what_is_meant(text: str, meant: lx.Tensor) -> None:
    read = lx.parse_latex(text, KNOWN)
    assert lx.equal(read, meant).name == "proved"
    back = lx.parse_latex(lx.latex(read), KNOWN, like=read)
    assert lx.equal(back, meant).name == "proved"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x_-", r"\operatorname{relu}(-x), which is not negative"),
        ("(1 - t)_-", r"\min(1 - t, 0)"),
        ("A_+", "of its entries or of its eigenvalues"),
        ("[A^2]_+", r"\operatorname{relu}(A^2), entry by entry"),
        (r"\mathbb{E}[x]", r"\frac1n \sum_{i=1}^n"),
        (r"\mathrm{Var}(x)", "A variance is written out"),
        (r"\mathbb{P}(x)", "write its density out"),
        ("{x_+}_i", "expected"),
        ("A^{-1/2}", "give it a name, R with R R = A"),
    ],
)
def test_what_is_not_clear_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(lx.ParseError) as caught:
        lx.parse_latex(text, KNOWN)
    assert message in str(caught.value)


def test_a_name_of_one_s_own_comes_first() -> None:
    w = lx.tensor("w_+", n)
    assert lx.parse_latex(r"w_+^\top x", [w, x]) == lx.parse_latex(r"x^\top w_+", [w, x])


def test_rounded_entries_have_enclosures() -> None:
    """A quotient of rounded entries is compared where it has a value."""
    for f in (lx.floor, lx.ceil):
        total = lx.sum(f(3 * x))
        assert lx.equal(1 / total, 2 / (2 * total)).name == "proved"
        assert lx.equal(f(3 * x), 3 * f(x)).name == "refuted"
    assert np.array_equal(lx.evaluate(lx.parse_latex(r"\lceil x \rceil", x), x=[0.5, -1.5]), [1, -1])
