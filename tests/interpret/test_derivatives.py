"""Formal derivatives: complex step, central differences, total and local."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import sympy as sp

import lemmax as lx
from lemmax.expr.functions import ELEMENTWISE
from lemmax.interpret import Evaluator
from lemmax.rules.spectra import eigen_projector, polar, singular_dyad
from tests.interpret import expressions
from tests.interpret.test_values import DOMAINS, sizes_of

n, D = lx.sizes("n D")
x, y = lx.tensor("x", n), lx.tensor("y", n)
X, A = lx.tensor("X", n, D), lx.tensor("A", n, n)
Derivative = lx.Derivative

SLOPES = {
    "exp": np.exp,
    "floor": np.zeros_like,
    "ceil": np.zeros_like,
    "log": lambda t: 1 / t,
    "sqrt": lambda t: 0.5 / np.sqrt(t),
    "abs": np.sign,
    "sign": lambda t: 0 * t,
    "sin": np.cos,
    "cos": lambda t: -np.sin(t),
    "tan": lambda t: 1 / np.cos(t) ** 2,
    "arcsin": lambda t: 1 / np.sqrt(1 - t * t),
    "arccos": lambda t: -1 / np.sqrt(1 - t * t),
    "arctan": lambda t: 1 / (1 + t * t),
    "sinh": np.cosh,
    "cosh": np.sinh,
    "tanh": lambda t: 1 / np.cosh(t) ** 2,
    "arcsinh": lambda t: 1 / np.sqrt(1 + t * t),
    "arccosh": lambda t: 1 / np.sqrt(t * t - 1),
    "arctanh": lambda t: 1 / (1 - t * t),
    "erf": lambda t: 2 / np.sqrt(np.pi) * np.exp(-t * t),
    "sigmoid": lambda t: scipy.special.expit(t) * scipy.special.expit(-t),
    "softplus": scipy.special.expit,
    "relu": lambda t: np.where(t > 0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("arithmetic", ["float", "mpmath"])
def test_slope_of_functions(name: str, arithmetic: str) -> None:
    points = np.random.default_rng(2).uniform(*DOMAINS.get(name, (-4, 4)), 25)
    slope = lx.evaluate(Derivative(getattr(lx, name)(x), x), x=points, arithmetic=arithmetic)
    np.testing.assert_allclose(slope.astype(float), np.diag(SLOPES[name](points)), rtol=2e-14, atol=1e-300)


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "tanh", "erf", "exp"])
def test_slope_far_out(name: str) -> None:
    points = np.array([-30.0, -10.0, 10.0, 20.0])
    slope = lx.evaluate(Derivative(getattr(lx, name)(x), x), x=points)
    np.testing.assert_allclose(np.diag(slope), SLOPES[name](points), rtol=1e-12, atol=1e-300)


SMOOTH = [c for c in expressions.SMOOTH_CASES if "X" in Evaluator([c.tensor]).inputs]


@pytest.mark.parametrize("case", SMOOTH, ids=[c.name for c in SMOOTH])
def test_complex_step_agrees_with_differences_at_high_precision(case: expressions.Case) -> None:
    node = Derivative(case.tensor, expressions.X)
    arrays = {name: expressions.draw(3)[name] for name in Evaluator([node]).inputs}
    step = lx.evaluate(node, arrays, sizes=sizes_of(node))
    exact = lx.evaluate(node, arrays, arithmetic="mpmath", digits=30, sizes=sizes_of(node)).astype(float)
    assert step.shape == (*np.shape(case.reference(expressions.draw(3))), 3, 4)
    np.testing.assert_allclose(step, exact, rtol=0, atol=1e-12 * max(1.0, np.max(np.abs(exact))))


def test_branches_decide_on_the_real_part() -> None:
    f = lx.maximum(x, y) + lx.where(x.gt(1), x**2, -x) + lx.max(x) * lx.ones(n)
    slope = lx.evaluate(Derivative(f, x), x=[0.5, 2.0], y=[1.0, 1.0])
    np.testing.assert_allclose(slope, [[-1.0, 1.0], [0.0, 1.0 + 4.0 + 1.0]], rtol=1e-15)


def test_total_follows_every_path() -> None:
    S = (x * x).named("S")
    f = lx.sum(S * x)
    at = {"x": [2.0, 3.0]}
    np.testing.assert_allclose(lx.evaluate(Derivative(f, x), at), [12.0, 27.0], rtol=1e-15)
    np.testing.assert_allclose(lx.evaluate(Derivative(f, S), at), [2.0, 3.0], rtol=1e-15)


def test_local_holds_the_other_operands() -> None:
    S = (x * x).named("S")
    f = (S * x).named("f")
    at = {"x": [2.0, 3.0]}
    for arithmetic in ("float", "mpmath"):
        local = lx.evaluate(Derivative(f, x, "local"), at, arithmetic=arithmetic)
        np.testing.assert_allclose(local.astype(float), np.diag([4.0, 9.0]), rtol=1e-15)
        assert not np.any(lx.evaluate(Derivative(lx.sum(S), x, "local"), at, arithmetic=arithmetic))


def test_derivative_in_itself_and_in_strangers() -> None:
    S = (x * x).named("S")
    np.testing.assert_array_equal(lx.evaluate(Derivative(S, S), x=[2.0, 3.0]), np.eye(2))
    np.testing.assert_array_equal(lx.evaluate(Derivative(S, y), x=[2.0, 3.0], y=[1.0, 1.0]), np.zeros((2, 2)))


def test_overrides_are_held_while_differentiating() -> None:
    S = (x * x).named("S")
    f = lx.sum(S * x)
    held = lx.evaluate(Derivative(f, x), x=[2.0, 3.0], override={S: [10.0, 20.0]})
    np.testing.assert_allclose(held, [10.0, 20.0], rtol=1e-15)
    moved = lx.evaluate(Derivative(lx.sum(S**2), S), x=[2.0, 3.0], override={S: [10.0, 20.0]})
    np.testing.assert_allclose(moved, [20.0, 40.0], rtol=1e-15)
    local = lx.evaluate(Derivative(S, x, "local"), x=[2.0, 3.0], override={S: [10.0, 20.0]})
    np.testing.assert_allclose(local, np.diag([4.0, 6.0]), rtol=1e-15)


def test_derivatives_in_a_batch() -> None:
    node = Derivative(lx.softmax(x) * y, x)
    rng = np.random.default_rng(0)
    points = {"x": rng.standard_normal((5, 3)), "y": rng.standard_normal((5, 3))}
    (together,) = Evaluator([node]).run(points, batch=True)
    for i in range(5):
        alone = lx.evaluate(node, x=points["x"][i], y=points["y"][i])
        np.testing.assert_allclose(together[i], alone, rtol=1e-15, atol=1e-18)
    (shared,) = Evaluator([node]).run({"x": points["x"][0], "y": points["y"]}, batch=True)
    np.testing.assert_allclose(shared[2], lx.evaluate(node, x=points["x"][0], y=points["y"][2]), rtol=1e-15)


def test_more_entries_than_one_chunk_holds() -> None:
    point = np.random.default_rng(0).standard_normal(700)
    np.testing.assert_allclose(lx.evaluate(Derivative(lx.sqnorm(x), x), x=point), 2 * point, rtol=1e-14)


def test_masked_logits() -> None:
    S = lx.softmax((A + lx.causal_mask(n)) / sp.sqrt(n))
    point = np.random.default_rng(1).standard_normal((3, 3))
    jacobian = lx.evaluate(Derivative(S, A), A=point)
    s = lx.evaluate(S, A=point)
    expected = np.einsum("ip,ij,jq->ijpq", np.eye(3), s, np.eye(3)) - np.einsum(
        "ip,ij,iq->ijpq", np.eye(3), s, s
    )
    np.testing.assert_allclose(jacobian, expected / np.sqrt(3), rtol=0, atol=1e-16)


def test_derivatives_of_derivatives() -> None:
    f = lx.sum(x**3) * lx.sum(x)
    hessian = Derivative(Derivative(f, x), x)
    point = np.array([1.0, 2.0])
    expected = np.diag(6 * point * 3) + 3 * point[:, None] ** 2 + 3 * point[None, :] ** 2
    np.testing.assert_allclose(lx.evaluate(hessian, x=point), expected, rtol=1e-14)
    exact = lx.evaluate(hessian, x=point, arithmetic="mpmath", digits=40)
    assert max(abs(e) for e in (exact - expected).flat) < 1e-38
    with pytest.raises(lx.UnsupportedYet, match="at a complex point"):
        lx.evaluate(Derivative(f, x), x=point + 1e-30j, arithmetic="complex")


def test_accuracy_in_multiprecision() -> None:
    slope = lx.evaluate(Derivative(lx.sum(lx.exp(x)), x), x=[1.0], arithmetic="mpmath", digits=50)
    exact = lx.evaluate(lx.exp(x), x=[1.0], arithmetic="mpmath", digits=60)
    assert abs(slope[0] - exact[0]) < 1e-48


def test_rank_has_no_complex_step() -> None:
    with pytest.raises(lx.UnsupportedYet, match=r"no complex step.*mpmath"):
        lx.evaluate(Derivative(lx.rank(X), X), X=np.eye(2, 3) + 1.0)


FUNCTIONALS = {
    "spectral norm": lx.spectral_norm(X),
    "nuclear norm": lx.nuclear_norm(X),
    "second singular value": lx.sigma(X, 2),
    "condition number": lx.cond(X),
    "pseudo-inverse": lx.pinv(X)[0, 1] ** 2,
    "dyad": singular_dyad(X, 1)[0, 1] ** 2,
    "dyad of the last": singular_dyad(X, "last")[1, 0] ** 2,
    "polar factor": polar(X)[0, 2] ** 2,
    "polar factor of the transpose": polar(X.T)[2, 0] ** 2,
    "largest eigenvalue": lx.lambda_max(X @ X.T + X @ lx.ones(D, n)),
    "projector": eigen_projector(X @ X.T + X @ lx.ones(D, n), "min")[0, 1] ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_first_order_changes_of_spectra_against_central_differences(name: str) -> None:
    derivative = Derivative(FUNCTIONALS[name], X)
    point = np.array([[3.0, 1.0, 0.5], [0.25, 2.0, 1.0]])
    exact = lx.evaluate(derivative, X=point, arithmetic="mpmath", digits=25).astype(float)
    np.testing.assert_allclose(
        lx.evaluate(derivative, X=point), exact, rtol=0, atol=1e-14 * np.abs(exact).max()
    )


@pytest.mark.parametrize("functional", [lx.spectral_norm, lx.nuclear_norm, lx.cond])
def test_derivatives_of_spectra_at_ties_are_undefined_by_steps_too(functional: Callable[..., Any]) -> None:
    point = np.eye(2, 3) if functional is not lx.nuclear_norm else np.ones((2, 3))
    with pytest.raises(lx.EvaluationError, match="undefined"):
        lx.evaluate(Derivative(functional(X), X), X=point)


def test_no_radius_for_formal_derivatives() -> None:
    with pytest.raises(lx.UnsupportedYet, match="cannot be evaluated in the rounding arithmetic"):
        lx.evaluate(Derivative(lx.sqnorm(x), x), x=[1.0], arithmetic="rounding")
