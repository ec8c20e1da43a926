r"""Tensors with subscripts: ``X_i``, ``X_{ik}``, ``A_{:,j}``, ``x_{2:5}``, rows in small letters.

Subscripts go to the leading axes in order, so that ``X_i`` of a tensor with three axes is the
matrix of sample i; an axis of size 1 among the last two needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import sympy as sp

from lemmax.expr.nodes import Apply
from lemmax.expr.sizes import Size, is_one
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import ONE, Form, Indices
from lemmax.parse.integers import index_letter, integer, position, size_of, split_places
from lemmax.parse.pairs import paired
from lemmax.parse.reader import read_places
from lemmax.parse.shifts import OutOfRange, entry_at


@dataclass(frozen=True, slots=True)
class Slot:
    """What is taken of an axis: one index (``at``), or ``size`` of them from ``start`` on.

    Attributes:
        at: the index, counted from 0, or ``None``.
        start: where a range starts.
        size: how long it is.
        is_guarded: does a case distinction keep the index inside?
    """

    at: sp.Expr | None
    start: sp.Expr
    size: Size
    is_guarded: bool = False


def subscripted(
    ctx: Context,
    tensor: Tensor,
    tokens: r.Script,
    end: int,
    span: Span,
    is_row: bool = False,
    extra: r.Script = (),
) -> Form:
    """Return a tensor with subscripts.

    Args:
        ctx: what is known.
        tensor: the tensor.
        tokens: the subscript, without what belongs to the name.
        end: where the subscript ends.
        span: place of the whole.
        is_row: is the small letter of a matrix used, which stands for its rows (or entries)?
        extra: a second subscript, from brackets around the first.

    Raises:
        Failure: too many subscripts or too few, or an index of another range.
    """
    places = read_places(tokens, end).places if tokens else ()
    places += read_places(extra, span[1]).places if extra else ()
    whole = r.Places(span, 1, places)
    least = tensor.ndim - 1 if is_row else max(tensor.ndim - 2, 0)
    ways = split_places(whole, tensor.ndim) if places else [[]]
    fitting = [way for way in ways if least <= len(way)]
    if len(fitting) > 1:
        fitting = [way for way in fitting if len(way) == tensor.ndim and not is_row] or fitting
    if not fitting:
        raise _count_failure(ctx, tensor, len(ways[0]) if ways else tensor.ndim + 1, span, is_row)
    if len(fitting) > 1:
        readings = [", ".join(ctx.text(p) for p in way) for way in fitting]
        raise Failure(
            span, f"{ctx.text(span)}: one index or several digits? Separate indices by commas.", readings
        )
    return taken(ctx, tensor, fitting[0], span)


def _count_failure(ctx: Context, tensor: Tensor, count: int, span: Span, is_row: bool) -> Failure:
    text = ctx.text(span)
    if is_row:
        return Failure(
            span, f"{text} is read as a row of {tensor.label()}, which needs {tensor.ndim - 1} subscript(s)."
        )
    if count > tensor.ndim:
        return Failure(span, f"{text} has more subscripts than {tensor.label()} has axes.", is_shape=True)
    most = tensor.ndim - 2
    return Failure(
        span,
        f"{text}: {tensor.label()} has {tensor.ndim} axes, of which the first {most} must be subscripts here:"
        " write an index for each, such as X_i, and sum over it where all are meant.",
        is_shape=True,
    )


def taken(ctx: Context, tensor: Tensor, places: Sequence[r.Place], span: Span) -> Form:
    """Return a slice of a tensor, with places for its leading axes."""
    axes = _axes_of(tensor, len(places))
    slots = [Slot(None, sp.S.Zero, s) for s in tensor.shape]
    for place, axis in zip(places, axes, strict=True):
        slots[axis] = slot_of(ctx, place, tensor.shape[axis])
    return sliced(ctx, tensor, slots, span)


def _axes_of(tensor: Tensor, count: int) -> list[int]:
    """Return the axes that subscripts go to; among the last two those of size 1 are passed over."""
    lead = max(tensor.ndim - 2, 0)
    shown = [p for p in range(tensor.ndim) if p < lead or not is_one(tensor.shape[p])]
    return list(range(count)) if count > len(shown) else shown[:count]


def slot_of(ctx: Context, place: r.Place, size: Size) -> Slot:
    """Return what a place of a subscript takes of an axis.

    Raises:
        Failure: an index of another range, or out of range.
    """
    if place.kind == "all":
        return Slot(None, sp.S.Zero, size)
    assert place.low is not None
    if place.kind == "range":
        assert place.high is not None
        low, high = integer(ctx, place.low), integer(ctx, place.high)
        _inside(ctx, low, size, place)
        _inside(ctx, high, size, place)
        return Slot(None, position(ctx, low), sp.expand(high - low + 1))
    letter = index_letter(ctx, place.low)
    if letter is not None:
        ctx.use(letter, size, place.span)
        return Slot(position(ctx, letter.value), sp.S.Zero, ONE, letter.text in ctx.guarded)
    named = size_of(ctx, place.low)
    value = integer(ctx, place.low)
    _inside(ctx, value, size, place)
    if named is not None and not ctx.fits_target:
        raise Failure(
            place.span,
            f"the subscript {ctx.text(place)} is the name of a size: is one place meant, or an index? Use"
            " another letter for an index; give like= or shape= if the place is meant.",
            [f"place {named}", f"an index called {named}"],
        )
    guarded = any(ctx.is_guarded(s) for s in value.free_symbols)
    return Slot(position(ctx, value), sp.S.Zero, ONE, guarded)


def _inside(ctx: Context, value: sp.Expr, size: Size, place: r.Place) -> None:
    """Check that a place is between 1 and the size, as far as that can be seen."""
    beyond = sp.expand(value - ctx.unknowns.value(size))
    if value.is_nonpositive or (beyond.is_positive and not value.free_symbols - size.free_symbols):
        raise Failure(
            place.span,
            f"the index {ctx.text(place)} is out of range: indices count from 1, and this axis has size"
            f" {ctx.shown(size)}.",
            is_shape=True,
        )


def sliced(ctx: Context, tensor: Tensor, slots: Sequence[Slot], span: Span) -> Form:
    """Return a slice as a form: the axes that are kept are rows and columns in their order."""
    kept = [p for p, slot in enumerate(slots) if slot.at is None]
    if len(kept) == 2:
        rows, columns = (slots[p].size for p in kept)
    else:
        rows, columns = (slots[kept[0]].size if kept else ONE), ONE

    apart = _taken_apart(ctx, tensor, slots, kept, span)
    if apart is not None:
        return apart
    # ranges of rows and columns become slices, so that their indices run over whole axes
    cut = tensor
    if any(
        slot.at is None and not (slot.start == 0 and slot.size == s)
        for slot, s in zip(slots, tensor.shape, strict=True)
    ):
        starts = tuple(slot.start for slot in slots)
        lengths = tuple(
            slot.size if slot.at is None else s for slot, s in zip(slots, tensor.shape, strict=True)
        )
        cut = Apply("slice", (tensor,), lengths, {"starts": starts})

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        own = dict(zip(kept, (row, column), strict=False))
        at = [own[p] if slot.at is None else slot.at for p, slot in enumerate(slots)]
        ranges = {
            s: ctx.unknowns.finish(ctx.ranges[s]) for e in at for s in e.free_symbols if s in ctx.ranges
        }
        try:
            return entry_at(cut, at, ranges, [slot.is_guarded for slot in slots])
        except OutOfRange as error:
            raise Failure(span, f"{ctx.text(span)}: {error}.", is_shape=True) from None

    return Form(span, rows, columns, entry)


def _taken_apart(
    ctx: Context, tensor: Tensor, slots: Sequence[Slot], kept: Sequence[int], span: Span
) -> Form | None:
    """Return an unnamed tensor with merged axes by the indices that its rows and columns stand for."""
    if not isinstance(tensor, Apply) or tensor.function != "merge" or tensor.name is not None or not kept:
        return None
    (inner,) = tensor.operands
    groups = cast("tuple[tuple[int, ...], ...]", tensor.param("groups"))
    for axis, (slot, group) in enumerate(zip(slots, groups, strict=True)):
        whole = slot.start == 0 and slot.size == tensor.shape[axis]
        if (slot.at is None and not whole) or (slot.at is not None and len(group) > 1):
            return None

    def deep(row: Indices, column: Indices) -> sp.Expr:
        parts = {axis: at for axis, at in zip(kept, (row, column), strict=False)}
        at: list[sp.Expr] = []
        for axis, slot in enumerate(slots):
            at += parts[axis] if slot.at is None else [slot.at]
        return inner.entry(*at)

    sizes = [tuple(inner.shape[a] for a in groups[axis]) for axis in kept]
    return paired(ctx, sizes[0], sizes[1] if len(sizes) == 2 else (), deep, span)
