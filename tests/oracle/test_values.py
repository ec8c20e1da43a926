"""The interpreter against every oracle file: values, gradients by complex step, fifty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import lemmax as lx
from tests.oracle import instances

CASES = instances.names()


def test_all_files_are_there() -> None:
    assert {f"{name}.npz" for name in CASES} == set(instances.index())
    assert len(CASES) == 9


@pytest.mark.parametrize("name", CASES)
def test_value(name: str) -> None:
    case = instances.load(name)
    tolerance = 1e-12 if "exp" in name else 1e-13
    assert lx.evaluate(case.loss, case.arrays) == pytest.approx(case.value, rel=tolerance, abs=0)


@pytest.mark.parametrize("name", CASES)
def test_value_to_fifty_digits(name: str) -> None:
    case = instances.load(name)
    value = lx.evaluate(case.loss, case.arrays, arithmetic="mpmath", digits=60)
    assert mpmath.nstr(value, 50) == mpmath.nstr(value.context.mpf(case.digits["value"]), 50)


@pytest.mark.parametrize("name", CASES)
def test_value_within_its_rounding_radius(name: str) -> None:
    case = instances.load(name)
    value, radius = lx.evaluate(case.loss, case.arrays, arithmetic="rounding")
    exact = lx.evaluate(case.loss, case.arrays, arithmetic="mpmath", digits=60)
    assert abs(exact - value) <= radius
    assert radius <= 1e-12 * abs(value)


@pytest.mark.parametrize("name", CASES)
def test_gradient_by_complex_step(name: str) -> None:
    case = instances.load(name)
    parts = [lx.evaluate(lx.Derivative(case.loss, weight), case.arrays) for weight in case.trained]
    flat = np.concatenate([part.ravel() for part in parts])
    np.testing.assert_allclose(flat, case.grad, rtol=0, atol=1e-12 * np.max(np.abs(case.grad)))


@pytest.mark.parametrize("name", CASES)
def test_gradient_to_fifty_digits(name: str) -> None:
    case = instances.load(name)
    parts = [
        lx.evaluate(lx.Derivative(case.loss, weight), case.arrays, arithmetic="mpmath", digits=60)
        for weight in case.trained
    ]
    flat = np.concatenate([part.ravel() for part in parts])
    with mpmath.workdps(60):
        largest = max(abs(mpmath.mpf(e)) for e in flat)
        for position, digits in case.digits["grad"].items():
            assert (
                abs(mpmath.mpf(flat[int(position)]) - mpmath.mpf(digits)) <= largest * mpmath.mpf(10) ** -49
            )


def test_radius_of_a_saturated_gradient_is_relative_to_it() -> None:
    case = instances.load("o12_exp_KQ_saturated")
    results = [
        lx.evaluate(lx.gradient(case.loss, weight), case.arrays, arithmetic="rounding")
        for weight in case.trained
    ]
    values = np.concatenate([r.value.ravel() for r in results])
    radii = np.concatenate([r.radius.ravel() for r in results])
    assert np.all(np.abs(values - case.grad) <= radii + 1e-16 * np.abs(case.grad))
    assert radii.max() <= 1e-9 * np.max(np.abs(case.grad))


def test_a_wrong_loss_is_noticed() -> None:
    case = instances.load("o01_softmax_H1_all")
    wrong = lx.evaluate(case.loss * (1 + 2.0**-40), case.arrays)
    assert wrong != pytest.approx(case.value, rel=1e-13, abs=0)
