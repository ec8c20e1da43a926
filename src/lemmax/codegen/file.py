r"""Writing generated source to a file; an existing file is replaced only by a finished one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lemmax.codegen.function import CompiledFunction


def write_source(fn: CompiledFunction, path: str | os.PathLike[str]) -> Path:
    """Write ``fn.source`` to ``path`` and return the path.

    The text is written to a temporary file beside it, which then takes its place in one step.

    Raises:
        OSError: the folder does not exist or cannot be written to; an existing file is unchanged.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(fn.source)
        # mkstemp makes files private; the result is an ordinary source file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target
