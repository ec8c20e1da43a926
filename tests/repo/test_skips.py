"""A test is skipped for one reason only: an outside tool is missing, said by ``tests.tools.require``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.files import ROOT, python_files

SKIP = re.compile(r"importorskip|mark\.skip|pytest\.skip\(|unittest\.skip|SkipTest|xfail\b|doctest: *\+SKIP")
ALLOWED = {Path("tests/tools.py"), Path("tests/repo/test_skips.py"), Path("tests/repo/test_pages.py")}


def test_no_test_is_skipped_by_hand() -> None:
    found = []
    for path in python_files("src", "tests", "proofs", "examples"):
        name = path.relative_to(ROOT)
        if name not in ALLOWED:
            lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
            found += [f"{name}:{number}: {line.strip()}" for number, line in lines if SKIP.search(line)]
    assert not found, "use tests.tools.require, or mend the test:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "jax = pytest.importorskip('jax')",
        "@pytest.mark.skipif(True, reason='')",
        "pytest.skip('later')",
        "@pytest.mark.xfail",
        ">>> f()  # doctest: +SKIP",
    ],
)
def test_the_search_finds_skips(line: str) -> None:
    assert SKIP.search(line)
