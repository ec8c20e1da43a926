"""CI runs what README.md shows, and no more is needed than the packages' own clients know."""

from __future__ import annotations

import os
import subprocess

from tests.repo.files import ROOT
from tests.repo.pages import blocks_of, marked_command

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = ROOT / ".ci" / "run"


def test_readme_has_its_two_commands() -> None:
    main, tests = marked_command(README, "main"), marked_command(README, "tests")
    assert main.endswith("lemmax check proofs/ --instance examples/digits.npz")
    assert "pytest" in tests
    assert {block.mark for block in blocks_of(README)} - {None} == {"main", "tests"}


def test_ci_runs_both_and_demands_the_tools() -> None:
    text = CI.read_text()
    assert os.access(CI, os.X_OK)
    assert text.startswith("#!/usr/bin/env bash\n") and "\nset -euo pipefail\n" in text
    for needed in ("readme_command main", "readme_command tests", "ruff", "mypy", "lint-imports"):
        assert needed in text
    assert text.rstrip().splitlines()[-1] == 'LEMMAX_REQUIRE=latex,jax,poppler bash -c "$command"'


def test_ci_is_sound_bash() -> None:
    run = subprocess.run(["bash", "-n", str(CI)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
