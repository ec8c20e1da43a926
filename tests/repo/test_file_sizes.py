"""No file grows into a core that nobody can read."""

from __future__ import annotations

from tests.repo.files import ROOT, python_files

LONGEST = 400  # lines; about 150 is the aim


def test_source_files_stay_short() -> None:
    files = python_files("src", "proofs")
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert lengths
    too_long = {name: lines for name, lines in lengths.items() if lines > LONGEST}
    assert not too_long, f"split by purpose, {LONGEST} lines at most: {too_long}"
