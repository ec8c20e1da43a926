"""Generated values and gradients against every oracle file."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import lemmax as lx
from tests.oracle import instances

CASES = instances.names()


def tolerance(name: str) -> float:
    return 1e-12 if "exp" in name else 1e-13


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name: str) -> None:
    case = instances.load(name)
    fn = lx.compile([case.loss, *lx.gradient(case.loss, tuple(case.trained))])
    value, *parts = fn(**case.arrays)
    assert value == pytest.approx(case.value, rel=tolerance(name), abs=0)
    flat = np.concatenate([part.ravel() for part in parts])
    largest = np.abs(case.grad).max()
    np.testing.assert_allclose(flat, case.grad, rtol=0, atol=tolerance(name) * largest)
    for position, digits in case.digits["grad"].items():
        assert abs(flat[int(position)] - float(mpmath.mpf(digits))) <= tolerance(name) * largest


@pytest.mark.parametrize("name", CASES)
def test_batch_of_oracles(name: str) -> None:
    case = instances.load(name)
    fn = lx.compile([case.loss, *lx.gradient(case.loss, tuple(case.trained))], batch=True)
    value, *parts = fn(**{key: np.stack([a, a]) for key, a in case.arrays.items()})
    np.testing.assert_allclose(value, [case.value] * 2, rtol=tolerance(name))
    for row in range(2):
        flat = np.concatenate([part[row].ravel() for part in parts])
        np.testing.assert_allclose(flat, case.grad, rtol=0, atol=tolerance(name) * np.abs(case.grad).max())


def test_row_sums_are_not_good_enough_for_the_saturated_case() -> None:
    case = instances.load("o12_exp_KQ_saturated")
    fn = lx.compile(list(lx.gradient(case.loss, tuple(case.trained))), softmax_gradient="rowsum")
    flat = np.concatenate([part.ravel() for part in fn(**case.arrays)])
    assert np.abs(flat - case.grad).max() > 0.1 * np.abs(case.grad).max()
