r"""What stands between the first and the last block where dots are written.

Both blocks are compared symbol by symbol: they may differ in subscripts only, where the first
has 1 and the last one the number of blocks.  There, a new letter is put.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from lemmax.parse import records as r
from lemmax.parse.context import Context, Letter
from lemmax.parse.failure import Failure
from lemmax.parse.integers import integer
from lemmax.parse.reader import read_places

if TYPE_CHECKING:
    from lark import Token

_LETTER = "\N{HORIZONTAL ELLIPSIS}"


def blocks_between(ctx: Context, first: r.Part, last: r.Part) -> tuple[Letter, Context, r.Part]:
    """Return a new letter, the context that binds it, and the block in which it stands for 1, ..., last.

    Raises:
        Failure: the blocks differ in more than one running index.
    """
    found: list[tuple[Token, ...]] = []
    merged = _merged(first, last, found)
    if merged is None or not found:
        raise Failure(
            (first.span[0], last.span[1]),
            "the first and the last block around the dots must be alike but for one index, 1 in the first and the"
            " number of blocks in the last.",
        )
    ends = {sp.expand(_value(ctx, tokens)) for tokens in found}
    if len(ends) != 1:
        raise Failure((first.span[0], last.span[1]), "the last block ends at different numbers.")
    size = ends.pop()
    letter = replace(ctx.new_letter(_LETTER, first.span, size), last=size)
    return letter, ctx.inside([letter]), cast(r.Part, merged)


def _value(ctx: Context, tokens: tuple[Token, ...]) -> sp.Expr:
    places = read_places(tokens, tokens[-1].end_pos or 0).places
    part = places[0].low
    if len(places) != 1 or part is None:
        raise Failure(places[0].span, f"{ctx.text(places[0])}: expected the number of blocks.")
    return integer(ctx, part)


def _merged(a: Any, b: Any, found: list[tuple[Token, ...]]) -> Any:
    """Return the record with the running index put in, or ``None`` if the two differ otherwise."""
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


def _merged_tokens(a: r.Script, b: r.Script, found: list[tuple[Token, ...]]) -> r.Script | None:
    """Return a script with a letter in the place where the first has the digit 1 and the last a size."""
    if _same(a, b):
        return a
    start = 0
    while start < min(len(a), len(b)) and _same(a[start : start + 1], b[start : start + 1]):
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and _same(
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
    if token.type != "NUMBER" or str(token) != "1":
        return None
    found.append(cast("tuple[Token, ...]", other))
    return (*a[:start], _as(token, "WORD", _LETTER), *a[start + 1 :])


def _as(token: Token, kind: str, value: object) -> Token:
    from lark import Token

    return Token.new_borrow_pos(kind, cast(str, value), token)


def _same(a: r.Script, b: r.Script) -> bool:
    """Are tokens equal, wherever they stand?"""
    return [(t.type, t.value) for t in cast("tuple[Token, ...]", a)] == [
        (t.type, t.value) for t in cast("tuple[Token, ...]", b)
    ]
