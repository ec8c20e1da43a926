from __future__ import annotations

import json
from pathlib import Path

import pytest

import lemmax as lx
from lemmax import derivation
from lemmax.cli.main import main


def derive(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["derive", *words]) == 0
    return capsys.readouterr().out


def test_gradient_reads_like_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    out = derive(capsys, "softmax-attention", "--wrt", "W^Q", "--wrt", "WV")
    assert r"\frac{\partial f}{\partial W^V_h} = \sum_{i} X_i^\top S_{ih}^\top R_i W^{O\top}_h" in out
    assert r"gradient in W^Q, shape (H, D, d)" in out
    assert out.count(r"R_i = \sum_{h} S_{ih} X_i W^V_h W^O_h - Y_i") == 1
    assert out.count(r"S_{ih} = \operatorname{softmax}(A_{ih})") == 1
    assert "layout:" in out and "steps:" not in out
    assert "steps holds by its rule and in numbers" in out


def test_derivation_that_does_not_replay_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = derivation.derive
    monkeypatch.setattr(derivation, "derive", lambda *given, **options: sound(*given, **options).without(7))
    assert main(["derive", "softmax-attention", "--wrt", "WQ"]) == 2
    out, err = capsys.readouterr()
    assert not out and "step" in err


def test_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert r"\sum_{i=1}^{N}" in derive(capsys, "softmax-attention", "--wrt", "WQ", "--notation", "index")
    inlined = derive(capsys, "softmax-attention", "--wrt", "WV", "--inline")
    assert "where" not in inlined and r"\bar" not in inlined and r"\operatorname{softmax}" in inlined
    steps = derive(capsys, "softmax-attention", "--wrt", "WQ", "--steps")
    assert "softmax_jacobian, at A" in steps and "  1. inline_definitions, at f" in steps
    derive(capsys, "softmax-attention", "--wrt", "WQ", "--nonsmooth", "subgradient")


@pytest.mark.parametrize("model", sorted(lx.models.MODELS))
def test_every_model(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    weights = [w.name for w in lx.models.MODELS[model]().weights]
    words = [word for w in weights for word in ("--wrt", str(w))]
    data = json.loads(derive(capsys, model, *words, "--steps", "--json"))
    assert [g["wrt"] for g in data["gradients"]] == weights
    assert all(g["latex"] for g in data["gradients"]) and len(data["steps"]) > 10
    names = [d.split(" = ")[0] for d in data["definitions"]]
    assert len(names) == len(set(names))


def test_second_order(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("attention-classifier", "--wrt", "K", "--wrt", "Q", "--order", "2")
    out = derive(capsys, *words)
    for pair in ("K, K", "K, Q", "Q, Q"):
        assert f"Hessian block in {pair}, shape (d, r, d, r)" in out
    assert (
        r"{\partial \operatorname{vec}(K) \, \partial \operatorname{vec}(Q)^\top}" in out
        and "where" in out
        and "through" not in out
    )
    turned = derive(capsys, *words, "--vec", "column")
    assert "both row by row" in out and "both column by column" in turned
    assert main(["derive", *words[:3], "--vec", "column"]) == 2
    assert "--order 2" in capsys.readouterr().err
    inlined = derive(capsys, *words[:3], "--order", "2", "--inline", "--notation", "index")
    assert "\nwhere\n" not in inlined and r"\bar" not in inlined
    steps = derive(capsys, *words[:3], "--order", "2", "--steps")
    assert r"forward_chain_rule, at S along K" in steps or "softmax_jacobian_forward, at S along K" in steps


def test_parts_of_a_hessian(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("softmax-attention", "--wrt", "W^V", "--wrt", "WQ", "--order", "2")
    outer = derive(capsys, *words, "--part", "outer")
    assert "outer part of the Hessian block in W^V, W^Q" in outer
    assert "through: R" in outer
    assert "positive semidefinite (all blocks together): the curvature is the identity" in outer
    data = json.loads(derive(capsys, *words, "--part", "functional", "--through", "R", "--json"))
    assert data["part"] == "functional" and data["linear_in"] == "R" and data["through"] == "R"
    assert [b["wrt"] for b in data["blocks"]] == [["W^V", "W^V"], ["W^V", "W^Q"], ["W^Q", "W^Q"]]
    assert data["blocks"][0]["latex"].endswith("= 0")
    names = [d.split(" = ")[0] for d in data["definitions"]]
    assert len(names) == len(set(names))


@pytest.mark.requires("latex")
def test_second_order_as_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pdf = tmp_path / "out.pdf"
    words = ("softmax-attention", "--wrt", "WQ", "--order", "2", "--part", "outer")
    derive(capsys, *words, "--pdf", str(pdf), "--tex", str(tmp_path / "out.tex"))
    assert pdf.read_bytes().startswith(b"%PDF")
    assert "positive semidefinite, because" in (tmp_path / "out.tex").read_text()
