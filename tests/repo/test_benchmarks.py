"""The benchmarks' own arithmetic: fits, summaries, tables, and contestants that disagree are refused."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks import measure, scaling, tables
from benchmarks.works import Contestant


def test_an_exact_power_is_found_without_error() -> None:
    values = (1, 2, 4, 8)
    fit = scaling.exponent(values, [3.0 * x**1.5 for x in values])
    assert fit["p"] == pytest.approx(1.5)
    assert fit["error"] == pytest.approx(0.0, abs=1e-7)
    bent = scaling.exponent(values, [3.0 * x**1.5 + 20 for x in values])
    assert bent["p"] < 1.4
    assert bent["error"] > 0.1


def test_contestants_that_disagree_are_refused() -> None:
    right, wrong = np.ones(3), np.array([1.0, 1.0, 1.0 + 1e-6])
    measure.agree("right", [right], [right + 1e-12])
    with pytest.raises(AssertionError, match="wrong disagrees"):
        measure.agree("wrong", [wrong], [right])
    contestants = {
        "a": Contestant(lambda: lambda: right, lambda r: [r]),
        "b": Contestant(lambda: lambda: wrong, lambda r: [r]),
    }
    with pytest.raises(AssertionError, match="b disagrees"):
        measure.interleaved(contestants, "a", 0.0, time.perf_counter)


def test_times_are_medians_and_ratios_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure.summary([1.0, 2.0, 9.0], [2.0, 1.0, 3.0])
    assert (found["median"], found["ratio"], found["rounds"]) == (2.0, 2.0, 3)
    monkeypatch.setattr(measure, "SLOW", 0.0)
    slow = Contestant(lambda: lambda: time.sleep(0.001), None)
    assert measure.interleaved({"a": slow}, "a", 0.0, time.perf_counter)["a"]["rounds"] == 1


def test_tables_go_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{tables.BEGIN}\n\nold\n\n{tables.END}\n\nafter\n")
    cell = {"median": 2e-3, "p10": 1e-3, "p90": 4e-3, "ratio": 0.5, "rounds": 7}
    run = {"threads": 1, "environment": {"Python": "3"}, "works": {"a work": {"small": {"x": cell}}}}
    lines = tables.tables({"clock": "wall", "runs": [run]})
    for _ in range(2):
        tables.renew(page, lines)
    text = page.read_text()
    assert "| x | 2 ms (1 to 4), **0.50** |" in text
    assert "\n### 1 thread\n" in text
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
