r"""PDF files from LaTeX, by whichever engine is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lemmax.errors import LemmaxError, ToolMissing

ENGINES = ("pdflatex", "lualatex", "xelatex", "tectonic")
_TIMEOUT = 180  # seconds for one run of an engine
_MOST_RUNS = 4  # references settle after two or three


class LatexError(LemmaxError, RuntimeError):
    """A LaTeX engine did not accept a document; the message shows its first errors."""


@dataclass(frozen=True, slots=True)
class LatexLog:
    """What the log of a run says.

    Attributes:
        engine: the program that ran.
        errors: errors, each with its line.
        undefined: undefined references and citations.
        overfull: by how many pt boxes are too wide or too high, largest first.
        rerun: the engine asks for another run.
    """

    engine: str
    errors: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    overfull: tuple[float, ...] = ()
    rerun: bool = False


def find_engine() -> str:
    """Return the LaTeX engine that is installed.

    Raises:
        ToolMissing: there is none; the message says what to install.
    """
    for name in ENGINES:
        if shutil.which(name):
            return name
    raise ToolMissing(
        f"no LaTeX engine was found (looked for {', '.join(ENGINES)}). Install one, on Debian or Ubuntu with "
        "'apt install texlive-latex-extra lmodern', or write the .tex file and run LaTeX elsewhere."
    )


def compile_pdf(tex: str, out: Path | str) -> LatexLog:
    """Run LaTeX on a document and write the PDF; an existing file is replaced only by a finished one.

    Args:
        tex: a complete document.
        out: path of the PDF.

    Returns:
        What the log of the last run says: undefined references and boxes that stick out are left
        to the caller's judgement.

    Raises:
        ToolMissing: no LaTeX engine is installed.
        LatexError: LaTeX reports an error or does not end.
    """
    engine = find_engine()
    target = Path(out)
    with tempfile.TemporaryDirectory(prefix="lemmax-latex-") as folder:
        source = Path(folder) / "document.tex"
        source.write_text(tex, encoding="utf-8")
        log = LatexLog(engine)
        for _ in range(_MOST_RUNS):
            log = _run(engine, source)
            if log.errors:
                shown = "; ".join(log.errors[:3])
                raise LatexError(
                    f"{engine} reports {len(log.errors)} errors: {shown}. The document is not written."
                )
            if not log.rerun:
                break
        made = source.with_suffix(".pdf")
        if not made.exists():
            raise LatexError(
                f"{engine} ended without an error and without a PDF; run it by hand on the .tex file."
            )
        _replace(target, made.read_bytes())
    return log


def _run(engine: str, source: Path) -> LatexLog:
    environment = {**os.environ, "max_print_line": "2000", "openout_any": "p", "SOURCE_DATE_EPOCH": "0"}
    if engine == "tectonic":
        command = [engine, "--untrusted", "--keep-logs", "--print", source.name]
    else:
        command = [engine, "-no-shell-escape", "-interaction=nonstopmode", "-file-line-error", source.name]
    try:
        subprocess.run(
            command, cwd=source.parent, env=environment, capture_output=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise LatexError(f"{engine} did not end within {_TIMEOUT} seconds.") from None
    path = source.with_suffix(".log")
    if not path.exists():
        raise LatexError(f"{engine} wrote no log; it may not be installed completely.")
    return parse_log(path.read_text(encoding="utf-8", errors="replace"), engine)


def parse_log(text: str, engine: str = "pdflatex") -> LatexLog:
    """Read the log of a run."""
    errors = re.findall(r"^(?:\S*\.tex:\d+: .*|! .*)$", text, re.MULTILINE)
    undefined = re.findall(r"(?:Reference|Citation) [`'](.+?)'.*undefined", text)
    overfull = re.findall(r"Overfull \\[hv]box \(([\d.]+)pt too", text)
    rerun = bool(re.search(r"Rerun to get|Rerun LaTeX|have changed\. Rerun|No file document\.aux", text))
    widths = sorted(map(float, overfull), reverse=True)
    return LatexLog(engine, tuple(errors), tuple(dict.fromkeys(undefined)), tuple(widths), rerun)


def _replace(target: Path, content: bytes) -> None:
    """Write a file beside its place and move it there."""
    handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
