"""Comparisons are three-valued; rounding alone never decides."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.check.decide import CLOSE, FALSE, TRUE, Bounded, compare, met, overall, slack, whole
from lemmax.check.readings import Readers
from lemmax.check.settle import hypothesis_state, settle
from lemmax.check.settle import settle as settle_relations
from lemmax.expr.relation import Op

n = lx.size("n")
x, y = lx.tensor("x", n), lx.tensor("y", n)
X = lx.tensor("X", n, lx.size("D"))


def side(value: object, bound: object = 0.0) -> Bounded:
    v = np.atleast_1d(np.asarray(value, dtype=float))
    return Bounded(v, np.broadcast_to(np.asarray(bound, dtype=float), v.shape))


@pytest.mark.parametrize(
    ("op", "lhs", "rhs", "bound", "state"),
    [
        (">=", 2.0, 1.0, 0.1, TRUE),
        (">=", 1.0, 2.0, 0.1, FALSE),
        (">=", 1.05, 1.0, 0.1, CLOSE),
        (">=", 1.0, 1.0, 0.0, TRUE),
        (">", 1.0, 1.0, 0.0, FALSE),
        ("<", 1.0, 1.0, 0.0, FALSE),
        ("<=", 1.0, 1.0, 0.0, TRUE),
        ("==", 1.0, 1.0, 0.0, TRUE),
        ("==", 1.0, 1.0, 0.1, CLOSE),
        ("==", 1.0, 1.3, 0.1, FALSE),
        ("<=", 1.0, 2.0, 0.1, TRUE),
        ("<", 2.0, 1.0, 0.1, FALSE),
        (">=", np.nan, 1.0, 0.0, CLOSE),
        (">=", np.inf, np.inf, np.inf, CLOSE),
        (">=", np.inf, 1.0, 0.0, TRUE),
    ],
)
def test_float_states(op: Op, lhs: float, rhs: float, bound: float, state: int) -> None:
    assert compare(op, side(lhs, bound), side(rhs, bound)) == [state]


def test_an_instance_is_judged_by_its_worst_entry() -> None:
    entries = compare(
        ">=", Bounded(np.array([[2.0, 0.0], [2.0, 1.0]]), np.full((2, 2), 0.1)), side([[1.0], [1.0]])
    )
    assert overall(entries).tolist() == [FALSE, CLOSE]


def test_equality_hypotheses_hold_to_rounding_but_open_ranks_stay_open() -> None:
    for value, bound, state in [(3.0, 1e-15, TRUE), (1.0, 2.0, CLOSE)]:
        lhs, rhs = side(value, bound), side(3.0)
        assert met("==", lhs, rhs, compare("==", lhs, rhs)) == [state]


def test_counts_lose_bounds_below_their_unit() -> None:
    exact = whole(side([4.0, 2.0], [1e-15, 2.0]))
    assert exact.bound.tolist() == [0.0, 2.0]


def test_slack_is_relative_and_ignores_what_is_zero_to_rounding() -> None:
    assert slack(">=", side(4.0), side(1.0)) == [0.75]
    assert slack("<=", side(4.0), side(1.0)) == [-0.75]
    assert slack(">=", side(1e-20, 1e-16), side(0.0)) == [np.inf]


def _settled(relation: lx.Relation, **arrays: object) -> tuple[int, int]:
    given = {k: np.asarray(v, dtype=float) for k, v in arrays.items()}
    (found,) = settle(Readers(), [relation], given, {})
    return found.state, found.digits


def test_a_gap_far_below_float_precision_is_decided() -> None:
    tiny = lx.sum(x) ** 2 + 1e-30
    assert _settled(tiny > lx.sum(x) ** 2, x=[1.0, 2.0])[0] == TRUE
    assert _settled(tiny < lx.sum(x) ** 2, x=[1.0, 2.0])[0] == FALSE


def test_digits_double_until_the_gap_shows() -> None:
    small = lx.sum(x) ** 4  # 1e-120 beside 1
    state, digits = _settled(1 + small > lx.sqnorm(y), x=[1e-30, 0.0], y=[1.0, 0.0])
    assert (state, digits) == (TRUE, 400)


def test_identities_stay_undecided_and_count_as_equal_hypotheses() -> None:
    identity = lx.sqnorm(x + y).eq(
        lx.sqnorm(x) + 2 * lx.dot(x, y) + lx.sqnorm(y) + lx.sum(lx.exp(x) - lx.exp(x))
    )
    third = (lx.sqnorm(x) / 3).eq(lx.sum(x * x / 3))
    (found,) = settle(Readers(), [third], {"x": np.array([0.1, 0.7])}, {})
    assert found.state == CLOSE and found.agreement >= 190
    assert hypothesis_state(third, found) == TRUE
    assert _settled(identity, x=[0.1, 0.7], y=[0.3, 0.3])[0] in (TRUE, CLOSE)


def test_what_rounding_swallowed_at_every_precision_refutes_nothing() -> None:
    s = lx.softmax(x)
    largest = lx.max(s)
    others = lx.sum(s) - largest
    # true statements; exp(-20000) is lost beside 1 with 400 digits too
    far = {"x": np.array([20000.0, 0.0])}
    for claim in (
        (1 - largest).gt(0),
        (1 - largest).eq(lx.min(s)),
        others.eq(lx.min(s)),
        largest.lt(1),
    ):
        (found,) = settle(Readers(), [claim], far, {})
        assert found.state == CLOSE
        assert not found.is_tame
        assert hypothesis_state(claim, found) == CLOSE


def test_duplicate_rows_are_deficient_and_near_duplicates_are_not() -> None:
    full = lx.rank(X).eq(2)
    row = np.array([0.3, 0.7, 1.1])
    for gap, state in [(0.0, FALSE), (1e-8, TRUE), (1e-13, TRUE)]:
        assert _settled(full, X=[row, row + gap * np.array([1.0, 2.0, 5.0])])[0] == state


def test_saturation_is_not_mistaken_for_deficiency() -> None:
    A = lx.tensor("A", n, n)
    full = lx.rank(lx.softmax(A)).eq(2)  # true: the determinant is not 0
    logits = np.array([[0.0, -2e4], [0.0, -3e4]])
    (strict,) = settle_relations(Readers(), [full], {"A": logits}, {})
    assert strict.state == CLOSE


def test_a_rank_may_be_refuted_from_above_whatever_is_lost() -> None:
    A = lx.tensor("A", n, n)
    (found,) = settle(Readers(), [lx.rank(lx.exp(A)).eq(1)], {"A": np.array([[0.0, -2e4], [-2e4, 0.0]])}, {})
    assert found.state == FALSE


def test_the_numbers_shown_differ() -> None:
    claim = lx.sum(x) ** 2 > lx.sum(x) ** 2 + 1e-30
    (found,) = settle(Readers(), [claim], {"x": np.array([1.0, 2.0])}, {})
    c = found.comparison
    assert c.holds is False and c.lhs != c.rhs
    assert mpmath.mpf(c.lhs) == 9


def test_singular_values_that_are_zero_but_for_rounding_count_as_zero() -> None:
    positive = lx.sigma_min(X).gt(0).named("positive")
    row = np.array([0.3, 0.7, 1.1])
    for gap, state in [(0.0, FALSE), (1e-13, TRUE)]:
        arrays = {"X": np.array([row, row + gap * np.array([1.0, 2.0, 5.0])])}
        (found,) = settle(Readers(), [positive], arrays, {})
        assert hypothesis_state(positive, found) == state
