#!/usr/bin/env python3
r"""Make an instance file for ``lemmax check --instance``: real tokens as an array X of shape (N, n, D).

Sources: the UCI hand-written digits (``--digits``, needs scikit-learn), or any ``.npy`` or ``.npz`` file that
holds tokens of shape (N, n, D) or images of shape (N, height, width). Nothing else is needed than NumPy.

    python examples/make_instance.py --digits --samples 32 -o digits.npz
    python examples/make_instance.py --digits --tokens patches --patch 4 --samples 32 -o digits_patches.npz
    python examples/make_instance.py images.npy --tokens patches --patch 8 --samples 16 --seed 0 -o mine.npz

The file that comes out depends on nothing but its content: same source and options, same bytes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

DIGITS_LARGEST_VALUE = 16.0  # pixels of the UCI digits are counts 0..16
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of the zip format; a real date would change the bytes


class BadSource(Exception):
    """The source or an option does not give an instance; the text says why and what to do."""


def rows(images: np.ndarray, patch: int) -> np.ndarray:
    """Read each image row as a token: (N, h, w) -> (N, h, w)."""
    return images


def columns(images: np.ndarray, patch: int) -> np.ndarray:
    """Read each image column as a token: (N, h, w) -> (N, w, h)."""
    return images.transpose(0, 2, 1)


def patches(images: np.ndarray, patch: int) -> np.ndarray:
    """Cut images into p x p patches, row by row: (N, h, w) -> (N, (h/p)(w/p), p p)."""
    count, height, width = images.shape
    if height % patch or width % patch:
        raise BadSource(
            f"--patch {patch} does not divide images of {height} x {width}. Take a common divisor."
        )
    grid = images.reshape(count, height // patch, patch, width // patch, patch)
    return grid.transpose(0, 1, 3, 2, 4).reshape(count, -1, patch * patch)


TOKENS: Mapping[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "rows": rows,
    "columns": columns,
    "patches": patches,
}


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the 1,797 UCI digits as images in [0, 1] of shape (1797, 8, 8), and their labels."""
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise BadSource(
            "--digits reads the data from scikit-learn, which is not installed. Install it."
        ) from None
    data = load()
    return np.asarray(data.images) / DIGITS_LARGEST_VALUE, np.asarray(data.target)


