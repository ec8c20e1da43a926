"""Verdicts, witnesses, reports and the loading of files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lemmax as lx
from lemmax.check.claim.finding import Finding
from lemmax.statement import (
    Comparison,
    Evidence,
    HypothesisTally,
    MutantOutcome,
    Report,
    Tightest,
    Verdict,
    Witness,
    load_theorem,
)

COMPARISON = Comparison("claim", ">=", "1.5", "2", (0, 1), 100, False)
WITNESS = Witness({"n": 2}, {"A": np.array([[1.0, 0.1]])}, (COMPARISON,), "n=2 seed=7", "print(1)\nprint(2)")


def test_a_verdict_has_no_truth_value() -> None:
    with pytest.raises(lx.InvalidArgument, match="no truth value"):
        bool(Verdict("survived"))
    assert Verdict("proved").holds and Verdict("survived").holds
    assert not Verdict("vacuous").holds


def test_reports_and_findings_have_no_truth_value() -> None:
    evidence = Evidence("tested", seed=0)
    with pytest.raises(lx.InvalidArgument, match=r"ask for report\.as_expected"):
        bool(Report("t", "refuted", Verdict("refuted", witness=WITNESS), evidence))
    finding = Finding(Verdict("proved"), lx.ones(2), "gradient in W")
    with pytest.raises(lx.InvalidArgument, match=r"ask for verdict\.name"):
        bool(finding)


@pytest.mark.parametrize(
    ("name", "message"), [("true", "expected one of"), ("refuted", "witness"), ("unknown", "reason")]
)
def test_a_verdict_is_complete(name: str, message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        Verdict(name)  # type: ignore[arg-type]


def test_a_witness_prints_numbers_recipe_and_snippet() -> None:
    text = str(Verdict("refuted", witness=WITNESS))
    assert "claim at entry (0, 1): 1.5 >= 2 [violated, 100 digits]" in text
    assert "recipe: n=2 seed=7" in text
    assert "    print(2)" in text


def report(**changes: object) -> Report:
    evidence = Evidence(
        "tested",
        seed=3,
        draws=10,
        accepted=8,
        family=5,
        hypotheses=(HypothesisTally("h", 8, 2, 0),),
        tightest=Tightest("claim", 2.0, 1.0, 0.5, "n=1"),
        mutants=(MutantOutcome("m", True, "r", 4, WITNESS),),
    )
    parts = {"theorem": "t", "expected": "holds", "verdict": Verdict("survived"), "evidence": evidence}
    return Report(**{**parts, **changes})  # type: ignore[arg-type]


def test_expectation_depends_on_verdict_shortcomings_and_interruption() -> None:
    refuted = Verdict("refuted", witness=WITNESS)
    assert report().as_expected
    assert report(expected="refuted", verdict=refuted).as_expected
    assert report(verdict=Verdict("not applicable", "sizes")).as_expected
    assert not report(verdict=refuted).as_expected
    assert not report(expected="refuted").as_expected
    assert not report(verdict=Verdict("vacuous")).as_expected
    assert not report(verdict=Verdict("unknown", "why")).as_expected
    assert not report(shortcomings=("few",)).as_expected
    assert not report(interrupted=True).as_expected


def test_the_report_reads_well_and_goes_to_json() -> None:
    text = str(report(shortcomings=("few",)))
    assert "t: survived (tested), NOT as expected" in text
    assert "8 instances accepted of 10 drawn (80 %), seed 3" in text
    assert "ratio 2" in text and "1 of 1 mutants refuted" in text and "! few" in text
    data = json.loads(
        json.dumps(report(expected="refuted", verdict=Verdict("refuted", witness=WITNESS)).to_json())
    )
    assert data["witness"]["arrays"] == {"A": [[1.0, 0.1]]}
    assert data["mutants"][0]["refuted"] is True
    assert data["acceptance"] == 0.8


TEXT = """
import lemmax as lx
x = lx.tensor("x", lx.size("n"))
THEOREM = lx.Theorem(name="{name}", conclusion=lx.sqnorm(x) < 0, reference="test", expected="refuted")
"""


def test_a_theorem_file_is_loaded_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "sign_of_squares.py"
    path.write_text(TEXT.format(name="sign_of_squares"))
    assert load_theorem(path).file == str(path)


def test_theorem_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lx.DataError, match="no such theorem file"):
        load_theorem(tmp_path / "missing.py")
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(lx.DataError, match="must bind THEOREM"):
        load_theorem(empty)
    other = tmp_path / "other.py"
    other.write_text(TEXT.format(name="sign_of_squares"))
    with pytest.raises(lx.DataError, match="name the file"):
        load_theorem(other)
