r"""Stage 2a: sums of products with one operand in common.

:math:`A C + B C = (A + B)\,C` takes one product instead of two.  Derivatives of products make such sums
all the time: the tangent of :math:`C W^\top` is :math:`\dot C W^\top + C \dot W^\top`, and each part is then
multiplied by the same matrices.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.values import Pool, Value
from lemmax.codegen.views import count_uses, reachable, replaced

Views = tuple[tuple[str, tuple[object, ...], tuple[sp.Expr, ...]], ...]


def gather_products(
    pool: Pool, roots: Sequence[Value], named: Collection[int]
) -> tuple[dict[int, Value], list[Choice]]:
    """Take the common operand of products out of sums.

    Args:
        pool: where the new values are made.
        roots: the outputs.
        named: numbers of values that keep their names, and so stay as they are.

    Returns:
        The value that takes the place of each value that ``roots`` need, by its number, and the decisions.
    """
    order = reachable(roots)
    uses = count_uses(order, roots)
    counts: list[int] = []

    def change(v: Value, new: dict[int, Value]) -> Value | None:
        if v.op != "add":
            return None
        free = [_is_free(a, uses, named) for a in v.args]
        signed = list(zip(v.params, [new[a.number] for a in v.args], strict=True))
        gathered, count = _gathered(pool, signed, free)
        counts.append(count)
        return gathered if count else None

    new, _ = replaced(pool, order, change)
    saved = sum(counts)
    if not saved:
        return new, []
    chosen = f"{saved} fewer: an operand in common is taken out of sums"
    return new, [Choice("products", chosen, "a sum costs less than a product")]


def _is_free(v: Value, uses: dict[int, int], named: Collection[int]) -> bool:
    """May a summand be dissolved: is it used here only, down to its product, and has it no name?"""
    while v.op in ("pin", "transpose", "reshape"):
        if uses[v.number] > 1 or v.number in named:
            return False
        v = v.args[0]
    return v.op == "matmul" and uses[v.number] == 1 and v.number not in named


def _gathered(pool: Pool, signed: list[tuple[int, Value]], free: Sequence[bool]) -> tuple[Value, int]:
    """Return the sum with common operands taken out, and how many products that saves."""
    groups: list[list[tuple[int, Value]]] = []
    sides: list[
        tuple[int, int, Views] | None
    ] = []  # side and number of the common operand, views on the product
    saved = 0
    for (sign, v), dissolvable in zip(signed, free, strict=True):
        views, base = _split(v)
        if dissolvable and base.op == "matmul":
            for at, side in enumerate(sides):
                position = _common(groups[at], base, views, side)
                if position is not None:
                    sides[at] = (position, base.args[position].number, views)
                    groups[at].append((sign, base))
                    saved += 1
                    break
            else:
                groups.append([(sign, base)])
                sides.append((-1, 0, views))
        else:
            groups.append([(sign, v)])
            sides.append(None)
    if not saved:
        return signed[0][1], 0
    parts = []
    for group, side in zip(groups, sides, strict=True):
        sign = group[0][0]
        whole = group[0][1] if side is None else _viewed(pool, _product(pool, group, side[0]), side[2])
        parts.append(whole if sign == 1 else pool.scale(sp.S.NegativeOne, whole))
    return pool.add(parts), saved


def _common(
    group: Sequence[tuple[int, Value]], product: Value, views: Views, side: tuple[int, int, Views] | None
) -> int | None:
    """Return the position of the operand that a product has in common with a group, seen the same way."""
    if side is None or side[2] != views:
        return None
    first = group[0][1]
    for position in (1, 0):
        other = 1 - position
        same = first.args[position] is product.args[position]
        if same and first.args[other].shape == product.args[other].shape and side[0] in (-1, position):
            return position
    return None


def _product(pool: Pool, group: Sequence[tuple[int, Value]], position: int) -> Value:
    first_sign, first = group[0]
    if len(group) == 1:
        return first
    others = []
    for sign, v in group:
        other = v.args[1 - position]
        others.append(other if sign == first_sign else pool.scale(sp.S.NegativeOne, other))
    total, common = _sum(pool, others), first.args[position]
    return pool.matmul(total, common) if position == 1 else pool.matmul(common, total)


def _sum(pool: Pool, parts: Sequence[Value]) -> Value:
    """Return a sum; a transpose of all summands is one of the sum, which may be there already."""
    bare = [_without_pins(p) for p in parts]
    if all(p.op == "transpose" and p.params == bare[0].params for p in bare):
        return pool.transpose(pool.add([_without_pins(p.args[0]) for p in bare]), bare[0].params[0])
    return pool.add(bare)


def _without_pins(v: Value) -> Value:
    while v.op == "pin":
        v = v.args[0]
    return v


def _split(v: Value) -> tuple[Views, Value]:
    """Return the views on a value, outermost first, and the value."""
    views = []
    while v.op in ("pin", "transpose", "reshape"):
        if v.op != "pin":
            views.append((v.op, v.params, v.shape))
        v = v.args[0]
    return tuple(views), v


def _viewed(pool: Pool, v: Value, views: Views) -> Value:
    for op, params, shape in reversed(views):
        v = pool.reshape(v, shape) if op == "reshape" else pool.transpose(v, params[0])
    return v
