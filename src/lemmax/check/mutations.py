r"""Named changes that strike drawn instances at random, and structures that are built in.

Each is a pure function; the table maps its name to it.  Rows are the rows of all matrices of an
input together (for tokens (N, n, D): all N n tokens).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lemmax.check.recipe import Mutation
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import identifier
from lemmax.statement.instances import Arrays, Structure

Array = npt.NDArray[np.float64]

SCALES = (10.0, 100.0, 1e3, 1e4, 0.1, 1e-2, 1e-3)  # 1e4 saturates softmax rows fully
DISTANCES = (1e-4, 1e-8, 1e-13)  # of nearly equal rows: from harmless to the edge of double precision
SATURATED = 1e4


def _rows(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


def duplicate(x: Array, i: int, j: int) -> Array:
    """Row i becomes row j (the next one, if that is the same row)."""
    rows = _rows(x.copy())
    count = len(rows)
    i, j = i % count, j % count
    rows[i] = rows[j if i != j else (j + 1) % count]
    return rows.reshape(x.shape)


def near_duplicate(x: Array, i: int, j: int) -> Array:
    """Row i becomes the next row plus a small multiple of itself."""
    rows = _rows(x.copy())
    i %= len(rows)
    rows[i] = rows[(i + 1) % len(rows)] + DISTANCES[j % len(DISTANCES)] * rows[i]
    return rows.reshape(x.shape)


def zero_row(x: Array, i: int, j: int) -> Array:
    """Row i becomes 0."""
    rows = _rows(x.copy())
    rows[i % len(rows)] = 0.0
    return rows.reshape(x.shape)


def zero(x: Array, i: int, j: int) -> Array:
    """All entries become 0."""
    return np.zeros_like(x)


def zero_slice(x: Array, i: int, j: int) -> Array:
    """Slice i along the first axis (a head, a sample) becomes 0."""
    y = x.copy()
    y[i % len(y)] = 0.0
    return y


def scale(x: Array, i: int, j: int) -> Array:
    """All entries are multiplied by one of a few powers of ten."""
    return x * SCALES[i % len(SCALES)]


def scale_slice(x: Array, i: int, j: int) -> Array:
    """Slice i along the first axis (a head, a sample, a row) is multiplied by one of a few powers of ten."""
    y = x.copy()
    y[i % len(y)] *= SCALES[j % len(SCALES)]
    return y


def round_entries(x: Array, i: int, j: int) -> Array:
    """Entries are rounded to integers."""
    return np.round(x)


def rank_one(x: Array, i: int, j: int) -> Array:
    """Each matrix becomes its first column times its first row."""
    return x[..., :, :1] * x[..., :1, :]


def orthonormal_rows(x: Array, i: int = 0, j: int = 0) -> Array:
    """All rows together become orthonormal, as far as there are columns for them."""
    rows = _rows(x)
    q, _ = np.linalg.qr(rows.T)
    result = rows.copy()
    result[: q.shape[1]] = q.T
    return result.reshape(x.shape)


MUTATIONS: dict[str, Callable[[Array, int, int], Array]] = {
    "duplicate": duplicate,
    "near_duplicate": near_duplicate,
    "zero_row": zero_row,
    "zero": zero,
    "zero_slice": zero_slice,
    "scale": scale,
    "scale_slice": scale_slice,
    "round": round_entries,
    "rank_one": rank_one,
    "orthonormal_rows": orthonormal_rows,
}
"""Mutations of one input; ``tie``, which needs two, is handled in :func:`mutate`."""

FEWEST_AXES = {
    "duplicate": 2,
    "near_duplicate": 2,
    "zero_row": 2,
    "zero_slice": 3,
    "scale_slice": 1,
    "rank_one": 2,
    "orthonormal_rows": 2,
}
"""How many axes an input needs for a mutation to make sense."""

DEGENERATE = ("duplicate", "zero_row", "zero", "zero_slice", "tie", "round")
"""Mutations that make things equal or 0 without rounding."""

HARMLESS = ("scale", "scale_slice")
"""Mutations that keep a continuous distribution continuous."""


def mutate(arrays: Arrays, mutation: Mutation) -> None:
    """Apply a mutation, in place in the dictionary."""
    first, *rest = mutation.inputs
    if mutation.kind == "tie":
        arrays[rest[0]] = arrays[first].copy()
    else:
        arrays[first] = MUTATIONS[mutation.kind](arrays[first], mutation.i, mutation.j)


def orthonormal_columns(x: Array) -> Array:
    """The columns of each matrix become orthonormal, as far as there are rows for them."""
    q, _ = np.linalg.qr(x)
    y = x.copy()
    y[..., :, : q.shape[-1]] = q
    return y


def identical_tokens(x: Array) -> Array:
    """All rows of a matrix become its first row."""
    return np.broadcast_to(x[..., :1, :], x.shape).copy()


def zero_head(x: Array) -> Array:
    """All but the first slice along the first axis become 0."""
    y = x.copy()
    y[1:] = 0.0
    return y


STRUCTURES: dict[str, Callable[[Array], Array]] = {
    "zero": np.zeros_like,
    "identical_tokens": identical_tokens,
    "orthonormal_rows": orthonormal_rows,
    "orthonormal_columns": orthonormal_columns,
    "rank_one": lambda x: rank_one(x, 0, 0),
    "zero_head": zero_head,
    "saturated": lambda x: x * SATURATED,
}
"""Structures of one input; ``tied`` and ``rotated``, which need two, are handled in :func:`build_in`."""


def build_in(arrays: Arrays, structure: Structure, rng: np.random.Generator) -> None:
    """Build a structure in, in place in the dictionary."""
    names = [identifier(str(t.name)) for t in structure.inputs]
    if structure.by is not None:
        arrays.update({k: np.asarray(v, dtype=float) for k, v in structure.by(dict(arrays), rng).items()})
    elif structure.kind == "tied":
        arrays[names[1]] = arrays[names[0]].copy()
    elif structure.kind == "rotated":
        a = np.round(2 * arrays[names[0]])
        b = a[..., ::-1, :].copy()
        b[..., ::2, :] *= -1.0
        arrays[names[0]], arrays[names[1]] = a, b
    else:
        arrays[names[0]] = STRUCTURES[structure.kind](arrays[names[0]])


def can_strike(kind: str, t: Input) -> bool:
    """Does a mutation of this kind make sense for an input?"""
    return t.ndim >= FEWEST_AXES.get(kind, 0)
