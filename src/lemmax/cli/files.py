r"""Writing files: only a finished file replaces an older one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from lemmax.errors import DataError


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8) as a whole; see :func:`write_whole`."""
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a file beside ``path`` and move it there when it is complete.

    A file that stood there keeps its permissions and is left alone if anything goes wrong.

    Raises:
        DataError: the path is a folder, its folder is missing, or it cannot be written.
    """
    try:
        target = path.resolve()
        if target.is_dir():
            raise DataError(f"{path} is a folder; give the name of a file in it.")
        if not target.parent.is_dir():
            raise DataError(f"There is no folder {path.parent} to write {path.name} into. Make it first.")
        if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
            write(target)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
        os.close(handle)
        scratch = Path(name)
        try:
            os.chmod(scratch, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            write(scratch)
            os.replace(scratch, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                scratch.unlink()
            raise
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
