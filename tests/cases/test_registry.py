"""Every case is tested or left out for a stated reason."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.cases.registry import CASES, COVERED, LEFT_OUT, covers

MOST_LEFT_OUT = 10


def test_every_case_is_tested_or_left_out_with_a_reason() -> None:
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.cases.{path.stem}")
    assert len(CASES) == 82
    assert set(COVERED) | set(LEFT_OUT) == set(CASES), set(CASES) - set(COVERED) - set(LEFT_OUT)
    assert not set(COVERED) & set(LEFT_OUT)
    assert len(LEFT_OUT) <= MOST_LEFT_OUT
    assert all(len(reason) > 20 for reason in LEFT_OUT.values())


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(KeyError, match="X99"):
        covers("X99")
