r"""Nodes that bind indices: explicit sums, reductions over subscripts, matrices given by their blocks.

Bound indices get canonical names, ``n#0``, ``n#1``, ... by size, the first that the body does not
use: nodes that differ in the names of bound indices only become equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import sympy as sp

from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import family_sum
from lemmax.typeset.node import Node, make, rename
from lemmax.typeset.terms import Symbols

Binder = tuple[sp.Symbol, Size]
_MOST_ORDERS = 24  # orders of bound indices that are tried; beyond, equal nodes may stay apart


def bind(
    body: Node,
    indices: tuple[sp.Symbol, ...],
    symbols: Symbols,
    wrap: Callable[[Node, tuple[Binder, ...]], Node],
    fixed_order: bool = False,
) -> Node:
    """Return ``wrap(body, binders)`` under canonical names, binders in the order with the smallest text."""
    best: Node | None = None
    orders = iter([indices]) if fixed_order else itertools.islice(_orders(indices, symbols), _MOST_ORDERS)
    for order in orders:
        swap = _canonical_names(order, body, symbols)
        named = tuple((swap[i], symbols.sizes[i]) for i in order)
        found = wrap(rename(body, swap), named)
        if best is None or found.key < best.key:
            best = found
    assert best is not None
    return best


def _canonical_names(
    order: tuple[sp.Symbol, ...], body: Node, symbols: Symbols
) -> dict[sp.Symbol, sp.Symbol]:
    taken = set(body.indices - set(order))
    swap: dict[sp.Symbol, sp.Symbol] = {}
    for i in order:
        size = symbols.sizes[i]
        names = (sp.Symbol(f"{size}#{k}", integer=True) for k in itertools.count())
        name = next(s for s in names if s not in taken)
        taken.add(name)
        symbols.sizes[name] = size
        swap[i] = name
    return swap


def _orders(indices: tuple[sp.Symbol, ...], symbols: Symbols) -> Iterator[tuple[sp.Symbol, ...]]:
    """Yield orders of indices: sizes in a fixed order, indices of one size in all orders."""
    by_size: dict[str, list[sp.Symbol]] = {}
    for i in indices:
        by_size.setdefault(str(symbols.sizes[i]), []).append(i)
    groups = [list(itertools.permutations(by_size[s])) for s in sorted(by_size)]
    for choice in itertools.product(*groups):
        yield tuple(i for group in choice for i in group)


def canonical_sum(body: Node, summed: tuple[sp.Symbol, ...], symbols: Symbols) -> Node:
    """Return the sum of ``body`` over subscripts."""
    return bind(body, summed, symbols, family_sum) if summed else body


def reduction(function: str, body: Node, over: tuple[sp.Symbol, ...], symbols: Symbols) -> Node:
    """Return the maximum, minimum, product or log-sum-exp of ``body`` over subscripts, entry by entry."""
    return bind(body, over, symbols, lambda x, b: make("reduce", (x,), (function, *b), x.shape))


def blocks(body: Node, row: sp.Symbol | None, column: sp.Symbol | None, symbols: Symbols) -> Node:
    """Return the matrix whose blocks, numbered by ``row`` and ``column``, are ``body``."""
    opened = tuple(i for i in (row, column) if i is not None)
    if not opened:
        return body

    def wrap(x: Node, binders: tuple[Binder, ...]) -> Node:
        left = iter(binders)
        pair = tuple(next(left) if i is not None else None for i in (row, column))
        shape = [s if b is None else sp.expand(s * b[1]) for s, b in zip(x.shape, pair, strict=True)]
        return make("blocks", (x,), pair, (shape[0], shape[1]))

    return bind(body, opened, symbols, wrap, fixed_order=True)
