"""Witnesses are compared without their arrays, so that two reports of one run can be compared."""

from __future__ import annotations

import numpy as np

from lemmax.statement import Comparison, Witness

NUMBERS = (Comparison("claim", ">=", "1", "2", (), 100, False),)


def witness(value: float, recipe: str = "n=2 seed=0") -> Witness:
    return Witness({"n": 2}, {"x": np.array([value, 1.0])}, NUMBERS, recipe)


def test_arrays_do_not_stand_in_the_way_of_a_comparison() -> None:
    assert witness(1.0) == witness(1.0)
    assert witness(1.0) != witness(1.0, "n=2 seed=1")
