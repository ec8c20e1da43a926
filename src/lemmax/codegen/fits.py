r"""What sizes must satisfy beyond being positive: slices and fixed indices must lie inside their axes.

NumPy cuts a slice off at the end of its axis and counts negative indices from there, so that ``X[:5]``
of three rows would be a wrong result, and no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy as sp

from lemmax.expr.graph import topological_order
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor


def needs_of(roots: Sequence[Tensor]) -> list[sp.Expr]:
    """Return expressions in sizes that must not be negative, without those that never are.

    Of several that differ by a number only the strongest is kept.
    """
    strongest: dict[sp.Expr, sp.Expr] = {}
    for node in topological_order(*roots):
        for need in _of_node(node):
            constant, rest = sp.expand(need).as_coeff_Add()
            if not _is_never_negative(constant + rest):
                strongest[rest] = min(constant, strongest.get(rest, constant))
    return [constant + rest for rest, constant in sorted(strongest.items(), key=lambda pair: str(pair[0]))]


def _of_node(node: Tensor) -> Iterator[sp.Expr]:
    yield from (s - 1 for s in node.shape)
    if isinstance(node, Apply) and node.function in ("slice", "place"):
        part, whole = (node, node.operands[0]) if node.function == "slice" else (node.operands[0], node)
        starts: Any = node.param("starts")
        for start, length, full in zip(starts, part.shape, whole.shape, strict=True):
            yield from (sp.sympify(start), full - start - length)
    if isinstance(node, Lambda):
        for entry in sorted({e for term in node.terms for e in term.expr.atoms(sp.Indexed)}, key=str):
            for index, size in zip(entry.indices, entry.base.label.tensor.shape, strict=True):
                if not any(is_index(s) for s in index.free_symbols):
                    yield from (index, size - 1 - index)


def _is_never_negative(need: Size) -> bool:
    """Is an expression in sizes nonnegative whatever the sizes, which are at least 1?"""
    beyond = {s: 1 + sp.Dummy(nonnegative=True, integer=True) for s in need.free_symbols}
    return sp.expand(need.xreplace(beyond)).is_nonnegative is True
