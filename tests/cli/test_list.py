from __future__ import annotations

import json
from pathlib import Path

import pytest

from lemmax.cli.main import main
from lemmax.models import MODELS
from tests.campaign.texts import put


def test_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "proofs", "triangle_inequality_of_vectors", "additive_norm_of_vectors")
    (tmp_path / "proofs" / "broken_of_tests.py").write_text("THEOREM = 1 / 0\n")
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name in (*MODELS, "triangle_inequality_of_vectors", "chain_rule", "softmax_jacobian"):
        assert name in out
    assert "cannot be loaded" in out
    assert main(["list", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in data["models"]] == list(MODELS)
    assert [t["expected"] for t in data["theorems"]] == ["refuted", None, "holds"]
    assert r"\le" in data["theorems"][2]["claim"]
    assert "ZeroDivisionError" in data["theorems"][1]["claim"]
    assert all(rule["statement"] for rule in data["rules"])
