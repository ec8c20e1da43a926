r"""Sizes that a formula leaves open: ``\mathbf 1`` and ``I`` take theirs from their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.sizes import Size, as_size, same_size
from lemmax.parse.failure import Failure, Span


@dataclass
class Unknowns:
    """Unknown sizes and what is known about them.

    Attributes:
        spans: per unknown size the place where it came up, and what it is.
        solved: what unknown sizes were found to be.
        waiting: equations that could not be solved when they came up.
    """

    spans: dict[sp.Symbol, tuple[Span, str]] = field(default_factory=dict)
    solved: dict[sp.Symbol, Size] = field(default_factory=dict)
    waiting: list[tuple[Size, Size, Failure]] = field(default_factory=list)

    def fresh(self, span: Span, of: str) -> sp.Symbol:
        """Return a new unknown size; ``of`` says in words what it is."""
        symbol = sp.Symbol(f"?{len(self.spans)}", integer=True, positive=True)
        self.spans[symbol] = span, of
        return symbol

    def value(self, size: Size) -> Size:
        """Return a size with what is known put in."""
        while any(s in self.solved for s in size.free_symbols):
            size = sp.expand(size.xreplace(self.solved))
        return size

    def is_known(self, size: Size) -> bool:
        """Are all sizes in the expression known?"""
        return not any(s in self.spans for s in self.value(size).free_symbols)

    def same(self, a: Size, b: Size, failure: Failure) -> None:
        """Demand that two sizes are equal.

        Raises:
            Failure: they cannot be; the failure is the one given.
        """
        if not self._solve(a, b, failure):
            raise failure

    def _solve(self, a: Size, b: Size, failure: Failure) -> bool:
        left, right = self.value(a), self.value(b)
        if same_size(left, right):
            return True
        difference = sp.expand(left - right)
        unknown = sorted((s for s in difference.free_symbols if s in self.spans), key=str)
        for symbol in unknown:
            factor = difference.coeff(symbol, 1)
            rest = sp.expand(difference - factor * symbol)
            if factor == 0 or rest.has(symbol) or factor.has(symbol):
                continue
            try:
                size = as_size(sp.cancel(-rest / factor))
            except InvalidArgument:
                continue
            self.solved[symbol] = size
            self._retry()
            return True
        if len(unknown) > 1:
            self.waiting.append((left, right, failure))
            return True
        return False

    def _retry(self) -> None:
        waiting, self.waiting = self.waiting, []
        for a, b, failure in waiting:
            self.same(a, b, failure)

    def finish(self, size: Size) -> Size:
        """Return a size that must be known by now.

        Raises:
            Failure: it is not; the failure shows what it is.
        """
        found = self.value(size)
        for symbol in sorted((s for s in found.free_symbols if s in self.spans), key=str):
            span, of = self.spans[symbol]
            raise Failure(
                span,
                f"{of} does not follow from the formula; write it out, or give like= or shape=.",
                is_open=True,
            )
        return found

    def check(self) -> None:
        """Check that no equation is left open.

        Raises:
            Failure: one is.
        """
        for a, b, failure in self.waiting:
            if not same_size(self.value(a), self.value(b)):
                raise failure

    def snapshot(self) -> tuple[dict[sp.Symbol, Size], list[tuple[Size, Size, Failure]]]:
        """Return what is known, to come back to."""
        return dict(self.solved), list(self.waiting)

    def restore(self, state: tuple[dict[sp.Symbol, Size], list[tuple[Size, Size, Failure]]]) -> None:
        """Forget what was found since the snapshot."""
        self.solved, self.waiting = dict(state[0]), list(state[1])
