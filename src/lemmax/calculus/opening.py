r"""Sums over merged axes as sums over pairs, so that vec and Kronecker products leave a formula.

:math:`\|(A \otimes B)\,\mathrm{vec}(X)\|^2` is :math:`\|A X B^\top\|_F^2`; its gradient is a product of
matrices, which neither paper nor code writes with a Kronecker product of n^2 x n^2 entries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from lemmax.calculus.rewriting.merged import open_merged
from lemmax.expr.graph import topological_order, transform
from lemmax.expr.indices import free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor

_MOST_ROUNDS = 4


def merged_axes(roots: Sequence[Tensor]) -> int:
    """Return how many merges and splits of axes there are below ``roots``."""
    return sum(
        1 for t in topological_order(*roots) if isinstance(t, Apply) and t.function in ("merge", "split")
    )


def open_merged_axes(
    roots: list[Tensor],
    flatten: Callable[[Sequence[Tensor], Collection[Tensor]], list[Tensor]],
    keep: Collection[Tensor] = (),
) -> list[Tensor]:
    """Return ``roots`` over pairs of indices if fewer merges and splits are left then, else as they are.

    Args:
        roots: flat tensors.
        flatten: what makes the result flat.
        keep: tensors that stay as they are.
    """
    least = merged_axes(roots)
    best = current = roots
    kept = {t.digest for t in keep}
    for _ in range(_MOST_ROUNDS if least else 0):
        opened = transform(current, _opened, stop=lambda t: t.digest in kept)
        if all(new is old for new, old in zip(opened, current, strict=True)):
            break
        current = flatten(opened, keep)
        left = merged_axes(current)
        if left < least:
            best, least = current, left
    return best


def _under_name(t: Tensor, name: str | None) -> Tensor:
    """Return a tensor under a name (or none); one that has a name keeps it, and its entries are read."""
    if t.name is None:
        return t.named(name) if name is not None else t
    indices = free_indices(t.ndim)
    return Lambda(t.shape, indices, (Term((), t.entry(*indices)),), name)


def _opened(node: Tensor) -> Tensor:
    if isinstance(node, Lambda):
        opened = open_merged(node, lambda t: t)
        return node if opened is None else opened.named(node.name)
    if isinstance(node, Apply) and node.function in ("merge", "split"):
        (inner,) = node.operands
        inverse = {"merge": "split", "split": "merge"}[node.function]
        if isinstance(inner, Apply) and inner.function == inverse and inner.name is None:
            (innermost,) = inner.operands
            if innermost.shape == node.shape and inner.param("groups") == node.param("groups"):
                return _under_name(innermost, node.name)
    return node
