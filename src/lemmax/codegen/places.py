r"""Where an array lies in a buffer: offset and strides in symbolic sizes, and the text that looks at it.

A view of a place is a place again.  A reshape of a view is one only where the strides allow it for
all sizes; otherwise there is none, and the entries have to be copied.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.codegen.values import Shape, Value

Key = tuple[int, sp.Expr, Shape, tuple[sp.Expr, ...]]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a buffer, seen as an array.

    Attributes:
        buffer: number of the buffer.
        offset: position of the first entry.
        shape: sizes by axis.
        strides: distance of neighbours by axis, in entries.
        steps: the views that lead from the buffer to it.
    """

    buffer: int
    offset: sp.Expr
    shape: Shape
    strides: tuple[sp.Expr, ...]
    steps: tuple[Step, ...]

    @property
    def key(self) -> Key:
        """What is equal for equal places, however they were reached."""
        return self.buffer, self.offset, tuple(map(sp.expand, self.shape)), self.strides


@dataclass(frozen=True, slots=True)
class Step:
    """One view: the name of the operation, its parameters and the shape it gives."""

    op: str
    params: tuple[object, ...]
    shape: Shape


def contiguous(shape: Shape) -> tuple[sp.Expr, ...]:
    """Return the strides of a row-major array."""
    strides: list[sp.Expr] = []
    total: sp.Expr = sp.S.One
    for size in reversed(shape):
        strides.append(total)
        total = sp.expand(total * size)
    return tuple(reversed(strides))


def whole(buffer: int, allocated: Shape, shape: Shape) -> Place:
    """Return a buffer as a row-major array of another shape with as many entries."""
    steps = () if _equal(allocated, shape) else (Step("reshape", (), shape),)
    return Place(buffer, sp.S.Zero, shape, contiguous(shape), steps)


def transposed(place: Place, axes: Sequence[int]) -> Place:
    """Return the place with its axes in another order."""
    order = tuple(axes)
    if order == tuple(range(len(place.shape))):
        return place
    shape = tuple(place.shape[a] for a in order)
    strides = tuple(place.strides[a] for a in order)
    return _extended(place, Step("transpose", (order,), shape), place.offset, strides)


def reshaped(place: Place, shape: Shape) -> Place | None:
    """Return the place as an array of another shape, if that needs no copy for any sizes."""
    strides = _strides_after_reshape(place, shape)
    return None if strides is None else _extended(place, Step("reshape", (), shape), place.offset, strides)


def sliced(place: Place, bounds: Sequence[tuple[sp.Expr, sp.Expr] | None], shape: Shape) -> Place:
    """Return a rectangular part."""
    offset = place.offset
    for bound, stride in zip(bounds, place.strides, strict=True):
        if bound is not None:
            offset += bound[0] * stride
    return _extended(place, Step("slice", tuple(bounds), shape), sp.expand(offset), place.strides)


def view(place: Place, v: Value) -> Place | None:
    """Return the place of the view ``v`` of an array at ``place``; ``None`` if it is no view."""
    return _VIEWS[v.op](place, v) if v.op in _VIEWS else None


def undone(place: Place, v: Value) -> Place | None:
    """Return the place that the operand of the view ``v`` must have for ``v`` to be at ``place``."""
    if v.op == "pin":
        return place
    if v.op == "transpose":
        return transposed(place, [v.params[0].index(a) for a in range(v.ndim)])
    return reshaped(place, v.args[0].shape) if v.op == "reshape" else None


def covers(place: Place, entries: sp.Expr) -> bool:
    """Does the place hold each of the ``entries`` of its buffer once?"""
    return place.offset == 0 and sp.expand(sp.Mul(*place.shape)) == entries and sp.S.Zero not in place.strides


def _extended(place: Place, step: Step, offset: sp.Expr, strides: tuple[sp.Expr, ...]) -> Place:
    return Place(place.buffer, offset, step.shape, strides, (*place.steps, step))


def _strides_after_reshape(place: Place, shape: Shape) -> tuple[sp.Expr, ...] | None:
    old = list(zip(place.shape, place.strides, strict=True))
    new = list(shape)
    strides: list[sp.Expr] = []
    while old or new:
        if old and old[0][0] == 1:
            old.pop(0)
        elif new and new[0] == 1:
            new.pop(0)
            strides.append(sp.S.Zero)
        else:
            sizes = _next_group(old, new)
            if sizes is None:
                return None
            merged, split = sizes
            for (_, outer), (size, stride) in itertools.pairwise(old[:merged]):
                if sp.expand(outer - size * stride) != 0:
                    return None
            inner = old[merged - 1][1]
            strides += [sp.expand(inner * s) for s in contiguous(tuple(new[:split]))]
            del old[:merged], new[:split]
    return tuple(strides)


def _next_group(old: Sequence[tuple[sp.Expr, sp.Expr]], new: Sequence[sp.Expr]) -> tuple[int, int] | None:
    """Return how many axes are merged into one, or one is split into, at the start."""
    if not old or not new:
        return None
    for merged in range(1, len(old) + 1):
        if sp.expand(sp.Mul(*[s for s, _ in old[:merged]]) - new[0]) == 0:
            return merged, 1
    for split in range(2, len(new) + 1):
        if sp.expand(sp.Mul(*new[:split]) - old[0][0]) == 0:
            return 1, split
    return None


def _equal(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(sp.expand(x - y) == 0 for x, y in zip(a, b, strict=True))


def _view_transpose(place: Place, v: Value) -> Place | None:
    return transposed(place, v.params[0])


def _view_reshape(place: Place, v: Value) -> Place | None:
    return reshaped(place, v.shape)


def _view_slice(place: Place, v: Value) -> Place | None:
    return sliced(place, v.params, v.shape)


def _view_pin(place: Place, v: Value) -> Place | None:
    return place


def _view_expand(place: Place, v: Value) -> Place | None:
    rest = iter(place.strides)
    strides = tuple(sp.S.Zero if p in v.params[0] else next(rest) for p in range(v.ndim))
    return _extended(place, Step("expand", v.params, v.shape), place.offset, strides)


_VIEWS: dict[str, Callable[[Place, Value], Place | None]] = {
    "transpose": _view_transpose,
    "reshape": _view_reshape,
    "slice": _view_slice,
    "pin": _view_pin,
    "expand": _view_expand,
}
"""Views with a place of their own; other views of a buffer are written where they are used."""
