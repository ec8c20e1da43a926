r"""Stage 2e: fewer passes over large arrays.

A product of arrays that are broadcast costs a pass over the result for each factor, unless the small
factors are multiplied first: :math:`(x \odot y) \odot \delta\, c` takes three passes where
:math:`x \odot (y \odot \delta\, c)` takes one.  Summands with a large factor in common are one product,
and a long sum is added up as its summands come, so that no more than two of them are held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.memory_order import LARGE
from lemmax.codegen.values import Extent, Pool, Shape, Value, broadcast_shape, constant
from lemmax.codegen.views import count_uses, reachable, replaced

SMALL = 1 / 4
"""Part of a product that the product of some of its factors must not exceed to be made first."""


def save_passes(
    pool: Pool, roots: Sequence[Value], extent: Extent, named: Collection[int]
) -> tuple[dict[int, Value], list[Choice]]:
    """Multiply small factors first, and add large summands one by one.

    Args:
        pool: where the new values are made.
        roots: the outputs.
        extent: the representative value of a size.
        named: numbers of values that keep their names, and so stay as they are.

    Returns:
        The value that takes the place of each value that ``roots`` need, by its number, and the decisions.
    """
    order = reachable(roots)
    uses = count_uses(order, roots)

    def size(shape: Shape) -> float:
        return extent(sp.Mul(*shape))

    def open_to(v: Value) -> bool:
        return uses[v.number] == 1 and v.number not in named

    def change(v: Value, new: dict[int, Value]) -> Value | None:
        if v.op in ("scale", "multiply") and size(v.shape) >= LARGE:
            return _small_first(pool, v, new, open_to, size)
        if v.op == "add" and size(v.shape) >= LARGE:
            return _one_by_one(pool, v, [new[a.number] for a in v.args], [open_to(a) for a in v.args], size)
        return None

    new, changed = replaced(pool, order, change)
    if not changed:
        return new, []
    chosen = f"{changed} rearranged: small factors first, large summands one by one"
    return new, [Choice("large arrays", chosen, "fewer passes over them, fewer held at once")]


def _small_first(
    pool: Pool,
    v: Value,
    new: dict[int, Value],
    open_to: Callable[[Value], bool],
    size: Callable[[Shape], float],
) -> Value | None:
    """Return a product with its smaller factors multiplied first, if they make a small array."""
    coefficient: sp.Expr = sp.S.One
    factors: list[Value] = []
    waiting = [v]
    while waiting:
        x = waiting.pop(0)
        if x is not v and (x.op not in ("scale", "multiply") or not open_to(x)):
            factors.append(new[x.number])
        else:
            if x.op == "scale":
                coefficient *= constant(x)
            waiting[:0] = x.args
    if len(factors) < 2 or (len(factors) == 2 and coefficient == 1):
        return None
    limit = SMALL * size(v.shape)
    small: list[int] = []
    shape: Shape = ()
    for p in sorted(range(len(factors)), key=lambda p: size(factors[p].shape)):
        together = broadcast_shape([shape, factors[p].shape])
        if size(together) > limit:
            break
        small.append(p)
        shape = together
    rest = [x for p, x in enumerate(factors) if p not in small]
    if not small or not rest or (len(small) == 1 and coefficient == 1):
        return None
    first = [factors[p] for p in small]
    one = first[0] if len(first) == 1 else pool.make("multiply", first)
    return pool.make("multiply", (*rest, pool.scale(coefficient, one)), (), v.shape)


def _one_by_one(
    pool: Pool, v: Value, args: list[Value], free: Sequence[bool], size: Callable[[Shape], float]
) -> Value | None:
    """Return a sum with common large factors taken out, as sums of two."""
    terms: list[tuple[int, Value]] = []
    merged: dict[int, list[tuple[int, Value]]] = {}
    for sign, a, dissolvable in zip(v.params, args, free, strict=True):
        if dissolvable and a.op == "multiply" and len(a.args) == 2:
            large = max(a.args, key=lambda x: size(x.shape))
            (other,) = [x for x in a.args if x is not large] or [large]
            if size(other.shape) <= SMALL * size(v.shape):
                group = merged.setdefault(large.number, [])
                if not group:
                    terms.append((0, large))
                group.append((sign, other))
                continue
        terms.append((sign, a))
    parts: list[tuple[int, Value]] = []
    for sign, x in terms:
        if sign:
            parts.append((sign, x))
            continue
        group = merged[x.number]
        outer = group[0][0]
        factors = [f if s == outer else pool.scale(sp.S.NegativeOne, f) for s, f in group]
        parts.append((outer, pool.make("multiply", (x, pool.add(factors)))))
    if len(parts) == len(args) < 3:
        return None
    parts.sort(key=lambda part: part[0] < 0)
    total_sign, total = parts[0]
    for sign, x in parts[1:]:
        shape = broadcast_shape([total.shape, x.shape])
        total = pool.make("add", (total, x), (1, sign * total_sign), shape)
    total = pool.scale(sp.Integer(total_sign), total)
    return total if total.shape == v.shape else pool.broadcast(total, v.shape)
