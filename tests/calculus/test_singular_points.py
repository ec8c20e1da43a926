"""Points at which formulas divide zero by zero: finite where the function is smooth, refused elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.graph import inputs_of

n, D = lx.sizes("n D")
x, y, m = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("m", n)
s, t, c = lx.tensor("s"), lx.tensor("t"), lx.tensor("c")


def both(g: lx.Tensor, **arrays: object) -> np.ndarray:
    """Return the value by generated code, after comparing it with the interpreter's."""
    given = {name: np.asarray(a, dtype=float) for name, a in arrays.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_code, interpreted = lx.compile(g)(**given), lx.evaluate(g, given)
    np.testing.assert_allclose(by_code, interpreted, rtol=1e-13, atol=1e-300)
    return np.asarray(by_code)


@pytest.mark.parametrize(
    "norm",
    [
        lx.norm(x),
        lx.sqrt(x @ x),
        lx.sqrt(lx.sqnorm(x)),
        (x @ x) ** 0.5,
        lx.norm(2 * x - 2 * y),
        3 * lx.norm(y - x),
    ],
)
def test_gradient_of_a_norm_at_zero_is_refused_and_names_the_point(norm: lx.Tensor) -> None:
    g = lx.gradient(norm, x)
    at = {t.name: np.zeros(3) for t in inputs_of(g)}
    with pytest.raises(
        lx.EvaluationError, match=r"root of .* x.* is 0: there a norm or root has no derivative"
    ):
        lx.evaluate(g, at)
    with pytest.raises(FloatingPointError, match=r"a norm does not exist at 0: the root of .* x.* is 0"):
        lx.compile(g)(**at)
    chosen = lx.gradient(norm, x, nonsmooth="subgradient")
    assert both(chosen, **at).tolist() == [0, 0, 0]
    elsewhere = {t.name: np.arange(3.0) + (t.name == "y") for t in inputs_of(g)}
    np.testing.assert_array_equal(both(chosen, **elsewhere), both(g, **elsewhere))


@pytest.mark.parametrize("smooth", [lx.sqrt(1 + x @ x), lx.sum(lx.sqrt(x**2 + 2)), lx.sqrt(x @ x + 0.5)])
def test_roots_that_are_positive_are_no_norms(smooth: lx.Tensor) -> None:
    g = lx.gradient(smooth, x)
    assert g == lx.gradient(smooth, x, nonsmooth="subgradient")
    assert both(g, x=np.zeros(3)).tolist() == [0, 0, 0]
    assert "raise FloatingPointError" not in lx.compile(g).source


def test_gradient_of_a_norm_of_a_matrix_at_zero() -> None:
    A = lx.tensor("A", n, D)
    for norm in (lx.norm(A), lx.sqrt(lx.trace(A.T @ A)), lx.sqrt(lx.sum(A * A))):
        g = lx.gradient(norm, A)
        with pytest.raises(lx.EvaluationError, match=r"root of .*A.* is 0"):
            lx.evaluate(g, A=np.zeros((2, 3)))
        with pytest.raises(FloatingPointError, match=r"root of .*A.* is 0"):
            lx.compile(g)(A=np.zeros((2, 3)))
        assert not np.any(both(lx.gradient(norm, A, nonsmooth="subgradient"), A=np.zeros((2, 3))))
        point = np.arange(6.0).reshape(2, 3)
        np.testing.assert_allclose(both(g, A=point), point / np.linalg.norm(point), rtol=1e-15)


def test_distances_between_points_with_a_subgradient_on_the_diagonal() -> None:
    X = lx.tensor("X", n, D)
    distances = lx.sqrt(lx.sum((X[:, None] - X[None]) ** 2, axis=-1))
    for loss in (lx.sum(distances), lx.sum((1 + distances) * lx.exp(-distances))):
        points = np.random.default_rng(0).standard_normal((4, 2))
        with pytest.raises(lx.EvaluationError, match="is 0"):
            lx.evaluate(lx.gradient(loss, X), X=points)
        with pytest.raises(FloatingPointError, match="is 0"):
            lx.compile(lx.gradient(loss, X))(X=points)
        g = both(lx.gradient(loss, X, nonsmooth="subgradient"), X=points)
        h = 1e-6
        value = lx.compile(loss)
        for at in np.ndindex(points.shape):
            step = np.zeros_like(points)
            step[at] = h
            central = (value(X=points + step) - value(X=points - step)) / (2 * h)
            assert g[at] == pytest.approx(central, abs=1e-8)


def test_the_place_where_a_norm_is_zero_is_named() -> None:
    A = lx.tensor(r"\bar{A}", n, D)
    g = lx.gradient(lx.sum(lx.sqrt(lx.sum(A**2, axis=1))), A)
    points = np.ones((3, 2))
    points[1] = 0
    with pytest.raises(lx.EvaluationError, match=r"root of a sum in \\bar\{A\} is 0 at \(1,\)"):
        lx.evaluate(g, barA=points)
    with pytest.raises(FloatingPointError, match=r"squares in \\bar\{A\} is 0 at \(1,\)"):
        lx.compile(g)(barA=points)
    with pytest.raises(FloatingPointError, match=r"squares in \\bar\{A\} is 0;"):
        lx.compile(lx.gradient(lx.norm(A), A))(barA=np.zeros((2, 2)))
    with pytest.raises(FloatingPointError, match=r"is 0 at \(1, 1\)"):
        lx.compile(g, batch=True)(barA=np.stack([np.ones((3, 2)), points]))


half = sp.Rational(1, 2)
JOINS: dict[str, tuple[lx.Tensor, bool]] = {
    "exponential linear unit": (lx.where(t <= 0, lx.exp(t), 1 + t), True),
    "Huber's loss": (lx.where(t > 1, t - half, lx.where(t < -1, -t - half, t**2 / 2)), True),
    "one side of a cube": (lx.where(t > 0, t**3, 0 * t), True),
    "tangent from a point": (lx.where(t < c, t**2, 2 * c * t - c**2), True),
    "secant from a point": (lx.where(t < c, t**2, 3 * c * t - 2 * c**2), False),
    "jump": (lx.where(t > 0, t + 1, t), False),
    "kink": (lx.where(t > 0, t, 0 * t), False),
    "vertical tangent": (lx.where(t > 0, lx.sqrt(t), t), False),
    "comparison that is not linear": (lx.where(t**2 < 1, t, 2 * t - 1), False),
}


@pytest.mark.parametrize("name", JOINS)
def test_cases_that_meet_smoothly_have_a_derivative(name: str) -> None:
    f, smooth = JOINS[name]
    if not smooth:
        with pytest.raises(lx.NonSmooth):
            lx.gradient(f, t)
        return
    g = lx.gradient(f, t)
    assert g == lx.gradient(f, t, nonsmooth="subgradient")
    for at in (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0):
        arrays = {v.name: at if v.name == "t" else 0.5 for v in inputs_of(f)}
        value, h = lx.compile(f), 1e-6
        moved = [float(value(**{**arrays, "t": at + s * h})) for s in (1, -1)]
        given = {v.name: arrays[v.name] for v in inputs_of(g)}
        assert both(g, **given) == pytest.approx((moved[0] - moved[1]) / (2 * h), abs=1e-5)


def both_to(g: lx.Tensor, atol: float, **arrays: object) -> np.ndarray:
    """As ``both``, to an absolute tolerance."""
    given = {name: np.asarray(a, dtype=float) for name, a in arrays.items()}
    by_code, interpreted = lx.compile(g)(**given), lx.evaluate(g, given)
    np.testing.assert_allclose(by_code, interpreted, rtol=0, atol=atol)
    return np.asarray(by_code)


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


def minors(a: np.ndarray) -> np.ndarray:
    """Return the cofactors of a matrix of rationals, each from its minor, exactly."""
    return np.array(sp.Matrix(a.astype(int).tolist()).cofactor_matrix().tolist(), dtype=float)


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((2, 2)),
        np.zeros((3, 3)),
        np.diag([1, 2, 0]),
        np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
        np.eye(4),
    ],
)
def test_determinant_at_singular_matrices(matrix: np.ndarray) -> None:
    A = lx.tensor("A", n, n)
    expected = minors(matrix)
    np.testing.assert_allclose(both_to(lx.gradient(lx.det(A), A), 1e-13, A=matrix), expected, atol=1e-13)
    np.testing.assert_allclose(both_to(lx.adjugate(A), 1e-13, A=matrix), expected.T, atol=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_second_derivative_of_a_determinant_at_matrices_of_any_rank(size: int, rank: int) -> None:
    """The determinant is linear in each entry: second differences are exact for integers."""
    A = lx.tensor("A", n, n)
    rng = np.random.default_rng(size + 10 * rank)
    left, right = rng.integers(-2, 3, (size, rank)), rng.integers(-2, 3, (rank, size))
    matrix = (left @ right).astype(float)
    expected = np.zeros((size,) * 4)
    for at in np.ndindex(expected.shape):
        first, second = at[:2], at[2:]
        for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            moved = matrix.copy()
            moved[first] += signs[0]
            moved[second] += signs[1]
            expected[at] += signs[0] * signs[1] * float(sp.Matrix(moved.astype(int).tolist()).det()) / 4
    H = lx.hessian(lx.det(A), A)
    np.testing.assert_allclose(both_to(H, 1e-12, A=matrix), expected, atol=1e-12)
    exact = lx.evaluate(H, A=matrix, arithmetic="mpmath", digits=30)
    assert np.array_equal(exact.astype(float), expected)


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
