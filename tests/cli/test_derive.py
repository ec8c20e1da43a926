from __future__ import annotations

import json

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
    monkeypatch.setattr(derivation, "derive", lambda *given: sound(*given).without(7))
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
