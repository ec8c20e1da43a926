r"""Pickling of graphs: a flat list of nodes, operands first, so that deep graphs do not recurse.

A body is stored over placeholders ``_o0, _o1, ...`` for the operands of its node.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import sympy as sp

from lemmax.expr.graph import topological_order
from lemmax.expr.indices import free_indices
from lemmax.expr.nodes import Apply, Derivative, Input, Lambda, Term
from lemmax.expr.tensor import Tensor

Record: TypeAlias = tuple[type[Tensor], tuple[int, ...], tuple[Any, ...]]
"""Kind of a node, positions of its operands in the list, and what else its constructor needs."""


def pack(root: Tensor) -> list[Record]:
    """Return the nodes of a graph, operands first."""
    order = topological_order(root)
    position = {node.digest: p for p, node in enumerate(order)}
    return [(type(node), tuple(position[t.digest] for t in node.operands), _content(node)) for node in order]


def unpack(records: list[Record]) -> Tensor:
    """Return the tensor that :func:`pack` took apart."""
    nodes: list[Tensor] = []
    for kind, positions, content in records:
        nodes.append(_node(kind, tuple(nodes[p] for p in positions), content))
    return nodes[-1]


def _content(node: Tensor) -> tuple[Any, ...]:
    if isinstance(node, Input):
        return node.shape, node.assumptions, node.name
    if isinstance(node, Lambda):
        swap = {t.symbol: _placeholder(p, t) for p, t in enumerate(node.operands)}
        return node.shape, _replace(node.terms, swap), node.name
    if isinstance(node, Apply):
        return node.function, node.shape, node.params, node.name
    assert isinstance(node, Derivative)
    return node.scope, node.name


def _node(kind: type[Tensor], operands: tuple[Tensor, ...], content: tuple[Any, ...]) -> Tensor:
    if kind is Input:
        shape, assumptions, name = content
        return Input(name, shape, assumptions)
    if kind is Lambda:
        shape, terms, name = content
        swap = {_placeholder(p, t): t.symbol for p, t in enumerate(operands)}
        return Lambda(shape, free_indices(len(shape)), _replace(terms, swap), name)
    if kind is Apply:
        function, shape, params, name = content
        return Apply(function, operands, shape, params, name)
    scope, name = content
    return Derivative(operands[0], operands[1], scope, name)


def _placeholder(position: int, t: Tensor) -> sp.Symbol:
    return sp.Symbol(f"_o{position}", real=True, **t.entry_assumptions())


def _replace(terms: tuple[Term, ...], swap: dict[sp.Symbol, sp.Symbol]) -> tuple[Term, ...]:
    # entries of a vector hold an IndexedBase around the symbol, scalars the bare symbol
    bases = {sp.IndexedBase(a): sp.IndexedBase(b) for a, b in swap.items()}
    return tuple(Term(t.bound, t.expr.xreplace({**bases, **swap})) for t in terms)
