"""Widths of formulas and breaks in lines."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import lemmax as lx
from lemmax.typeset import definitions, latex
from lemmax.typeset.breaking import LINE, break_lines, width
from tests.typeset.everyday import everyday

LONG = " + ".join(rf"\operatorname{{tr}}(A_{{{i}}}^\top B_{{{i}}})" for i in range(12))


def brackets(line: str) -> int:
    return line.count("{") - line.count("}")


def test_short_formulas_stay_on_a_line() -> None:
    assert break_lines(r"X^\top (X W - Y)") == [r"X^\top (X W - Y)"]


def test_long_sums_break_at_plus_and_minus() -> None:
    lines = break_lines(LONG)
    assert len(lines) > 1
    assert all(line.startswith("+ ") for line in lines[1:])
    assert " ".join(lines) == LONG
    assert all(width(line) <= LINE for line in lines)


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
@pytest.mark.parametrize("mask", [None, "causal"])
def test_inlined_gradients_break(kernel: str, mask: str | None) -> None:
    model = lx.models.attention(kernel=kernel, mask=mask)
    for g in lx.gradient(model.loss, model.weights):
        text = latex(g, inline=True)
        lines = break_lines(text)
        assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
        assert all(brackets(line) == 0 for line in lines)  # groups are never cut
        assert all(width(line) <= LINE for line in lines)
        assert not any(line.endswith(("+", "-", r"\sum", "^", "_")) for line in lines)
        assert not any(re.search(r"\\sum_\{[^}]*\}$", line) for line in lines)


def test_breaks_stay_out_of_groups_and_environments() -> None:
    inside = r"\frac{a + b}{c} \begin{bmatrix} a + b & c \\ d & e - f \end{bmatrix} \sqrt{x + y}"
    assert not any(line.startswith("+") for line in break_lines(f"{inside} {inside}", 10, 10))


def test_signs_of_a_first_summand_are_no_place_to_break() -> None:
    for line in break_lines(rf"-\exp(-{LONG}) ({LONG})"):
        assert line not in ("-", "+")
        assert not line.endswith("(")


@pytest.mark.requires("latex")
def test_widths_are_upper_bounds(tmp_path: Path) -> None:
    """What is said to fit fits: measured widths of everyday formulas and of those of the models."""
    formulas = [latex(t, notation=notation) for t in everyday().values() for notation in ("matrix", "index")]  # type: ignore[arg-type]
    for kernel in ("softmax", "gaussian"):
        model = lx.models.attention(kernel=kernel, mask="causal")
        for g in lx.gradient(model.loss, model.weights):
            formulas += [f"{a} = {b}" for n in ("matrix", "index") for a, b in definitions(g, n)]  # type: ignore[arg-type]
            formulas += break_lines(latex(g, inline=True))
    formulas = list(dict.fromkeys(formulas))
    measure = "\n".join(rf"\setbox0\hbox{{$\displaystyle {f}$}}\typeout{{W=\the\wd0}}" for f in formulas)
    head = r"\documentclass[11pt]{article}\usepackage[T1]{fontenc}\usepackage{lmodern,amsmath,amssymb}"
    (tmp_path / "w.tex").write_text(rf"{head}\begin{{document}}{measure}\end{{document}}", encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "w.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not re.findall(r"^! .*", run.stdout, re.MULTILINE), run.stdout[-2000:]
    measured = [float(x) / 10.95 for x in re.findall(r"W=([\d.]+)pt", run.stdout)]  # 1 em is 10.95 pt
    assert len(measured) == len(formulas)
    room = 160 / 25.4 * 72.27 / 10.95 - LINE  # the text is about 16 cm wide
    for f, true in zip(formulas, measured, strict=True):
        assert width(f) + 0.5 * room * width(f) / LINE >= true, f
