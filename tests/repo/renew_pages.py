r"""Write real output into documentation pages: ``python -m tests.repo.renew_pages [PAGE ...]``.

Without arguments all pages are run. Output that differs from what a page shows is replaced; a line ``...``
goes on standing for what it stood for, as far as the lines around it are still there. Look at the difference
before it is committed: what changed without a reason is a mistake in the program and not in the page.
"""

from __future__ import annotations

import difflib
import re
import sys
import tempfile
from pathlib import Path

from tests.repo.files import ROOT
from tests.repo.pages import COLOURS, LEFT_OUT, Difference, normalised, pattern_of, run_page


def all_pages() -> list[Path]:
    """Return the pages that tests run."""
    return [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def renewed(shown: str, real: str) -> list[str]:
    """Return the lines of the real output, with those left out that the shown text leaves out."""
    old, new = shown.strip("\n").splitlines(), COLOURS.sub("", real).strip("\n").splitlines()
    keys = [normalised(line)[0] if line.strip() else "" for line in old]
    partial = [key for key in keys if LEFT_OUT in key and key != LEFT_OUT]
    matcher = difflib.SequenceMatcher(None, keys, [key_of(line, partial) for line in new], autojunk=False)
    lines: list[str] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            lines += old[a:b]
        elif LEFT_OUT in keys[a:b]:
            gap = keys[a:b].index(LEFT_OUT)
            after = b - a - gap - 1
            # as many lines before and after the gap as were shown before, the rest stays left out
            kept = new[c:d]
            lines += [*kept[:gap], LEFT_OUT, *(kept[max(gap, len(kept) - after) :] if after else [])]
        else:
            lines += new[c:d]
    return [line.rstrip() for line in lines]


def key_of(line: str, partial: list[str]) -> str:
    """Return what a real line is found by: the shown line with parts left out that fits it, or itself."""
    key = normalised(line)[0] if line.strip() else ""
    return next((x for x in partial if re.fullmatch(pattern_of(x), key + "\n")), key)


def renew(page: Path) -> int:
    """Run a page and write its real output into it; return how many outputs changed."""
    found: list[Difference] = []
    with tempfile.TemporaryDirectory() as folder:
        run_page(page, Path(folder), found.append)
    lines = page.read_text(encoding="utf-8").splitlines()
    for difference in sorted(found, key=lambda x: x.line, reverse=True):
        start = difference.line - 1
        length = len(difference.shown.splitlines())
        lines[start : start + length] = [
            (difference.indent + line).rstrip() for line in renewed(difference.shown, difference.real)
        ]
    if found:
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(found)


def main(names: list[str]) -> None:
    """Renew the pages named, or all."""
    for page in [Path(name).resolve() for name in names] or all_pages():
        count = renew(page)
        print(f"{page.relative_to(ROOT)}: {count or 'no'} output{'s' * (count != 1)} renewed")


if __name__ == "__main__":
    main(sys.argv[1:])
