r"""Stage 2c: transposed operands of many small products are copied first.

NumPy hands each matrix of a stack to BLAS on its own.  For matrices of a few rows a product
:math:`A B^\top` with :math:`B` as it lies takes about twice as long as one with :math:`B^\top` laid out
row by row, and the copy, all matrices in one go, costs less than the difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.values import Extent, Pool, Value
from lemmax.codegen.views import reachable, replaced

MANY = 4096
"""Least number of matrices, at representative sizes: one more NumPy call costs as much as tens of them."""
SHORT = 16
"""Longest sum, at representative sizes, and longest rows."""


def copy_transposed(
    pool: Pool, roots: Sequence[Value], extent: Extent
) -> tuple[dict[int, Value], list[Choice]]:
    """Copy right operands that lie transposed, where many small matrices are multiplied.

    Returns:
        The value that takes the place of each value that ``roots`` need, by its number, and the decisions.
    """
    copied: dict[int, Value] = {}

    def change(v: Value, new: dict[int, Value]) -> Value | None:
        if v.op != "matmul" or not _is_slow(v, extent):
            return None
        left, right = (new[a.number] for a in v.args)
        return pool.matmul(left, copied.setdefault(right.number, pool.make("copy", (right,))))

    new, _ = replaced(pool, reachable(roots), change)
    if not copied:
        return new, []
    chosen = f"{len(copied)} transposed operands copied"
    return new, [Choice("products", chosen, "many small products are faster on rows that lie in order")]


def _is_slow(v: Value, extent: Extent) -> bool:
    left, right = v.args
    if min(left.ndim, right.ndim) < 3 or right.op != "transpose":
        return False
    if right.params[0][-2:] != (right.ndim - 1, right.ndim - 2):
        return False
    inner, columns = (extent(s) for s in right.shape[-2:])
    many = extent(sp.Mul(*v.shape[:-2])) >= MANY
    # the copy has as many entries as rows of the sum, the product gains with its own
    return many and inner <= columns <= SHORT and extent(v.shape[-2]) >= inner
