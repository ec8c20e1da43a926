"""A user's own gradient code is compared entry by entry."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.check import check_gradient, taylor_slope

n, D, k = lx.sizes("n D k")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
f = lx.sqnorm(X @ W - Y) / 2
g = lx.gradient(f, W)
rng = np.random.default_rng(1)
ARRAYS = {
    "X": rng.standard_normal((4, 3)),
    "W": rng.standard_normal((3, 3)),
    "Y": rng.standard_normal((4, 3)),
}


def right(X: np.ndarray, W: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X.T @ (X @ W - Y)


def test_right_code_agrees() -> None:
    report = check_gradient(right, g, **ARRAYS)
    assert report
    assert report.agrees and report.wrong_entries == 0 and report.error < 1e-14
    assert "agrees" in str(report)
    assert check_gradient(right(**ARRAYS), g, **ARRAYS).agrees
    assert check_gradient(lambda **arrays: right(**arrays), g, **ARRAYS).agrees


def test_one_wrong_entry_is_named_with_both_numbers() -> None:
    def wrong(X: np.ndarray, W: np.ndarray, Y: np.ndarray) -> np.ndarray:
        result = right(X, W, Y)
        result[1, 2] += 1e-6
        return result

    report = check_gradient(wrong, g, **ARRAYS)
    assert not report
    assert not report.agrees
    assert report.index == (1, 2) and report.wrong_entries == 1
    assert report.yours - report.derived == pytest.approx(1e-6, rel=1e-6)
    assert "(1, 2)" in str(report) and "yours" in str(report)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda r: -r, "opposite sign"),
        (lambda r: 2 * r, "yours times 0.5 agrees"),
        (lambda r: r.T, "transposed"),
        (lambda r: r * np.nan, "not finite"),
        (lambda r: 0 * r, ""),
    ],
)
def test_simple_repairs_are_recognised(change: object, hint: str) -> None:
    report = check_gradient(change(right(**ARRAYS)), g, **ARRAYS)  # type: ignore[operator]
    assert not report.agrees and hint in report.hint


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(lx.InvalidArgument, match=r"shape \(3, 4\), expected \(4, 3\).*transpose"):
        wide = {"X": np.ones((2, 4)), "W": np.ones((4, 3)), "Y": np.ones((2, 3))}
        check_gradient(np.ones((3, 4)), g, **wide)
    with pytest.raises(lx.InvalidArgument, match="takes 'Z'"):
        check_gradient(lambda Z: Z, g, **ARRAYS)
    with pytest.raises(lx.InvalidArgument, match="derived gradient"):
        check_gradient(right, right, **ARRAYS)  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="no array of real numbers"):
        check_gradient("text", g, **ARRAYS)
    with pytest.raises(lx.EvaluationError):
        check_gradient(right(**ARRAYS), g, X=ARRAYS["X"], W=ARRAYS["W"])


def test_the_taylor_remainder_has_slope_two_for_right_gradients_only() -> None:
    assert taylor_slope(f, g, W, **ARRAYS) == pytest.approx(2.0, abs=1e-6)
    assert taylor_slope(f, right(**ARRAYS), W, **ARRAYS) == pytest.approx(2.0, abs=1e-3)
    assert taylor_slope(f, 1.01 * right(**ARRAYS), W, **ARRAYS) == pytest.approx(1.0, abs=0.2)
    linear = lx.dot(X @ W, Y)  # no remainder at all
    assert taylor_slope(linear, lx.gradient(linear, W), W, **ARRAYS) == np.inf


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_never_agrees(wrong: float) -> None:
    zero = {"X": np.eye(3), "W": np.zeros((3, 2)), "Y": np.zeros((3, 2))}
    n, D, k = lx.sizes("n D k")
    X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
    derived = lx.gradient(lx.sqnorm(X @ W - Y) / 2, W)
    mine = np.zeros((3, 2))
    assert lx.check_gradient(mine, derived, **zero)
    mine[1, 1] = wrong
    report = lx.check_gradient(mine, derived, **zero)
    assert not report and "yours is not finite" in str(report)


def test_a_function_that_works_in_place_is_judged_on_the_arrays_given() -> None:
    n, D = lx.sizes("n D")
    X, w, y = lx.tensor("X", n, D), lx.tensor("w", D), lx.tensor("y", n)
    derived = lx.gradient(lx.sqnorm(X @ w - y) / 2, w)
    arrays = {"X": np.eye(2), "w": np.ones(2), "y": np.array([1.0, 2.0])}

    def wrong(X: np.ndarray, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        w *= 0
        return -X.T @ y

    def right(X: np.ndarray, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        y -= X @ w
        return -X.T @ y

    assert not lx.check_gradient(wrong, derived, **arrays)
    assert lx.check_gradient(right, derived, **arrays)
    np.testing.assert_array_equal(arrays["w"], np.ones(2))
    np.testing.assert_array_equal(arrays["y"], [1.0, 2.0])
