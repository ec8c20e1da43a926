"""Minus infinity in masks, what is chosen and what is dropped, and undefined results."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.nodes import Apply

n = lx.size("n")
A, M = lx.tensor("A", n, n), lx.tensor("M", n, n)
a = lx.tensor("a", n)
ALL = pytest.mark.parametrize("arithmetic", ["float", "complex", "mpmath", "rounding"])
INF = np.inf


def value(tensor: lx.Tensor, arithmetic: str, **arrays: object) -> np.ndarray:
    result = lx.evaluate(tensor, arrays, arithmetic=arithmetic)
    if arithmetic == "rounding":
        assert np.all(np.isfinite(result.radius))
        result = result.value
    return np.asarray(result, dtype=float)


@ALL
def test_masked_entries_have_no_weight(arithmetic: str) -> None:
    mask = np.array([[0.0, -INF], [1.0, 2.0]])
    soft = value(lx.softmax(A + M), arithmetic, A=[[1.0, 500.0], [0.0, 0.0]], M=mask)
    np.testing.assert_allclose(soft[0], [1, 0], rtol=0, atol=0)
    gauss = value(lx.exp(A + M), arithmetic, A=np.zeros((2, 2)), M=mask)
    np.testing.assert_allclose(gauss, np.exp(mask), rtol=1e-15)


@ALL
def test_scaled_masks_stay_masks(arithmetic: str) -> None:
    mask = np.array([[0.0, -INF], [-INF, 0.0]])
    x = np.array([[0.5, 2.0], [-1.0, 3.0]])
    np.testing.assert_array_equal(
        value((A + M) / sp.sqrt(n) * 2, arithmetic, A=x, M=mask) == -INF, mask == -INF
    )
    assert value(lx.max(A + M), arithmetic, A=x, M=mask) == 3.0
    np.testing.assert_array_equal(value(lx.max(2 * M, axis=0), arithmetic, M=mask), [0.0, 0.0])


@ALL
def test_logsumexp_of_nothing_is_minus_infinity(arithmetic: str) -> None:
    mask = np.array([[0.0, -INF], [-INF, -INF]])
    np.testing.assert_array_equal(value(lx.logsumexp(M, axis=1), arithmetic, M=mask), [0.0, -INF])


@ALL
@pytest.mark.parametrize("axis", [0, 1])
def test_fully_masked_row_is_named(arithmetic: str, axis: int) -> None:
    mask = np.zeros((3, 3))
    mask[2] = -INF
    with pytest.raises(lx.EvaluationError, match=r"the row at \(2,\) is -inf throughout"):
        lx.evaluate(lx.softmax(M, axis=axis), M=mask if axis == 1 else mask.T, arithmetic=arithmetic)


@ALL
def test_delta_drops_infinite_entries(arithmetic: str) -> None:
    mask = np.array([[0.0, -INF], [-INF, 5.0]])
    for tensor in (
        lx.tensor_from(lambda i, j: sp.KroneckerDelta(i, j) * M[i, j]),
        lx.tensor_from(
            lambda i, j: 3 * sp.KroneckerDelta(i, j) * M[j, i] + sp.KroneckerDelta(i, j) * M[i, i] * -2
        ),
    ):
        np.testing.assert_array_equal(value(tensor, arithmetic, M=mask), np.diag([0.0, 5.0]))
    total = lx.tensor_from(lambda i: lx.index_sum(lambda j: sp.KroneckerDelta(i, j) * M[i, j]))
    np.testing.assert_array_equal(value(total, arithmetic, M=mask), [0.0, 5.0])
    inner = lx.tensor_from(lambda i, j: lx.exp(sp.KroneckerDelta(i, j) * M[i, j]))
    np.testing.assert_allclose(value(inner, arithmetic, M=mask), np.exp(np.diag([0.0, 5.0])), rtol=1e-14)


@ALL
def test_branches_that_are_not_taken_may_be_undefined(arithmetic: str) -> None:
    x = np.array([-1.0, 0.0, 2.0])
    for tensor, expected in (
        (lx.where(a.gt(0), lx.log(a), a), [-1.0, 0.0, np.log(2)]),
        (lx.where(a.gt(0), 1 / a, -a), [1.0, 0.0, 0.5]),
        (lx.where(a.lt(0), a, lx.sqrt(a)), [-1.0, 0.0, np.sqrt(2)]),
        (lx.where(a.ge(0), lx.exp(a * 1000), a), [-1.0, 1.0, INF]),
    ):
        result = lx.evaluate(tensor, a=x, arithmetic=arithmetic)
        got = np.asarray(result.value if arithmetic == "rounding" else result, dtype=float)
        np.testing.assert_allclose(got, expected, rtol=1e-15)


@ALL
@pytest.mark.parametrize(
    ("tensor", "x"),
    [
        (lx.log(a), -1.0),
        (lx.sqrt(a), -1.0),
        (a ** sp.Rational(1, 3), -1.0),
        (lx.arcsin(a), 2.0),
        (lx.arccosh(a), 0.5),
        (lx.log(a) - lx.log(a), 0.0),
    ],
)
def test_undefined_results_are_errors(tensor: lx.Tensor, x: float, arithmetic: str) -> None:
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(tensor, a=[1.0, x], arithmetic=arithmetic)


@ALL
def test_undefined_results_name_the_tensor(arithmetic: str) -> None:
    inner = lx.log(a).named("ell")
    with pytest.raises(lx.EvaluationError, match=r"the value of ell \(n\) is undefined at \(1,\)"):
        lx.evaluate(lx.sum(inner), a=[1.0, -1.0], arithmetic=arithmetic)


@pytest.mark.parametrize("arithmetic", ["float", "complex", "mpmath"])
def test_singular_matrices_have_no_inverse(arithmetic: str) -> None:
    singular = np.ones((2, 2))
    for tensor in (lx.inv(A), lx.logdet(A)):
        with pytest.raises(lx.EvaluationError, match=r"undefined.*singular matrix"):
            lx.evaluate(tensor, A=singular, arithmetic=arithmetic)
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(lx.logdet(A), A=np.diag([1.0, -1.0]), arithmetic=arithmetic)
    assert lx.evaluate(lx.det(A), A=singular, arithmetic=arithmetic) == 0


def test_index_out_of_range() -> None:
    with pytest.raises(lx.EvaluationError, match=r"out of range on axis 0 of a \(n\), which has size 2"):
        lx.evaluate(a[3], a=[1.0, 2.0])
    with pytest.raises(
        lx.EvaluationError, match=r"the slice 1:4 on axis 0 of a \(n\) does not fit its size 2"
    ):
        lx.evaluate(a[1:4], a=[1.0, 2.0])
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(lx.tensor_from(lambda i: a[i + 1], shape=(n,)), a=[1.0, 2.0])


def test_unknown_parts_are_named() -> None:
    with pytest.raises(lx.MissingRule, match="does not know the function 'mystery'"):
        lx.evaluate(Apply("mystery", (a,), a.shape), a=[1.0])
    with pytest.raises(lx.MissingRule, match="polylog"):
        lx.evaluate(lx.tensor_from(lambda i: sp.polylog(3, a[i])), a=[1.0])
