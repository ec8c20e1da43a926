r"""Applications of functions in matrix notation: one row of a table per function.

A row says which axes of the result go through from an operand (the function acts at each of
their indices alone) and how a slice of the result is read.  ``slots`` has one entry per axis of
the result: ``None`` keeps it, an index fixes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from lemmax.errors import MissingRule
from lemmax.expr.domains import without_domain
from lemmax.expr.nodes import Apply
from lemmax.expr.sizes import is_one
from lemmax.rules.definitions import DEFINITIONS
from lemmax.typeset.algebra import (
    bare,
    diag,
    entrywise,
    hadamard,
    linear,
    ones,
    power,
    product,
    quadratic,
    scale,
    transpose,
)
from lemmax.typeset.binding import bind, blocks, canonical_sum, reduction
from lemmax.typeset.graph import Stuck
from lemmax.typeset.node import ONE, Node, is_column, make

if TYPE_CHECKING:
    from lemmax.typeset.reader import Reader

Slots = tuple[sp.Expr | None, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """How one function is read.

    Attributes:
        through: ``(node, slot) -> {operand axis: result axis}``, the axes that go through.
        read: ``(reader, node, slots) -> tree``.
        one_per_matrix: the function has one number per matrix, so that all axes are subscripts.
    """

    through: Callable[[Apply, int], dict[int, int]]
    read: Callable[[Reader, Apply, Slots], Node]
    one_per_matrix: bool = False


def read(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return a slice of an application.

    Raises:
        MissingRule: the table has no row for the function.
    """
    row = row_of(t)
    try:
        return row.read(reader, t, slots)
    except Stuck:
        if all(at is not None for at in slots):
            raise
    opened = [reader.symbols.fresh(s) if at is None else None for s, at in zip(t.shape, slots, strict=True)]
    body = row.read(reader, t, tuple(at if o is None else o for at, o in zip(slots, opened, strict=True)))
    first, second = (*[o for o in opened if o is not None], None, None)[:2]
    return blocks(body, first, second, reader.symbols)


def row_of(t: Apply) -> Row:
    """Return the row of the table for a function."""
    from lemmax.typeset.functions import TABLE

    if t.function not in TABLE:
        raise MissingRule(
            f"the function {t.function!r} cannot be typeset: "
            "add a row to the table in lemmax/typeset/functions.py."
        )
    return TABLE[t.function]


def family_axes(reader: Reader, t: Apply) -> frozenset[int]:
    """Return the axes of an application whose index is a subscript wherever it is used."""
    found = set(range(max(t.ndim - 2, 0)))
    row = row_of(t)
    for slot, operand in enumerate(t.operands):
        through = row.through(t, slot)
        found |= {through[a] for a in reader.family_axes(operand) if a in through}
    if row.one_per_matrix:
        found |= set(range(t.ndim))
    return frozenset(found)


# -- functions along an axis -------------------------------------------------------------------
def all_but_axis(t: Apply, slot: int) -> dict[int, int]:
    """All axes go through but the one that the function runs along."""
    return {p: p for p in range(t.ndim) if p not in axes_of(t)}


def axes_of(t: Apply) -> tuple[int, ...]:
    """Return the axes along which a function runs."""
    params = dict(t.params)
    axes = params["axes"] if "axes" in params else (params["axis"],)
    assert isinstance(axes, tuple)
    return tuple(int(a) for a in axes)


def along_rows(t: Apply, slots: Slots, xs: list[Node], apply: Callable[..., Node]) -> Node:
    """Apply a function of rows (or of one column) to slices in which its axis is kept."""
    kept = [p for p, at in enumerate(slots) if at is None]
    if len(kept) == 2 and kept[0] in axes_of(t):
        return transpose(apply(*[transpose(x) for x in xs]))
    return apply(*xs)


