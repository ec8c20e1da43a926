"""Links between the pages of the repository lead somewhere, headings included; pictures can be made again."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.files import ROOT, tracked_files

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.M | re.S)
PAGES = [path for path in tracked_files() if path.suffix == ".md"]
IMAGES = ROOT / "docs" / "images"


def prose(path: Path) -> str:
    return CODE.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(path: Path) -> list[str]:
    found = []
    for target in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            found.append(f"{path.relative_to(ROOT)}: {target}")
    return found


def test_links_lead_somewhere() -> None:
    assert PAGES
    dead = [link for page in PAGES for link in dead_links(page)]
    assert not dead, "\n".join(dead)


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = ROOT / "docs" / "index.md"
    copy = tmp_path / "page.md"
    copy.write_text(
        "# A title\n[a](page.md#a-title) [b](page.md#b) [c](gone.md) [d](https://x.org)\n```\n[e](f)\n```\n"
    )
    assert page.exists()
    assert [target for target in LINK.findall(prose(copy))][-1] == "https://x.org"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[__name__], "ROOT", tmp_path)
        assert dead_links(copy) == ["page.md: page.md#b", "page.md: gone.md"]


def test_every_page_of_the_documentation_is_reached_from_the_index() -> None:
    reached, todo = set(), [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        todo += [(page.parent / t.partition("#")[0]).resolve() for t in LINK.findall(prose(page))]
    lost = [page for page in (ROOT / "docs").rglob("*.md") if page not in reached]
    assert not lost, f"no link leads to {lost}"


def size_of(png: Path) -> tuple[int, int]:
    """Return width and height of a PNG file."""
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.slow
@pytest.mark.requires("latex", "poppler")
def test_pictures_can_be_made_again(tmp_path: Path) -> None:
    command = [sys.executable, str(IMAGES / "make.py"), "--folder", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    stored = sorted(path.name for path in IMAGES.glob("*.png"))
    assert sorted(path.name for path in tmp_path.glob("*.png")) == stored != []
    for name in stored:
        (width, height), (new_width, new_height) = size_of(IMAGES / name), size_of(tmp_path / name)
        assert abs(new_width - width) <= 0.1 * width and abs(new_height - height) <= 0.1 * height, name
        assert (IMAGES / name).stat().st_size < 100_000


PATH_IN_TEXT = re.compile(r"`((?:src|tests|docs|proofs|examples)/[\w./]*)`")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/explanation/design.md"])
def test_files_and_folders_that_a_page_names_are_there(name: str) -> None:
    named = PATH_IN_TEXT.findall((ROOT / name).read_text(encoding="utf-8"))
    assert not [path for path in named if not (ROOT / path).exists()]
