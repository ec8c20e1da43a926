"""lemmax formula: right, wrong, wrong in a way that can be told, and bad use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lemmax.cli.main import main

RIGHT = {
    ("softmax-attention", "W^V"): r"\sum_i X_i^\top S_{ih}^\top R_i (W^O_h)^\top",
    ("softmax-attention", "WO"): r"\sum_i (S_{ih} X_i W^V_h)^\top R_i",
    ("softmax-attention", "WQ"): (
        r"\frac{1}{\sqrt d} \sum_i X_i^\top (E_{ih} - \operatorname{diag}(E_{ih} \mathbf 1) S_{ih}) X_i W^K_h"
        r"\text{ where } E_{ih} = S_{ih} \odot P_{ih},"
        r" P_{ih} = R_i (W^O_h)^\top (W^V_h)^\top X_i^\top"
    ),
    ("softmax-attention", "WK"): r"\frac{1}{\sqrt d} \sum_i X_i^\top \bar{A}_{ih}^\top X_i W^Q_h",
    ("gaussian-attention", "WQ"): (
        r"-\frac{2}{\sqrt d} \sum_i X_i^\top (\operatorname{diag}(\bar{A}_{ih} \mathbf 1) X_i W^Q_h"
        r" - \bar{A}_{ih} X_i W^K_h)"
    ),
    ("gaussian-attention", "WK"): (
        r"\frac{2}{\sqrt d} \sum_i X_i^\top (\bar{A}_{ih}^\top X_i W^Q_h"
        r" - \operatorname{diag}(\bar{A}_{ih}^\top \mathbf 1) X_i W^K_h)"
    ),
}
OWN = ["--loss", r"\|X w - y\|^2", "--shape", "X=n,D", "--shape", "w=D", "--shape", "y=n", "--wrt", "w"]


@pytest.mark.parametrize(("model", "wrt"), RIGHT)
def test_the_formulas_of_the_paper_are_proved(
    model: str, wrt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["formula", model, "--wrt", wrt, "--", RIGHT[model, wrt]]) == 0
    assert "proved" in capsys.readouterr().out


WRONG = {
    r"\sum_i X_i^\top \bar{A}_{ih} X_i W^K_h": "multiply the claim by 1/sqrt(d)",
    r"\frac{1}{\sqrt d} \sum_i X_i^\top (S_{ih} \odot \bar{S}_{ih}) X_i W^K_h": "rank-one term",
    r"-\frac{1}{\sqrt d} \sum_i X_i^\top \bar{A}_{ih} X_i W^K_h": "multiply the claim by -1",
    r"\frac{1}{\sqrt d} \sum_i X_i^\top \bar{A}_{ih}^\top X_i W^K_h": "transpose",
    r"\frac{1}{\sqrt d} X_i^\top \bar{A}_{ih} X_i W^K_h": "sum over the axis of size N",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_formula_is_refuted_and_the_mistake_named(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["formula", "softmax-attention", "--wrt", "WQ", "--", text]) == 1
    out = capsys.readouterr().out
    assert WRONG[text] in out
    assert "derived:" in out


def test_a_loss_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", *OWN, r"2 X^\top (X w - y)"]) == 0
    assert main(["formula", *OWN, "--json", r"X^\top (X w - y)"]) == 1
    data = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert data["repair"] == {"kind": "factor", "text": "multiply the claim by 2"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["softmax-attention", "--wrt", "WQ"], "Expected MODEL and FORMULA"),
        (["softmaxx", "--wrt", "WQ", "X"], "no model called softmaxx"),
        (["softmax-attention", "--wrt", "W", "X"], "no input called W"),
        (["softmax-attention", "--wrt", "WQ", "X_i Q"], "the name Q is not known"),
        (["--loss", "x^2", "--wrt", "x", "2 x"], "--shape"),
        (["--loss", "x^2", "--shape", "x", "--wrt", "x", "2 x"], "NAME=SIZES"),
        (["--loss", "x^2", "--shape", "x=0", "--wrt", "x", "2 x"], "not positive"),
    ],
)
def test_bad_use(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", *words]) == 2
    assert message in capsys.readouterr().err


HEAD = r"""
X \in \mathbb{R}^{n \times D}
Y \in \mathbb{R}^{n \times v}
W^V \in \mathbb{R}^{D \times v}
S \in \mathbb{R}^{n \times n}
R = S X W^V - Y  % the residual
f = \frac{1}{2} \|R\|_F^2
M_1 = S X
"""


def test_a_block_of_a_loss_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "head.txt").write_text(HEAD, encoding="utf-8")
    given = ["formula", "--given", str(tmp_path / "head.txt"), "--wrt", "W^V", "--order", "2"]
    assert main([*given, r"M_1^\top M_1 \otimes I_v"]) == 0
    assert main([*given, "--part", "outer", r"M_1^\top M_1 \otimes I_v"]) == 0
    assert main([*given, "--part", "functional", "0"]) == 0
    assert main([*given, "--vec", "column", r"I_v \otimes M_1^\top M_1"]) == 0
    capsys.readouterr()
    assert main([*given, "--json", r"I_v \otimes M_1^\top M_1"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["repair"]["kind"] == "vec order" and data["corrected"] is not None
    assert data["derived"] == r"(X^\top S^\top S X) \otimes I_v"
    assert main([*given, data["corrected"]]) == 0
    (tmp_path / "head.txt").write_text("X\n", encoding="utf-8")
    assert main([*given, "0"]) == 2
    assert "expected a declaration" in capsys.readouterr().err


def test_formulas_that_begin_with_a_minus_and_shapes_given_twice(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["formula", "--loss", r"-\|w\|^2", "--shape", "w=D", "--wrt", "w"]
    assert main([*words, "-2 w"]) == 0
    assert main([*words, "-3 w"]) == 1
    capsys.readouterr()
    assert main([*words, "--shape", "w=n", "-2 w"]) == 2
    assert "w is declared twice" in capsys.readouterr().err


def test_a_kink_names_the_option_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["formula", "--loss", r"\|x\|_1", "--shape", "x=n", "--wrt", "x", r"\operatorname{sign}(x)"]
    assert main(words) == 2
    assert "--nonsmooth subgradient" in capsys.readouterr().err
    assert main([*words, "--nonsmooth", "subgradient"]) == 0
