r"""Walking and rewriting the graph of tensors, without recursion (graphs may be deep)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lemmax.errors import NameClash, ShapeError
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor


def topological_order(*roots: Tensor, stop: Callable[[Tensor], bool] | None = None) -> list[Tensor]:
    """Return all tensors that ``roots`` are made of, operands first, each once.

    Args:
        roots: where to start.
        stop: below tensors for which this is true the walk does not go.
    """
    order: list[Tensor] = []
    done: set[str] = set()
    stack: list[tuple[Tensor, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if node.digest in done:
            continue
        if expanded:
            done.add(node.digest)
            order.append(node)
            continue
        stack.append((node, True))
        if stop is None or not stop(node):
            stack.extend(
                (operand, False) for operand in reversed(node.operands) if operand.digest not in done
            )
    return order


def inputs_of(*roots: Tensor) -> tuple[Input, ...]:
    """Return the inputs of expressions in alphabetical order (capitals and small letters together).

    The order of a walk would depend on how products happen to be sorted; the alphabet is the same for
    an expression and its gradients, in every process.

    Raises:
        NameClash: two different inputs carry one name.
    """
    found = [node for node in topological_order(*roots) if isinstance(node, Input)]
    by_name: dict[str, Input] = {}
    for node in found:
        other = by_name.setdefault(str(node.name), node)
        if other != node:
            raise NameClash(
                f"two different inputs are called {node.name!r}: {other.label()} and {node.label()}."
            )
    return tuple(sorted(found, key=lambda t: (str(t.name).casefold(), str(t.name))))


def depends_on(node: Tensor, target: Tensor) -> bool:
    """Is ``target`` a part of ``node`` (or ``node`` itself)?"""
    return any(part == target for part in topological_order(node))


def transform(
    roots: Iterable[Tensor], rewrite: Callable[[Tensor], Tensor], stop: Callable[[Tensor], bool] | None = None
) -> list[Tensor]:
    """Rewrite bottom-up: each tensor is rebuilt over its rewritten operands, then passed to ``rewrite``."""
    roots = list(roots)
    new: dict[str, Tensor] = {}
    for node in topological_order(*roots, stop=stop):
        kept = stop is not None and stop(node)
        rebuilt = node if kept else node.rebuild(*[new[operand.digest] for operand in node.operands])
        new[node.digest] = rewrite(rebuilt)
    return [new[root.digest] for root in roots]


def substitute(root: Tensor, swap: dict[Tensor, Tensor]) -> Tensor:
    """Return ``root`` with tensors replaced by others of the same shape.

    Raises:
        ShapeError: a replacement has another shape.
    """
    for old, new in swap.items():
        if old.ndim != new.ndim or not all(
            same_size(a, b) for a, b in zip(old.shape, new.shape, strict=True)
        ):
            raise ShapeError(f"substitute: {new.label()} does not have the shape of {old.label()}.")
    (result,) = transform([root], lambda node: swap.get(node, node))
    return result
