"""What the repository says of itself agrees: version, changelog, citation, dependencies, docstrings."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib

import lemmax
from tests.repo.files import ROOT

with (ROOT / "pyproject.toml").open("rb") as _file:
    PROJECT = tomllib.load(_file)["project"]


def names_and_floors(requirements: list[str]) -> dict[str, str]:
    pairs = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement) for requirement in requirements]
    assert all(pairs), f"every requirement has a floor and nothing else: {requirements}"
    return {pair[1].lower(): pair[2] for pair in pairs if pair}


def test_changelog_tells_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    section = re.search(
        rf"^## \[{re.escape(lemmax.__version__)}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S
    )
    assert section, f"CHANGELOG.md has no section for version {lemmax.__version__}"
    assert re.search(r"^- \w", section[1], re.M), "the section of this version tells nothing"


def test_citation_is_of_this_version() -> None:
    assert f"\nversion: {lemmax.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_dependencies_page_lists_what_is_declared() -> None:
    text = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row[:1] == "|"
    ]
    written: dict[str, dict[str, str]] = {}
    for cells in rows:
        name = re.match(r"\[([\w-]+)\]", cells[-4]) if len(cells) in (4, 5) else None
        if name:
            extra = cells[0].strip("`") if len(cells) == 5 else ""
            written.setdefault(extra, {})[name[1].lower()] = cells[-3]
            assert len(cells[-2]) > 2 and len(cells[-1]) > 10, f"{name[1]} needs a licence and a reason"
    declared = {"": names_and_floors(PROJECT["dependencies"])}
    declared |= {extra: names_and_floors(of) for extra, of in PROJECT["optional-dependencies"].items()}
    assert written == declared


def test_every_public_name_has_a_docstring() -> None:
    assert sorted(set(lemmax.__all__)) == sorted(lemmax.__all__), "a public name is listed twice"
    silent = [name for name in lemmax.__all__ if name != "__version__" and not documentation(name)]
    assert not silent, f"public names without a docstring: {silent}"


def documentation(name: str) -> str:
    """Return the docstring of a public object's own, or of the class of a public constant."""
    value = getattr(lemmax, name)
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        return value.__doc__ or ""
    assert type(value).__module__.startswith("lemmax"), f"{name} is a bare {type(value).__name__}"
    return type(value).__doc__ or ""


def test_no_module_hides_a_public_name_of_its_own_name() -> None:
    """After ``import lemmax.check`` the name ``lemmax.check`` must still be the function."""
    package = ROOT / "src" / "lemmax"
    twins = [
        name for name in lemmax.__all__ if (package / name).is_dir() or (package / f"{name}.py").is_file()
    ]
    for name in sorted(set(twins) - {"models"}):
        code = f"import lemmax.{name}, lemmax; assert callable(lemmax.{name}), lemmax.{name}"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr


def test_package_is_typed_and_ships_the_theorems() -> None:
    assert (ROOT / "src" / "lemmax" / "py.typed").is_file()
    with (ROOT / "pyproject.toml").open("rb") as file:
        sources = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"]
    assert sources["proofs"] == "lemmax/_proofs"
