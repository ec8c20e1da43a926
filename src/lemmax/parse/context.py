r"""What is known while a formula is read: names, letters of indices and their ranges, open sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import sympy as sp

from lemmax.expr.indices import fresh
from lemmax.expr.sizes import Size, is_one
from lemmax.parse.failure import Failure, Span
from lemmax.parse.names import Names
from lemmax.parse.records import Part
from lemmax.parse.unknowns import Unknowns

_LONGEST = 120  # characters of a part that a message shows


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that stands for an index.

    Attributes:
        text: as it is written.
        symbol: the index, which runs from 0.
        value: what the letter is worth as a number, counted from 1.
        last: its largest value if that was written out, else ``None``: then it follows from use.
    """

    text: str
    symbol: sp.Symbol
    value: sp.Expr
    last: Size | None = None


@dataclass(frozen=True)
class Context:
    """What a formula is read with; the parts that grow are shared by all copies.

    Attributes:
        source: the text.
        names: tensors and sizes.
        column_major: does vec run down the columns?
        fits_target: is it known which shape the result must have?
        entrywise: was it said that exponentials and logarithms of matrices are those of their entries?
        subscripted: letters that occur in subscripts anywhere.
        unknowns: sizes left open.
        ranges: the range of every index.
        free: letters that nothing binds.
        scope: letters that are bound here.
        guarded: letters whose range does not follow from use here, because a case distinction restricts them.
    """

    source: str
    names: Names
    column_major: bool = False
    fits_target: bool = False
    entrywise: bool = False
    subscripted: frozenset[str] = frozenset()
    unknowns: Unknowns = field(default_factory=Unknowns)
    ranges: dict[sp.Symbol, Size] = field(default_factory=dict)
    free: dict[str, Letter] = field(default_factory=dict)
    scope: Mapping[str, Letter] = field(default_factory=dict)
    guarded: frozenset[str] = frozenset()

    def text(self, part: Part | Span) -> str:
        """Return a part as it was written, shortened if it is long."""
        start, end = part.span if isinstance(part, Part) else part
        found = self.source[start:end].strip()
        return found if len(found) <= _LONGEST else f"{found[: _LONGEST - 3]}..."

    def inside(self, letters: list[Letter]) -> Context:
        """Return the context in which letters are bound."""
        return replace(self, scope={**self.scope, **{x.text: x for x in letters}})

    def guarding(self, letters: frozenset[str]) -> Context:
        """Return the context in which the use of letters says nothing about their range."""
        return replace(self, guarded=self.guarded | letters)

    # -- letters -------------------------------------------------------------------------------
    def letter(self, text: str) -> Letter | None:
        """Return what a letter stands for, if it is bound or was met before."""
        return self.scope.get(text) or self.free.get(text)

    def new_letter(self, text: str, span: Span, size: Size | None = None) -> Letter:
        """Return a new index; its range is ``size``, or follows from use."""
        (symbol,) = fresh()
        self.ranges[symbol] = (
            self.unknowns.fresh(span, f"the range of the index {text}") if size is None else size
        )
        return Letter(text, symbol, symbol + 1)

    def free_letter(self, text: str, span: Span) -> Letter:
        """Return the letter, which becomes a free index of the formula if nothing binds it."""
        found = self.letter(text)
        if found is None:
            found = self.free[text] = self.new_letter(text, span)
        return found

    def use(self, letter: Letter, size: Size, span: Span) -> None:
        """Note that a letter runs over an axis.

        Raises:
            Failure: its range is another one.
        """
        if letter.text in self.guarded:
            return
        own = self.ranges[letter.symbol] if letter.last is None else letter.last
        failure = Failure(
            span,
            f"the index {letter.text} runs over sizes {self.shown(own)} and {self.shown(size)}; one letter is"
            " one index.",
            is_shape=True,
        )
        if letter.last is not None:
            beyond = sp.expand(self.unknowns.value(size) - self.unknowns.value(own))
            # a number of places may be fewer than n: whether it is shows when it is evaluated
            if beyond.is_positive or (own.is_Integer and not beyond.is_nonpositive):
                return
        self.unknowns.same(own, size, failure)

    def is_guarded(self, symbol: sp.Symbol) -> bool:
        """Is an index restricted by a case distinction here?"""
        return any(x.symbol == symbol for t in self.guarded if (x := self.letter(t)) is not None)

    # -- sizes ---------------------------------------------------------------------------------
    def shown(self, size: Size) -> str:
        """Return a size as text; what is not known yet is a question mark."""
        found = self.unknowns.value(size)
        return str(found) if self.unknowns.is_known(found) else "?"

    def is_trivial(self, size: Size) -> bool:
        """Is the size 1?"""
        return is_one(self.unknowns.value(size))

    def fit(self, a: Size, b: Size, failure: Failure) -> None:
        """Demand that two sizes are equal; an open size is never 1.

        Raises:
            Failure: they are not; the failure is the one given.
        """
        if self.is_trivial(a) != self.is_trivial(b):
            raise failure
        self.unknowns.same(a, b, failure)
