r"""The record of matrix notation: a tree whose nodes are matrices.

Every node has a shape (rows, columns); vectors are columns (n, 1) and scalars (1, 1).  Equality
and order go by a text that is made once, so that results do not depend on the hash seed.
Smart constructors are in ``algebra``, the NumPy reading in ``numeric``, the LaTeX in ``render``.

===========  ==============================  ==========================================================
op           args                            data
===========  ==============================  ==========================================================
atom         ()                              (tensor, slots): per axis None (kept) or a fixed index
eye          ()                              (): as ones (a column) and zeros, known by its shape
unit         ()                              (index,): the unit vector of an index
delta        ()                              (index, index)
number       ()                              (value,): a number, a size, or an index as a number
transpose    (matrix,)                       ()
product      (matrix, ...)                   ()
hadamard     (matrix, ...)                   ()
kron         (matrix, ...)                   ()
commutation  ()                              (p, q): from the vec of a p x q matrix to that of its transpose
diag         (vector,)                       (): the diagonal matrix of a vector
diagonal     (matrix,)                       (): the diagonal of a matrix
trace, norm  (matrix,)                       (): norm is Frobenius or Euclidean, not squared
inner        (matrix, matrix)                (): the sum of products of entries
power        (matrix,)                       (exponent,): entry by entry
entrywise    (matrix, ...)                   (function,): scalar arguments broadcast
linear       (matrix, ...)                   coefficients
scale        (scalar, ..., matrix)           ()
sum          (matrix,)                       ((index, size), ...)
reduce       (matrix,)                       (function, (index, size), ...): max, min, prod, logsumexp
call         (matrix,)                       (function, parameters ...): a function of the whole matrix
argmask      (scalar,)                       (max or min, ((index, size), ...), place): 1 at the first
hull         (point, points)                 ("hull", (index, size)): distance from a sum of hulls
blocks       (matrix,)                       (row binder, column binder): (index, size) or None
stack        (matrix, ...)                   ("beside" or "above",)
range        (matrix,)                       (rows, columns): (start, length) or None for all
pad          (matrix,)                       (rows, columns) of zeros before it
pick         (matrix,)                       (row, column): index or None
cases        (value, ..., condition args)    (condition, ...)
===========  ==============================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

from lemmax.expr.indices import is_index
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor

ONE: sp.Expr = sp.S.One


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """A node of matrix notation.

    Attributes:
        op: kind, one of the table above.
        args: operands.
        data: what the kind needs beside operands.
        shape: rows and columns, as sizes.
        key: text that tells nodes apart and orders them.
        indices: all index symbols inside, free and bound.
        weight: number of nodes, shared ones counted every time.
        transposes: number of transposition signs.
    """

    op: str
    args: tuple[Node, ...]
    data: tuple[Any, ...]
    shape: tuple[Size, Size]
    key: str
    indices: frozenset[sp.Symbol]
    weight: int
    transposes: int

    def __eq__(self, other: object) -> bool:
        """Equality by text."""
        return isinstance(other, Node) and self.key == other.key

    def __hash__(self) -> int:
        """Hash by text."""
        return hash(self.key)

    def __repr__(self) -> str:
        """Show the text."""
        return self.key


def make(op: str, args: tuple[Node, ...], data: tuple[Any, ...], shape: tuple[Size, Size]) -> Node:
    """Return a node; use the constructors in ``algebra`` where there is one."""
    if op == "linear":  # sums and scalar factors are the same in any order, which is kept for reading only
        inside = ",".join(sorted(f"{text_of(c)}*{a.key}" for c, a in zip(data, args, strict=True)))
    elif op == "scale" and shape == (ONE, ONE):
        inside = ",".join(sorted(a.key for a in args))
    elif op == "scale":
        inside = ",".join([*sorted(a.key for a in args[:-1]), args[-1].key])
    else:
        inside = ",".join(a.key for a in args)
    # the sizes of constants are part of what they are; of all others they follow from the operands
    shown = shape if op in ("eye", "ones", "zeros") else () if op == "linear" else data
    text = f"{op}[{text_of(shown)}]({inside})"
    indices = index_symbols(data)
    for a in args:
        indices |= a.indices
    flips = (op == "transpose") + sum(a.transposes for a in args)
    return Node(op, args, data, shape, text, indices, 1 + sum(a.weight for a in args), flips)


def text_of(data: object) -> str:
    """Return a text of a node's data that does not depend on the hash seed."""
    if isinstance(data, tuple):
        return f"({' '.join(map(text_of, data))})"
    if isinstance(data, Tensor):
        return data.name or f"~{data.digest}"
    return _text_of_expr(data) if isinstance(data, sp.Basic) else str(data)


@lru_cache(maxsize=50_000)
def _text_of_expr(expr: sp.Basic) -> str:
    return str(expr)


def index_symbols(data: object) -> frozenset[sp.Symbol]:
    """Return the index symbols in a node's data."""
    if isinstance(data, tuple):
        found: frozenset[sp.Symbol] = frozenset()
        for item in data:
            found |= index_symbols(item)
        return found
    if isinstance(data, sp.Symbol):
        return frozenset([data]) if is_index(data) else frozenset()
    if isinstance(data, sp.Basic) and not data.is_Atom:
        return frozenset(s for s in data.atoms(sp.Symbol) if is_index(s))
    return frozenset()


def rename(node: Node, swap: Mapping[sp.Symbol, sp.Expr]) -> Node:
    """Return the node with index symbols replaced, binders included (new names must be new)."""
    if not node.indices.intersection(swap):
        return node
    args = tuple(rename(a, swap) for a in node.args)
    return make(node.op, args, _rename_data(node.data, swap), node.shape)


def _rename_data(data: Any, swap: Mapping[sp.Symbol, sp.Expr]) -> Any:
    if isinstance(data, tuple):
        return tuple(_rename_data(item, swap) for item in data)
    if isinstance(data, sp.Symbol):
        return swap.get(data, data)
    return data.xreplace(dict(swap)) if isinstance(data, sp.Basic) else data


def binders(node: Node) -> tuple[tuple[sp.Symbol, Size], ...]:
    """Return the indices that the node binds, with their sizes."""
    if node.op == "sum":
        return node.data
    if node.op in ("reduce", "hull"):
        return node.data[1:]
    if node.op == "blocks":
        return tuple(b for b in node.data if b is not None)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all below it, parents first, left to right."""
    yield node
    for a in node.args:
        yield from walk(a)


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node over changed operands."""
    args = tuple(change(a) for a in node.args)
    return node if args == node.args else make(node.op, args, node.data, node.shape)


def is_scalar(x: Node) -> bool:
    """Is the node a scalar?"""
    return x.shape == (ONE, ONE)


def is_column(x: Node) -> bool:
    """Is the node a column (a scalar is one)?"""
    return bool(x.shape[1] == ONE)


def is_row(x: Node) -> bool:
    """Is the node a row with more than one entry?"""
    return bool(x.shape[0] == ONE and x.shape[1] != ONE)
