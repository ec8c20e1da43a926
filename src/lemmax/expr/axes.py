r"""Axis arguments: integers (negative from the end) or the name of a size."""

from __future__ import annotations

import numbers
from typing import TypeAlias

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.tensor import Tensor

Axis: TypeAlias = int | str | sp.Symbol | tuple["int | str | sp.Symbol", ...] | None


def one_axis(what: str, t: Tensor, axis: int | str | sp.Symbol) -> int:
    """Return an axis as a non-negative integer.

    Raises:
        InvalidArgument: there is no such axis, or a size name fits several.
    """
    if isinstance(axis, bool) or not isinstance(axis, numbers.Integral | str | sp.Symbol):
        raise InvalidArgument(f"{what}: axis {axis!r}: expected an integer or the name of a size.")
    if isinstance(axis, numbers.Integral):
        position = int(axis)
        if not -t.ndim <= position < t.ndim:
            raise InvalidArgument(f"{what}: axis {axis} does not exist, {t.label()} has {t.ndim} axes.")
        return position % t.ndim
    hits = [p for p, s in enumerate(t.shape) if str(s) == str(axis)]
    if len(hits) != 1:
        count = "no axis has" if not hits else f"axes {hits} all have"
        raise InvalidArgument(f"{what}: {count} size {axis} in {t.label()}; give the axis as an integer.")
    return hits[0]


def some_axes(what: str, t: Tensor, axis: Axis) -> tuple[int, ...]:
    """Return axes as sorted non-negative integers; ``None`` means all.

    Raises:
        InvalidArgument: an axis does not exist or is given twice.
    """
    if axis is None:
        return tuple(range(t.ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    found = sorted(one_axis(what, t, a) for a in given)
    if len(set(found)) != len(found):
        raise InvalidArgument(f"{what}: an axis is given twice in {axis!r}.")
    return tuple(found)
