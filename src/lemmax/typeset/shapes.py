r"""Concatenation, slices, padding and merged axes in matrix notation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.sizes import Size, is_one, same_size
from lemmax.expr.tensor import Tensor
from lemmax.typeset.algebra import transpose, zeros
from lemmax.typeset.applied import Slots
from lemmax.typeset.binding import blocks
from lemmax.typeset.graph import Stuck
from lemmax.typeset.kronecker import vec
from lemmax.typeset.layout import Layout
from lemmax.typeset.node import ONE, Node, make, walk

if TYPE_CHECKING:
    from lemmax.typeset.reader import Reader


def all_axes(t: Apply, slot: int) -> dict[int, int]:
    """All axes go through."""
    return {p: p for p in range(t.ndim)}


# -- concatenation -----------------------------------------------------------------------------
def read_concat(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return operands side by side or on top of each other; at a fixed place the operand it falls in."""
    axis = t.param("axis")
    assert isinstance(axis, int)
    kept = [p for p, at in enumerate(slots) if at is None]
    if axis in kept:
        parts = [reader.slice(x, slots) for x in t.operands]
        beside = len(kept) == 2 and axis == kept[1]
        # an axis of size 1 is dropped from a slice: give it back its place
        shape = (
            (parts[0].shape[0], sp.Add(*[p.shape[1] for p in parts]))
            if beside
            else (sp.Add(*[p.shape[0] for p in parts]), parts[0].shape[1])
        )
        return make("stack", tuple(parts), ("beside" if beside else "above",), shape)
    at = slots[axis]
    assert at is not None
    values: list[Node] = []
    conditions: list[object] = []
    start: Size = sp.S.Zero
    for position, x in enumerate(t.operands):
        inside = sp.S.Zero if is_one(x.shape[axis]) else at - start
        values.append(reader.slice(x, tuple(inside if p == axis else s for p, s in enumerate(slots))))
        start = sp.expand(start + x.shape[axis])
        conditions.append(sp.S.true if position == len(t.operands) - 1 else sp.Lt(at, start))
    return make("cases", tuple(values), tuple(conditions), values[0].shape)


# -- slices and padding ------------------------------------------------------------------------
def starts_of(t: Apply) -> tuple[sp.Expr, ...]:
    """Return the first index of a slice on each axis."""
    starts = t.param("starts")
    assert isinstance(starts, tuple)
    return tuple(sp.sympify(s) for s in starts)


