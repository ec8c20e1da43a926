"""The text files of the repository, as the tests about the repository read them."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """Return the existing files under version control; without git, all files outside hidden folders."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode == 0 and listing.stdout:
        files = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        files = [path for path in ROOT.rglob("*") if not is_hidden(path)]
    return tuple(sorted(path for path in files if path.is_file()))


def is_hidden(path: Path) -> bool:
    """Say whether a part of the path below the root is hidden or made by a tool."""
    parts = path.relative_to(ROOT).parts
    return any(part.startswith(".") or part in {"build", "dist", "__pycache__"} for part in parts)


def text_of(path: Path) -> str | None:
    """Return the text of a file, or None if it holds no text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def python_files(*folders: str) -> list[Path]:
    """Return the tracked Python files under the folders."""
    roots = [ROOT / folder for folder in folders]
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and any(root in path.parents for root in roots)
    ]
