"""Errors say what is wrong, mark the place with carets, and show shapes."""

from __future__ import annotations

import pytest

import lemmax as lx
from tests.parse.inputs import A, B, X, marked, n, read, x

SHAPES = [
    ("A B A", "A B A", r"A B (n x m)", "A (n x n)"),
    (r"x^\top (B x - x)", "B x", "B (n x m)", "x (column, n x 1)"),
    ("x y", "x y", "x (column, n x 1)", r"x^\top y, x y^\top or x \odot y"),
    ("B + A", "B + A", "B (n x m)", "A (n x n)"),
    ("A + x", "A + x", "A (n x n)", "x (column, n x 1)"),
    (r"A \odot B", r"A \odot B", "A (n x n)", "B (n x m)"),
    (r"x \odot A", r"x \odot A", "x (column, n x 1)", r"\operatorname{Diag}(v) A"),
    (r"\operatorname{tr}(B)", "B", "a trace needs a square matrix", "B (n x m)"),
    (r"B^{-1}", "B^{-1}", "the power -1 of B (n x m)", r"B^{\circ -1}"),
    (r"B^n", "B", "the power n needs a square matrix", "B (n x m)"),
    (r"A^{n/2}", "A^{n/2}", "the power n/2 of A (n x n)", r"A^{\circ n/2}"),
    (r"x^+", "x^+", "a pseudo-inverse is read for matrices", r"\operatorname{relu}(x), the positive part"),
    (r"x^\dagger", r"x^\dagger", "x (column, n x 1)", "a pseudo-inverse is read for matrices"),
    ("x^2", "x^2", "the power 2 of x (column, n x 1)", r"x^{\circ 2}"),
    ("A x_{ij}", "x_{ij}", "more subscripts than x (n) has axes", ""),
    (r"\sum_{i=1}^{m} x_i", "x_i", "the index i runs over sizes m and n", ""),
    (r"\sum_i x_i z_i", "z_i", "the index i runs over sizes n and m", ""),
    (r"\|X\|_F^2", "X", "X (N, n, m) has 3 axes", "write an index for each"),
    ("A_{0,1}", "0", "indices count from 1", ""),
    (r"\sum_{i=1}^{n} x_{i+1}", "x_{i+1}", "runs from 2 to n + 1 on an axis of size n", ""),
    (r"\frac{x}{A}", "{A}", "a denominator must be a scalar", r"x \oslash A"),
    (r"\langle x, z \rangle", r"\langle x, z \rangle", "x (column, n x 1)", "z (column, m x 1)"),
]


@pytest.mark.parametrize(("text", "place", "first", "second"), SHAPES, ids=[case[0] for case in SHAPES])
def test_shapes_that_do_not_fit(text: str, place: str, first: str, second: str) -> None:
    with pytest.raises(lx.ParseError) as caught:
        read(text)
    error = caught.value
    assert isinstance(error, lx.ShapeError)
    assert place in marked(error) or marked(error) in place
    assert first in str(error) and second in str(error)


SYNTAX = [
    ("", "the formula ends; expected an operand"),
    ("A +", "the formula ends; expected an operand"),
    ("(A", "'(' is opened here and never closed"),
    ("A)", "')' closes nothing"),
    ("(A]", "'(' is closed by ']' here"),
    (r"\frac{A}", "expected an operand"),
    ("x^", "a script is missing"),
    ("x^{}", "is empty"),
    (r"x^\top^\top", "a second script of the same kind"),
    ("x = A", "'=' is not expected here"),
    (r"\foo A", r"the command \foo is not known"),
    (r"\begin{tabular} A \end{tabular}", "the environment 'tabular' is not read"),
    (r"\begin{align} A", "opened here and never closed"),
    (r"A \nabla f", "left of an equals sign only"),
    ("A $ B", "the character '$'"),
    (r"\sum x_i", "the index is missing"),
    (r"\sum_{i=0}^{n-1} x_i", "indices count from 1"),
    (r"\sum_{i}^{n} x_i", "an upper limit needs a lower one"),
    (r"\sum_{i,i} x_i", "bound twice"),
    (r"\arg\max_i x_i", "is a place, no value"),
    (r"\begin{cases} x & i = 1 \end{cases}", "must end with one for all that remains"),
    (r"\begin{bmatrix} A & B \\ A \end{bmatrix}", "the rows of the matrix have"),
    (r"A \cdots A", "dots stand only between"),
    (r"\mathbf{1}^\top \mathbf{1}", "does not follow from the formula"),
    (r"\sum_i s", "the range of the index i does not follow"),
    ("x'''", "3 primes"),
    (r"\bar{A + A}", "an accent stands over a name"),
    (r"\operatorname{softmax}(s)", "the softmax of a scalar"),
    (r"\operatorname{diag}(A, A)", "expected 1 argument"),
    (r"\|A\|_{7}", "the norm 7 of A"),
]


@pytest.mark.parametrize(("text", "message"), SYNTAX, ids=[case[0] or "empty" for case in SYNTAX])
def test_what_is_no_formula(text: str, message: str) -> None:
    with pytest.raises(lx.ParseError) as caught:
        read(text)
    assert message in str(caught.value)
    assert "^" in str(caught.value).split("\n")[2]


def test_carets_stand_below_the_place_in_a_long_formula() -> None:
    text = " + ".join(["A"] * 60) + " + V + " + " + ".join(["A"] * 60)
    with pytest.raises(lx.ParseError) as caught:
        read(text)
    assert marked(caught.value) == "V"
    assert all(len(line) < 100 for line in str(caught.value).split("\n")[1:3])


def test_carets_stand_below_the_line_of_the_place() -> None:
    with pytest.raises(lx.ParseError) as caught:
        read("A x\n + V x\n + A x")
    assert marked(caught.value) == "V"
    assert str(caught.value).split("\n")[1].strip() == "+ V x"


def test_arguments_are_checked() -> None:
    for bad in (None, 3, A):
        with pytest.raises(lx.InvalidArgument):
            lx.parse_latex(bad, A=A)  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="'row' or 'column'"):
        read("A", vec="rows")
    with pytest.raises(lx.InvalidArgument, match="not both"):
        read("A", like=A, shape=(n, n))
    assert B.shape != A.shape and X.ndim == 3 and x.ndim == 1


def test_all_errors_are_lemmax_errors() -> None:
    assert issubclass(lx.ParseError, lx.LemmaxError)
    assert issubclass(lx.ParseError, ValueError)


@pytest.mark.parametrize("text", ["1e-3 x", r"x + 1.5e3 \|x\|^2 x", ".5E2 x"])
def test_scientific_notation_is_a_power_of_ten_or_a_letter(text: str) -> None:
    with pytest.raises(lx.ParseError, match=r"a power of ten, or the letter"):
        read(text)


@pytest.mark.parametrize("text", [r"1^\top x", "1^T x", "1' x", r"x 2^\top"])
def test_numbers_are_not_transposed(text: str) -> None:
    with pytest.raises(lx.ParseError, match="the transpose of a number"):
        read(text)
