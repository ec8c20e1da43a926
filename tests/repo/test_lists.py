"""The lists in the documentation are what the code says, and no theorem and no public name is left out."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import lemmax
from tests.repo.files import ROOT

DOCS = ROOT / "docs"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lists", DOCS / "lists.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LISTS = script()


def pages() -> list[Path]:
    return [path for path in sorted(DOCS.rglob("*.md")) if LISTS.MARKED.search(path.read_text())]


def test_pages_hold_what_the_script_writes() -> None:
    assert pages()
    for page in pages():
        text = page.read_text()
        assert LISTS.filled(text) == text, f"{page.name} is out of date: python docs/lists.py"


def test_every_theorem_is_listed_once() -> None:
    text = (DOCS / "explanation" / "attention.md").read_text()
    patterns = LISTS.patterns_of(text, "theorems")
    for path in LISTS.theorem_files():
        assert text.count(f"[`{path.stem}`]") == 1, path.stem
    for pattern in patterns:
        assert any(path.match(f"{pattern}.py") for path in LISTS.theorem_files()), f"nothing is {pattern}"


def test_every_public_name_is_listed() -> None:
    modules = LISTS.patterns_of((DOCS / "reference" / "api.md").read_text(), "names")
    assert len(modules) == len(set(modules))
    left_out = [n for n in lemmax.__all__ if LISTS.origin(n) not in ["", *modules]]
    assert not left_out, f"docs/reference/api.md has no list for {left_out}"
    assert {n for n in lemmax.__all__ if not LISTS.origin(n)} == {"models", "__version__"}


def test_a_list_that_is_out_of_date_is_noticed() -> None:
    text = (DOCS / "explanation" / "attention.md").read_text()
    wrong = text.replace("4 mutants", "5 mutants", 1)
    assert wrong != text and LISTS.filled(wrong) == text
