"""Stored outputs: compared as differences, renewed by ``pytest tests/golden --update-golden``."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
FLAG = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(FLAG, action="store_true", help="write the stored outputs of tests/golden anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with a stored file, or stores it."""
    update = request.config.getoption(FLAG, default=False)

    def compare(name: str, text: str) -> None:
        path = FOLDER / name
        if update:
            path.write_text(text, encoding="utf-8")
            return
        stored = path.read_text(encoding="utf-8") if path.exists() else ""
        difference = difflib.unified_diff(
            stored.splitlines(), text.splitlines(), f"stored {name}", "now", lineterm="", n=1
        )
        shown = "\n".join(difference)
        assert not shown, f"{shown}\nIf this is meant, renew it: pytest tests/golden {FLAG}"

    return compare
