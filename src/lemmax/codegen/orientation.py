r"""Stage 2c: which way round a matrix lies in memory.

A reduction over a short last axis (the maximum and the sum of a softmax, the sum in its gradient)
is a loop over very short rows.  If the product that feeds it is taken transposed,
:math:`A = (K Q^\top)^\top`, the same reduction adds whole rows; the entries are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.values import Extent, Pool, Value
from lemmax.codegen.views import reachable, replaced

SHORT = 16
"""Longest last axis, at representative sizes, whose reduction should run over the outer axis."""

_REDUCING = frozenset({"softmax", "logsumexp", "pullback_rowsum", "sum", "max", "min"})
_ENTRYWISE = frozenset({"scale", "add", "multiply", "divide", "call", "pin", "where"})


def orient(pool: Pool, roots: Sequence[Value], extent: Extent) -> tuple[dict[int, Value], list[Choice]]:
    """Take products transposed where a reduction over their short last axis follows.

    Returns:
        The value that takes the place of each value that ``roots`` need, by its number, and the decisions.
    """
    order = reachable(roots)
    turned: dict[int, Value] = {}
    for v in order:
        if v.op in _REDUCING and _is_over_short_rows(v, extent):
            for a in v.args:
                turned.update({p.number: p for p in _products_behind(a, a.shape)})

    def change(v: Value, new: dict[int, Value]) -> Value | None:
        if v.number not in turned:
            return None
        left, right = (_swapped(pool, new[a.number]) for a in v.args)
        return _swapped(pool, pool.matmul(right, left))

    new, _ = replaced(pool, order, change)
    if not turned:
        return new, []
    chosen = f"{len(turned)} products taken transposed"
    return new, [Choice("products", chosen, "sums and maxima run over the outer of two short axes")]


def _is_over_short_rows(v: Value, extent: Extent) -> bool:
    axes = v.params[0] if isinstance(v.params[0], tuple) else (v.params[0],)
    last = v.args[0].ndim - 1
    return last >= 1 and axes == (last,) and extent(v.args[0].shape[-1]) <= SHORT


def _products_behind(v: Value, shape: Sequence[sp.Expr]) -> list[Value]:
    """Return the matrix products of this shape of which ``v`` is an entrywise function."""
    found, stack = [], [v]
    while stack:
        x = stack.pop()
        if x.shape != shape:
            continue
        if x.op == "matmul":
            if min(a.ndim for a in x.args) >= 2:
                found.append(x)
        elif x.op in _ENTRYWISE:
            stack.extend(x.args)
    return found


def _swapped(pool: Pool, v: Value) -> Value:
    return pool.transpose(v, [*range(v.ndim - 2), v.ndim - 1, v.ndim - 2])