def read_slice(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return a range of rows and columns; fixed indices are shifted."""
    (x,) = t.operands
    starts = starts_of(t)
    inner = tuple(None if at is None else at + s for at, s in zip(slots, starts, strict=True))
    whole = reader.slice(x, inner)
    ranges = [
        None if s == 0 and same_size(n, m) else (s, n)
        for s, n, m, at in zip(starts, t.shape, x.shape, slots, strict=True)
        if at is None and not is_one(m)
    ]
    return _cut(whole, ranges, [n for n, at in zip(t.shape, slots, strict=True) if at is None])


def _cut(whole: Node, ranges: list[tuple[sp.Expr, Size] | None], sizes: list[Size]) -> Node:
    if not any(r is not None for r in ranges):
        return whole
    rows, columns = (*ranges, None, None)[:2]
    shape = ((*sizes, ONE, ONE)[0], (*sizes, ONE, ONE)[1])
    return make("range", (whole,), (rows, columns), shape)


def read_place(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return an operand with zeros around it."""
    (x,) = t.operands
    starts = starts_of(t)
    inner: list[sp.Expr | None] = []
    inside: list[sp.Basic] = []
    pads: list[sp.Expr] = []
    for at, s, n, m in zip(slots, starts, x.shape, t.shape, strict=True):
        if at is None:
            inner.append(None)
            pads.append(s)
            continue
        inner.append(sp.S.Zero if is_one(n) else at - s)
        inside += [sp.Ge(at, s)] if s != 0 else []
        inside += [sp.Lt(at, s + n)] if not same_size(s + n, m) else []
    part = reader.slice(x, tuple(inner))
    sizes = [m for m, at in zip(t.shape, slots, strict=True) if at is None]
    part = _restored(part, [n for n, at in zip(x.shape, slots, strict=True) if at is None])
    shape = ((*sizes, ONE, ONE)[0], (*sizes, ONE, ONE)[1])
    whole = part if shape == part.shape else make("pad", (part,), (*pads, sp.S.Zero, sp.S.Zero)[:2], shape)
    if not inside:
        return whole
    return make("cases", (whole, zeros(*shape)), (sp.And(*inside), sp.S.true), shape)


def _restored(part: Node, sizes: list[Size]) -> Node:
    """Return a slice with its dropped axis of size 1 as the row it was."""
    if len(sizes) == 2 and sizes[0] == ONE and part.shape[0] != ONE:
        return transpose(part)
    return part


# -- merged axes -------------------------------------------------------------------------------
def groups_of(t: Apply) -> tuple[tuple[int, ...], ...]:
    """Return the groups of merged (or split) axes."""
    groups = t.param("groups")
    assert isinstance(groups, tuple)
    return groups


def merged_axes(t: Apply, slot: int) -> dict[int, int]:
    """The axes that are not merged with others go through."""
    return {g[0]: q for q, g in enumerate(groups_of(t)) if len(g) == 1}


def read_merge(reader: Reader, t: Apply, slots: Slots) -> Node:
    r"""Return merged axes as blocks: :math:`[S_{ih} X_i]_{i, h}`, a vec, or a Kronecker product."""
    (x,) = t.operands
    groups = groups_of(t)
    found = over_pairs(reader, t, slots)
    if found is not None:
        return found
    kept = [q for q, at in enumerate(slots) if at is None]
    inner = _unmerged(x, groups, slots)
    outer: dict[int, list[sp.Symbol]] = {q: [] for q in kept}
    as_vec = len(kept) == 1 and len(groups[kept[0]]) > 1
    for q, g in enumerate(groups):
        if slots[q] is not None:
            continue
        for a in g[: -2 if as_vec else -1]:
            inner[a] = block = reader.symbols.fresh(x.shape[a])
            outer[q].append(block)
    body = reader.slice(x, tuple(inner))
    if as_vec:
        body = vec(body)
    levels = max(len(o) for o in outer.values()) if outer else 0
    row, column = (*[outer[q] for q in kept], [], [])[:2]
    for level in reversed(range(levels)):  # innermost blocks first
        i, j = (outermost[level] if level < len(outermost) else None for outermost in (row, column))
        body = blocks(body, i, j, reader.symbols)
    return body


def over_pairs(reader: Reader, t: Apply, slots: Slots) -> Node | None:
    """Return a matrix whose rows or columns are two merged axes by Kronecker products, vec and K.

    ``None`` if that has no form without unit vectors: then blocks are easier to read.
    """
    (x,) = t.operands
    groups = groups_of(t)
    kept = [groups[q] for q, at in enumerate(slots) if at is None]
    if not isinstance(x, Lambda) or reader.is_atom(x) or sorted(map(len, kept)) not in ([1, 2], [2, 2]):
        return None
    at = _unmerged(x, groups, slots)
    layout = Layout(*(tuple(a for a in g if not is_one(x.shape[a])) for g in kept))
    inner = [reader.symbols.fresh(x.shape[a]) if i is None else i for a, i in enumerate(at)]
    try:
        tree = reader.paired(x, layout, inner)
    except Stuck:
        return None
    return None if any(node.op == "unit" for node in walk(tree)) else tree


def _unmerged(x: Tensor, groups: tuple[tuple[int, ...], ...], slots: Slots) -> list[sp.Expr | None]:
    """Return the indices of the operand's axes where the merged axes have one."""
    inner: list[sp.Expr | None] = [None] * x.ndim
    for g, rest in zip(groups, slots, strict=True):
        if rest is None:
            continue
        for a in reversed(g[1:]):
            inner[a], rest = sp.Mod(rest, x.shape[a]), sp.floor(rest / x.shape[a])
        inner[g[0]] = rest
    return inner


def split_axes(t: Apply, slot: int) -> dict[int, int]:
    """The axes that are not split go through."""
    return {q: g[0] for q, g in enumerate(groups_of(t)) if len(g) == 1}


def read_split(reader: Reader, t: Apply, slots: Slots) -> Node:
    """Return a block of the operand: a range of rows and columns, or an entry."""
    (x,) = t.operands
    inner: list[sp.Expr | None] = []
    ranges: list[tuple[sp.Expr, Size] | None] = []
    for q, g in enumerate(groups_of(t)):
        kept = [a for a in g if slots[a] is None]
        if len(g) == 1:
            inner.append(slots[g[0]])
            ranges += [None] if kept else []
            continue
        if kept and kept != [g[-1]]:
            raise Stuck("a stride")
        start: sp.Expr = sp.S.Zero
        for a in g:
            start = start * t.shape[a] + (sp.S.Zero if slots[a] is None else slots[a])
        if kept:
            inner.append(None)
            ranges.append((start, t.shape[g[-1]]))
        else:
            inner.append(start)
        assert q < x.ndim
    kept_sizes = [s for s, at in zip(t.shape, slots, strict=True) if at is None]
    return _cut(reader.slice(x, tuple(inner)), ranges, kept_sizes)
