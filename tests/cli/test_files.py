from __future__ import annotations

import os
from pathlib import Path

import pytest

from lemmax.cli.files import write_text, write_whole
from lemmax.errors import DataError


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    write_text(path, "α\n")
    assert path.read_text(encoding="utf-8") == "α\n"
    path.chmod(0o640)
    write_text(path, "β\n")
    assert path.read_text(encoding="utf-8") == "β\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.tex"]


def test_unfinished_file_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    path.write_text("old")

    def half(scratch: Path) -> None:
        scratch.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, half)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.tex"]


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_device_is_written_to(tmp_path: Path) -> None:
    write_text(Path(os.devnull), "nothing")
    assert not Path(os.devnull).is_file()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        write_text(tmp_path, "")
    with pytest.raises(DataError, match="There is no folder"):
        write_text(tmp_path / "none" / "a", "")
    with pytest.raises(DataError, match="cannot be written"):
        write_text(tmp_path / ("a" * 300), "")
