r"""In which order the axes of an intermediate result lie in memory, and which order suits its readers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import sympy as sp

from lemmax.codegen.places import Place
from lemmax.codegen.values import Value

REDUCTIONS = frozenset({"sum", "max", "min"})
ENTRYWISE = frozenset({"add", "multiply", "scale", "divide", "call"})
WITH_SCRATCH = frozenset({"softmax", "pullback_rowsum"})
"""Operations that reduce their rows on the way."""
LARGE = 2.0**16
"""Entries, at representative sizes, from which on an array is arranged and placed to save memory."""


def preferred_orders(
    order: Sequence[Value], written: Collection[int], extent: Callable[[sp.Expr], float]
) -> dict[int, tuple[int, ...]]:
    """Return the order of axes in memory that makes what follows fast.

    Rows that are reduced lie one after the other, so that one long vector is added to another; a
    reshape that follows a transpose finds its axes in order; entrywise operations on arrays that lie
    the same way run through memory once, from one end to the other.
    """
    found: dict[int, tuple[int, ...]] = {}
    for v in order:
        if reduced_rows(v):
            for product in _turned_products(v):
                if product.number in written:
                    n = product.ndim
                    found.setdefault(product.number, (n - 2, *range(n - 2), n - 1))
    for v in order:
        turned = without_pins(v.args[0]) if v.op == "reshape" else v
        if v.op == "reshape" and turned.op == "transpose":
            base = without_pins(turned.args[0])
            if base.number in written:
                found.setdefault(base.number, turned.params[0])
    for v in reversed(order):  # what reads comes before what is read
        if v.op in ENTRYWISE and v.number in written and extent(sp.Mul(*v.shape)) >= LARGE:
            for a, axes in _operand_orders(v, found.get(v.number)):
                if a.op in ENTRYWISE and a.number in written:
                    found.setdefault(a.number, axes)
    return found


def without_pins(v: Value) -> Value:
    """Return what pins look at."""
    while v.op == "pin":
        v = v.args[0]
    return v


def memory_order(place: Place) -> tuple[int, ...]:
    """Return the axes of a place from the outermost in memory to the innermost."""
    symbols = {s for stride in place.strides for s in stride.free_symbols}
    # strides are products of sizes of inner axes, so that any sizes above 1 compare them
    numbers = [float(stride.xreplace(dict.fromkeys(symbols, sp.Integer(3)))) for stride in place.strides]
    return tuple(sorted(range(len(numbers)), key=lambda axis: (-numbers[axis], axis)))


def _operand_orders(v: Value, order: tuple[int, ...] | None) -> list[tuple[Value, tuple[int, ...]]]:
    """Return the operands of an entrywise operation behind transposes, each with the order that suits it.

    Args:
        v: the operation.
        order: its axes from the outermost in memory to the innermost; by default those of its first
            operand of its shape that cannot choose.
    """
    found = []
    for a in v.args:
        turned = without_pins(a)
        if a.shape == v.shape:
            axes = turned.params[0] if turned.op == "transpose" else tuple(range(v.ndim))
            found.append((without_pins(turned.args[0]) if turned.op == "transpose" else turned, axes))
    if all(axes == tuple(range(v.ndim)) for _, axes in found) and order is None:
        return []
    if order is None:
        fixed = [axes for a, axes in found if a.op not in ENTRYWISE]
        order = tuple(sorted(range(v.ndim), key=fixed[0].__getitem__)) if fixed else tuple(range(v.ndim))
    return [(a, tuple(axes[p] for p in order)) for a, axes in found]


def reduced_rows(v: Value) -> bool:
    """Does an operation reduce the last axis of a matrix?"""
    if v.op in WITH_SCRATCH:
        return bool(v.params[0] == v.ndim - 1)
    last = v.args[0].ndim - 1 if v.args else 0
    return v.op in REDUCTIONS and last > 0 and v.params[0] == (last,)


def _turned_products(v: Value) -> list[Value]:
    """Return the matrix products that are taken transposed for a reduction, behind entrywise operations."""
    found, waiting = [], list(v.args)
    while waiting:
        x = waiting.pop()
        if x.op == "transpose" and x.args[0].op == "matmul" and x.shape == v.args[0].shape:
            if x.params[0][-2:] == (x.ndim - 1, x.ndim - 2):
                found.append(x.args[0])
        elif x.op in ENTRYWISE | {"pin"}:
            waiting.extend(a for a in x.args if a.shape == v.args[0].shape)
    return found
