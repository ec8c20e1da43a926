"""Examples in docstrings show what they do."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["latex", "escape"])
def test_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"lemmax.typeset.{module}"))
    assert result.attempted and not result.failed
