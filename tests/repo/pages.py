r"""Run a documentation page: every snippet and every command on it, in order, with its output compared.

What runs, by the tag of a fenced block:

- ``python``: executed; a block that starts with ``>>>`` is a doctest with exact output. The blocks of a page
  share one namespace.
- ``output``: must follow a ``python`` block, and is compared with what that block printed.
- ``console``: each line ``$ command`` is run by bash (a command that ends in ``\`` goes on in the next line),
  must end with code 0, and is compared with the lines below it.
- ``sh``, ``bash``, ``shell``: refused unless below a comment ``<!-- command: NAME -->``: those run in CI.

A page that needs an outside tool says so by a comment ``<!-- requires: latex -->``; see ``tests.tools``.

A page runs in a scratch folder that has copies of ``proofs`` and ``examples``. Compared output may leave out
lines by a line ``...``, and parts of a line by ``...`` in it. Times (``1.3 s``), runs of blanks and numbers
below 1e-10 (``-2e-16``: rounding, which differs between machines) are normalised, all others must be exact.

Where output changed on purpose, ``python -m tests.repo.renew_pages [PAGE ...]`` writes it into the page.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.repo.files import ROOT

SHELLS = ("sh", "bash", "shell")
FENCE = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,})\s*(?P<tag>[\w+-]*)(?P<rest>.*)$")
MARK = re.compile(r"<!--\s*command:\s*(?P<name>[\w-]+)\s*-->")
REQUIRES = re.compile(r"<!--\s*requires:\s*(?P<tool>[\w-]+)\s*-->")
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
TIMES = re.compile(r"\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds?|min|minutes?)\b")
TINY = re.compile(r"-?\b\d(\.\d+)?e-([1-9]\d\d|[2-9]\d|1\d)\b")
LEFT_OUT = "..."
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMAND_SECONDS = 400


class PageError(AssertionError):
    """A page does not do what it shows; the text names the file and the line."""


@dataclass(frozen=True)
class Block:
    """A fenced block: tag, text, the line its text starts on, the mark above it, blanks before each line."""

    tag: str
    text: str
    line: int
    mark: str | None
    indent: str = ""


@dataclass(frozen=True)
class Difference:
    """Output that is not what a page shows: where, from which line on, and both texts."""

    place: str
    line: int
    indent: str
    shown: str
    real: str


OnDifference = Callable[[Difference], None]


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown text in order."""
    lines = text.splitlines()
    number, mark = 0, None
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if opening is None:
            found = MARK.search(lines[number])
            if found or lines[number].strip():
                mark = found["name"] if found else None
            number += 1
            continue
        body, start = [], number + 1
        number = start
        while number < len(lines) and not lines[number].strip().startswith(opening["fence"]):
            body.append(lines[number].removeprefix(opening["indent"]))
            number += 1
        if number == len(lines):
            raise PageError(f"line {start}: the fence is never closed")
        yield Block(opening["tag"], "".join(f"{line}\n" for line in body), start + 1, mark, opening["indent"])
        number, mark = number + 1, None


def marked_command(text: str, name: str) -> str:
    """Return the one command line that stands in the block below ``<!-- command: name -->``."""
    found = [block.text.strip() for block in blocks_of(text) if block.mark == name]
    if len(found) != 1 or not found[0] or "\n" in found[0]:
        raise PageError(f"expected one block of one line marked 'command: {name}', found {found}")
    return found[0]


def normalised(text: str) -> list[str]:
    """Return lines without colours, outer blank lines, runs of blanks, times and what is mere rounding."""
    lines = [TINY.sub("<tiny>", TIMES.sub("<time>", COLOURS.sub("", x))) for x in text.strip().splitlines()]
    return [re.sub(r"\s+", " ", line).strip() for line in lines]