def load_array(path: Path, key: str | None) -> np.ndarray:
    """Load one array from a .npy or .npz file, never unpickling anything.

    Raises:
        BadSource: the file is missing, is no NumPy file, or its array cannot be told or read.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise BadSource(f"There is no file {path}.") from None
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise BadSource(f"{path} cannot be read as a .npy or .npz file of plain numbers: {error}") from None
    if isinstance(loaded, np.ndarray):
        if key is not None:
            raise BadSource(f"--key {key} chooses from a .npz file; {path} holds one array without a name.")
        return loaded
    with loaded:
        names = sorted(loaded.files)
        name = key or ("X" if "X" in names else names[0] if len(names) == 1 else None)
        if name is None or name not in names:
            wanted = f"no array {name!r}" if name else "several arrays and none is called X"
            raise BadSource(f"{path} holds {wanted}; it has: {', '.join(names) or 'nothing'}. Use --key.")
        try:
            array = np.asarray(loaded[name])
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise BadSource(f"{name!r} in {path} cannot be read as plain numbers: {error}") from None
        left_out = [other for other in names if other != name]
        if left_out:
            print(f"note: took {name!r} from {path}, left out: {', '.join(left_out)}", file=sys.stderr)
        return array


def as_tokens(source: np.ndarray, tokens: str | None, patch: int) -> np.ndarray:
    """Turn a checked source of three axes into tokens X (N, n, D), float64."""
    if source.ndim != 3 or 0 in source.shape:
        raise BadSource(
            f"The source has shape {source.shape}; expected three axes, none empty: tokens (N, n, D), "
            "or images (N, height, width) with --tokens."
        )
    if source.dtype.kind not in "biuf":
        raise BadSource(f"The source has entries of type {source.dtype}; expected real numbers.")
    real = source.astype(np.float64)
    if not np.isfinite(real).all():
        bad = tuple(int(axis) for axis in np.argwhere(~np.isfinite(real))[0])
        raise BadSource(f"Entry {bad} of the source is {real[bad]}; every entry must be finite.")
    return real if tokens is None else TOKENS[tokens](real, patch)


def choose(total: int, samples: int | None, seed: int | None) -> np.ndarray:
    """Return the indices of the samples to keep: the first ones, or with a seed a random subset in order."""
    kept = total if samples is None else samples
    if not 1 <= kept <= total:
        raise BadSource(
            f"--samples {kept} was asked for; the source has {total} samples. Ask for 1 to {total}."
        )
    if seed is None:
        return np.arange(kept)
    return np.sort(np.random.default_rng(seed).choice(total, size=kept, replace=False))


def one_hot(labels: np.ndarray, total: int, tokens: int) -> np.ndarray:
    """Return the targets Y (N, n, m): each token of a sample has the unit vector of the sample's class."""
    if labels.shape != (total,) or labels.dtype.kind not in "iu":
        raise BadSource(
            f"The labels have shape {labels.shape} and type {labels.dtype}; "
            f"expected integers of shape ({total},)."
        )
    classes = np.unique(labels)
    unit = (labels[:, None] == classes).astype(np.float64)
    return np.repeat(unit[:, None, :], tokens, axis=1)


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz whose bytes depend on the arrays only; only a finished file replaces an older one."""
    if not path.parent.is_dir():
        raise BadSource(f"There is no folder {path.parent} to write {path.name} into. Make it first.")
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                content = io.BytesIO()
                np.lib.format.write_array(
                    content,
                    np.ascontiguousarray(arrays[name], dtype="<f8"),
                    version=(1, 0),
                    allow_pickle=False,
                )
                entry = zipfile.ZipInfo(f"{name}.npy", date_time=ZIP_EPOCH)
                entry.create_system = 3  # as on Unix, on whatever system this runs
                archive.writestr(entry, content.getvalue())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
        raise


def make(options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return the arrays of the instance that the options describe."""
    if options.digits:
        source, own_labels = load_digits()
        tokens = options.tokens or "rows"
    else:
        source, own_labels, tokens = load_array(options.source, options.key), None, options.tokens
    everything = as_tokens(source, tokens, options.patch)
    kept = choose(len(everything), options.samples, options.seed)
    X = everything[kept]
    if options.unit:
        X = X / (np.abs(X).max() or 1.0)
    arrays = {"X": X}
    if options.labels is not None:
        labels = load_array(Path(options.labels), None) if options.labels else own_labels
        if labels is None:
            raise BadSource("--labels without a file takes the digits' own labels: give a file, or --digits.")
        arrays["Y"] = one_hot(labels, len(everything), X.shape[1])[kept]
    return arrays


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; argparse ends the program with code 2 if it is wrong."""
    parser = argparse.ArgumentParser(description="Make an instance file for lemmax check --instance.")
    parser.add_argument("source", nargs="?", type=Path, help=".npy or .npz, (N, n, D) or (N, height, width)")
    parser.add_argument("--digits", action="store_true", help="take the UCI digits instead of a file")
    parser.add_argument("--key", help="name of the array in a .npz source (default: X, or its only array)")
    parser.add_argument("--tokens", choices=list(TOKENS), help="how images become tokens (digits: rows)")
    parser.add_argument("--patch", type=int, default=4, help="side of a square patch (default: %(default)s)")
    parser.add_argument("--samples", type=int, help="how many samples to keep (default: all)")
    parser.add_argument("--seed", type=int, help="draw the samples at random (default: the first ones)")
    parser.add_argument("--unit", action="store_true", help="divide by the largest absolute value")
    parser.add_argument(
        "--labels",
        nargs="?",
        const="",
        help="add one-hot targets Y from integers (N,), or the digits' own",
    )
    parser.add_argument("-o", "--output", required=True, type=Path, help="the .npz file to write")
    options = parser.parse_args(arguments)
    if options.digits == (options.source is not None):
        parser.error("give either a source file or --digits")
    if options.digits and options.key is not None:
        parser.error(f"--key {options.key} chooses from a source file; the digits are one array")
    if options.patch < 1:
        parser.error(f"--patch {options.patch}: a patch has a side of at least 1")
    if options.seed is not None and options.seed < 0:
        parser.error(f"--seed {options.seed}: a seed is not negative")
    if options.output.suffix != ".npz":
        parser.error(f"--output {options.output}: the name must end in .npz")
    if options.source is not None and options.source.resolve() == options.output.resolve():
        parser.error(f"--output {options.output} is the source itself, which would be lost")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the file; return 0, or 2 after one clear message."""
    options = parse(arguments)
    try:
        arrays = make(options)
        write_npz(options.output, arrays)
    except BadSource as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {options.output} cannot be written: {error}", file=sys.stderr)
        return 2
    shapes = ", ".join(f"{name} {array.shape}" for name, array in sorted(arrays.items()))
    print(f"{options.output}: {shapes}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
