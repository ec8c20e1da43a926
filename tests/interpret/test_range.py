"""Values that float64 has, reached through values that it has not."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx

n = lx.size("n")
x = lx.tensor("x", n)


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        (lx.log(lx.sum(lx.exp(x))), [1000.0, 1000.0], 1000 + np.log(2)),
        (lx.sum(lx.log(lx.sigmoid(x))), [-820.0], -820.0),
        (lx.exp(x) / lx.sum(lx.exp(x)), [-1000.0, -1000.0], [0.5, 0.5]),
        (lx.sqrt(lx.sum(x**2)), [3e200, 4e200], 5e200),
    ],
)
def test_overflow_on_the_way_does_not_matter(
    expression: lx.Tensor, at: list[float], expected: float | list[float]
) -> None:
    np.testing.assert_allclose(lx.evaluate(expression, x=np.array(at)), expected, rtol=1e-15)


def test_overflow_of_the_value_itself_stays() -> None:
    assert lx.evaluate(lx.sum(lx.exp(x)), x=np.array([1000.0])) == np.inf


def test_undefined_values_stay_errors() -> None:
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(lx.sum(lx.log(x)), x=np.array([-1.0]))
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(lx.sum(x * lx.log(x)), x=np.array([0.0]))


def test_large_arrays_are_not_evaluated_again() -> None:
    assert lx.evaluate(lx.log(lx.sum(lx.exp(x))), x=np.full(200_000, 1000.0)) == np.inf
