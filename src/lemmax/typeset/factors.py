r"""From one factor of a term to a matrix at its indices.

An entry of a tensor keeps the axes on which a plain index stands and fixes the others as
subscripts.  A function of entries at the same place is the function applied entry by entry.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

import sympy as sp

from lemmax.calculus.terms import entry_tensor, has_entries, indices_of
from lemmax.errors import MissingRule
from lemmax.expr.indices import is_index
from lemmax.expr.sizes import Size
from lemmax.expr.special import key_of, special_of
from lemmax.expr.tensor import Tensor
from lemmax.typeset.algebra import entrywise, eye, number, ones, power, product, transpose
from lemmax.typeset.graph import Stuck
from lemmax.typeset.node import ONE, Node, make
from lemmax.typeset.terms import Symbols, free_of

Families = Collection[sp.Symbol]
"""Indices that are subscripts."""


class Reader(Protocol):
    """What placing a factor needs of the reader of tensors."""

    symbols: Symbols

    def is_atom(self, t: Tensor) -> bool:
        """Is the tensor printed by its name?"""

    def slice(self, t: Tensor, slots: tuple[sp.Expr | None, ...]) -> Node:
        """Return a slice of a tensor: ``None`` keeps an axis."""

    def expression(
        self, expr: sp.Expr, row: sp.Symbol | None, column: sp.Symbol | None, families: Families
    ) -> Node:
        """Return the matrix with entries ``expr`` at ``row`` and ``column``."""


class Placed(NamedTuple):
    """A matrix and the indices that its rows and columns stand at (none for a scalar)."""

    indices: tuple[sp.Symbol, ...]
    matrix: Node


def place(reader: Reader, factor: sp.Expr, families: Families) -> Placed:
    """Return a factor as a matrix at its indices.

    Raises:
        Stuck: more than two indices are no subscripts, or the factor has no form as a matrix.
    """
    if isinstance(factor, sp.KroneckerDelta):
        return place_delta(reader, factor, families)
    if entry_tensor(factor) is not None:
        return place_entry(reader, factor, families)
    indices = free_of(factor, families)
    if len(indices) > 2:
        raise Stuck("a function of entries at more than two indices")
    row, column = (*indices, None, None)[:2]
    return Placed(tuple(indices), function_of_entries(reader, factor, row, column, families))


def place_delta(reader: Reader, delta: sp.Expr, families: Families) -> Placed:
    """Return an identity, a unit vector, or a delta of subscripts."""
    p, q = delta.args
    free = tuple(i for i in (p, q) if isinstance(i, sp.Symbol) and is_index(i) and i not in families)
    if len(free) == 2:
        return Placed(free, eye(reader.symbols.sizes[p]))
    if len(free) == 1:
        other = q if free[0] == p else p
        size = reader.symbols.sizes[free[0]]
        return Placed(free, make("unit", (), (other,), (size, ONE)) if size != ONE else number(ONE))
    return Placed((), make("delta", (), (p, q), (ONE, ONE)))


def place_entry(reader: Reader, entry: sp.Expr, families: Families) -> Placed:
    """Return a slice of the entry's tensor at the indices that are no subscripts."""
    t = entry_tensor(entry)
    assert t is not None
    slots: list[sp.Expr | None] = []
    kept: list[sp.Symbol] = []
    for e in indices_of(entry):
        if isinstance(e, sp.Symbol) and is_index(e) and e not in families:
            slots.append(None)
            kept.append(e)
        elif any(is_index(s) and s not in families for s in e.free_symbols):
            raise Stuck("a sum of indices on an axis")
        else:
            slots.append(e)
    if len(kept) > 2:
        raise Stuck("more than two axes")
    return Placed(tuple(kept), reader.slice(t, tuple(slots)))


