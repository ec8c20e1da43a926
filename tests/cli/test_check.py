from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from lemmax.cli.main import main
from tests.campaign.texts import put
from tests.repo.files import ROOT

GOOD = ("additive_norm_of_vectors", "triangle_inequality_of_vectors")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "proofs", *GOOD)
    np.savez(tmp_path / "small.npz", X=np.random.default_rng(0).normal(size=(3, 2, 4)))
    return tmp_path


def check(*words: str) -> int:
    return main(["check", "--instances", "12", "--jobs", "1", *words])


def test_all_as_expected(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("proofs/") == 0
    out, err = capsys.readouterr()
    assert not err
    rows = [line.split() for line in out.splitlines() if line.startswith(GOOD)]
    assert rows[0][:4] == ["additive_norm_of_vectors", "refuted", "refuted", "tested"]
    assert rows[1][:4] == ["triangle_inequality_of_vectors", "holds", "survived", "tested"]
    assert rows[1][-1] == "3/3"
    assert "witness at n=1" in out
    assert "2 of 2 theorems as expected" in out and "3 of 3 mutants refuted" in out
    assert max(map(len, out.splitlines())) <= 100
    assert check() == 0 and check("triangle_inequality_of_vectors") == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong_norm_of_vectors", "reproduce:"),
        ("vacuous_claim_of_vectors", "satisfies the hypotheses"),
        ("surviving_mutant_of_vectors", "mutant 'difference' survived"),
    ],
)
def test_not_as_expected(here: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    put(here / "other", name)
    assert check("other") == 1
    out = capsys.readouterr().out
    assert said in out and "0 of 1 theorem as expected" in out


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here / "proofs", "wrong_norm_of_vectors")
    assert check("--json", "--seed", "4") == 1
    data = json.loads(capsys.readouterr().out)
    assert [t["theorem"] for t in data["theorems"]] == [*GOOD, "wrong_norm_of_vectors"]
    assert [t["as_expected"] for t in data["theorems"]] == [True, True, False]
    assert all(t["seed"] == 4 and t["accepted"] > 0 for t in data["theorems"])
    assert (data["exit_code"], data["interrupted"], data["instance"]) == (1, False, None)
    assert check("--json", "--seed", "4") == 1
    again = json.loads(capsys.readouterr().out)
    for one, two in zip(data["theorems"], again["theorems"], strict=True):
        assert one | {"seconds": 0} == two | {"seconds": 0}


def test_broken_theorem_file_is_told_before_anything_runs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "proofs" / "zz_of_tests.py").write_text("import lemmax as lx\nTHEOREM = lx.Theoremm()\n")
    assert check() == 2
    out, err = capsys.readouterr()
    assert "zz_of_tests.py, line 2: AttributeError" in err and not out


def test_instance(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--instance", "small.npz", "--heads", "2", "--init", "xavier", "--scale", "2", "--seed", "3")
    assert check("triangle_inequality_of_vectors", *words) == 0
    out = capsys.readouterr().out
    assert "Instance small.npz: X (3, 2, 4)" in out
    assert "H = 2 heads, d = 2, v = 4, m = 2" in out
    assert "xavier, scale 2, seed 3" in out
    assert "Softmax kernel" in out and "Gaussian kernel" in out
    assert "belongs to another model" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 125


def test_instance_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--instance", "small.npz", "--json") == 0
    data = json.loads(capsys.readouterr().out)["instance"]
    assert data["sizes"]["H"] == 4 and data["tokens"]["rank"] == 4
    assert [k["kernel"] for k in data["kernels"]] == ["softmax", "gaussian"]
    assert data["kernels"][0]["sets"][0]["applies"] is True


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"X": np.zeros((2, 2))}, "needs 3 axes"),
        ({"x": np.zeros((2, 2, 2))}, "Did you mean X"),
        ({"X": np.full((1, 1, 1), np.inf)}, "every entry must be finite"),
        ({"X": np.full((1, 1, 1), 1e200)}, "the largest entry is 1e+200 in magnitude"),
        ({"X": np.full((1, 1, 1), 1e-200)}, "Rescale the data"),
        ({"X": np.array([[[None]]])}, "never unpickled"),
        ({"X": np.zeros((1, 2, 3)), "WQ": np.zeros((3, 3, 2))}, "H = 3, --heads says H = 2"),
    ],
)
def test_wrong_instance_is_refused_before_anything_runs(
    here: Path, arrays: dict[str, np.ndarray], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(here / "wrong.npz", **arrays)
    assert check("--instance", "wrong.npz", "--heads", "2") == 2
    out, err = capsys.readouterr()
    assert said in err and not out and len(err.splitlines()) == 1


def start(here: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lemmax", "check", "--instances", "1000000", *words],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_ends_cleanly_with_what_is_known(here: Path, jobs: str) -> None:
    # the false theorem is refuted at once, the true one would take for ever
    endless, loads = here / "proofs" / f"{GOOD[1]}.py", here / "loads"
    endless.write_text(
        endless.read_text() + f"\nwith open({str(loads)!r}, 'a') as file:\n    file.write('x')\n"
    )
    process = start(here, "--jobs", jobs)
    try:
        while not loads.exists() or loads.stat().st_size < 2:  # loaded once to look at it, once to check it
            assert process.poll() is None
            time.sleep(0.1)
        time.sleep(1 if jobs == "1" else 5)  # the other worker may still be at the false theorem
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, err
    assert "Traceback" not in err and "Interrupted" in err
    assert "additive_norm_of_vectors" in out
    assert "theorems as expected" in out or "theorem as expected" in out
    assert re.search(r"interrupted after [1-9]\d* of \d+ instances", out), out  # as far as it got
    assert "1 not finished" in out


@pytest.mark.slow
def test_output_is_the_same_under_another_hash_seed(here: Path) -> None:
    outputs = set()
    for hash_seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "lemmax", "check", "proofs", "--instances=10", "--instance=small.npz"],
            cwd=here,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.slow
def test_shipped_theorems_are_found_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            ["check", "zero_query_gradient_of_zero_key_weights_softmax", "--instances", "200", "--jobs", "1"]
        )
        == 0
    )
    assert (ROOT / "proofs" / "zero_query_gradient_of_zero_key_weights_softmax.py").is_file()


def test_interrupt_while_the_instance_is_read_keeps_the_verdicts(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lemmax.campaign.instance.report.read_instance", stopped)
    assert check("--instance", "small.npz") == 130
    out, err = capsys.readouterr()
    assert "2 of 2 theorems as expected" in out and "Interrupted" in err
    assert check("--instance", "small.npz", "--json") == 130
    data = json.loads(capsys.readouterr().out)
    assert len(data["theorems"]) == 2 and data["interrupted"] and data["instance"] is None
