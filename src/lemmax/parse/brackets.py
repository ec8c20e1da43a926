r"""Brackets with subscripts: entries of an expression, ``(A B)_{ij}``, or a matrix, ``[a_{ij}]_{ij}``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from lemmax.expr.sizes import Size, same_size
from lemmax.parse import records as r
from lemmax.parse.context import Context, Letter
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import ONE, Form, is_column, is_scalar
from lemmax.parse.forms import whole as whole_of
from lemmax.parse.integers import integer, split_places
from lemmax.parse.meaning import mean
from lemmax.parse.pairs import paired
from lemmax.parse.reach import free_letters, leaves
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import letter_text
from lemmax.parse.subscripts import Slot, sliced, slot_of


def subscripted_group(ctx: Context, base: r.Part, around: r.Scripted) -> Form:
    """Return brackets with a subscript.

    Raises:
        Failure: the subscript names neither entries nor the indices of entries.
    """
    places = read_places(around.sub, around.sub_span[1])
    span = around.span[0], max(base.span[1], around.sub_span[1])
    if isinstance(base, r.Group) and len(base.parts) == 1 and base.left != "LCURLY":
        if any(isinstance(p.low, r.Relation) for p in places.places):
            return _blocks(ctx, base.parts[0], places, span)
        texts = _letters_of(ctx, places)
        if texts is not None and set(texts) <= _mentioned(ctx, base.parts[0]):
            return _entries(ctx, base.parts[0], texts, places, span)
    return _picked(ctx, mean(ctx, base), places, span)


def _mentioned(ctx: Context, part: r.Part) -> set[str]:
    """Return letters of indices that a part speaks of: in subscripts, in conditions, as numbers."""
    alone = {t for p in leaves(part) if (t := letter_text(p)) is not None}
    return free_letters(part) | {t for t in alone if not ctx.names.is_given(t)}


def _letters_of(ctx: Context, places: r.Places) -> list[str] | None:
    """Return the letters of a subscript of one or two letters that nothing binds and no size is called by."""
    ways = split_places(places, 2)
    if not ways or any(p.kind != "at" or p.low is None for p in ways[0]):
        return None
    texts = [letter_text(p.low) for p in ways[0] if p.low is not None]
    known = [t for t in texts if t is not None and t not in ctx.scope and not ctx.names.size_called(t)]
    return known if len(set(known)) == len(texts) else None


def _entries(ctx: Context, part: r.Part, texts: list[str], places: r.Places, span: Span) -> Form:
    letters = [ctx.new_letter(t, places.span) for t in texts]
    body = mean(ctx.inside(letters), part)
    if not is_scalar(ctx, body):
        if len(texts) == 2:
            return _picked(ctx, mean(ctx, part), places, span)
        raise Failure(
            span,
            f"{ctx.text(span)}: one index around a vector or a matrix: which way do the blocks go?",
            [r"[...]_{i \le n}, blocks on top of each other", r"\operatorname{blkdiag}_i(...)"],
        )
    symbols = [x.symbol for x in letters]

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return body.entry(sp.S.Zero, sp.S.Zero).xreplace(dict(zip(symbols, (row, column), strict=False)))

    sizes = [ctx.ranges[s] for s in symbols]
    return Form(span, sizes[0], sizes[1] if len(sizes) == 2 else ONE, entry)


def _blocks(ctx: Context, part: r.Part, places: r.Places, span: Span) -> Form:
    r"""Return :math:`[A_{ih}]_{i \le N,\, h \le H}`: the first index down, the second to the right."""
    letters = [_bounded(ctx, place) for place in places.places]
    if len(letters) > 2 or len({x.text for x in letters}) != len(letters):
        raise Failure(span, f"{ctx.text(span)}: blocks have one index or two.")
    body = mean(ctx.inside(letters), part)
    symbols = [x.symbol for x in letters]
    sizes = [ctx.ranges[s] for s in symbols]

    def entry(rows: Sequence[sp.Expr], columns: Sequence[sp.Expr]) -> sp.Expr:
        outer = (rows[0], columns[0])
        return body.entry(rows[-1], columns[-1]).xreplace(dict(zip(symbols, outer, strict=False)))

    across = (sizes[1], body.columns) if len(sizes) == 2 else (body.columns,)
    return paired(ctx, (sizes[0], body.rows), across, entry, span)


def _bounded(ctx: Context, place: r.Place) -> Letter:
    relation = place.low
    if isinstance(relation, r.Relation) and relation.operators == ("<=",):
        text = letter_text(relation.parts[0])
        size = integer(ctx, relation.parts[1])
        if text is not None and size.is_positive:
            return ctx.new_letter(text, relation.span, size)
    raise Failure(place.span, rf"{ctx.text(place)}: expected the range of a block index, such as i \le n.")


def _picked(ctx: Context, form: Form, places: r.Places, span: Span) -> Form:
    """Return entries, rows, columns or ranges of an expression."""
    wanted = 0 if is_scalar(ctx, form) else 1 if is_column(ctx, form) else 2
    ways = [w for w in split_places(places, wanted) if len(w) == wanted]
    if not ways:
        raise Failure(span, f"{ctx.text(span)}: expected {wanted or 'no'} subscripts here.", is_shape=True)
    slots = [slot_of(ctx, p, s) for p, s in zip(ways[0], (form.rows, form.columns), strict=False)]
    kept = [p for p, slot in enumerate(slots) if slot.at is None]
    sizes = [*(slots[p].size for p in kept), ONE, ONE]
    full = form.rows, form.columns

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        if not all(_runs_through(ctx, slot, size) for slot, size in zip(slots, full, strict=False)):
            return _of_tensor(ctx, form, slots, span).entry(row, column)
        own = dict(zip(kept, (row, column), strict=False))
        at = [own[p] if s.at is None else s.at for p, s in enumerate(slots)]
        return form.entry(at[0], at[1] if len(at) == 2 else sp.S.Zero)

    return Form(span, sizes[0], sizes[1], entry)


def _runs_through(ctx: Context, slot: Slot, size: Size) -> bool:
    """Does a slot take all of an axis, one fixed place, or an index that runs over all of it?"""
    whole = ctx.unknowns.value(size)
    if slot.at is None:
        return slot.start == 0 and same_size(ctx.unknowns.value(slot.size), whole)
    if slot.at in ctx.ranges:
        return same_size(ctx.unknowns.value(ctx.ranges[slot.at]), whole)
    return not any(s in ctx.ranges for s in slot.at.free_symbols)


def _of_tensor(ctx: Context, form: Form, slots: Sequence[Slot], span: Span) -> Form:
    """Return the slice of the form as that of a tensor of its own."""
    found = whole_of(ctx, form)
    fixed = [Slot(s, sp.S.Zero, ONE) for s in found.letters]
    kept = (found.has_rows, found.has_columns)
    core = [replace(s, size=ctx.unknowns.finish(s.size)) for s, has in zip(slots, kept, strict=False) if has]
    return sliced(ctx, found.tensor, [*fixed, *core], span)
