r"""Names that have a meaning of their own where nothing else is called so: e, I, K, pi, delta."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import sympy as sp

from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import ONE, Form, demand_scalar, scalar
from lemmax.parse.integers import index_letter, integer, position, size_of, split_places
from lemmax.parse.names import plain
from lemmax.parse.pairs import paired
from lemmax.parse.reader import read_exponent, read_places

if TYPE_CHECKING:
    from lark import Token

    from lemmax.parse.symbols import Written

Builtin = tuple[str, Callable[[], Form]]


def constant(ctx: Context, name: Written) -> Builtin | None:
    """Return what a name means by itself (in words, and its value), or ``None``."""
    rule = _RULES.get(plain(name.base))
    return rule(ctx, name) if rule is not None and not name.extra else None


def _raised(ctx: Context, name: Written, form: Form) -> Form:
    from lemmax.parse.exponents import raised

    return raised(ctx, form, name.sup, name.sup_span, name.primes, name.span)


def _euler(ctx: Context, name: Written) -> Builtin | None:
    if name.sub:
        return "a unit vector", lambda: _raised(ctx, name, unit_vector(ctx, name))
    if not name.sup:
        return "Euler's number", lambda: _raised(ctx, name, scalar(sp.E, name.span))
    return "the exponential function", lambda: _exponential(ctx, name)


def _exponential(ctx: Context, name: Written) -> Form:
    exponent = read_exponent(name.sup, name.sup_span[1])
    if exponent.kind != "power" or exponent.value is None:
        raise Failure(name.span, f"{ctx.text(name.span)}: expected a power of Euler's number.")
    from lemmax.parse.meaning import mean

    value = mean(ctx, exponent.value)
    text = ctx.text(exponent)
    demand_scalar(ctx, value, "the exponent of e", (rf"\exp^{{\circ}}({text}), entry by entry",))
    return entrywise(ctx, sp.exp, [value], name.span, "exp")


def unit_vector(ctx: Context, name: Written) -> Form:
    """Return the unit vector of an index or a place."""
    places = split_places(read_places(name.sub, name.sub_end), 1)
    if not places or places[-1][0].kind != "at":
        raise Failure(name.span, f"{ctx.text(name.span)}: a unit vector has one index.")
    part = places[-1][0].low
    assert part is not None
    letter = index_letter(ctx, part)
    if letter is not None and letter.last is None and letter.text not in ctx.guarded:
        rows, at = ctx.ranges[letter.symbol], letter.symbol
    else:
        rows, at = (
            ctx.unknowns.fresh(name.span, f"the size of {ctx.text(name.span)}"),
            position(ctx, integer(ctx, part)),
        )
    return Form(name.span, rows, ONE, lambda row, column: sp.KroneckerDelta(row, at))


def _identity(ctx: Context, name: Written) -> Builtin | None:
    def value() -> Form:
        size = (
            _sizes(ctx, name)[0]
            if name.sub
            else ctx.unknowns.fresh(name.span, f"the size of {ctx.text(name.span)}")
        )
        return _raised(
            ctx, name, Form(name.span, size, size, lambda row, column: sp.KroneckerDelta(row, column))
        )

    return "the identity matrix", value


def _commutation(ctx: Context, name: Written) -> Builtin | None:
    r"""``K_{ab}`` with ``K_{ab} vec(A) = vec(A^\top)`` for A (a x b), in the order of vec."""
    if not name.sub:
        return None

    def value() -> Form:
        sizes = _sizes(ctx, name)
        if len(sizes) != 2:
            raise Failure(name.span, f"{ctx.text(name.span)}: a commutation matrix has two sizes, K_{{ab}}.")
        a, b = reversed(sizes) if ctx.column_major else sizes
        form = paired(
            ctx,
            (b, a),
            (a, b),
            lambda rows, columns: (
                sp.KroneckerDelta(rows[0], columns[1]) * sp.KroneckerDelta(rows[1], columns[0])
            ),
            name.span,
        )
        return _raised(ctx, name, form)

    return "a commutation matrix", value


def _sizes(ctx: Context, name: Written) -> list[sp.Expr]:
    return sizes_in(ctx, name.sub, name.sub_end, name.span, wanted=2 if plain(name.base) == "K" else 1)


def sizes_in(ctx: Context, tokens: r.Script, end: int, span: Span, wanted: int) -> list[sp.Expr]:
    r"""Return the sizes in a subscript: ``n``, ``N n`` (a product), ``m, n`` or ``m \times n``."""
    kinds = [cast("Token", t).type for t in tokens]
    if kinds.count("TIMES") == 1:  # of the shape, also where a size is a sum
        middle = kinds.index("TIMES")
        if 0 < middle < len(tokens) - 1:
            sides = (tokens[:middle], tokens[middle + 1 :])
            return [size for side in sides for size in sizes_in(ctx, side, end, span, 1)]
    places = read_places(tokens, end)
    parts = [p.low for p in places.places if p.kind == "at" and p.low is not None]
    if len(parts) != len(places.places):
        raise Failure(span, f"{ctx.text(span)}: expected a size as subscript.")
    if len(parts) == 1 and wanted == 2 and isinstance(parts[0], r.Product):
        parts = list(parts[0].parts)
    sizes = []
    for part in parts:
        bare = size_of(ctx, part)
        size = bare if bare is not None else integer(ctx, part)
        if size.is_nonpositive or not all(s.is_positive for s in size.free_symbols):
            raise Failure(
                part.span,
                f"{ctx.text(part)} is no size: expected a positive number or an expression in sizes.",
            )
        sizes.append(size)
    return sizes


def _pi(ctx: Context, name: Written) -> Builtin | None:
    if name.sub:
        return None
    return "the number pi", lambda: _raised(ctx, name, scalar(sp.pi, name.span))


def _delta(ctx: Context, name: Written) -> Builtin | None:
    if not name.sub:
        return None

    def value() -> Form:
        ways = [w for w in split_places(read_places(name.sub, name.sub_end), 2) if len(w) == 2]
        if not ways or any(p.kind != "at" or p.low is None for p in ways[0]):
            raise Failure(name.span, f"{ctx.text(name.span)}: a Kronecker delta has two indices.")
        parts = [p.low for p in ways[0] if p.low is not None]
        letters = [index_letter(ctx, p) for p in parts]
        if all(x is not None and x.last is None and x.text not in ctx.guarded for x in letters):
            first, second = (ctx.ranges[x.symbol] for x in letters if x is not None)
            if not (ctx.unknowns.is_known(first) and ctx.unknowns.is_known(second)):
                ctx.unknowns.same(first, second, Failure(name.span, f"{ctx.text(name.span)}: ranges differ."))
        at = [position(ctx, integer(ctx, p)) for p in parts]
        return _raised(ctx, name, scalar(sp.KroneckerDelta(*at), name.span))

    return "a Kronecker delta", value


_RULES: dict[str, Callable[[Context, Written], Builtin | None]] = {
    "e": _euler,
    "I": _identity,
    "K": _commutation,
    r"\pi": _pi,
    r"\delta": _delta,
}
