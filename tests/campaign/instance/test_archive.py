from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lemmax.campaign.instance import archive
from lemmax.campaign.instance.archive import read_archive
from lemmax.errors import DataError

KNOWN = ("X", "Y", "WQ", "WK", "WV", "WO")


def entry(array: Any, **how: Any) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asanyarray(array), **how)
    return content.getvalue()


def put(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(f"{name}.npy", content)
    return path


def refuse(path: Path, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_archive(path, KNOWN)


def test_numbers_come_out_as_they_went_in(tmp_path: Path) -> None:
    X = np.arange(12, dtype=np.int32).reshape(2, 3, 2)
    fortran = np.asfortranarray(np.random.default_rng(0).normal(size=(2, 3, 1)))
    path = put(tmp_path / "a.npz", Y=entry(fortran), X=entry(X))
    arrays = read_archive(path, KNOWN)
    assert list(arrays) == ["X", "Y"]
    assert arrays["X"].dtype == np.float64
    np.testing.assert_array_equal(arrays["X"], X)
    np.testing.assert_array_equal(arrays["Y"], fortran)
    np.savez(tmp_path / "b.npz", X=X)
    np.testing.assert_array_equal(read_archive(tmp_path / "b.npz", KNOWN)["X"], X)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("the pickle was run",))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    pickled = np.array([Bomb(), Bomb()], dtype=object)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": (2,)})
    refuse(put(tmp_path / "a.npz", X=header.getvalue() + pickle.dumps(pickled)), "never unpickled")
    refuse(put(tmp_path / "b.npz", X=pickle.dumps(pickled)), "cannot be read")


def forged(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return header.getvalue() + content


@pytest.mark.parametrize("shape", [(10**6, 10**6, 10**6), (2**62, 4, 2), (2, 2, 2), (-1, 2, 2)])
def test_header_that_promises_too_much_is_refused_before_anything_is_allocated(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    refuse(put(tmp_path / "a.npz", X=forged(shape, b"0" * 8)), "damaged|cannot be read")


def test_long_header_is_refused(tmp_path: Path) -> None:
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 30000 + b")}\n"
    content = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + b"0" * 8
    refuse(put(tmp_path / "a.npz", X=content), "cannot be read|damaged")


def test_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_FILE", 10_000)
    path = put(tmp_path / "a.npz", X=entry(np.zeros((10, 20, 30))))
    assert path.stat().st_size < 2_000
    refuse(path, "unpacks to")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"X": entry(np.zeros(3) + 1j)}, "complex128; expected real numbers"),
        ({"X": entry(np.array(["a", "b"]))}, "expected real numbers"),
        ({"X": entry(np.zeros(3, dtype=[("a", "f8")]))}, "expected real numbers"),
        ({"X": entry(np.array([0.0, np.nan]))}, r"entry \(1,\) is nan"),
        ({"X": entry(np.array([[0.0, -np.inf]]))}, r"entry \(0, 1\) is -inf"),
        ({"X": b"\x93NUMPY\x09\x00junk"}, "no plain numbers|cannot be read"),
        ({"X": b"junk"}, "cannot be read"),
        ({"X": b""}, "cannot be read"),
        ({"W^Q": entry(np.zeros(3))}, "called 'W\\^Q', which means nothing here. Did you mean WQ"),
        ({"labels": entry(np.zeros(3))}, "'labels', which means nothing here"),
    ],
)
def test_wrong_entries_are_refused(tmp_path: Path, entries: dict[str, bytes], said: str) -> None:
    refuse(put(tmp_path / "a.npz", **entries), said)


def test_entry_given_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("X.npy", entry(np.zeros(1)))
        file.writestr("X", entry(np.zeros(1)))
    refuse(tmp_path / "a.npz", "two arrays called X")


def test_damaged_content_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.arange(1000.0))
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    refuse(path, "cannot be read")
    path.write_bytes(content[:2000])
    refuse(path, "no .npz file|cannot be read")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("X = 1, 2, 3\n")
    refuse(tmp_path / "a.npz", "is no .npz file")
    (tmp_path / "empty.npz").touch()
    refuse(tmp_path / "empty.npz", "is no .npz file")
    np.save(tmp_path / "b.npy", np.zeros(3))
    refuse(tmp_path / "b.npy", r"numpy.savez\(file, X=array\)")
    refuse(tmp_path, "is a folder")
    refuse(tmp_path / "ab.npz", "There is no file .*Did you mean .*a.npz")
    refuse(tmp_path / "none" / "a.npz", "There is no folder")
