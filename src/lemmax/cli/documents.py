r"""Writing LaTeX documents and PDF files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lemmax.cli.files import write_text, write_whole
from lemmax.errors import DataError


def write_documents(make: Callable[[], str], tex: Path | None, pdf: Path | None) -> list[str]:
    """Write a document where it is wanted; return the files written.

    Raises:
        DataError: a file cannot be written, or both are the same file.
        ToolMissing: no LaTeX engine is installed.
    """
    if tex is None and pdf is None:
        return []
    if tex is not None and pdf is not None and tex.resolve() == pdf.resolve():
        raise DataError(
            f"--tex and --pdf both name {tex}, so that one would replace the other; name two files."
        )
    text = make()
    if tex is not None:
        write_text(tex, text)
    if pdf is not None:
        from lemmax.typeset.pdf import compile_pdf

        write_whole(pdf, lambda scratch: compile_pdf(text, scratch))
    return [str(path) for path in (tex, pdf) if path is not None]
