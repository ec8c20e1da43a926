r"""Theorem files, told from other Python files by their text; nothing heavy is imported for it."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

_MENTIONS = re.compile(r"^THEOREM\b", re.MULTILINE)


def is_theorem_file(path: Path) -> bool:
    """Does a Python file bind ``THEOREM`` at its top level?  Names that begin with ``_`` do not count.

    A file that binds it as far as its lines tell, but is no valid Python, counts: running it says why.
    """
    if path.suffix != ".py" or path.name.startswith("_") or not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    if not _MENTIONS.search(text):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):  # what Python thinks of the text is told when it runs
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any("THEOREM" in _names_bound(node) for node in tree.body)


def files_in(folder: Path) -> list[Path]:
    """Return the theorem files in a folder, by name."""
    return sorted((path for path in folder.iterdir() if is_theorem_file(path)), key=lambda path: path.name)


def _names_bound(node: ast.stmt) -> list[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]
