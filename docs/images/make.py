r"""Make the pictures of the documentation from PDF files that lemmax exports: ``python docs/images/make.py``.

Each picture is a part of a page, from one heading to the next. Needs pdflatex, and poppler's pdftotext and
pdftoppm.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
DOTS_PER_INCH = 110
POINTS_PER_INCH = 72
MARGIN = 8  # points around the cut
FOOTER = 780  # points from the top of an A4 page to the page number
WORD = re.compile(r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>')


@dataclass(frozen=True)
class Picture:
    """A picture: the file, the command that exports the document, and the headings around the part shown."""

    file: str
    command: tuple[str, ...]
    heading: str
    next_heading: str


WEIGHTS = ("W^Q", "W^K", "W^V", "W^O")
PICTURES = (
    Picture(
        "softmax_gradients.png",
        ("derive", "softmax-attention", *(part for weight in WEIGHTS for part in ("--wrt", weight))),
        "Result",
        "References",
    ),
)


@dataclass(frozen=True)
class Word:
    """A word on a page, with its box in points."""

    page: int
    text: str
    left: float
    top: float
    right: float
    bottom: float


def words_of(pdf: Path) -> list[Word]:
    """Return the words of a PDF file with their places."""
    listing = subprocess.run(
        ["pdftotext", "-bbox", str(pdf), "-"], capture_output=True, text=True, check=True
    )
    found = []
    for number, page in enumerate(listing.stdout.split("<page ")[1:], 1):
        for left, top, right, bottom, text in WORD.findall(page):
            found.append(Word(number, text, float(left), float(top), float(right), float(bottom)))
    return found


def cut(pdf: Path, picture: Picture, target: Path) -> None:
    """Write the part of a page between two headings as a PNG file."""
    words = words_of(pdf)
    headings = [word for word in words if word.text in (picture.heading, picture.next_heading)]
    if [word.text for word in headings] != [picture.heading, picture.next_heading]:
        raise SystemExit(f"{picture.file}: expected the headings {picture.heading}, {picture.next_heading}")
    first, last = headings
    between = words[words.index(first) + 1 : words.index(last)]
    inside = [word for word in between if word.top < FOOTER]
    if {word.page for word in inside} != {first.page}:
        raise SystemExit(f"{picture.file}: the section {picture.heading} is not on one page")
    left, right = min(w.left for w in inside) - MARGIN, max(w.right for w in inside) + MARGIN
    top, bottom = first.bottom + 1, max(w.bottom for w in inside) + MARGIN
    scale = DOTS_PER_INCH / POINTS_PER_INCH
    box = [str(round(x * scale)) for x in (left, top, right - left, bottom - top)]
    options = [o for pair in zip(("-x", "-y", "-W", "-H"), box, strict=True) for o in pair]
    page = ["-f", str(first.page), "-l", str(first.page), "-singlefile"]
    stem = str(target.with_suffix(""))
    subprocess.run(
        ["pdftoppm", "-png", "-gray", "-r", str(DOTS_PER_INCH), *page, *options, str(pdf), stem], check=True
    )


def make(picture: Picture, folder: Path) -> Path:
    """Export a picture's document and cut the picture out of it."""
    target = folder / picture.file
    with tempfile.TemporaryDirectory() as scratch:
        pdf = Path(scratch) / "document.pdf"
        subprocess.run(
            [sys.executable, "-m", "lemmax", *picture.command, "--pdf", str(pdf)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        cut(pdf, picture, target)
    return target


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to (default: beside this script)")
    folder = parser.parse_args().folder
    for picture in PICTURES:
        target = make(picture, folder)
        print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
