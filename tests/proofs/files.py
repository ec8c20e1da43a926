"""The theorem files of the repository, and what their form is: the sections, in their order."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from lemmax.statement import Theorem, load_theorem

PROOFS = Path(__file__).resolve().parents[2] / "proofs"
TEMPLATE = PROOFS / "_template.py"
FILES = sorted(path for path in PROOFS.glob("*.py") if not path.name.startswith("_"))

HEADINGS = ("Statement.", "Hypotheses.", "Bound.", "Proof idea.", "Reference.", "Evidence.")
SECTIONS = ("variables", "expressions", "hypotheses", "conclusion", "instances", "mutants")
NEEDED = ("variables", "expressions", "conclusion")
LINES = (40, 180)


@functools.cache
def theorem_of(path: Path) -> Theorem:
    """Return the theorem of a file."""
    return load_theorem(path)


def headings_of(text: str) -> list[str]:
    """Return the headed paragraphs of the module docstring, in order, each with some text."""
    doc = ast.get_docstring(ast.parse(text)) or ""
    parts = doc.split("\n\n")[1:]
    found = [h for part in parts for h in HEADINGS if part.startswith(h) and len(part) > len(h) + 3]
    return found if len(found) == len(parts) else [*found, "a paragraph without a heading"]


def sections_of(text: str) -> list[str]:
    """Return the sections of the code, in order: each begins with a comment line ``# -- name ---``."""
    return re.findall(r"^# -- (\w+)\b[^\n]*--$", text, re.MULTILINE)


def slips_of(text: str, theorem: Theorem) -> list[str]:
    """Return in what a theorem file departs from the template."""
    found: list[str] = []
    doc = ast.get_docstring(ast.parse(text)) or ""
    title = doc.split("\n")[0]
    if not title.endswith(".") or len(title) > 110 or not text.startswith('r"""'):
        found.append(f"the title {title!r} is no raw sentence on one line")
    if headings_of(text) != list(HEADINGS):
        found.append(f"docstring: {headings_of(text)} instead of {list(HEADINGS)}")
    wanted = list(NEEDED)
    wanted += ["hypotheses"] if theorem.hypotheses else []
    wanted += ["mutants"] if theorem.expected == "holds" else []
    sections = sections_of(text)
    if [s for s in SECTIONS if s in sections] != sections or not set(wanted) <= set(sections):
        found.append(f"sections {sections}; wanted {sorted(wanted, key=SECTIONS.index)}, in this order")
    if not re.search(r"^THEOREM = lx\.Theorem\($", text, re.MULTILINE):
        found.append("no THEOREM = lx.Theorem( at the left margin")
    found += [f"{word} has no place in a theorem file" for word in ("print(", "__main__") if word in text]
    lines = text.count("\n")
    if not LINES[0] <= lines <= LINES[1]:
        found.append(f"{lines} lines, not {LINES[0]} to {LINES[1]}")
    return found + _slips_of_words(doc, title, theorem)


def _slips_of_words(doc: str, title: str, theorem: Theorem) -> list[str]:
    found = []
    false = theorem.expected == "refuted"
    if false != title.startswith("False:") or false != ("\n\nStatement. (False.)" in doc):
        found.append("a false claim, and only a false one, says so in the title and in the statement")
    if false != theorem.statement.startswith("(False.)") or len(theorem.statement) < 20:
        found.append("a false claim, and only a false one, says so in statement=")
    bound = doc.partition("\n\nBound. ")[2].partition("\n\n")[0]
    words = {"tight": "ight", "upper": "Upper", "lower": "Lower", None: "None"}
    if words[theorem.bound] not in bound:
        found.append(f"the paragraph on the bound does not say {theorem.bound!r}: {bound}")
    for mutant in theorem.mutants:
        if len(mutant.reason.split()) < 4:
            found.append(f"the reason of mutant {mutant.name!r} says little: {mutant.reason!r}")
    return found
