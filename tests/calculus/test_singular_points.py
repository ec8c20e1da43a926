"""Points at which formulas divide zero by zero: finite where the function is smooth, refused elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lemmax as lx
from lemmax.expr.graph import inputs_of

n, D = lx.sizes("n D")
x, y, m = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("m", n)
s = lx.tensor("s")


def both(g: lx.Tensor, **arrays: object) -> np.ndarray:
    """Return the value by generated code, after comparing it with the interpreter's."""
    given = {name: np.asarray(a, dtype=float) for name, a in arrays.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_code, interpreted = lx.compile(g)(**given), lx.evaluate(g, given)
    np.testing.assert_allclose(by_code, interpreted, rtol=1e-13, atol=1e-300)
    return np.asarray(by_code)


def test_gradient_of_a_norm_at_zero_is_never_a_number() -> None:
    g = lx.gradient(lx.norm(x), x)
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(g, x=np.zeros(3))
    with np.errstate(all="ignore"):
        assert not np.any(np.isfinite(lx.compile(g)(x=np.zeros(3))))


def test_square_of_a_norm_at_zero_is_smooth() -> None:
    assert both(lx.gradient(lx.norm(x) ** 2, x), x=[0, 0]).tolist() == [0, 0]
    assert both(lx.gradient(lx.exp(-(lx.norm(x) ** 2)), x), x=[0, 0]).tolist() == [0, 0]


def test_gaussian_kernel_written_with_a_norm_at_equal_points() -> None:
    kernel = lx.exp(-(lx.norm(x - y) ** 2) / 4)
    point = [0.5, -1.0]
    assert both(lx.gradient(kernel, x), x=point, y=point).tolist() == [0, 0]
    mixed = lx.hessian(kernel, x, y)
    np.testing.assert_allclose(both(mixed, x=point, y=point), np.eye(2) / 2, rtol=1e-15)


def test_branches_that_are_not_chosen_have_no_influence() -> None:
    f = lx.sum(lx.where(x > 0, lx.sqrt(x), x))
    assert both(lx.gradient(f, x, nonsmooth="subgradient"), x=[-1, -4]).tolist() == [1, 1]
    f = lx.sum(lx.where(x <= 0, lx.exp(x), 1 + x))
    assert both(lx.gradient(f, x, nonsmooth="subgradient"), x=[1e4, -1e4]).tolist() == [1, 0]
    f = lx.sum(lx.where(x > 0, 2 + lx.log(1 + lx.sqrt(x)), x / 2))
    assert both(lx.gradient(f, x, nonsmooth="subgradient"), x=[-1, 4]).tolist() == pytest.approx(
        [0.5, 1 / 12]
    )


def test_masked_softmax_sums_to_one() -> None:
    masked = lx.where(m > 0, x, float("-inf"))
    f = lx.sum(lx.softmax(masked))
    assert both(lx.gradient(f, x), x=[1, 1, 100], m=[1, 1, 0]) == pytest.approx(0, abs=1e-16)
    g = lx.gradient(lx.dot(y, lx.softmax(masked)), x)
    weights = np.exp([0, 1]) / np.exp([0, 1]).sum()
    expected = [*(weights * (np.array([3, 5]) - weights @ [3, 5])), 0]
    assert both(g, x=[0, 1, 1e4], m=[1, 1, 0], y=[3, 5, 7]) == pytest.approx(expected)


def test_masked_log_sum_exp() -> None:
    f = lx.logsumexp(lx.where(m > 0, x, float("-inf")))
    assert both(lx.gradient(f, x), x=[0, 100], m=[1, 0]).tolist() == [1, 0]
    f = lx.logsumexp(x + m)
    assert both(lx.gradient(f, x), x=[0, 100], m=[0, -np.inf]).tolist() == [1, 0]


@pytest.mark.parametrize("at", [820.0, -820.0, 1e4, -1e4, 0.0])
def test_log_of_a_sigmoid_far_out(at: float) -> None:
    g = lx.gradient(lx.log(lx.sigmoid(s)), s)
    softer = lx.gradient(-lx.softplus(-s), s)
    expected = 0.5 if at == 0 else float(at < 0)
    assert both(softer, s=at) == pytest.approx(expected)
    if at > -700:  # below, the logarithm of zero is -inf: the function value overflows, not its gradient
        assert both(g, s=at) == pytest.approx(expected)


def test_softmax_of_large_logits_is_stable() -> None:
    g = lx.gradient(lx.dot(y, lx.log_softmax(x)), x)
    assert both(g, x=[1e4, 0, -1e4], y=[0, 1, 0]) == pytest.approx([-1, 1, 0])


def test_layer_normalisation_of_one_feature_and_of_a_constant() -> None:
    def normalised(t: lx.Tensor) -> lx.Tensor:
        centred = t - lx.mean(t)
        return centred / lx.sqrt(lx.mean(centred**2) + 0.25)

    gain = lx.gradient(lx.sum(s * normalised(x)), s)
    assert both(gain, x=[1e6]) == 0
    g = lx.gradient(lx.dot(y, normalised(x)), x)
    assert both(g, x=[3, 3], y=[1, 0]) == pytest.approx([1, -1])


def test_product_of_entries_with_zeros() -> None:
    g = lx.gradient(lx.prod(x), x)
    assert both(g, x=[0, 2, 3]).tolist() == [6, 0, 0]
    assert both(g, x=[0, 0, 3]).tolist() == [0, 0, 0]
    f = 4000 * lx.prod(x)
    assert both(lx.hessian(f, x), x=[0.03, 1, 1, 1])[0, 1] == 4000


def test_determinant_of_a_singular_matrix_is_refused_and_not_guessed() -> None:
    A = lx.tensor("A", n, n)
    with pytest.raises(lx.EvaluationError):
        lx.evaluate(lx.gradient(lx.det(A), A), A=np.ones((2, 2)))


def test_powers_at_zero() -> None:
    assert both(lx.gradient(lx.sum(x**2), x), x=[0, 1]).tolist() == [0, 2]
    assert both(lx.gradient(lx.sum(x**3 + x), x), x=[0, -1]).tolist() == [1, 4]
    assert both(lx.gradient(lx.sum(x ** lx.tensor("t")), x), x=[0, 2], t=2).tolist() == [0, 4]


@pytest.mark.parametrize("function", [lx.maximum, lx.minimum])
def test_at_a_tie_of_two_entries_their_slopes_add_up_to_one(function: Callable[..., Any]) -> None:
    x, y, z = (lx.tensor(name, n) for name in "xyz")
    ties = {"x": np.array([1.0, 1, 1, 2]), "y": np.array([1.0, 1, 2, 1]), "z": np.array([1.0, 2, 1, 1])}
    half = (x / 2).named("t")
    for loss in (function(x, y), function(function(x, y), z), function(half, y - x / 2) + x / 2):
        slopes = lx.gradient(lx.sum(loss), tuple(inputs_of(loss)), nonsmooth="subgradient")
        values = [lx.evaluate(g, {t.name: ties[t.name] for t in inputs_of(g)}) for g in slopes]
        np.testing.assert_array_equal(sum(values), np.ones(4))
        assert min(np.min(v) for v in values) >= 0


def test_at_a_tie_with_a_constant_the_slope_is_that_of_relu() -> None:
    x = lx.tensor("x", n)
    for loss in (lx.maximum(x, 1), lx.minimum(x, 1), lx.maximum(1, x)):
        g = lx.gradient(lx.sum(loss), x, nonsmooth="subgradient")
        np.testing.assert_array_equal(lx.evaluate(g, x=np.ones(3)), np.zeros(3))
