r"""Expressions in indices, sizes and numbers: what stands in subscripts, limits and conditions.

A letter is worth what is printed: indices count from 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import sympy as sp

from lemmax.parse import records as r
from lemmax.parse.algebra import number_power
from lemmax.parse.context import Context, Letter
from lemmax.parse.failure import Failure
from lemmax.parse.names import Key, canonical_base
from lemmax.parse.reader import read_exponent
from lemmax.parse.scripts import joined, letter_text


def integer(ctx: Context, part: r.Part) -> sp.Expr:
    """Return the value of an expression in indices, sizes and numbers.

    Raises:
        Failure: it holds something else.
    """
    rule = _RULES.get(type(part))
    if rule is None:
        raise Failure(
            part.span, f"{ctx.text(part)}: expected an expression in indices, sizes and numbers here."
        )
    return rule(ctx, part)


def index_letter(ctx: Context, part: r.Part) -> Letter | None:
    """Return the index that a part is the letter of; a letter that nothing else is becomes a free index."""
    text = letter_text(part)
    if text is None:
        return None
    found = ctx.letter(text)
    if found is not None:
        return found
    if size_of(ctx, part) is not None:
        return None
    return ctx.free_letter(text, part.span)


def size_of(ctx: Context, part: r.Part) -> sp.Expr | None:
    """Return the size that a part is the name of."""
    if isinstance(part, r.Symbol):
        return ctx.names.size(Key(canonical_base(part.text)))
    if isinstance(part, r.Scripted) and isinstance(part.base, r.Symbol) and not part.primes and not part.sup:
        return ctx.names.size(Key(canonical_base(part.base.text), (joined(part.sub),) if part.sub else ()))
    return None


def _symbol(ctx: Context, part: r.Part) -> sp.Expr:
    text = letter_text(part)
    letter = ctx.letter(text) if text is not None else None
    if letter is not None:
        return letter.value
    size = size_of(ctx, part)
    if size is not None:
        return size
    if isinstance(part, r.Scripted) and part.sup and not part.primes:
        exponent = read_exponent(part.sup, part.sup_span[1])
        if exponent.kind == "power" and exponent.value is not None:
            span = part.base.span[0], part.sub_span[1] if part.sub else part.base.span[1]
            base = (
                r.Scripted(span, part.depth, part.base, part.sub, (), 0, part.sub_span, span)
                if part.sub
                else part.base
            )
            return number_power(integer(ctx, base), integer(ctx, exponent.value), part.span)
    if text is not None:
        return ctx.free_letter(text, part.span).value
    raise Failure(part.span, f"{ctx.text(part)} is neither an index nor a size.")


def _number(ctx: Context, part: r.Number) -> sp.Expr:
    return part.value


def _sum(ctx: Context, part: r.Sum) -> sp.Expr:
    return sp.Add(*[s * integer(ctx, p) for s, p in zip(part.signs, part.parts, strict=True)])


def _product(ctx: Context, part: r.Product) -> sp.Expr:
    return sp.Mul(*[integer(ctx, p) for p in part.parts])


def _chain(ctx: Context, part: r.Chain) -> sp.Expr:
    value = integer(ctx, part.parts[0])
    for operator, p in zip(part.operators, part.parts[1:], strict=True):
        other = integer(ctx, p)
        if operator in ("CDOT", "TIMES", "STAR"):
            value = value * other
        elif operator == "MOD":
            value = sp.Mod(value, other)
        elif isinstance(p, r.Product):
            raise Failure(
                part.span, f"{ctx.text(part)}: how far does the denominator reach? Use \\frac or brackets."
            )
        else:
            value = value / _nonzero(other, p)
    return value


def _fraction(ctx: Context, part: r.Fraction) -> sp.Expr:
    return integer(ctx, part.above) / _nonzero(integer(ctx, part.below), part.below)


def _nonzero(value: sp.Expr, part: r.Part) -> sp.Expr:
    if value == 0:
        raise Failure(part.span, "a division by zero.")
    return value


def _group(ctx: Context, part: r.Group) -> sp.Expr:
    if len(part.parts) != 1:
        raise Failure(part.span, f"{ctx.text(part)}: expected one expression in brackets.")
    return integer(ctx, part.parts[0])


def _fence(ctx: Context, part: r.Fence) -> sp.Expr:
    if part.kind not in ("floor", "ceiling"):
        raise Failure(
            part.span, f"{ctx.text(part)}: expected an expression in indices, sizes and numbers here."
        )
    # counted from 1, an index is i + 1: the fraction is expanded so that whole parts come out
    rounded = sp.floor if part.kind == "floor" else sp.ceiling
    return rounded(sp.expand(integer(ctx, part.parts[0])))


_RULES: dict[type[r.Part], Callable[..., sp.Expr]] = {
    r.Symbol: _symbol,
    r.Scripted: _symbol,
    r.Number: _number,
    r.Sum: _sum,
    r.Product: _product,
    r.Chain: _chain,
    r.Fraction: _fraction,
    r.Group: _group,
    r.Fence: _fence,
}


def split_places(places: r.Places, most: int) -> list[list[r.Place]]:
    """Return the ways to read a subscript as single places: ``ik`` is two, ``12`` is one or two.

    Ways with more than ``most`` places are left out; the way that splits most comes first.
    """
    apart = [q for p in places.places for q in _split(p, digits=True)]
    together = [q for p in places.places for q in _split(p, digits=False)]
    ways = [apart] if len(apart) == len(together) else [apart, together]
    return [way for way in ways if len(way) <= most]


def _split(place: r.Place, digits: bool) -> list[r.Place]:
    part = place.low
    if place.kind == "onward" and part is not None:
        at, colon = ((part.span[0], part.span[1]), (place.span[1] - 1, place.span[1]))
        return [
            *_split(r.Place(at, place.depth, "at", part, None), digits),
            r.Place(colon, 1, "all", None, None),
        ]
    if place.kind != "at" or part is None:
        return [place]
    pieces = list(part.parts) if isinstance(part, r.Product) else [part]
    found: list[r.Place] = []
    for piece in pieces:
        single = [piece]
        if digits and isinstance(piece, r.Number) and piece.digits.isdigit() and len(piece.digits) > 1:
            start = piece.span[0]
            single = [
                r.Number((start + k, start + k + 1), 1, sp.Integer(int(d)), d)
                for k, d in enumerate(piece.digits)
            ]
        found += [r.Place(p.span, p.depth, "at", p, None) for p in single]
    return found


def position(ctx: Context, value: sp.Expr) -> sp.Expr:
    """Return a value that counts from 1 as an index that counts from 0."""
    return sp.expand(value - 1) if not value.has(sp.floor, sp.Mod) else value - 1


def whole_number(value: sp.Expr) -> int | None:
    """Return an integer, or ``None``."""
    return int(value) if value.is_Integer and abs(value) < math.inf else None
