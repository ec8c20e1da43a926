r"""Entries at shifted indices, and indices that stand for two: a tensor is cut, padded or merged instead.

In an index lambda an index runs over the whole of each axis that it stands on.  ``x_{i+1}`` with i
from 1 to n - 1 is therefore an entry of a slice of x, and an entry at floor(l/m) and l mod m is
one of a tensor with two axes merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from lemmax.expr.indexing import merge, split
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.notation import to_terms
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor


class OutOfRange(Exception):
    """An index runs beyond the end of an axis; the text says how far."""


def entry_at(
    tensor: Tensor, at: Sequence[sp.Expr], ranges: Mapping[sp.Symbol, Size], guarded: Sequence[bool]
) -> sp.Expr:
    """Return the entry of a tensor at indices, each an expression.

    Args:
        tensor: the tensor.
        at: one expression per axis, counted from 0.
        ranges: the range of each index symbol.
        guarded: per axis whether a case distinction keeps the index inside; outside, entries are 0.

    Raises:
        OutOfRange: an index that is not guarded runs beyond its axis.
    """
    indices = [sp.expand(e) if not e.has(sp.floor, sp.Mod) else e for e in at]
    for axis, expr in enumerate(indices):
        symbols = [s for s in expr.free_symbols if is_index(s)]
        if len(symbols) != 1 or symbols[0] not in ranges or expr.has(sp.floor, sp.Mod):
            continue
        symbol, shift = symbols[0], sp.expand(expr - symbols[0])
        size, run = tensor.shape[axis], ranges[symbols[0]]
        if shift.has(symbol) or (shift == 0 and same_size(run, size)):
            continue
        moved = _padded(tensor, axis, shift, run) if guarded[axis] else _cut(tensor, axis, shift, run)
        if moved is not None:
            tensor, indices[axis] = moved, symbol
        elif not guarded[axis]:
            last = sp.expand(shift + run)
            raise OutOfRange(f"an index that runs from {shift + 1} to {last} on an axis of size {size}")
    return tensor.entry(*indices)


def _cut(tensor: Tensor, axis: int, shift: sp.Expr, run: Size) -> Tensor | None:
    """Return the range of an axis that an index runs over, ``None`` if it is not inside.

    A number of places may be more than n: that shows when it is evaluated, as it does for ``x[1:3]``.
    """
    beyond = sp.expand(shift + run - tensor.shape[axis])
    if not shift.is_nonnegative or not (beyond.is_nonpositive or (run.is_Integer and not beyond.is_positive)):
        return None
    return _along(tensor, axis, "slice", shift, run)


def _padded(tensor: Tensor, axis: int, shift: sp.Expr, run: Size) -> Tensor | None:
    """Return the axis with zeros around it, where a shifted index finds its entries; ``None`` if unknown."""
    if not (shift.is_nonnegative or shift.is_nonpositive):
        return None
    start, before = (shift, sp.S.Zero) if shift.is_nonnegative else (sp.S.Zero, -shift)
    own, needed = sp.expand(before + tensor.shape[axis]), sp.expand(start + run)
    missing = sp.expand(needed - own)
    length = needed if missing.is_nonnegative else own if missing.is_nonpositive else sp.expand(own + needed)
    if before != 0 or not same_size(length, tensor.shape[axis]):
        tensor = _along(tensor, axis, "place", before, length)
    return _along(tensor, axis, "slice", start, run) if start != 0 or not same_size(length, run) else tensor


def _along(tensor: Tensor, axis: int, function: str, start: sp.Expr, length: Size) -> Tensor:
    starts = tuple(start if p == axis else sp.S.Zero for p in range(tensor.ndim))
    shape = tuple(length if p == axis else s for p, s in enumerate(tensor.shape))
    return Apply(function, (tensor,), shape, {"starts": starts})


# -- indices that stand for two ------------------------------------------------------------------
def lambda_over(indices: Sequence[sp.Symbol], sizes: Sequence[Size], expr: sp.Expr) -> Tensor:
    """Return the index lambda of an expression, with merged axes where indices stand for two."""
    groups = [[i] for i in indices]
    ranges = dict(zip(indices, sizes, strict=True))
    is_split = expr.has(sp.floor, sp.Mod)
    expr = _split_sums(expr) if is_split else expr
    for group in groups:
        position = 0
        while is_split and position < len(group):
            found = _split(expr, group[position], ranges[group[position]])
            if found is None:
                position += 1
                continue
            expr, parts = found
            ranges.update(parts)
            group[position : position + 1] = [s for s, _ in parts]
    flat = [i for group in groups for i in group]
    tensor: Tensor = Lambda(
        tuple(ranges[i] for i in flat), tuple(flat), to_terms(expr, {i: ranges[i] for i in flat})
    )
    if len(flat) == len(indices):
        return tensor
    counts = iter(range(len(flat)))
    return merge(tensor, *[tuple(next(counts) for _ in group) for group in groups])


def _split(
    expr: sp.Expr, symbol: sp.Symbol, size: Size
) -> tuple[sp.Expr, list[tuple[sp.Symbol, Size]]] | None:
    """Replace floor(s/m) and s mod m by two indices (by 0 and s if s runs to m), if s stands nowhere else."""
    moduli = {m.args[1] for m in expr.atoms(sp.Mod) if m.args[0] == symbol}
    slopes = {f.args[0].coeff(symbol, 1) for f in expr.atoms(sp.floor) if not f.args[0].has(sp.Indexed)}
    moduli |= {1 / slope for slope in slopes if slope != 0}  # a rounded entry says nothing of the index
    for modulus in sorted(moduli, key=str):
        low, high = sp.Mod(symbol, modulus), sp.floor(symbol / modulus)
        if same_size(modulus, size):
            (new,) = fresh()
            return expr.xreplace({low: new, high: sp.S.Zero}).xreplace({symbol: new}), [(new, size)]
        count = sp.cancel(size / modulus)
        first, second = fresh(2)
        swapped = expr.xreplace({low: second, high: first})
        if not count.is_integer:
            continue
        swapped = swapped.xreplace(_over_split_axes(swapped, symbol, (first, count), (second, modulus)))
        if not swapped.has(symbol):
            return swapped, [(first, count), (second, modulus)]
    return None


def _over_split_axes(
    expr: sp.Expr, symbol: sp.Symbol, first: tuple[sp.Symbol, Size], second: tuple[sp.Symbol, Size]
) -> dict[sp.Expr, sp.Expr]:
    """Return entries of tensors whose axis is split where the index runs over the whole of it."""
    swap: dict[sp.Expr, sp.Expr] = {}
    for entry in sorted(expr.atoms(sp.Indexed), key=str):
        at = [axis for axis, i in enumerate(entry.indices) if i == symbol]
        if len(at) != 1 or any(i != symbol and i.has(symbol) for i in entry.indices):
            continue
        t: Tensor = entry.base.label.tensor
        shape = [*t.shape[: at[0]], first[1], second[1], *t.shape[at[0] + 1 :]]
        counts = iter(range(len(shape)))
        groups = tuple(
            tuple(next(counts) for _ in range(2 if axis == at[0] else 1)) for axis in range(t.ndim)
        )
        indices = [*entry.indices[: at[0]], first[0], second[0], *entry.indices[at[0] + 1 :]]
        swap[entry] = split(t, groups, tuple(shape)).entry(*indices)
    return swap


def _split_sums(expr: sp.Expr) -> sp.Expr:
    """Do the same for summed indices."""
    for total in sorted(expr.atoms(sp.Sum), key=str):
        body = total.function
        limits: list[tuple[sp.Symbol, sp.Expr, sp.Expr]] = []
        for symbol, low, high in total.limits:
            found = _split(body, symbol, sp.expand(high - low + 1)) if low == 0 else None
            if found is None:
                limits.append((symbol, low, high))
                continue
            body, parts = found
            limits += [(s, sp.S.Zero, n - 1) for s, n in parts]
        if len(limits) > len(total.limits) or body != total.function:
            return _split_sums(expr.xreplace({total: sp.Sum(body, *limits)}))
    return expr
