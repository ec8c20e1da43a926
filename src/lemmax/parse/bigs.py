r"""Operators over indices: sums, products, maxima, minima, log-sum-exp, block diagonals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy as sp

from lemmax.expr import reductions
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.conditions import condition
from lemmax.parse.context import Context, Letter
from lemmax.parse.failure import Failure
from lemmax.parse.forms import Form, kept_whole, whole
from lemmax.parse.integers import integer
from lemmax.parse.meaning import mean
from lemmax.parse.pairs import combined, paired
from lemmax.parse.reach import leaves
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import letter_text

_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "max": reductions.max,
    "min": reductions.min,
    "prod": reductions.prod,
    "logsumexp": reductions.logsumexp,
}


def big(ctx: Context, part: r.Big) -> Form:
    """Return an operator applied to all that follows it."""
    if part.operator in ("argmax", "argmin"):
        raise Failure(
            part.span,
            f"{ctx.text(part)} is a place, no value; it stands in \\mathbf{{1}}[(i) = \\arg\\max_{{k}} ...]"
            r" or \operatorname{onehot}(\arg\max ...).",
        )
    if not part.sub and part.operator in ("max", "min"):
        from lemmax.parse.calls import of_all_entries

        return of_all_entries(ctx, part.operator, mean(ctx, part.body), part.span)
    inner, letters, held = bind(ctx, part)
    body = mean(inner, part.body)
    if part.operator == "sum":
        return _sum(ctx, body, letters, held, part)
    if held is not None:
        raise Failure(
            part.span, f"{ctx.text(part)}: a condition is read below sums only; name the indices left."
        )
    if part.operator == "blkdiag":
        return block_diagonal(ctx, body, letters, part.span)
    return _reduced(ctx, body, letters, part)


def _sum(ctx: Context, body: Form, letters: list[Letter], held: Form | None, part: r.Big) -> Form:
    summand = body if held is None else kept_whole(ctx, _where(body, held))

    def summed(expr: sp.Expr) -> sp.Expr:
        return sp.Sum(expr, *[(x.symbol, 0, ctx.unknowns.finish(ctx.ranges[x.symbol]) - 1) for x in letters])

    made = combined(ctx, [summand], summed, summand.rows, summand.columns, part.span)
    return replace(made, is_zero=summand.is_zero)


def _where(body: Form, held: Form) -> Form:
    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return sp.Piecewise((body.entry(row, column), held.entry(sp.S.Zero, sp.S.Zero)), (sp.S.Zero, True))

    return Form(body.span, body.rows, body.columns, entry)


def _reduced(ctx: Context, body: Form, letters: list[Letter], part: r.Big) -> Form:
    own = tuple(x.symbol for x in letters)

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        found = whole(ctx, body)
        outer = tuple(s for s in found.letters if s not in own)
        if set(own) <= set(found.letters) and found.letters != (*outer, *own):
            axes = tuple(p for p, s in enumerate(found.letters) if s in own)
            t = _REDUCTIONS[part.operator](found.tensor, axis=axes)
        else:
            t = whole(ctx, body, (*outer, *own)).tensor
            t = _REDUCTIONS[part.operator](t, axis=tuple(range(len(outer), len(outer) + len(own))))
        return t.entry(*outer, *found.core(row, column))

    return Form(part.span, body.rows, body.columns, entry)


def block_diagonal(ctx: Context, body: Form, letters: list[Letter], span: tuple[int, int]) -> Form:
    """Return the block-diagonal matrix of a family of matrices."""
    if len(letters) != 1:
        raise Failure(span, f"{ctx.text(span)}: a block-diagonal matrix has one index.")
    size, symbol = ctx.ranges[letters[0].symbol], letters[0].symbol

    def entry(rows: tuple[sp.Expr, ...], columns: tuple[sp.Expr, ...]) -> sp.Expr:
        value = body.entry(rows[1], columns[1]).xreplace({symbol: rows[0]})
        return value * sp.KroneckerDelta(rows[0], columns[0])

    return paired(ctx, (size, body.rows), (size, body.columns), entry, span)


# -- what an operator runs over ------------------------------------------------------------------
def bind(ctx: Context, part: r.Big) -> tuple[Context, list[Letter], Form | None]:
    """Return the context inside an operator, the indices it binds, and the condition on them.

    Raises:
        Failure: the subscript binds no index, or limits are not understood.
    """
    return bind_places(ctx, part.sub, part.sub_span, part.sup, part.sup_span, part)


def bind_places(
    ctx: Context,
    sub: r.Script,
    sub_span: tuple[int, int],
    sup: r.Script,
    sup_span: tuple[int, int],
    part: r.Part,
) -> tuple[Context, list[Letter], Form | None]:
    """Return the same for a subscript and a superscript."""
    if not sub:
        raise Failure(
            part.span, f"{ctx.text(part)}: the index is missing: write it below, as in \\sum_{{i}}."
        )
    places = read_places(sub, sub_span[1]).places
    upper = read_places(sup, sup_span[1]).places if sup else ()
    letters: list[Letter] = []
    relations: list[r.Part] = []
    for place in places:
        if place.kind != "at" or place.low is None:
            raise Failure(place.span, f"{ctx.text(place)}: expected an index with its range.")
        if upper and isinstance(place.low, r.Relation) and place.low.operators == ("==",):
            high = upper[0].low
            if len(places) > 1 or len(upper) > 1 or high is None:
                raise Failure(place.span, f"{ctx.text(place)}: expected one index between two limits.")
            letters.append(_between(ctx, place.low.parts[0], place.low.parts[1], high))
            upper = ()
            continue
        _bind_place(ctx, place.low, letters, relations)
    if upper:
        raise Failure(
            sup_span, f"{ctx.text(sup_span)}: an upper limit needs a lower one, as in \\sum_{{i=1}}^{{n}}."
        )
    doubled = {x.text for x in letters if [y.text for y in letters].count(x.text) > 1}
    if doubled:
        raise Failure(sub_span, f"the index {min(doubled)} is bound twice.")
    inner = ctx.inside(letters)
    held = condition(inner, [relations]) if relations else None
    return inner, letters, held


def _bind_place(ctx: Context, part: r.Part, letters: list[Letter], relations: list[r.Part]) -> None:
    if not isinstance(part, r.Relation):
        for p in part.parts if isinstance(part, r.Product) else (part,):
            letters.append(ctx.new_letter(_letter(ctx, p), p.span))
        return
    operators, parts = part.operators, part.parts
    if operators == ("in",):
        size = _range_of_set(ctx, parts[1])
        for p in parts[0].parts if isinstance(parts[0], r.Product) else (parts[0],):
            letters.append(ctx.new_letter(_letter(ctx, p), p.span, size))
    elif operators == ("<=", "<="):
        letters.append(_between(ctx, parts[1], parts[0], parts[2]))
    elif operators == ("<=",) and not _is_index(ctx, parts[1]):
        letters.append(ctx.new_letter(_letter(ctx, parts[0]), parts[0].span, _size(ctx, parts[1])))
    elif operators in (("!=",), ("<",), (">",), ("<=",), (">=",)):
        text = _letter(ctx, parts[0])
        others = {t for p in leaves(parts[1]) if (t := letter_text(p)) is not None}
        new = sorted(t for t in others if ctx.letter(t) is None and not ctx.names.size_called(t))
        # of a result whose shape is given it shows whether the other letter is one of its indices
        if new and not (operators == ("!=",) and ctx.fits_target):
            both = rf"\sum_{{{new[0]}}} \sum_{{{ctx.text(part)}}}"
            raise Failure(
                part.span,
                f"{ctx.text(part)}: is the sum over {text}, or over {text} and {new[0]}?",
                [
                    f"{text} alone, with {new[0]} an index from outside: say so with indices={new[0]!r}",
                    f"{text} and {new[0]}: two sums, {both}",
                ],
            )
        letters.append(ctx.new_letter(text, parts[0].span))
        relations.append(part)
    else:
        raise Failure(
            part.span, f"{ctx.text(part)}: expected an index, i=1 with an upper limit, or a condition."
        )


def _letter(ctx: Context, part: r.Part) -> str:
    text = letter_text(part)
    if text is None:
        raise Failure(part.span, f"{ctx.text(part)}: expected the letter of an index.")
    return text


def _is_index(ctx: Context, part: r.Part) -> bool:
    texts = {t for p in leaves(part) if (t := letter_text(p)) is not None}
    return any(ctx.letter(t) is not None or not ctx.names.size_called(t) for t in texts)


def _size(ctx: Context, part: r.Part) -> Size:
    size = integer(ctx, part)
    if not size.is_positive or any(not s.is_positive for s in size.free_symbols):
        raise Failure(part.span, f"{ctx.text(part)}: expected a size.")
    return size


def _range_of_set(ctx: Context, part: r.Part) -> Size:
    r"""Return n for the set ``[n]`` or ``\{1, \dots, n\}``."""
    if isinstance(part, r.Group) and len(part.parts) == 1 and part.left == "LBRACKET":
        return _size(ctx, part.parts[0])
    if isinstance(part, r.Group) and len(part.parts) == 3 and part.left == "LSET":
        first, dots, last = part.parts
        if (
            isinstance(first, r.Number)
            and first.value == 1
            and isinstance(dots, r.Constant)
            and dots.kind == "dots"
        ):
            return _size(ctx, last)
    raise Failure(part.span, rf"{ctx.text(part)}: expected [n] or \{{1, \dots, n\}}.")


def _between(ctx: Context, letter: r.Part, low: r.Part, high: r.Part) -> Letter:
    text = _letter(ctx, letter)
    first, last = integer(ctx, low), integer(ctx, high)
    if first.is_nonpositive:
        raise Failure(low.span, f"the index {text} starts at {ctx.text(low)}: indices count from 1.")
    size = sp.expand(last - first + 1)
    if size.is_nonpositive:
        raise Failure(high.span, f"the index {text} has an empty range.")
    if not size.is_integer or any(not s.is_positive for s in size.free_symbols):
        raise Failure(high.span, f"the limits of {text} must be sizes, which do not depend on other indices.")
    found = ctx.new_letter(text, letter.span, size)
    return Letter(text, found.symbol, found.symbol + first, last)
