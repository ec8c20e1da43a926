"""Convergence claims are checked by running gradient descent with the derived gradient."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.check import trajectory
from lemmax.check.decide import CLOSE, FALSE, TRUE
from lemmax.check.descent import Descent
from lemmax.check.readings import Readers, stacked
from lemmax.statement import Convergence, Instances
from tests.check import toys

n = lx.size("n")
x, c = lx.tensor("x", n), lx.tensor("c", n)
loss = lx.sum(c * x**2) / 2  # curvatures c
ARRAYS = {"x": np.array([1.0, 2.0]), "c": np.array([1.0, 0.25])}


def judged(claim: Convergence) -> int:
    (outcome,) = Descent(claim, Readers()).judge(stacked([ARRAYS]), {})
    return outcome.state


def settled(claim: Convergence) -> int:
    return Descent(claim, Readers()).settle(ARRAYS, {}).state


@pytest.mark.parametrize(
    ("rate", "step", "state"),
    [(0.75**2, 1.0, TRUE), (0.7**2, 1.0, FALSE), (0.5, 0.1, FALSE), (0.9**2 + 0.2, 1.0, TRUE)],
)
def test_a_quadratic_converges_at_its_rate(rate: float, step: float, state: int) -> None:
    claim = Convergence(loss, x, step=step, steps=8, rate=rate)
    assert judged(claim) == settled(claim) == state


def test_an_attained_rate_is_close_in_float_and_equal_in_multiprecision() -> None:
    only = {"x": np.array([2.0]), "c": np.array([0.25])}
    claim = Convergence(loss, x, step=1.0, steps=8, rate=0.75**2)
    (outcome,) = Descent(claim, Readers()).judge(stacked([only]), {})
    found = Descent(claim, Readers()).settle(only, {})
    assert outcome.state == CLOSE == found.state
    assert found.agreement >= 40


def test_step_and_rate_may_be_expressions_of_the_instance() -> None:
    L, mu = lx.max(c), lx.min(c)
    good = Convergence(loss, x, step=1 / L, steps=6, rate=(1 - mu / L) ** 2)
    fast = Convergence(loss, x, step=1 / L, steps=6, rate=(1 - mu / L) ** 4)
    assert (judged(good), settled(good)) == (TRUE, TRUE)
    assert (judged(fast), settled(fast)) == (FALSE, FALSE)


def test_reaching_a_part_of_the_first_loss() -> None:
    assert judged(Convergence(loss, x, step=1.0, steps=30, reaches=1e-6)) == TRUE
    slow = Convergence(loss, x, step=1.0, steps=3, reaches=1e-6)
    assert judged(slow) == settled(slow) == FALSE


def test_a_divergent_descent_fails() -> None:
    claim = Convergence(loss, x, step=1e3, steps=200, rate=1.0)
    assert judged(claim) == FALSE


def test_backtracking_meets_its_condition_at_every_step() -> None:
    path = trajectory(loss, x, ARRAYS, steps=12)
    assert len(path.losses) == 13 and len(path.steps) == 12
    for t in range(12):
        assert path.losses[t + 1] <= path.losses[t] - path.steps[t] / 2 * path.gradient_squares[t] + 1e-15
    assert path.losses[-1] < 1e-3 * path.losses[0]


def test_a_trajectory_is_the_textbook_iteration() -> None:
    path = trajectory(loss, x, ARRAYS, step=0.5, steps=3)
    w = ARRAYS["x"].copy()
    for _ in range(3):
        w = w - 0.5 * ARRAYS["c"] * w
    assert np.allclose(path.arrays["x"], w, rtol=1e-14)
    assert path.losses[-1] == pytest.approx((ARRAYS["c"] * w**2).sum() / 2)
    with pytest.raises(lx.InvalidArgument, match="at least 1"):
        trajectory(loss, x, ARRAYS, steps=0)


def test_a_false_convergence_theorem_is_refuted_with_numbers_of_both_sides() -> None:
    X, W, Y = toys.X, toys.W, toys.Y
    f = lx.sqnorm(X @ W - Y) / 2
    theorem = toys.theorem(
        "fast_rate_of_least_squares",
        Convergence(f, W, step=1 / lx.spectral_norm(X) ** 2, steps=5, rate=0.5),
        instances=Instances(sizes={toys.n: 2, toys.D: 2, toys.k: 1}),
    )
    report = lx.check(theorem, instances=40)
    assert report.as_expected, str(report)
    comparison = report.witness.comparisons[-1]  # type: ignore[union-attr]
    assert comparison.digits == 100 and float(comparison.lhs) > float(comparison.rhs)
