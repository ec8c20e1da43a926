"""A theorem on given arrays: applies or not, and by how much a hypothesis fails."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.check import check_instance
from lemmax.statement import Convergence
from tests.check import toys

rng = np.random.default_rng(0)


def test_a_claim_that_holds_survives_with_its_numbers() -> None:
    arrays = {"A": rng.standard_normal((2, 3)), "B": rng.standard_normal((2, 3))}
    report = check_instance(toys.CAUCHY_SCHWARZ, arrays)
    assert report.verdict.name == "survived" and report.as_expected
    t = report.evidence.tightest
    assert t is not None and t.lhs == pytest.approx((arrays["A"] * arrays["B"]).sum() ** 2)
    assert 0 < t.slack <= 1


def test_a_failing_hypothesis_is_named_with_its_numbers() -> None:
    report = check_instance(toys.CAUCHY_SCHWARZ, {"A": np.zeros((2, 3)), "B": np.ones((2, 3))})
    assert report.verdict.name == "not applicable"
    assert "'A is not zero' fails: 0, must be more than 0" in report.verdict.reason
    assert report.as_expected


def test_failing_sizes_are_named() -> None:
    report = check_instance(toys.GRAM_RANK, {"X": np.ones((4, 2))})
    assert report.verdict.name == "not applicable"
    assert "n <= D fails: 4 against 2" in report.verdict.reason


def test_duplicate_rows_make_a_rank_theorem_inapplicable() -> None:
    x = rng.standard_normal((3, 4))
    x[1] = x[0]
    report = check_instance(toys.GRAM_RANK, {"X": x})
    assert report.verdict.name == "not applicable" and "fails: 2, must be 3" in report.verdict.reason
    x[1] = x[0] + 1e-13 * x[2]
    assert check_instance(toys.GRAM_RANK, {"X": x}).verdict.name == "survived"
    report = check_instance(toys.GRAM_RANK, {"X": x}, precise=False)
    assert report.verdict.name == "not applicable" and "rounding" in report.verdict.reason


def test_a_counterexample_is_refuted_in_multiprecision_or_unknown_without() -> None:
    arrays = {"A": np.array([[1.0, 2.0]]), "C": np.array([[3.0], [4.0]])}
    report = check_instance(toys.FALSE_BOUND, arrays)
    assert report.verdict.name == "refuted" and report.as_expected
    assert "check_instance" in report.witness.snippet  # type: ignore[union-attr]
    assert check_instance(toys.FALSE_BOUND, arrays, precise=False).verdict.name == "unknown"


def test_equality_on_given_data_agrees_to_many_digits() -> None:
    arrays = {"A": rng.standard_normal((2, 3)), "B": rng.standard_normal((2, 3))}
    report = check_instance(toys.CYCLIC_TRACE, arrays)
    assert report.verdict.name == "survived" and "100 digits" in report.verdict.reason


def test_descents_run_on_given_data() -> None:
    arrays = {
        "X": rng.standard_normal((2, 3)),
        "W": rng.standard_normal((3, 1)),
        "Y": rng.standard_normal((2, 1)),
    }
    assert check_instance(toys.DESCENT, arrays).verdict.name == "survived"
    f = lx.sqnorm(toys.X @ toys.W - toys.Y) / 2
    fast = toys.theorem("fast_descent_of_least_squares", Convergence(f, toys.W, step=1e-3, steps=3, rate=0.5))
    assert check_instance(fast, arrays).verdict.name == "refuted"


def test_wrong_arrays_are_refused_by_name() -> None:
    with pytest.raises(lx.EvaluationError, match="array B is missing"):
        check_instance(toys.CAUCHY_SCHWARZ, {"A": np.ones((2, 3))})
    with pytest.raises(lx.ShapeError):
        check_instance(toys.CAUCHY_SCHWARZ, {"A": np.ones((2, 3)), "B": np.ones((2, 4))})
    with pytest.raises(lx.ShapeError):
        check_instance(toys.CAUCHY_SCHWARZ, {"A": np.ones((2, 3)), "B": np.ones(2)})


def test_undefined_sides_are_an_error_and_not_an_agreement() -> None:
    theorem = toys.theorem("logarithm_of_numbers", lx.log(lx.sum(toys.x)) <= lx.sum(toys.x) - 1)
    with pytest.raises(lx.EvaluationError, match="not a number"):
        check_instance(theorem, {"x": np.array([-1.0, -2.0])})
