"""What is refused, and what the messages say."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.interpret import Evaluator

n, D = lx.sizes("n D")
X, Y = lx.tensor("X", n, D), lx.tensor("Y^Q", n, D)
ONES = np.ones((2, 3))


def test_missing_array() -> None:
    with pytest.raises(lx.EvaluationError, match=r"array YQ is missing: input Y\^Q \(n, D\).*given were X"):
        lx.evaluate(X + Y, X=ONES)


def test_unknown_array() -> None:
    with pytest.raises(lx.InvalidArgument, match=r"unknown array 'Z'; the inputs .* are X, YQ"):
        lx.evaluate(X + Y, X=ONES, YQ=ONES, Z=ONES)


def test_array_given_twice() -> None:
    with pytest.raises(lx.InvalidArgument, match="X is given twice"):
        lx.evaluate(X, {"X": ONES}, X=ONES)


def test_names_that_clash_with_options_go_into_the_mapping() -> None:
    digits = lx.tensor("digits", n)
    assert lx.evaluate(lx.sum(digits), {"digits": [1.0, 2.0]}) == 3.0


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((2, 3), dtype=bool), r"truth values.*np.where\(keep, 0.0, -np.inf\)"),
        (np.array([["a"]]), "dtype <U1; expected numbers"),
        (np.array([[object()]]), "of type object; expected numbers"),
        (np.array([[True]], dtype=object), "of type bool"),
        ([[1.0, 2.0], [3.0]], "expected an array of numbers"),
        ([[1.0, np.nan]], r"holds NaN at \(0, 1\)"),
        (np.array([[mpmath.mpf("nan")]]), "holds NaN"),
        (np.ones((2, 3)) * 1j, "complex numbers were given; pass arithmetic='complex'"),
        (None, "expected numbers"),
    ],
)
def test_what_is_no_array_of_real_numbers(array: object, message: str) -> None:
    with pytest.raises(lx.EvaluationError, match=message):
        lx.evaluate(X, X=array)


def test_complex_numbers_in_multiprecision() -> None:
    with pytest.raises(lx.EvaluationError, match="real"):
        lx.evaluate(X, X=ONES * 1j, arithmetic="mpmath")


@pytest.mark.parametrize("arithmetic", ["float", "mpmath", "rounding"])
def test_exact_numbers_are_taken_over(arithmetic: str) -> None:
    array = np.array([[Fraction(1, 3), 2, mpmath.mpf(1) / 4, 0.5]], dtype=object)
    result = lx.evaluate(X, X=array, arithmetic=arithmetic)
    values = np.asarray(result.value if arithmetic == "rounding" else result)
    np.testing.assert_allclose(values.astype(float), [[1 / 3, 2, 0.25, 0.5]], rtol=1e-15)
    if arithmetic == "rounding":
        assert result.radius[0, 0] > 0


def test_fractions_are_rounded_to_the_precision_asked_for() -> None:
    (value,) = lx.evaluate(X[0], X=np.array([[Fraction(1, 3)]]), arithmetic="mpmath", digits=40)
    assert mpmath.nstr(value, 40) == "0." + "3" * 40


def test_integers_beyond_float64_have_a_radius() -> None:
    result = lx.evaluate(X, X=np.array([[2**53 + 1]]), arithmetic="rounding")
    assert result.radius[0, 0] >= 1


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), r"array X has 1 axis, shape \(3,\); expected shape \(n, D\)"),
        (np.ones((1, 2, 3)), r"3 axes.*Stack instances along a leading axis and pass batch=True"),
        (np.ones((0, 3)), "is empty; sizes are at least 1"),
    ],
)
def test_wrong_shape(array: np.ndarray, message: str) -> None:
    with pytest.raises(lx.ShapeError, match=message):
        lx.evaluate(X, X=array)


def test_axis_where_a_scalar_is_expected() -> None:
    with pytest.raises(lx.ShapeError, match=r"expected a scalar"):
        lx.evaluate(lx.tensor("s"), s=[1.0])


@pytest.mark.parametrize(
    ("assumption", "good", "bad"),
    [
        ("positive", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [3.0, 4.0]]),
        ("symmetric", [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.1, 4.0]]),
        ("positive_definite", [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
        ("orthogonal", [[0.6, 0.8], [-0.8, 0.6]], [[0.6, 0.8], [0.8, 0.6]]),
        ("diagonal", [[1.0, 0.0], [0.0, 2.0]], [[1.0, 1e-3], [0.0, 2.0]]),
        ("lower_triangular", [[1.0, 0.0], [5.0, 2.0]], [[1.0, 1.0], [0.0, 2.0]]),
    ],
)
def test_declared_properties_are_checked(assumption: str, good: object, bad: object) -> None:
    P = lx.tensor("P", n, n, **{assumption: True})
    for arithmetic in ("float", "mpmath"):
        lx.evaluate(P, P=good, arithmetic=arithmetic)
        with pytest.raises(lx.EvaluationError, match="was declared " + assumption.replace("_", " ")):
            lx.evaluate(P, P=bad, arithmetic=arithmetic)


def test_options() -> None:
    with pytest.raises(lx.InvalidArgument, match="'float', 'complex', 'mpmath' or 'rounding'"):
        lx.evaluate(X, X=ONES, arithmetic="double")
    with pytest.raises(lx.InvalidArgument, match="digits"):
        lx.evaluate(X, X=ONES, arithmetic="mpmath", digits=0)
    with pytest.raises(lx.InvalidArgument, match="evaluate its sides"):
        lx.evaluate(X.ge(0), X=ONES)
    with pytest.raises(lx.InvalidArgument, match="is no tensor"):
        Evaluator([1.0])  # type: ignore[list-item]


def test_two_inputs_of_one_code_name() -> None:
    with pytest.raises(lx.NameClash, match="both called XQ"):
        Evaluator([lx.tensor("X^Q", n), lx.tensor("XQ", n)])


def test_evaluator_ignores_arrays_it_does_not_need() -> None:
    (value,) = Evaluator([lx.sum(X)]).run({"X": ONES, "other": ONES})
    assert value == 6.0
