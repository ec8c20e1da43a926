r"""Conditions on indices and entries, and case distinctions made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from lemmax.expr.nodes import Apply
from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import Form, is_scalar, kept_whole, same_shape, whole
from lemmax.parse.integers import integer, position
from lemmax.parse.meaning import mean
from lemmax.parse.reach import children, leaves
from lemmax.parse.scripts import letter_text
from lemmax.parse.symbols import written

_COMPARE: dict[str, Callable[[sp.Expr, sp.Expr], sp.Basic]] = {
    "<": sp.Lt,
    "<=": sp.Le,
    ">": sp.Gt,
    ">=": sp.Ge,
    "==": sp.Eq,
    "!=": sp.Ne,
}


def condition(ctx: Context, alternatives: Sequence[Sequence[r.Part]]) -> Form:
    """Return a condition as a form whose entries are truth values: relations of one alternative all hold."""
    parts = [relation for both in alternatives for relation in both]
    compared = [[_compared(ctx, relation) for relation in both] for both in alternatives]
    forms = [form for both in compared for form in both]
    counts = [len(both) for both in alternatives]

    def joined(*values: sp.Basic) -> sp.Basic:
        rest = list(values)
        held = []
        for count in counts:
            held.append(sp.And(*rest[:count]))
            rest = rest[count:]
        return sp.Or(*held)

    span = min(p.span[0] for p in parts), max(p.span[1] for p in parts)
    return entrywise(ctx, joined, forms, span, "condition")


def _compared(ctx: Context, relation: r.Part) -> Form:
    if not isinstance(relation, r.Relation) or "in" in relation.operators:
        raise Failure(relation.span, f"{ctx.text(relation)}: expected a comparison.")
    operators = relation.operators

    def holds(*values: sp.Expr) -> sp.Basic:
        return sp.And(*[_COMPARE[o](a, b) for o, a, b in zip(operators, values, values[1:], strict=False)])

    if is_about_indices(ctx, relation):
        values = [position(ctx, integer(ctx, p)) for p in relation.parts]
        return Form(relation.span, sp.S.One, sp.S.One, lambda row, column: holds(*values))
    return entrywise(ctx, holds, [mean(ctx, p) for p in relation.parts], relation.span, "comparison")


def is_about_indices(ctx: Context, relation: r.Relation) -> bool:
    """Does a relation compare indices, sizes and numbers only?"""
    return all(_is_integer(ctx, p) for p in relation.parts)


def _is_integer(ctx: Context, part: r.Part) -> bool:
    text = letter_text(part)
    if text is not None and text in ctx.scope:
        return True
    name = written(part)
    if name is not None:
        return not ctx.names.is_given(name.base) and not ctx.names.spelled(name.base)
    if isinstance(part, r.Number):
        return part.value.is_integer is True
    if isinstance(part, r.Sum | r.Product | r.Chain | r.Group | r.Fraction | r.Fence):
        if isinstance(part, r.Fence) and part.kind not in ("floor", "ceiling"):
            return False
        return all(_is_integer(ctx, p) for p in children(part))
    return False


def argument_place(ctx: Context, relation: r.Relation, span: Span) -> Form | None:
    r"""Return :math:`1[(i, j) = \arg\max_{k, l} x_{kl}]`: 1 at the place of the first maximum, else 0."""
    if relation.operators != ("==",) or not isinstance(relation.parts[1], r.Big):
        return None
    big = relation.parts[1]
    if big.operator not in ("argmax", "argmin"):
        return None
    from lemmax.parse.bigs import bind

    left = relation.parts[0]
    parts = left.parts if isinstance(left, r.Group) else (left,)
    at = [position(ctx, integer(ctx, p)) for p in parts]
    inner, letters, held = bind(ctx, big)
    if held is not None or len(letters) != len(at):
        raise Failure(
            relation.span, f"{ctx.text(relation)}: as many indices as {ctx.text(big)} runs over are expected."
        )
    body = mean(inner, big.body)
    if not is_scalar(ctx, body):
        raise Failure(
            big.body.span, f"{ctx.text(big.body)}: expected a scalar, which is compared over its indices."
        )

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        found = whole(ctx, body)
        own = [x.symbol for x in letters]
        outer = tuple(s for s in found.letters if s not in own)
        t = whole(ctx, body, (*outer, *own)).tensor
        axes = tuple(range(len(outer), t.ndim))
        return Apply(f"{big.operator}_mask", (t,), t.shape, {"axes": axes}).entry(*outer, *at)

    return Form(span, sp.S.One, sp.S.One, entry)


def cases(ctx: Context, part: r.Cases) -> Form:
    """Return a case distinction.

    Raises:
        Failure: shapes differ, or no case is left for what remains.
    """
    if part.cases[-1].condition or any(not c.condition for c in part.cases[:-1]):
        raise Failure(part.span, r"the cases must end with one for all that remains: \text{otherwise}.")
    inner = ctx.guarding(frozenset(_guarded(ctx, part)))
    values = [mean(inner, c.value) for c in part.cases]
    held = [condition(ctx, c.condition) for c in part.cases[:-1]]
    shaped = [v for v in values if not v.is_zero] or values
    for other in shaped[1:]:
        same_shape(ctx, shaped[0], other, "cases")
    for form in held:
        if not is_scalar(ctx, form):
            same_shape(ctx, shaped[0], form, "case and condition")
    zero = sp.S.Zero

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        conditions = [h.entry(zero, zero) if is_scalar(ctx, h) else h.entry(row, column) for h in held]
        entries = [zero if v.is_zero else v.entry(row, column) for v in values]
        return sp.Piecewise(*zip(entries, [*conditions, sp.true], strict=True))

    return kept_whole(ctx, Form(part.span, shaped[0].rows, shaped[0].columns, entry))


def _guarded(ctx: Context, part: r.Cases) -> set[str]:
    """Return letters that a condition restricts: uses in a case say nothing about where they run."""
    found: set[str] = set()
    for case in part.cases:
        for relation in (p for both in case.condition for p in both):
            if isinstance(relation, r.Relation) and is_about_indices(ctx, relation):
                texts = {letter_text(p) for side in relation.parts for p in leaves(side)} - {None}
                letters = {
                    t for t in texts if t is not None and (ctx.letter(t) or not ctx.names.size_called(t))
                }
                if not all(letter_text(p) in letters for p in relation.parts):
                    found |= letters
    return found
