"""Why not just SymPy: the table on the page is what the script finds, and it knows right from wrong."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from types import ModuleType

import sympy as sp

import lemmax as lx
from tests.repo.files import ROOT


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("why_not_sympy", ROOT / "docs" / "why_not_sympy.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # records look their module up
    spec.loader.exec_module(module)
    return module


SCRIPT = script()


def test_all_gradients_of_lemmax_are_right() -> None:
    outcomes = [SCRIPT.judge(row) for row in SCRIPT.ROWS]
    assert len(outcomes) >= 14
    assert [o.row.latex for o in outcomes if not o.error < SCRIPT.CLOSE] == []


def test_table_on_the_page() -> None:
    text = SCRIPT.PAGE.read_text(encoding="utf-8")
    shown = text.split(SCRIPT.BEGIN)[1].split(SCRIPT.END)[0].strip().splitlines()
    found = list(SCRIPT.table())
    if shown[0] == found[0]:  # the same versions
        assert shown == found, "out of date: python docs/why_not_sympy.py"
    assert sp.__version__ in found[0] and len(shown) == len(found)
    mine = [[row.split(" | ")[k] for k in (0, 3, 4)] for row in shown[4:]]
    assert mine == [[row.split(" | ")[k] for k in (0, 3, 4)] for row in found[4:]]


def test_a_wrong_derivative_is_seen() -> None:
    row = next(r for r in SCRIPT.ROWS if r.latex == r"\operatorname{tr}(A C)")
    assert SCRIPT.judge(row).sympy == "right"
    wrong = dataclasses.replace(row, numpy=lambda v: SCRIPT.tr(v["A"] @ v["C"].T), lemmax=lx.trace(SCRIPT.A))
    outcome = SCRIPT.judge(wrong)
    assert outcome.sympy == "wrong" and outcome.error > 0.1
