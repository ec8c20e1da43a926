r"""Sizes from arrays: the integers that make symbolic shapes fit the arrays that were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sympy as sp

from lemmax.errors import EvaluationError, ShapeError
from lemmax.expr.sizes import Size
from lemmax.interpret.frame import compile_size


class Axis(NamedTuple):
    """One axis of a given array: what it is called in messages, its symbolic and its actual size."""

    where: str
    size: Size
    length: int


SEARCHED = 1000  # how far at least a size is looked for when it does not enter linearly


def solve_sizes(axes: Sequence[Axis], given: Mapping[sp.Symbol, int]) -> dict[sp.Symbol, int]:
    """Return the integer of each size symbol that the axes determine.

    Args:
        axes: all axes of all arrays.
        given: sizes that the caller fixes.

    Raises:
        ShapeError: two axes, or an axis and a given size, contradict each other.
    """
    known = dict(given)
    source = dict.fromkeys(known, "it was given")
    waiting = list(axes)
    progress = True
    while progress:
        progress = False
        later: list[Axis] = []
        for axis in waiting:
            unknown = [s for s in _symbols(axis.size) if s not in known]
            if not unknown:
                _check(axis, known, source)
            elif len(unknown) == 1:
                known[unknown[0]] = _solve(axis, unknown[0], known)
                source[unknown[0]] = f"{axis.where} has length {axis.length}"
                progress = True
            else:
                later.append(axis)
        waiting = later
    return known


def _symbols(size: Size) -> list[sp.Symbol]:
    return [size] if size.is_Symbol else sorted(size.free_symbols, key=str)


def _check(axis: Axis, known: Mapping[sp.Symbol, int], source: Mapping[sp.Symbol, str]) -> None:
    expected = compile_size(axis.size)(known)
    if expected == axis.length:
        return
    if axis.size.is_Integer:
        raise ShapeError(f"{axis.where} has length {axis.length}; it must have length {axis.size}.")
    reasons = "; ".join(f"{s} = {known[s]} because {source[s]}" for s in _symbols(axis.size))
    total = f", so {axis.size} = {expected}" if not axis.size.is_Symbol else ""
    raise ShapeError(
        f"{axis.where} has length {axis.length}, but {reasons}{total}: the arrays do not fit together."
    )


def _solve(axis: Axis, symbol: sp.Symbol, known: Mapping[sp.Symbol, int]) -> int:
    """Return the positive integer that makes one axis fit."""
    if axis.size is symbol:
        if axis.length < 1:
            raise ShapeError(f"{axis.where} is empty; sizes are at least 1.")
        return axis.length
    size = axis.size.xreplace({s: sp.Integer(n) for s, n in known.items()})
    polynomial = sp.Poly(size, symbol) if size.is_polynomial(symbol) else None
    if polynomial is not None and polynomial.degree() == 1:
        slope, offset = polynomial.all_coeffs()
        value = (axis.length - offset) / slope
        if value.is_Integer and value >= 1:
            return int(value)
    else:
        compute = compile_size(size)
        fits: list[int] = []
        for n in range(1, max(axis.length + 1, SEARCHED) + 1):
            try:
                if compute({symbol: n}) == axis.length:
                    fits.append(n)
            except EvaluationError:
                continue
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise ShapeError(
                f"{axis.where} has length {axis.length} = {axis.size}, which fits "
                f"{symbol} = {fits[0]} and {fits[1]}: pass sizes={{'{symbol}': ...}}."
            )
    at = ", ".join(f"{s} = {n}" for s, n in known.items() if s in axis.size.free_symbols)
    raise ShapeError(
        f"{axis.where} has length {axis.length}, which is {axis.size} for no positive integer {symbol}"
        f"{' at ' + at if at else ''}."
    )
