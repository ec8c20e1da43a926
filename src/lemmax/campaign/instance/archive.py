r"""Reading the arrays of an ``.npz`` file that may come from anywhere: nothing is unpickled.

The header of each array is checked against the size of its entry before anything is allocated.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
import numpy.typing as npt

from lemmax.campaign.names import close_names
from lemmax.errors import DataError

Array: TypeAlias = npt.NDArray[np.float64]

LARGEST_FILE = 1 << 30  # bytes, unpacked; tokens beyond that are no instance but an attack or a slip
LARGEST = 1e30  # magnitude of an entry
NPY_MAGIC = b"\x93NUMPY"
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    EOFError,
    OSError,
    RuntimeError,  # encrypted
    NotImplementedError,  # unknown compression
    MemoryError,
    SyntaxError,
)


def read_archive(path: Path, known: Sequence[str]) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file as float64, by name, in the order of ``known``.

    Args:
        path: the file.
        known: the names it may hold.

    Raises:
        DataError: the file is missing, is no such file, holds an unknown name, anything but real numbers,
            or an entry that is not finite.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; an instance is an .npz file with an array X (N, n, D).")
    try:
        with path.open("rb") as file:
            start = file.read(len(NPY_MAGIC))
            if start == NPY_MAGIC:
                raise DataError(
                    f"{path} is a .npy file, one array without a name. Save it by "
                    "numpy.savez(file, X=array), or see examples/make_instance.py."
                )
            if not zipfile.is_zipfile(file):
                raise DataError(
                    f"{path} is no .npz file (a zip archive of arrays, as numpy.savez writes it), "
                    "or it was cut short."
                )
            with zipfile.ZipFile(file) as archive:
                return _read(path, archive, known)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.{_neighbour(path)}") from None
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {_said(error)}.") from error


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _neighbour(path: Path) -> str:
    """Return a hint at a file of a similar name."""
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {folder} either."
    close = close_names(path.name, sorted(p.name for p in folder.glob("*.npz")))
    return f" Did you mean {folder / close[0]}?" if close else ""


def _read(path: Path, archive: zipfile.ZipFile, known: Sequence[str]) -> dict[str, Array]:
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in entries:
            raise DataError(f"{path} holds two arrays called {name}.")
        if name not in known:
            close = close_names(name, known)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise DataError(
                f"{path} holds an array called {name!r}, which means nothing here.{hint} "
                f"An instance holds X (N, n, D) and, if it likes, {', '.join(known[1:])}."
            )
        entries[name] = info
    total = sum(info.file_size for info in entries.values())
    if total > LARGEST_FILE:
        raise DataError(
            f"{path} unpacks to {total / 2**30:.1f} GiB; at most {LARGEST_FILE / 2**30:.0f} GiB is read. "
            "Take fewer samples (examples/make_instance.py --samples)."
        )
    arrays: dict[str, Array] = {}
    for name in known:
        if name in entries:
            try:
                with archive.open(entries[name]) as content:
                    arrays[name] = _numbers(path, name, content, entries[name].file_size)
            except DataError:
                raise
            except UNREADABLE as error:
                raise DataError(f"The array {name} of {path} cannot be read: {_said(error)}.") from error
    return arrays


def _numbers(path: Path, name: str, content: IO[bytes], size: int) -> Array:
    """Read one array after checking its header."""
    where = f"The array {name} of {path}"
    version = np.lib.format.read_magic(content)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(content)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(content)
    else:
        raise DataError(f"{where} has no plain numbers (format {version[0]}.{version[1]}).")
    if dtype.kind not in "biuf":
        what = "Python objects, which are never unpickled" if dtype.hasobject else f"entries of type {dtype}"
        raise DataError(f"{where} holds {what}; expected real numbers.")
    count = 1
    for length in shape:
        count *= int(length)  # Python integers: a hostile header cannot overflow them
    if min(shape, default=1) < 0 or count * dtype.itemsize != size - content.tell():
        raise DataError(
            f"{where} is damaged: its header says {shape} of {dtype}, its content is of another size."
        )
    data = content.read(count * dtype.itemsize)
    content.read()  # the end of the entry: here its checksum is compared
    numbers = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    real = np.array(numbers, dtype=np.float64, order="C")
    bad = np.argwhere(~np.isfinite(real))
    if len(bad):
        at = tuple(int(axis) for axis in bad[0])
        raise DataError(f"{where}: entry {at} is {real[at]}; every entry must be finite.")
    _check_scale(real, where)
    return real


def _check_scale(real: np.ndarray, where: str) -> None:
    """Refuse numbers whose powers leave the range of float64: the eighth occurs in squared gradients."""
    largest = float(np.abs(real).max(initial=0.0))
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        raise DataError(
            f"{where}: the largest entry is {largest:.3g} in magnitude; expected one between "
            f"{1 / LARGEST:.0e} and {LARGEST:.0e}, so that products of entries neither overflow nor vanish. "
            "Rescale the data."
        )
