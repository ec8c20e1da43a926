r"""What one evaluation sees: the arithmetic, the sizes, the values computed so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import sympy as sp

from lemmax.errors import EvaluationError
from lemmax.expr.sizes import Size
from lemmax.interpret.protocol import Arithmetic, IntArray, Value

Sizes: TypeAlias = Mapping[sp.Symbol, int]
SizeFunction: TypeAlias = Callable[[Sizes], int]


@dataclass(slots=True)
class Frame:
    """State of one run.

    Attributes:
        arithmetic: what computes.
        sizes: the integer that each size symbol stands for.
        values: value of each tensor computed so far, by digest.
        held: digests of the tensors whose value was given instead of computed.
    """

    arithmetic: Arithmetic
    sizes: Sizes
    values: dict[str, Value]
    held: frozenset[str] = frozenset()
    _aranges: dict[int, IntArray] = field(default_factory=dict)

    def arange(self, length: int) -> IntArray:
        """Return 0, ..., length - 1."""
        grid = self._aranges.get(length)
        if grid is None:
            grid = self._aranges[length] = np.arange(length)
        return grid


def compile_size(size: Size) -> SizeFunction:
    """Return a function that computes a size from the integers of its symbols.

    Raises:
        EvaluationError: (when called) the size is no integer, or a symbol has no value.
    """
    if size.is_Integer:
        number = int(size)
        return lambda sizes: number
    if size.is_Symbol:
        return lambda sizes: _lookup(size, sizes)

    def compute(sizes: Sizes) -> int:
        value = _fraction(size, sizes)
        if value.denominator != 1:
            at = ", ".join(f"{s} = {sizes[s]}" for s in sorted(size.free_symbols, key=str))
            raise EvaluationError(f"the size {size} is {value} at {at}: expected an integer.")
        return value.numerator

    return compute


def _lookup(symbol: sp.Symbol, sizes: Sizes) -> int:
    try:
        return sizes[symbol]
    except KeyError:
        raise EvaluationError(
            f"the size {symbol} is not determined by the arrays; pass sizes={{'{symbol}': ...}}."
        ) from None


def _fraction(size: sp.Expr, sizes: Sizes) -> Fraction:
    if size.is_Symbol:
        return Fraction(_lookup(size, sizes))
    if size.is_Rational:
        return Fraction(int(size.p), int(size.q))
    if size.is_Add:
        return sum((_fraction(a, sizes) for a in size.args), Fraction(0))
    if size.is_Mul:
        result = Fraction(1)
        for a in size.args:
            result *= _fraction(a, sizes)
        return result
    if size.is_Pow and size.exp.is_Integer:
        return _fraction(size.base, sizes) ** int(size.exp)
    if isinstance(size, sp.Max | sp.Min):
        values = [_fraction(a, sizes) for a in size.args]
        return max(values) if isinstance(size, sp.Max) else min(values)
    if isinstance(size, sp.floor | sp.ceiling):
        inner = _fraction(size.args[0], sizes)
        return Fraction(inner.__floor__() if isinstance(size, sp.floor) else inner.__ceil__())
    raise EvaluationError(
        f"the size {size} cannot be computed: expected sums, products, powers, Max, Min, floor and ceiling."
    )
