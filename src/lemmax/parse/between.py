r"""What stands between the first and the last block where dots are written.

Both blocks are compared symbol by symbol: they may differ in numbers only, which run from the
first to the last block together.  There, a new letter is put.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from lemmax.parse import records as r
from lemmax.parse.context import Context, Letter
from lemmax.parse.failure import Failure
from lemmax.parse.integers import integer
from lemmax.parse.reader import read_places

if TYPE_CHECKING:
    from lark import Token

LETTER = "\N{HORIZONTAL ELLIPSIS}"


def blocks_between(ctx: Context, first: r.Part, last: r.Part) -> tuple[Letter, Context, r.Part]:
    """Return a new letter, the context that binds it, and the block in which it stands for 1, ..., last.

    Raises:
        Failure: the blocks differ in more than one running number.
    """
    span = first.span[0], last.span[1]
    found: list[_Difference] = []
    merged = _merged(first, last, found)
    if merged is None or not found:
        raise Failure(
            span,
            "the first and the last block around the dots must be alike but for one number, which runs"
            " from the first to the last.",
        )
    counts = {sp.expand(_value(ctx, d.last) - d.first + 1) for d in found}
    if len(counts) != 1:
        raise Failure(span, "the numbers that run from the first to the last block do not run together.")
    size = counts.pop()
    letter = replace(ctx.new_letter(LETTER, first.span, size), last=size)
    return letter, ctx.inside([letter]), cast(r.Part, merged)


@dataclass(frozen=True, slots=True)
class _Difference:
    """A number in the first block, and what stands in its place in the last one (tokens or a part)."""

    first: int
    last: r.Script | r.Part


def _value(ctx: Context, last: r.Script | r.Part) -> sp.Expr:
    if isinstance(last, r.Part):
        return integer(ctx, last)
    places = read_places(last, cast("Token", last[-1]).end_pos or 0).places
    part = places[0].low
    if len(places) != 1 or part is None:
        raise Failure(places[0].span, f"{ctx.text(places[0])}: expected the number of blocks.")
    return integer(ctx, part)


def _running(part: r.Number) -> r.Part:
    """Return the letter, shifted so that it is the number in the first block."""
    letter = r.Symbol(part.span, 1, LETTER)
    shift = int(part.value) - 1
    if shift == 0:
        return letter
    step = r.Number(part.span, 1, sp.Integer(abs(shift)), str(abs(shift)))
    return r.Group(part.span, 3, "LPAR", (r.Sum(part.span, 2, (1, 1 if shift > 0 else -1), (letter, step)),))


def _merged(a: Any, b: Any, found: list[_Difference]) -> Any:
    """Return the record with the running number put in, or ``None`` if the two differ otherwise."""
    if (
        isinstance(a, r.Number)
        and isinstance(b, r.Part)
        and not (isinstance(b, r.Number) and a.value == b.value)
    ):
        if not a.value.is_integer:
            return None
        found.append(_Difference(int(a.value), b))
        return _running(a)
    if type(a) is not type(b):
        return None
    if isinstance(a, r.Part):
        changed: dict[str, Any] = {}
        for f in fields(cast(Any, a)):
            if f.name in ("span", "depth") or f.name.endswith("_span"):
                continue
            x, y = getattr(a, f.name), getattr(b, f.name)
            if f.name in ("sub", "sup"):
                changed[f.name] = _merged_tokens(x, y, found)
            else:
                changed[f.name] = x if x == y else _merged(x, y, found)
            if changed[f.name] is None and x is not None:
                return None
        return replace(cast(Any, a), **changed)
    if isinstance(a, tuple) and len(a) == len(b):
        parts = [_merged(x, y, found) for x, y in zip(a, b, strict=True)]
        return None if any(p is None for p in parts) else tuple(parts)
    return a if a == b else None


def _merged_tokens(a: r.Script, b: r.Script, found: list[_Difference]) -> r.Script | None:
    """Return a script with the letter where the first has a number and the last something else."""
    if _same(a, b):
        return a
    least = min(len(a), len(b))
    start = 0
    while start < least and _same(a[start : start + 1], b[start : start + 1]):
        start += 1
    end = 0
    while end < least - start and _same(
        a[len(a) - 1 - end : len(a) - end], b[len(b) - 1 - end : len(b) - end]
    ):
        end += 1
    inner, other = a[start : len(a) - end], b[start : len(b) - end]
    if other and cast("Token", other[0]).type == "COMMA":  # i1 against i,N n
        other = other[1:]
    if len(inner) != 1 or not other:
        return None
    token = cast("Token", inner[0])
    if token.type in ("SUBSCRIPT", "SUPERSCRIPT"):
        twin = cast("Token", other[0])
        if len(other) != 1 or twin.type != token.type:
            return None
        deeper = _merged_tokens(cast(r.Script, token.value), cast(r.Script, twin.value), found)
        if deeper is None:
            return None
        return (*a[:start], _as(token, token.type, deeper), *a[start + 1 :])
    if token.type != "NUMBER" or not token.isdigit():
        return None
    found.append(_Difference(int(token), other))
    shift = int(token) - 1
    running = [_as(token, "WORD", LETTER)]
    if shift:
        running += [_as(token, "PLUS" if shift > 0 else "MINUS", "+"), _as(token, "NUMBER", str(abs(shift)))]
    return (*a[:start], *running, *a[start + 1 :])


def _as(token: Token, kind: str, value: object) -> Token:
    from lark import Token

    return Token.new_borrow_pos(kind, cast(str, value), token)


def _same(a: r.Script, b: r.Script) -> bool:
    """Are tokens equal, wherever they stand?"""
    return [(t.type, t.value) for t in cast("tuple[Token, ...]", a)] == [
        (t.type, t.value) for t in cast("tuple[Token, ...]", b)
    ]