def is_as_shown(shown: str, real: str) -> bool:
    """Say whether real output is what a page shows, where ``...`` stands for any lines, or for any text."""
    pattern = "".join(pattern_of(line) for line in normalised(shown))
    return re.fullmatch(pattern, "".join(line + "\n" for line in normalised(real))) is not None


def pattern_of(line: str) -> str:
    """Return the pattern of a shown line with its end, or of the lines that it stands for."""
    if line == LEFT_OUT:
        return r"(?:.*\n)*?"
    return ".*?".join(map(re.escape, line.split(LEFT_OUT))) + "\n"


def refuse(found: Difference) -> None:
    """Raise a PageError that shows both texts."""
    raise PageError(f"{found.place} shows\n{found.shown}\nbut the real output is\n{found.real}")


def run_page(path: Path, folder: Path, on_difference: OnDifference = refuse) -> int:
    """Run every block of a page inside a scratch folder; return how many blocks were run.

    Raises:
        PageError: a snippet fails, a command fails, or (unless told otherwise) an output differs.
    """
    for name in ("proofs", "examples"):
        if (ROOT / name).is_dir() and not (folder / name).exists():
            shutil.copytree(ROOT / name, folder / name)
    namespace: dict[str, Any] = {"__name__": "page"}
    printed: str | None = None
    count = 0
    with contextlib.chdir(folder):
        for block in blocks_of(path.read_text(encoding="utf-8")):
            place = f"{path}:{block.line}"
            before, printed = printed, None
            if block.tag == "python":
                printed = run_python(block, place, namespace)
            elif block.tag == "output":
                if before is None:
                    raise PageError(f"{place}: an output block must follow a python block")
                if not is_as_shown(block.text, before):
                    on_difference(Difference(place, block.line, block.indent, block.text, before))
            elif block.tag == "console":
                run_console(block, place, folder, on_difference)
            elif block.tag in SHELLS and block.mark is None:
                raise PageError(
                    f"{place}: a {block.tag} block is never run; use console, or mark its command"
                )
            count += block.tag in ("python", "console")
    return count


def run_python(block: Block, place: str, namespace: dict[str, Any]) -> str:
    """Run a python block, as a doctest if it starts like one; return what it printed."""
    if "+SKIP" in block.text:
        raise PageError(f"{place}: a snippet on a page is run, not skipped")
    out = io.StringIO()
    if block.text.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.text, namespace, place, place, block.line - 1)
        test.globs = namespace  # shared by the page, not a copy
        runner = doctest.DocTestRunner(verbose=False, optionflags=DOCTEST_FLAGS)
        if runner.run(test, out=out.write, clear_globs=False).failed:
            raise PageError(f"{place}:\n{out.getvalue()}")
        return ""
    code = compile("\n" * (block.line - 1) + block.text, place.rsplit(":", 1)[0], "exec", dont_inherit=True)
    try:
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
    except Exception as error:
        raise PageError(f"{place}: {type(error).__name__}: {error}") from error
    return out.getvalue()


def run_console(block: Block, place: str, folder: Path, on_difference: OnDifference = refuse) -> None:
    """Run the commands of a console block and compare each output."""
    lines = block.text.splitlines()
    if not lines or not lines[0].startswith("$ "):
        raise PageError(f"{place}: a console block starts with a line '$ command'")
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number, command = start + 1, lines[start].removeprefix("$ ")
        while command.endswith("\\") and number < end:
            command, number = f"{command}\n{lines[number]}", number + 1
        where = f"{place}: $ {command}"
        code, real = run_command(command, folder)
        if code:
            raise PageError(f"{where}\nended with code {code} and said\n{real}")
        shown = "\n".join(lines[number:end])
        if not is_as_shown(shown, real):
            on_difference(Difference(where, block.line + number, block.indent, shown, real))


def run_command(command: str, folder: Path) -> tuple[int, str]:
    """Run a command line by bash, this environment's programs first; return its code and its output."""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    text = run.stdout.decode("utf-8", errors="replace")
    return run.returncode, text.replace(str(folder), ".")