def read_softmax(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return softmax of a vector or of rows; at a fixed place the quotient of exponentials."""
    (axis,) = axes_of(t)
    if slots[axis] is None:
        x = reader.slice(t.operands[0], slots)
        return along_rows(t, slots, [x], lambda y: make("call", (y,), ("softmax",), y.shape))
    other = reader.symbols.fresh(t.shape[axis])
    above = entrywise("exp", reader.slice(t.operands[0], slots))
    moved = tuple(other if p == axis else at for p, at in enumerate(slots))
    below = canonical_sum(entrywise("exp", reader.slice(t.operands[0], moved)), (other,), reader.symbols)
    return hadamard(above, power(below, sp.Integer(-1)))


def read_softmax_pullback(reader: Reader, t: Apply, slots: Slots) -> Node:
    r"""Return :math:`S \odot G - \mathrm{Diag}((S \odot G) 1) S`, or :math:`s \odot g - (s^\top g) s`."""
    (axis,) = axes_of(t)
    s, g = (reader.slice(x, slots) for x in t.operands)
    if slots[axis] is None:
        return along_rows(t, slots, [s, g], pullback_of_rows)
    other = reader.symbols.fresh(t.shape[axis])
    moved = tuple(other if p == axis else at for p, at in enumerate(slots))
    weighted = hadamard(*[reader.slice(x, moved) for x in t.operands])
    mean = canonical_sum(weighted, (other,), reader.symbols)
    return linear([(ONE, hadamard(s, g)), (-ONE, hadamard(s, mean))], s.shape)


def pullback_of_rows(s: Node, g: Node) -> Node:
    """Return the softmax Jacobian at ``s`` applied to ``g``, for a column or row by row."""
    c, scalars, g = bare(g)  # it is linear in g
    if c != 1 or scalars:
        return linear([(c, scale(scalars, pullback_of_rows(s, g)))], s.shape)
    weighted = hadamard(s, g)
    if is_column(s):
        mean = quadratic(product(transpose(s), g))
        return linear([(ONE, weighted), (-ONE, make("scale", (mean, s), (), s.shape))], s.shape)
    means = product(weighted, ones(s.shape[1]))
    return linear([(ONE, weighted), (-ONE, product(diag(means), s))], s.shape)


def read_argument_mask(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return the matrix that is 1 at the first maximum (minimum) of each row, or at the given place."""
    axes = axes_of(t)
    which = "max" if t.function == "argmax_mask" else "min"
    kept = [p for p, at in enumerate(slots) if at is None]
    if kept and set(axes) <= set(kept):
        x = reader.slice(t.operands[0], slots)
        if len(axes) == len(kept):
            return make("call", (x,), (t.function, "all"), x.shape)
        return along_rows(t, slots, [x], lambda y: make("call", (y,), (t.function, "rows"), y.shape))
    if kept:
        raise Stuck("a mask over subscripts")
    others = {p: reader.symbols.fresh(t.shape[p]) for p in axes if not is_one(t.shape[p])}
    body = reader.slice(t.operands[0], tuple(others.get(p, at) for p, at in enumerate(slots)))
    at = tuple(slots[p] for p in others)
    return bind(
        body,
        tuple(others.values()),
        reader.symbols,
        lambda x, b: make("argmask", (x,), (which, b, at), (ONE, ONE)),
        fixed_order=True,
    )


# -- reductions --------------------------------------------------------------------------------
def result_axes(t: Apply) -> dict[int, int]:
    """Return {operand axis: result axis} of the axes that a reduction leaves."""
    left = [p for p in range(t.operands[0].ndim) if p not in axes_of(t)]
    return {p: p for p in left} if t.param("keepdims") else {p: q for q, p in enumerate(left)}


def read_reduction(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return a reduction: of all entries of a slice a function, else one over subscripts."""
    (x,) = t.operands
    axes = axes_of(t)
    to_result = result_axes(t)
    if t.param("keepdims") and any(slots[a] is None for a in axes):
        raise Stuck("a kept axis of size 1")  # readers fix axes of size 1
    inner: list[sp.Expr | None] = [slots[to_result[p]] if p in to_result else None for p in range(x.ndim)]
    whole = all(at is not None for at in slots) and len(axes) <= 2 and not reader.by_entries
    whole = whole and t.function != "prod"  # which is written with an index
    if whole and not reader.family_axes(x).intersection(axes):
        return make("call", (reader.slice(x, tuple(inner)),), (t.function,), (ONE, ONE))
    over = {p: reader.symbols.fresh(x.shape[p]) for p in axes if not is_one(x.shape[p])}
    body = reader.slice(x, tuple(over.get(p, sp.S.Zero if p in axes else at) for p, at in enumerate(inner)))
    return reduction(t.function, body, tuple(over.values()), reader.symbols) if over else body


# -- functions of whole matrices ---------------------------------------------------------------
def leading_axes(t: Apply, slot: int) -> dict[int, int]:
    """The axes before the last two go through."""
    return {p: p for p in range(t.operands[slot].ndim - 2)}


def read_functional(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return a number of each matrix, such as its rank."""
    if any(at is None for at in slots):
        raise Stuck("one number per matrix")
    x = reader.slice(t.operands[0], (*slots, None, None))
    params = tuple(value for _, value in t.params)
    return make("call", (x,), (t.function, *params), (ONE, ONE))


def read_inverse(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return the inverse; of a matrix with a fixed row or column the row, column or entry of it."""
    x = reader.slice(t.operands[0], (*slots[:-2], None, None))
    if x.op == "transpose":
        whole = transpose(make("call", (x.args[0],), ("inv",), x.shape))
    else:
        whole = make("call", (x,), ("inv",), x.shape)
    return pick(whole, slots[-2], slots[-1])


def read_matrix(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return a function from matrices to matrices; of a matrix with a fixed row or column part of it."""
    x = reader.slice(t.operands[0], (*slots[:-2], None, None))
    shape = (t.shape[-2], t.shape[-1])
    params = tuple(value for key, value in t.params if key != "kink")
    return pick(make("call", (x,), (t.function, *params), shape), slots[-2], slots[-1])


def read_by_definition(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return what the function stands for, where that is what a formula shows: a solve as an inverse."""
    return reader.slice(DEFINITIONS[t.function](t), slots)


def read_on_domain(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return the formula without what it takes."""
    return reader.slice(without_domain(t), slots)


def read_power_derivative(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return the sum over r of A^r E A^(k - 1 - r)."""
    a, e = (reader.slice(o, (*slots[:-2], None, None)) for o in t.operands)
    k = t.param("k")
    assert isinstance(k, sp.Expr)
    r = reader.symbols.fresh(k)
    left, right = (make("call", (a,), ("matrix_power", p), a.shape) for p in (r, k - 1 - r))
    whole = canonical_sum(product(left, e, right), (r,), reader.symbols)
    return pick(whole, slots[-2], slots[-1])


def pick(x: Node, row: sp.Expr | None, column: sp.Expr | None) -> Node:
    """Return a row or a column of a matrix as a column, an entry, or all of it."""
    if row is None and column is None:
        return x
    if x.op == "transpose":
        return pick(x.args[0], column, row)
    size = ONE if row is not None and column is not None else x.shape[1] if row is not None else x.shape[0]
    return make("pick", (x,), (row, column), (size, ONE))


def read_hull_distance(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return the distance of a point from a sum of convex hulls."""
    if any(at is None for at in slots):
        raise Stuck("one number per point")
    points, target = t.operands
    h = reader.symbols.fresh(points.shape[-3])
    hull = reader.slice(points, (*slots, h, None, None))
    y = reader.slice(target, (*slots, None))
    return bind(hull, (h,), reader.symbols, lambda x, b: make("hull", (y, x), ("hull", *b), (ONE, ONE)))
