from __future__ import annotations

import json

import numpy as np
import pytest

from lemmax.cli.instance import factor_text, listed
from lemmax.cli.screen import console, emit_json, folded, number, plain, print_table, progress, table


def test_json_has_no_infinities(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"a": float("inf"), "b": float("nan"), 3: (1, np.float64(2.0)), "c": np.arange(2), "d": True})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"a": "inf", "b": None, "3": [1, 2.0], "c": [0, 1], "d": True}
    assert plain(-float("inf")) == "-inf"


def test_names_are_broken_at_underscores() -> None:
    assert folded("one_two_three", 20) == "one_two_three"
    assert folded("one_two_three", 8) == "one_two_\nthree"
    assert folded("one_two_three", 2) == "one_\ntwo_\nthree"


def test_numbers() -> None:
    assert (number(0.0), number(-0.0), number(1234.5), number(1e-9, 0)) == ("0", "0", "1.2e+03", "1e-09")
    assert factor_text(0.5) == "0.50000"
    assert factor_text(1 - 2e-8) == "1-2.0e-08"
    assert factor_text(1.0) == "1.00000"
    assert factor_text(None) == ""
    assert listed([5, 1, 2, 3, 9]) == "1-3, 5, 9"
    assert listed(range(0, 40, 2), most=3) == "0, 2, 4, ..."


def test_no_progress_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("checking", 3) as tell:
        tell(1, "one")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("columns", ["40", "80", "150"])
def test_tables_cut_nothing_off(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    cells = [f"{10.0**-k:.3e}" for k in range(14)]
    made = table(*[f"heading {k}" for k in range(14)], "reason", wrap=("reason",))
    made.add_row(*cells, "so many words " * 8)
    print_table(console(), made)
    out = capsys.readouterr().out
    assert all(cell in out for cell in cells)
    assert out.count("words") == 8
