"""Every theorem file has the form of the template."""

from __future__ import annotations

from pathlib import Path

import pytest

from lemmax.errors import LemmaxError
from lemmax.statement import load_theorem
from tests.proofs.files import FILES, TEMPLATE, slips_of, theorem_of

FEWEST_MUTANTS = 3


@pytest.mark.parametrize("path", [TEMPLATE, *FILES], ids=lambda path: path.stem)
def test_file_conforms_to_the_template(path: Path) -> None:
    theorem = theorem_of(path)
    assert not slips_of(path.read_text(), theorem)
    assert path.stem == theorem.name or path == TEMPLATE
    if theorem.expected == "holds":
        assert len(theorem.mutants) >= FEWEST_MUTANTS


@pytest.mark.parametrize(
    ("old", "new", "slip"),
    [
        ("# -- expressions -", "# -- conclusion -", "sections"),
        ("# -- mutants", "# mutants", "sections"),
        ("Proof idea. ", "The proof: ", "docstring"),
        ("Hypotheses. ", "Bound. ", "docstring"),
        ("THEOREM = lx.Theorem(", "(THEOREM := lx.Theorem)(", "no THEOREM"),
        ("Bound. Tight:", "Bound. Good:", "does not say 'tight'"),
        ("Cauchy-Schwarz inequality", "False: Cauchy-Schwarz inequality", "a false claim"),
        ("\nTHEOREM", '\nprint("here")\nTHEOREM', "print("),
    ],
)
def test_departures_from_the_template_are_found(old: str, new: str, slip: str) -> None:
    text = TEMPLATE.read_text()
    assert old in text
    found = slips_of(text.replace(old, new, 1), theorem_of(TEMPLATE))
    assert any(slip in one for one in found), found


def test_a_file_must_be_called_like_its_theorem(tmp_path: Path) -> None:
    path = tmp_path / "another_name_of_it.py"
    path.write_text(TEMPLATE.read_text())
    with pytest.raises(LemmaxError, match="name the file"):
        load_theorem(path)


def test_theorems_differ_in_name_and_statement() -> None:
    theorems = [theorem_of(path) for path in FILES]
    assert len({t.statement for t in theorems}) == len(theorems)


def test_both_kinds_of_claim_are_there() -> None:
    expected = [theorem_of(path).expected for path in FILES]
    assert expected.count("holds") >= 30
    assert expected.count("refuted") >= 3
