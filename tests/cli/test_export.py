from __future__ import annotations

import json
from pathlib import Path

import pytest

from lemmax.cli.main import main
from tests.campaign.texts import put


def test_theorem_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = put(tmp_path, "triangle_inequality_of_vectors")
    assert main(["export", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(r"\documentclass") and r"\|x + y\|" in text
    assert main(["export", str(path), "--tex", str(tmp_path / "a.tex")]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'a.tex'}\n"
    assert (tmp_path / "a.tex").read_text() == text


def test_model_is_exported_in_all_its_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "softmax-attention", "--fragment"]) == 0
    text = capsys.readouterr().out
    assert r"\documentclass" not in text and r"\label{lemmax:result:4}" in text
    assert main(["export", "attention-classifier-combined", "--notation", "index", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["kind"], data["files"]) == ("derivation", [])
    assert data["latex"].endswith("\\end{document}\n")


def test_bad_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "proofs", "triangle_inequality_of_vectors")
    for words, said in (
        (["triangle_inequality_of_vektors"], "Did you mean triangle_inequality_of_vectors"),
        (["proofs"], "proofs is a folder"),
        (["triangle_inequality_of_vectors", "--fragment", "--pdf", "a.pdf"], "--fragment"),
        (["triangle_inequality_of_vectors", "--tex", "none/a.tex"], "There is no folder"),
    ):
        assert main(["export", *words]) == 2
        assert said in capsys.readouterr().err


def test_missing_engine_is_told_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = put(tmp_path, "triangle_inequality_of_vectors")
    (tmp_path / "a.pdf").write_bytes(b"old")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["export", str(path), "--pdf", str(tmp_path / "a.pdf")]) == 2
    assert "no LaTeX engine was found" in capsys.readouterr().err
    assert (tmp_path / "a.pdf").read_bytes() == b"old"


@pytest.mark.slow
@pytest.mark.requires("latex")
def test_pdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = put(tmp_path, "triangle_inequality_of_vectors")
    words = ["--pdf", str(tmp_path / "a.pdf"), "--tex", str(tmp_path / "a.tex")]
    assert main(["export", str(path), *words]) == 0
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    words = ["--pdf", str(tmp_path / "b.pdf"), "--tex", str(tmp_path / "b.tex")]
    assert main(["derive", "gaussian-attention", "--wrt", "WV", *words]) == 0
    assert (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")
    assert r"\end{document}" in (tmp_path / "b.tex").read_text()
    assert "wrote" in capsys.readouterr().out


def test_one_file_for_both_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, out = "nuclear_norm_bound_of_factor_norms", tmp_path / "a.tex"
    assert main(["export", name, "--tex", str(out), "--pdf", str(tmp_path / "." / "a.tex")]) == 2
    assert "name two files" in capsys.readouterr().err
    assert not out.exists()
