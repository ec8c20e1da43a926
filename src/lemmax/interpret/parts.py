r"""Parts: pieces of a term's body, each evaluated on the grid of its own indices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import sympy as sp

from lemmax.interpret.frame import Frame, SizeFunction
from lemmax.interpret.protocol import Arithmetic, Value

Run: TypeAlias = Callable[[Frame], Value]
Pair: TypeAlias = Callable[[Arithmetic, Value, Value], Value]


class Part(NamedTuple):
    """A compiled expression.

    Attributes:
        indices: what the trailing axes of its value stand for, in the order of the scope.
        run: computes the value.
    """

    indices: tuple[sp.Symbol, ...]
    run: Run


@dataclass(frozen=True, slots=True)
class Scope:
    """The indices of a term, free ones first, each with its size.

    Attributes:
        order: all indices.
        ranges: the size of each.
    """

    order: tuple[sp.Symbol, ...]
    ranges: Mapping[sp.Symbol, SizeFunction]

    def sort(self, indices: Iterable[sp.Symbol]) -> tuple[sp.Symbol, ...]:
        """Return indices in the order of the scope, each once."""
        found = set(indices)
        return tuple(i for i in self.order if i in found)


def union(parts: Sequence[Part], scope: Scope) -> tuple[sp.Symbol, ...]:
    """Return all indices of some parts."""
    return scope.sort(i for part in parts for i in part.indices)


def alignment(have: Sequence[sp.Symbol], want: Sequence[sp.Symbol]) -> tuple[Any, ...]:
    """Return the key that inserts an axis of length 1 for each index of ``want`` that is not in ``have``."""
    return (..., *[slice(None) if i in have else None for i in want])


def aligned(part: Part, want: tuple[sp.Symbol, ...]) -> Run:
    """Return a function that computes a part with axes for all of ``want``."""
    if part.indices == want:
        return part.run
    key = alignment(part.indices, want)
    run = part.run

    def run_aligned(frame: Frame) -> Value:
        return frame.arithmetic.rearrange(lambda x: x[key], run(frame))

    return run_aligned


def combine(parts: Sequence[Part], scope: Scope, operation: Pair) -> Part:
    """Combine parts from left to right on their common grid."""
    if len(parts) == 1:
        return parts[0]
    indices = union(parts, scope)
    first, *rest = [aligned(part, indices) for part in parts]

    def run(frame: Frame) -> Value:
        value = first(frame)
        for other in rest:
            value = operation(frame.arithmetic, value, other(frame))
        return value

    return Part(indices, run)


def add(arithmetic: Arithmetic, x: Value, y: Value) -> Value:
    """Return ``x + y``."""
    return arithmetic.add(x, y)


def multiply(arithmetic: Arithmetic, x: Value, y: Value) -> Value:
    """Return ``x y``."""
    return arithmetic.multiply(x, y)


def larger(arithmetic: Arithmetic, x: Value, y: Value) -> Value:
    """Return the larger of two entries."""
    return arithmetic.extreme_of_two(x, y, 1)


def smaller(arithmetic: Arithmetic, x: Value, y: Value) -> Value:
    """Return the smaller of two entries."""
    return arithmetic.extreme_of_two(x, y, -1)
