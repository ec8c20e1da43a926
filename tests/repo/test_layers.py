"""The layers of docs/explanation/design.md, held by import-linter; its contracts stand in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.repo.files import ROOT

LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"


def lint(folder: Path, source: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def layers() -> list[list[str]]:
    """Return the module names of each layer, highest first."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (rows,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip(" ()") for name in row.replace("|", ":").split(":")] for row in rows]


def test_package_keeps_its_layers() -> None:
    run = lint(ROOT, ROOT / "src")
    assert run.returncode == 0, run.stdout + run.stderr


def empty_house(folder: Path) -> Path:
    """Make a package lemmax in which every layer exists and imports nothing."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    package = folder / "lemmax"
    for name in [name for row in layers() for name in row]:
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    return package


def test_empty_house_passes(tmp_path: Path) -> None:
    empty_house(tmp_path)
    run = lint(tmp_path, tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("expr", "models"),  # upwards
        ("calculus", "derivation"),
        ("models", "rules"),
        ("check", "export"),  # siblings
        ("typeset", "codegen"),
        ("typeset", "models"),  # downwards, but no reading names a model
        ("calculus", "models"),
        ("codegen", "models"),
        ("attic", "expr"),  # a module of no layer
    ],
)
def test_forbidden_import_is_refused(tmp_path: Path, importer: str, imported: str) -> None:
    package = empty_house(tmp_path)
    (package / importer).mkdir(exist_ok=True)
    (package / importer / "__init__.py").write_text(f"import lemmax.{imported}\n")
    run = lint(tmp_path, tmp_path)
    assert run.returncode == 1, run.stdout + run.stderr
    assert importer in run.stdout
