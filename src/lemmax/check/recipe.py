r"""Recipes: how an instance was made, in a line; arrays follow from it by a pure function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

SIBLING_STRIDE = 1_000_003

Table: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A named change of a drawn instance.

    Attributes:
        kind: one of :data:`lemmax.statement.instances.MUTATIONS`.
        inputs: code names of the inputs it strikes.
        i: first number, used modulo what there is to choose from.
        j: second number.
    """

    kind: str
    inputs: tuple[str, ...]
    i: int = 0
    j: int = 0

    def __repr__(self) -> str:
        """Show as a call."""
        return f"{self.kind}({', '.join(self.inputs)}, {self.i}, {self.j})" if self.inputs else self.kind


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an instance is made.

    Attributes:
        sizes: value by name of the size symbol.
        seed: seed of the random numbers.
        tokens: token-identity table (families by rows): equal numbers are equal tokens.
            ``None``: all tokens differ.
        mutations: changes made, in this order.
        omitted: built-in structures that were left out on purpose.
    """

    sizes: tuple[tuple[str, int], ...]
    seed: int = 0
    tokens: Table | None = None
    mutations: tuple[Mutation, ...] = ()
    omitted: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Show as a line: sizes, seed and what is out of the ordinary."""
        parts = [f"{name}={value}" for name, value in self.sizes] + [f"seed={self.seed}"]
        parts += [f"tokens={[list(row) for row in self.tokens]}"] if self.tokens is not None else []
        parts += [repr(m) for m in self.mutations]
        parts += [f"without {name}" for name in self.omitted]
        return " ".join(parts)

    def with_mutation(self, mutation: Mutation) -> Recipe:
        """Return the recipe with one more mutation."""
        return self if mutation in self.mutations else replace(self, mutations=(*self.mutations, mutation))

    def sibling(self, number: int) -> Recipe:
        """Return the recipe with another seed, far from those that are drawn; number 0 is itself."""
        return replace(self, seed=self.seed + SIBLING_STRIDE * number) if number else self

    @property
    def weight(self) -> tuple[int, ...]:
        """Sort key: smaller and simpler recipes come first."""
        values = [value for _, value in self.sizes]
        extras = len(self.mutations) + len(self.omitted) + (self.tokens is not None)
        return (max(values, default=0), sum(values), extras, self.seed)