def spread(
    placed: Placed, row: sp.Symbol | None, column: sp.Symbol | None, sizes: dict[sp.Symbol, Size]
) -> Node:
    """Return the matrix over ``row`` and ``column``, repeated along what it lacks; scalars stay."""
    indices, x = placed
    if not indices:
        return x
    if len(indices) == 2:
        if indices[0] == indices[1]:
            raise Stuck("a diagonal inside a function")
        return x if indices == (row, column) else transpose(x)
    if indices[0] == row:
        return x if column is None else product(x, transpose(ones(sizes[column])))
    return transpose(x) if row is None else product(ones(sizes[row]), transpose(x))


def function_of_entries(
    reader: Reader, expr: sp.Expr, row: sp.Symbol | None, column: sp.Symbol | None, families: Families
) -> Node:
    """Return the matrix of ``expr`` over ``row`` and ``column``; what has neither index stays a scalar.

    Raises:
        Stuck: a case distinction or a delta inside a function: these need indices.
        MissingRule: a function that has no name in typesetting.
    """
    if entry_tensor(expr) is not None:
        return spread(place_entry(reader, expr, families), row, column, reader.symbols.sizes)
    if not has_entries(expr) and not isinstance(expr, sp.Piecewise | sp.KroneckerDelta):
        if any(is_index(s) and s not in families for s in expr.free_symbols):
            raise Stuck("an index used as a number")
        return number(expr)
    if isinstance(expr, sp.Add | sp.Mul):
        if not free_of(expr, families):
            row = column = None  # a scalar, which broadcasts
        return reader.expression(expr, row, column, families)
    if isinstance(expr, sp.Pow) and expr.exp.is_number:
        return power(function_of_entries(reader, expr.base, row, column, families), expr.exp)
    if isinstance(expr, sp.KroneckerDelta):
        return spread(place_delta(reader, expr, families), row, column, reader.symbols.sizes)
    if isinstance(expr, sp.Piecewise):
        if row is not None or column is not None:
            raise Stuck("a case distinction")
        return case_distinction(reader, expr, families)
    special = special_of(expr)
    if special is not None:
        row_, orders, argument = special
        return entrywise(key_of(row_, orders), function_of_entries(reader, argument, row, column, families))
    name = FUNCTIONS.get(type(expr).__name__)
    if name is None:
        raise MissingRule(
            f"the function {type(expr).__name__} has no name in typesetting: "
            "add it to the table FUNCTIONS in lemmax/typeset/factors.py."
        )
    ordered = name in ("pow", "atan2")
    args = list(expr.args) if ordered else sorted(expr.args, key=lambda a: (not has_entries(a), str(a)))
    return entrywise(name, *[function_of_entries(reader, a, row, column, families) for a in args])


FUNCTIONS: dict[str, str] = {
    "Pow": "pow",
    "Max": "max",
    "Min": "min",
    "atan2": "atan2",
    **{
        name: name
        for name in [
            "exp",
            "log",
            "Abs",
            "sign",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "erf",
            "sigmoid",
            "softplus",
            "relu",
            "step",
            "Heaviside",
            "floor",
            "ceiling",
        ]
    },
}
"""Names of entrywise functions by the class of SymPy's function."""


def case_distinction(reader: Reader, expr: sp.Piecewise, families: Families) -> Node:
    """Return a scalar given by cases; conditions compare numbers or indices."""
    values: list[Node] = []
    conditions: list[object] = []
    compared: list[Node] = []
    for value, condition in expr.args:
        values.append(function_of_entries(reader, value, None, None, families))
        if isinstance(condition, sp.Rel) and has_entries(condition):
            conditions.append(type(condition).__name__)
            compared += [function_of_entries(reader, side, None, None, families) for side in condition.args]
        elif has_entries(condition):
            raise MissingRule(
                f"the condition {condition} cannot be typeset: comparisons of two entries are known, "
                "combinations by and/or are not; nest lx.where instead."
            )
        else:
            conditions.append(condition)
    return make("cases", (*values, *compared), tuple(conditions), (ONE, ONE))
