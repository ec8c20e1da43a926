r"""Rules of the grammar to records: one method per rule, called while parsing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from lemmax.parse import records as r
from lemmax.parse.failure import Failure, Span
from lemmax.parse.tokens import span_of
from lemmax.parse.words import RELATIONS

if TYPE_CHECKING:
    from lark import Token

DEEPEST = 120
"""A formula whose records are nested deeper is refused."""
_MOST_DIGITS = 60
_MOST_PARTS = 4000


def _span(items: Sequence[Any]) -> Span:
    placed = [item for item in items if not isinstance(item, tuple | int)]
    ends = [item.span if isinstance(item, r.Part) else span_of(item) for item in placed]
    return min(s for s, _ in ends), max(e for _, e in ends)


def _parts(items: Sequence[Any]) -> tuple[r.Part, ...]:
    return tuple(item for item in items if isinstance(item, r.Part))


def _place(items: Sequence[Any], inside: Sequence[r.Part] | None = None) -> tuple[Span, int]:
    """Return span and depth of a record made of items."""
    inside = _parts(items) if inside is None else inside
    span, depth = _span(items), 1 + max((p.depth for p in inside), default=0)
    if depth > DEEPEST:
        raise Failure(span, f"the formula is nested deeper than {DEEPEST}; give inner parts names.")
    if len(inside) > _MOST_PARTS:
        raise Failure(span, f"more than {_MOST_PARTS} parts in one place; give parts names.")
    return span, depth


def _number(token: Token) -> r.Number:
    if len(token) > _MOST_DIGITS:
        raise Failure(span_of(token), f"a number of more than {_MOST_DIGITS} digits.")
    text = str(token)
    return r.Number(span_of(token), 1, sp.Rational(f"0{text}" if text.startswith(".") else text), text)


def _fenced(kind: str) -> Callable[[Builder, list[Any]], r.Part]:
    def method(self: Builder, items: list[Any]) -> r.Part:
        return r.Fence(*_place(items), kind, _parts(items))

    return method


def _constant(kind: str) -> Callable[[Builder, list[Any]], r.Part]:
    def method(self: Builder, items: list[Any]) -> r.Part:
        return r.Constant(_span(items), 1, kind)

    return method


class Builder:
    """Callbacks of the parser, by the names of rules and aliases."""

    # -- leaves --------------------------------------------------------------------------------
    def number(self, items: list[Any]) -> r.Part:
        """A number."""
        return _number(items[0])

    def name(self, items: list[Any]) -> r.Part:
        """A letter, Greek letter or upright word."""
        return r.Symbol(span_of(items[0]), 1, str(items[0]))

    ones = _constant("ones")
    infinity = _constant("infinity")
    dots = _constant("dots")

    def argument(self, items: list[Any]) -> r.Part:
        """An argument in braces, or a single symbol."""
        if len(items) == 3:
            return r.Group(*_place(items), "LCURLY", _parts(items))
        (token,) = items
        if token.type == "NUMBER":
            if len(token) > 1:
                raise Failure(
                    span_of(token),
                    f"LaTeX takes one digit of {str(token)!r} only; put the argument in braces.",
                )
            return _number(token)
        if token.type == "ONES":
            return r.Constant(span_of(token), 1, "ones")
        return r.Symbol(span_of(token), 1, str(token))

    # -- sums and products ---------------------------------------------------------------------
    def sum(self, items: list[Any]) -> r.Part:
        """Summands; a single one with a plus is itself."""
        signs: list[int] = []
        parts: list[r.Part] = []
        sign = 1
        for item in items:
            if isinstance(item, int):
                sign = item
            elif isinstance(item, tuple):
                sign = item[0]
            else:
                signs.append(sign)
                parts.append(item)
                sign = 1
        if len(parts) == 1 and signs == [1]:
            return parts[0]
        marks = [item for item in items if isinstance(item, r.Part)]
        span, depth = _place(marks)
        first = next((item[1] for item in items if isinstance(item, tuple)), span)
        return r.Sum((min(first[0], span[0]), span[1]), depth, tuple(signs), tuple(parts))

    def sign(self, items: list[Any]) -> tuple[int, Span]:
        """A sign and its place."""
        return (-1 if items[0].type == "MINUS" else 1), span_of(items[0])

    def operator(self, items: list[Any]) -> Any:
        """The operator itself."""
        return items[0]

    between = operator

    def mixed(self, items: list[Any]) -> r.Part:
        """Entrywise and Kronecker products, the first before the rest."""
        first, operator, rest = items
        if isinstance(rest, r.Mixed):
            parts = (first, *rest.parts)
            return r.Mixed(*_place(items, parts), (operator.type, *rest.operators), parts)
        return r.Mixed(*_place(items), (operator.type,), (first, rest))

    def chain(self, items: list[Any]) -> r.Part:
        """One more part of a chain."""
        first, operator, rest = items
        kind: str = operator.type
        if isinstance(first, r.Chain):
            parts = (*first.parts, rest)
            return r.Chain(*_place(items, parts), (*first.operators, kind), parts)
        return r.Chain(*_place(items), (kind,), (first, rest))

    def product(self, items: list[Any]) -> r.Part:
        """Factors side by side."""
        if len(items) == 1:
            return items[0]  # type: ignore[no-any-return]
        parts: tuple[r.Part, ...] = ()
        for item in items:
            parts += item.parts if isinstance(item, r.Product) and item is items[0] else (item,)
        return r.Product(*_place(items, parts), parts)

    def big(self, items: list[Any]) -> r.Part:
        """An operator with limits and all that follows."""
        token, *scripts, body = items
        sub, sup, primes, sub_span, sup_span = _merged(scripts, _span(items))
        if primes:
            raise Failure(_span(items), f"a prime after {str(token)!r} has no meaning.")
        return r.Big(*_place(items), str(token), sub, sup, sub_span, sup_span, body)

    def big_minus(self, items: list[Any]) -> r.Part:
        """The same where what follows begins with a minus."""
        *before, minus, body = items
        span, depth = _place([minus, body])
        return self.big([*before, r.Sum(span, depth, (-1,), (body,))])

    # -- scripts -------------------------------------------------------------------------------
    def script(self, items: list[Any]) -> Any:
        """The token of the script."""
        return items[0]

    def scripted(self, items: list[Any]) -> r.Part:
        """One more script."""
        base, script = items
        old = base if isinstance(base, r.Scripted) else None
        inner = old.base if old else base
        sub, sup, primes, sub_span, sup_span = _merged([script], _span(items))
        if old is not None:
            doubled = (old.sub and sub) or (old.sup and sup)
            if doubled or (primes and old.sup) or (sup and old.primes):
                raise Failure(
                    span_of(script),
                    "a second script of the same kind, which LaTeX refuses as well: use brackets.",
                )
            sub, sub_span = (sub, sub_span) if sub else (old.sub, old.sub_span)
            sup, sup_span = (sup, sup_span) if sup else (old.sup, old.sup_span)
            primes += old.primes
        return r.Scripted(*_place(items, [inner]), inner, sub, sup, primes, sub_span, sup_span)

    # -- functions and brackets ----------------------------------------------------------------
    def head(self, items: list[Any]) -> Any:
        """A function with its own scripts."""
        token, *scripts = items
        if not scripts:
            return token, None
        sub, sup, primes, sub_span, sup_span = _merged(scripts, _span(items))
        symbol = r.Symbol(span_of(token), 1, str(token))
        return token, r.Scripted(_span(items), 2, symbol, sub, sup, primes, sub_span, sup_span)

    def call(self, items: list[Any]) -> r.Part:
        """A function of arguments in brackets."""
        (token, head), group = items
        function, _, spelled = str(token).partition(" ")
        return r.Call(*_place([token, group], group.parts), function, spelled, group.parts, True, head)

    def bare_call(self, items: list[Any]) -> r.Part:
        """A function of an argument without brackets."""
        (token, head), argument = items
        function, _, spelled = str(token).partition(" ")
        return r.Call(*_place([token, argument]), function, spelled, (argument,), False, head)

    def group(self, items: list[Any]) -> r.Part:
        """Brackets."""
        left, inside, _ = items
        return r.Group(*_place(items, inside), left.type, tuple(inside))

    def relations(self, items: list[Any]) -> tuple[r.Part, ...]:
        """What stands in brackets, separated by commas."""
        return _parts(items)

    def relation(self, items: list[Any]) -> r.Part:
        """A chain of comparisons; a part without one is itself."""
        if len(items) == 1:
            return items[0]  # type: ignore[no-any-return]
        operators = tuple(
            "in" if t.type == "IN" else RELATIONS[str(t)] for t in items if not isinstance(t, r.Part)
        )
        return r.Relation(*_place(items), operators, _parts(items))

    def accent(self, items: list[Any]) -> r.Part:
        """An accent over a symbol."""
        token, inside = items
        if isinstance(inside, r.Group):
            (inside,) = inside.parts
        return r.Accented(*_place(items), str(token), inside)

    def fraction(self, items: list[Any]) -> r.Part:
        """A fraction."""
        above, below = _parts(items)
        return r.Fraction(*_place(items), above, below)

    def root(self, items: list[Any]) -> r.Part:
        """A root, with a degree or without."""
        *degree, inside = _parts(items)
        return r.Root(*_place(items), degree[0] if degree else None, inside)

    absolute = _fenced("absolute")
    norm = _fenced("norm")
    inner = _fenced("inner")
    floor = _fenced("floor")
    ceiling = _fenced("ceiling")
    binomial = _fenced("binomial")

    def factorial(self, items: list[Any]) -> r.Part:
        """A factorial; two marks would be another function, over every second number."""
        if isinstance(items[0], r.Fence) and items[0].kind == "factorial":
            raise Failure(_span(items), "a double factorial is not read; write brackets, or the product out.")
        return r.Fence(*_place(items), "factorial", _parts(items))

    def row(self, items: list[Any]) -> tuple[r.Part, ...]:
        """The blocks of a row."""
        return _parts(items)

    def matrix(self, items: list[Any]) -> r.Part:
        """A matrix by rows."""
        rows = tuple(item for item in items if isinstance(item, tuple))
        ends = [item for item in items if not isinstance(item, tuple)]
        return r.Matrix(*_place(ends, [part for row in rows for part in row]), rows)

    def both(self, items: list[Any]) -> tuple[r.Part, ...]:
        """Relations that hold together."""
        return _parts(items)

    def condition(self, items: list[Any]) -> tuple[tuple[r.Part, ...], ...]:
        """Alternatives; none is otherwise."""
        return tuple(item for item in items if isinstance(item, tuple))

    def case(self, items: list[Any]) -> r.Part:
        """A value and its condition."""
        value, condition = items[0], items[-1]
        if len(items) == 1:
            return r.Case(*_place(items), value, ())
        inside = [value, *(part for both in condition for part in both)]
        return r.Case(*_place(inside), value, condition)

    def cases(self, items: list[Any]) -> r.Part:
        """A case distinction."""
        return r.Cases(*_place(items), _parts(items))  # type: ignore[arg-type]

    # -- scripts, parsed on their own ----------------------------------------------------------
    def transposed(self, items: list[Any]) -> r.Part:
        """A transpose."""
        return r.Exponent(_span(items), 1, "transposed", None)

    def inverse_transposed(self, items: list[Any]) -> r.Part:
        """The transpose of the inverse."""
        return r.Exponent(_span(items), 1, "inverse_transposed", None)

    def entrywise(self, items: list[Any]) -> r.Part:
        """A power entry by entry."""
        return r.Exponent(*_place(items), "entrywise", items[-1])

    def power(self, items: list[Any]) -> r.Part:
        """A power."""
        return r.Exponent(*_place(items), "power", items[-1])

    def all(self, items: list[Any]) -> r.Part:
        """A colon: a whole axis."""
        return r.Place(_span(items), 1, "all", None, None)

    def at(self, items: list[Any]) -> r.Part:
        """An index."""
        return r.Place(*_place(items), "at", items[0], None)

    def range(self, items: list[Any]) -> r.Part:
        """A range from low to high."""
        low, high = _parts(items)
        return r.Place(*_place(items), "range", low, high)

    def onward(self, items: list[Any]) -> r.Part:
        """An index and a colon side by side, as in ``A_{i:}``."""
        return r.Place(*_place(items), "onward", items[0], None)

    def subscripts(self, items: list[Any]) -> r.Part:
        """All places of a subscript."""
        return r.Places(*_place(items), _parts(items))  # type: ignore[arg-type]

    # -- formulas ------------------------------------------------------------------------------
    def definition(self, items: list[Any]) -> r.Part:
        """Left and right side."""
        left, right = _parts(items)
        return r.Definition(*_place(items), left, right)

    def whole(self, items: list[Any]) -> r.Part:
        """A formula alone."""
        return r.Formula(*_place(items), items[0], ())

    def with_definitions(self, items: list[Any]) -> r.Part:
        """A formula with definitions."""
        whole, *definitions = _parts(items)
        return r.Formula(*_place(items), whole, tuple(definitions))  # type: ignore[arg-type]


def _merged(scripts: Sequence[Token], span: Span) -> tuple[r.Script, r.Script, int, Span, Span]:
    found: dict[str, r.Script] = {}
    spans: dict[str, Span] = {}
    primes = 0
    for token in scripts:
        inside = token.value if token.type == "SUPERSCRIPT" else (token,)
        if all(t.type == "PRIME" for t in inside):  # x' and x^{\prime}
            primes += sum(len(t) if t.startswith("'") else 1 for t in inside)
            continue
        if token.type in found:
            raise Failure(span_of(token), "a second script of the same kind, which LaTeX refuses as well.")
        found[token.type], spans[token.type] = token.value, span_of(token)
    if primes and "SUPERSCRIPT" in found:
        raise Failure(span, "a prime and a superscript, which LaTeX refuses as well: use brackets.")
    sub, sup = found.get("SUBSCRIPT", ()), found.get("SUPERSCRIPT", ())
    return sub, sup, primes, spans.get("SUBSCRIPT", span), spans.get("SUPERSCRIPT", span)
