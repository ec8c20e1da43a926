r"""Ones, zeros and indicators: ``\mathbf 1``, ``\mathbf 1_n``, ``0_{m \times n}``, ``\mathbf 1[x > 0]``."""

from __future__ import annotations

import sympy as sp

from lemmax.expr.functions import step
from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise
from lemmax.parse.conditions import argument_place, condition
from lemmax.parse.constants import sizes_in
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import ONE, Form, kept_whole
from lemmax.parse.meaning import mean
from lemmax.parse.reader import read_places


def ones(ctx: Context, part: r.Part, sub: r.Script, sub_span: Span) -> Form:
    """Return a vector or matrix of ones, or an indicator if the subscript is a condition."""
    if not sub:
        rows = ctx.unknowns.fresh(part.span, f"the size of {ctx.text(part)}")
        return Form(part.span, rows, ONE, lambda row, column: sp.S.One)
    places = read_places(sub, sub_span[1])
    relations = [p.low for p in places.places]
    if len(relations) == 1 and isinstance(relations[0], r.Group):
        relations = list(relations[0].parts)
    if any(isinstance(p, r.Relation) for p in relations):
        return indicator(ctx, tuple(p for p in relations if p is not None), (part.span[0], sub_span[1]))
    sizes = sizes_in(ctx, sub, sub_span[1], sub_span, wanted=1)
    if len(sizes) > 2:
        raise Failure(sub_span, f"{ctx.text(sub_span)}: expected one size or two.")
    return Form(part.span, sizes[0], sizes[1] if len(sizes) == 2 else ONE, lambda row, column: sp.S.One)


def zero_matrix(ctx: Context, part: r.Number, around: r.Scripted) -> Form:
    """Return zeros of given sizes (or, for the digit 1, ones)."""
    if part.value not in (0, 1):
        raise Failure(around.span, f"{ctx.text(around)}: a number has no subscript.")
    sizes = sizes_in(ctx, around.sub, around.sub_span[1], around.sub_span, wanted=1)
    value = part.value
    return Form(around.span, sizes[0], sizes[1] if len(sizes) == 2 else ONE, lambda row, column: value)


def indicator(ctx: Context, relations: tuple[r.Part, ...], span: Span) -> Form:
    """Return 1 where all relations hold, else 0."""
    if len(relations) == 1 and isinstance(relations[0], r.Relation):
        relation = relations[0]
        place = argument_place(ctx, relation, span)
        if place is not None:
            return place
        right = relation.parts[-1]
        if relation.operators == (">",) and isinstance(right, r.Number) and right.value == 0:
            inside = mean(ctx, relation.parts[0])
            if not _is_condition_on_indices(ctx, relation):
                return entrywise(ctx, step, [inside], span, "indicator")
    held = condition(ctx, (relations,))

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return sp.Piecewise((sp.S.One, held.entry(row, column)), (sp.S.Zero, True))

    return kept_whole(ctx, Form(span, held.rows, held.columns, entry))


def _is_condition_on_indices(ctx: Context, relation: r.Relation) -> bool:
    from lemmax.parse.conditions import is_about_indices

    return is_about_indices(ctx, relation)
