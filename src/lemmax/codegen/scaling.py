r"""Stage 2d: numbers are multiplied into the smallest array.

:math:`c\,(A B)` costs a pass over the product; :math:`(c A)\,B` costs one over A, which in the blocks of
a Hessian is thousands of times smaller.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.values import Extent, Pool, Value, constant
from lemmax.codegen.views import count_uses, reachable, rebuilt, replaced

LEAST_GAIN = 2.0
"""How many times smaller an operand must be, at representative sizes, to be multiplied instead."""


def scale_small_operands(
    pool: Pool, roots: Sequence[Value], extent: Extent, named: Collection[int]
) -> tuple[dict[int, Value], list[Choice]]:
    """Move numbers from products to operands that are much smaller.

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

    def change(v: Value, new: dict[int, Value]) -> Value | None:
        return _moved(pool, v, new, uses, extent, named) if v.op == "scale" else None

    new, moved = replaced(pool, order, change)
    if not moved:
        return new, []
    return new, [Choice("numbers", f"{moved} multiplied into an operand of a product", "it is much smaller")]


def _moved(
    pool: Pool,
    v: Value,
    new: dict[int, Value],
    uses: dict[int, int],
    extent: Extent,
    named: Collection[int],
) -> Value | None:
    views, base = [], v.args[0]
    while base.op in ("pin", "transpose", "reshape"):
        views.append(base)
        base = base.args[0]
    if base.op != "matmul" or any(uses[x.number] > 1 or x.number in named for x in (*views, base)):
        return None
    sizes = [extent(sp.Mul(*a.shape)) for a in base.args]
    position = sizes.index(min(sizes))
    if LEAST_GAIN * sizes[position] > extent(sp.Mul(*base.shape)):
        return None
    operands = [new[a.number] for a in base.args]
    operands[position] = pool.scale(constant(v), operands[position])
    result = pool.matmul(*operands)
    for x in reversed(views):
        result = pool.pin(result) if x.op == "pin" else rebuilt(pool, x, [result])
    return result
