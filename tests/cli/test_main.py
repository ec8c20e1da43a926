from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import lemmax
from lemmax.cli import main as entry
from lemmax.cli.main import main

COMMANDS = ("check", "codegen", "derive", "export", "list")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lemmax", *words], capture_output=True, text=True, check=False, timeout=120
    )


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"lemmax, version {lemmax.__version__}\n"
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert "Exit codes: 0 all as expected" in " ".join(shown.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_debug(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--json" in shown and "--debug" in shown and "--help" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_commands_of_later_versions_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("certify", "verify", "report"):
        assert main([name]) == 2
        assert "There is no command" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "There is no command chek. Did you mean check?"),
        (["zzz"], "There is no command zzz. Commands: check, codegen, derive, export, formula, list."),
        (["check", ""], "The word after check is empty"),
        (["check", "proofs", "--instance", " "], "The word after --instance is empty"),
        (["derive", ""], "The word after derive is empty"),
        (["derive"], "Missing argument 'MODEL'"),
        (["derive", "softmax-attention"], "Missing option '--wrt'"),
        (["derive", "softmax-atention", "--wrt", "WQ"], "Did you mean softmax-attention"),
        (["derive", "softmax-attention", "--wrt", "W^P"], "there is no input called W^P. Did you mean"),
        (["derive", "softmax-attention", "--wrt", "WQ", "--wrt", "W^Q"], "W^Q is given twice"),
        (["derive", "softmax-attention", "--wrt", "WQ", "--part", "outer"], "add --order 2"),
        (["derive", "softmax-attention", "--wrt", "WQ", "--order", "2", "--through", "R"], "add --part"),
        (
            [
                "derive",
                "softmax-attention",
                "--wrt",
                "WQ",
                "--order",
                "2",
                "--part",
                "outer",
                "--through",
                "Q",
            ],
            "The named ones are A, R, S",
        ),
        (["derive", "softmax-attention", "--wrt", "WQ", "--order", "3"], "3 is not in the range"),
        (["derive", "softmax-attention", "--wrt", "WQ", "--notaton", "index"], "Did you mean '--notation'"),
        (["codegen", "softmax-attention", "--wrt", "WQ", "-o", "no/such/folder/a.py"], "There is no folder"),
        (["codegen", "softmax-attention", "--wrt", "WQ", "-o", "."], "is a folder"),
        (["check", "no_such_theorem"], "There is no theorem called no_such_theorem"),
        (["check", "--seed", "-1"], "-1 is not in the range"),
        (["check", "--instances", "0"], "0 is not in the range"),
        (["check", "--heads", "2"], "--heads describes an instance, but none is given"),
        (["check", "--instance", "none.npz"], "There is no file none.npz"),
        (["check", "--instance", "none.npz", "--init", "kaiming"], "'gaussian', 'xavier', 'orthogonal'"),
        (["export", "softmax-atention"], "Did you mean softmax-attention"),
    ],
)
def test_bad_use_is_one_message_with_the_way_out(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert said in err and "Traceback" not in err
    assert not out
    assert main([*words, "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert said in data["message"] and data["exit_code"] == 2
    assert main([*words, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_defect_of_ours_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def broken() -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setitem(entry.lemmax.commands, "broken", broken)
    assert main(["broken"]) == 2
    assert "Something in lemmax broke: ZeroDivisionError: oh" in capsys.readouterr().err


def test_interrupt_has_its_own_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(entry.lemmax.commands, "stopped", stopped)
    assert main(["stopped"]) == 130
    assert "Interrupted" in capsys.readouterr().err


def test_module_runs_as_the_command() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"lemmax, version {lemmax.__version__}\n")
    assert run("chek").returncode == 2


def test_reader_that_goes_away_is_no_accident() -> None:
    code = (
        f"{sys.executable} -m lemmax codegen softmax-attention --wrt WQ --json | head -c 10 >/dev/null;"
        " echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_help_loads_neither_sympy_nor_numpy() -> None:
    code = (
        "import sys; from lemmax.cli.main import main; main(['--help']); main(['check', '--help']);"
        "print([m for m in ('sympy', 'numpy', 'rich', 'hypothesis') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip().endswith("[]"), done.stdout + done.stderr
