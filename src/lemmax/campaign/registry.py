r"""The registry of theorems: files found by path or by name, and loaded.

A theorem file is a Python file that binds ``THEOREM``; names that begin with ``_`` (the template) do
not count.  Loading one runs it as the user's own code.  A name is looked for in the folders given, then
in ``./proofs``, then among the theorems that are shipped with lemmax.
"""

from __future__ import annotations

import importlib.resources
import re
import traceback
from collections.abc import Sequence
from pathlib import Path

import lemmax
from lemmax.campaign.files import files_in, is_theorem_file
from lemmax.campaign.names import suggestion
from lemmax.errors import DataError, LemmaxError
from lemmax.statement.load import load_theorem
from lemmax.statement.theorem import Theorem

HERE = Path("proofs")


def shipped_folder() -> Path | None:
    """Return the folder of the shipped theorems: package data, or ``proofs`` of a source tree."""
    packaged = importlib.resources.files(lemmax).joinpath("_proofs")
    if isinstance(packaged, Path) and packaged.is_dir():
        return packaged
    tree = Path(lemmax.__file__).resolve().parents[2]
    if (tree / "pyproject.toml").is_file() and (tree / "proofs").is_dir():
        return tree / "proofs"
    return None


def default_files() -> list[Path]:
    """Return the theorem files of ``./proofs`` if there are any, else the shipped ones.

    Raises:
        DataError: there are none at all.
    """
    for folder in (HERE, shipped_folder()):
        found = files_in(folder) if folder is not None and folder.is_dir() else []
        if found:
            return found
    raise DataError(
        "There are no theorems: no folder ./proofs with theorem files, and none shipped with this "
        "installation of lemmax. Give the path of a theorem file or of a folder of them."
    )


def find_files(wanted: Sequence[str]) -> list[Path]:
    """Return the theorem files for paths and names, in the order given, each once.

    Args:
        wanted: files, folders and names of theorems; none at all means :func:`default_files`.

    Raises:
        DataError: something is not there, or a folder holds no theorem.
    """
    if not wanted:
        return default_files()
    folders = [Path(word) for word in wanted if Path(word).is_dir()]
    found: dict[Path, Path] = {}
    for word in wanted:
        for path in _matches(word, folders):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _matches(word: str, folders: Sequence[Path]) -> list[Path]:
    if not word.strip():  # Path("") is the current folder, which was not named
        raise DataError("A theorem is given by its file, its folder or its name; here the word is empty.")
    path = Path(word)
    if path.is_dir():
        found = files_in(path)
        if not found:
            raise DataError(
                f"The folder {word} holds no theorem file, that is no Python file that binds THEOREM. "
                "Give another folder, or the name of a theorem (`lemmax list` shows them)."
            )
        return found
    if path.is_file():
        if path.suffix != ".py":
            hint = f" To read tokens, give --instance {word}." if path.suffix == ".npz" else ""
            raise DataError(
                f"{word} is no theorem file: a theorem file is a Python file that binds THEOREM.{hint}"
            )
        return [path]
    if not re.fullmatch(r"\w+", word):
        raise DataError(
            f"There is no file or folder {word}. {suggestion(path.stem, known_names(folders))} "
            "A theorem is given by its file, its folder or its name."
        )
    return [_by_name(word, folders)]


def _search_path(folders: Sequence[Path]) -> list[Path]:
    places = [*folders, HERE, shipped_folder()]
    return [folder for folder in places if folder is not None and folder.is_dir()]


def _by_name(name: str, folders: Sequence[Path]) -> Path:
    places = _search_path(folders)
    for folder in places:
        path = folder / f"{name}.py"
        if is_theorem_file(path):
            return path
    looked = ", ".join(map(str, places)) or "no folder"
    raise DataError(
        f"There is no theorem called {name} (looked in {looked}). {suggestion(name, known_names(folders))}"
    )


def known_names(folders: Sequence[Path] = ()) -> list[str]:
    """Return the names of the theorems that a name would be looked for among, without loading them."""
    return sorted({path.stem for folder in _search_path(folders) for path in files_in(folder)})


def load(path: Path) -> Theorem:
    """Return the theorem in a file; whatever goes wrong in the file is told in a line.

    Raises:
        DataError: the file cannot be read, does not run, or binds no theorem.
    """
    try:
        return load_theorem(path)
    except DataError:
        raise
    except LemmaxError as error:
        raise DataError(f"{_place(path, error)}: {error}") from error
    except (Exception, SystemExit) as error:  # the file is the user's own code and may raise anything
        raise DataError(f"{_place(path, error)}: {type(error).__name__}: {error}") from error


def _place(path: Path, error: BaseException) -> str:
    """Return the file with the last line in it that led to an error."""
    if isinstance(error, SyntaxError) and error.lineno and error.filename == str(path):
        return f"{path}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
