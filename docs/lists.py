r"""Write the lists in the documentation that are read off the code: ``python docs/lists.py``.

A page holds a list between ``<!-- list: KIND PATTERN ... -->`` and ``<!-- end of list -->``. The kinds:

- ``theorems``: the files of ``proofs/`` whose names match one of the patterns, with standing and claim;
- ``names``: the public names of ``lemmax`` from one of the modules, with the first line of each docstring.

A test compares the pages with what this script would write.
"""

from __future__ import annotations

import fnmatch
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import lemmax
from lemmax.statement import Theorem, load_theorem

DOCS = Path(__file__).resolve().parent
PROOFS = DOCS.parent / "proofs"
WIDTH = 120
SHORT = 60  # formulas shorter than this are not broken
KEPT = "\0"  # stands for a blank at which no line is broken
MARKED = re.compile(r"(<!-- list: (\w+) ([^>]*?) -->\n)(.*?)(<!-- end of list -->)", re.S)
BOUNDS = {"tight": "the bound is tight", "lower": "a lower bound", "upper": "an upper bound", None: ""}


def theorem_files() -> list[Path]:
    """Return the theorem files, sorted by name."""
    return sorted(path for path in PROOFS.glob("*.py") if not path.name.startswith("_"))


def list_theorems(patterns: Sequence[str]) -> Iterator[str]:
    """Yield one item per theorem that matches a pattern: name, standing, claim."""
    for path in theorem_files():
        if any(fnmatch.fnmatchcase(path.stem, pattern) for pattern in patterns):
            theorem = load_theorem(path)
            link = f"[`{theorem.name}`](../../proofs/{path.name})"
            yield from item(f"{link}: {standing(theorem)}. {formulas(theorem.statement)}")


def standing(theorem: Theorem) -> str:
    """Say what a check must find for the theorem to be as expected."""
    if theorem.expected == "refuted":
        return "**false**; refuted"
    parts = ["holds on all instances tested", BOUNDS[theorem.bound], f"{len(theorem.mutants)} mutants"]
    return "; ".join(part for part in parts if part)


def formulas(text: str) -> str:
    """Return a text with formulas as GitHub takes them untouched by Markdown; short ones stay whole."""

    def formula(found: re.Match[str]) -> str:
        latex = found[1].replace(" ", KEPT) if len(found[1]) < SHORT else found[1]
        return f"$`{latex}`$"

    return re.sub(r"\$([^$]+)\$", formula, text.removeprefix("(False.) "))


def list_names(modules: Sequence[str]) -> Iterator[str]:
    """Yield one item per public name that comes from one of the modules: name, signature, first line."""
    for name in sorted(lemmax.__all__, key=lambda x: (x.lower(), x)):
        value = getattr(lemmax, name)
        if origin(name) in modules:
            summary = (value.__doc__ or "").strip().splitlines()[0].replace("``", "`")
            summary = re.sub(r":math:`([^`]*)`", r"$`\1`$", summary)
            summary = re.sub(r":\w+:`[.~]?([^`]*)`", r"`\1`", summary)
            yield from item(f"`{name}{parameters(value)}`: {summary}")


def origin(name: str) -> str:
    """Return the module that a public name comes from, without the package."""
    return lemmax._PUBLIC[name][0].removeprefix("lemmax.") if name in lemmax._PUBLIC else ""


def parameters(value: object) -> str:
    """Return the parameters of a function without annotations."""
    if not inspect.isroutine(value):
        return ""
    signature = inspect.signature(value)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return re.sub(r"<[^>]*>", "...", text)


def item(text: str) -> list[str]:
    """Return the lines of one item of a list."""
    lines = textwrap.wrap(
        text, WIDTH - 2, break_long_words=False, break_on_hyphens=False, initial_indent="- "
    )
    return [line.replace(KEPT, " ") for line in (lines[0], *(f"  {line}" for line in lines[1:]))]


KINDS: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "theorems": list_theorems,
    "names": list_names,
}


def patterns_of(text: str, kind: str) -> list[str]:
    """Return what all lists of one kind on a page ask for."""
    return [
        pattern for _, found, words, *_ in MARKED.findall(text) if found == kind for pattern in words.split()
    ]


def filled(text: str) -> str:
    """Return a page with its lists written anew."""

    def fill(found: re.Match[str]) -> str:
        lines = KINDS[found[2]](found[3].split())
        return "\n".join([found[1], *lines, "", found[5]])

    return MARKED.sub(fill, text)


def main() -> None:
    """Write the lists of all pages."""
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(DOCS)}: written")


if __name__ == "__main__":
    main()
