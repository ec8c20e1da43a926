r"""Loading a theorem file: a Python file that binds ``THEOREM``."""

from __future__ import annotations

import runpy
from pathlib import Path

from lemmax.errors import DataError
from lemmax.statement.theorem import Theorem


def load_theorem(path: str | Path) -> Theorem:
    """Return the theorem that a file binds to the name ``THEOREM``; the file runs as Python code.

    Raises:
        DataError: there is no such file, or it binds no theorem, or its name differs from the file's.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such theorem file.")
    theorem = runpy.run_path(str(path), run_name="lemmax_theorem").get("THEOREM")
    if not isinstance(theorem, Theorem):
        raise DataError(f"{path}: a theorem file must bind THEOREM = lx.Theorem(...), found {theorem!r}.")
    if theorem.name != path.stem and not path.stem.startswith("_"):
        raise DataError(f"{path}: the theorem is called {theorem.name!r}; name the file {theorem.name}.py.")
    return theorem.in_file(str(path))
