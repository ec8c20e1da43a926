r"""Series-parallel reduction: a product of entries, summed over indices, becomes a matrix expression.

The factors of a term are a graph: nodes are indices, an entry :math:`A_{ij}` is an edge, a
vector :math:`v_i` sits on its node.  The indices of the result are terminals, all others are
summed, and vanish one by one:

* a bare node leaves a scalar: :math:`\sum_i v_i = 1^\top v`;
* a node of degree one leaves a vector on its neighbour: :math:`\sum_j A_{ij} v_j = (A v)_i`;
* two nodes joined to each other only leave a trace, an inner product or a squared norm;
* a node of degree two is a product: :math:`\sum_j A_{ij} v_j B_{jk} = (A\,\mathrm{Diag}(v) B)_{ik}`;
* parallel edges are one: :math:`A_{ij} B_{ij} = (A \odot B)_{ij}`;
* a loop is a vector: :math:`A_{ii} = \mathrm{diag}(A)_i`.

A graph on which nothing applies any more is not series-parallel: :class:`Stuck`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import sympy as sp

from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import (
    UNIT,
    diag,
    diagonal,
    fewest_transposes,
    hadamard,
    inner,
    ones,
    product,
    quadratic,
    trace,
    transpose,
)
from lemmax.typeset.node import ONE, Node


class Stuck(Exception):
    """A term has no matrix form with these indices as subscripts; nothing is wrong with it."""


class Edge(NamedTuple):
    """A matrix between two indices: ``tail`` numbers its rows, ``head`` its columns."""

    tail: sp.Symbol
    head: sp.Symbol
    matrix: Node
    given: bool = False  # as it stands in the term, so that its direction means something

    def seen_from(self, index: sp.Symbol) -> Node:
        """Return the matrix with ``index`` on its rows."""
        return self.matrix if self.tail == index else transpose(self.matrix)

    def other_end(self, index: sp.Symbol) -> sp.Symbol:
        """Return the index at the other end."""
        return self.head if self.tail == index else self.tail

    def joins(self, u: sp.Symbol, v: sp.Symbol) -> bool:
        """Does the edge run between ``u`` and ``v``?"""
        return {self.tail, self.head} == {u, v}


@dataclass(slots=True)
class IndexGraph:
    """The graph of one term.

    Attributes:
        sizes: size of each index.
        inner: summed indices that are still there.
        loops: prefer loops, diag(A B^T), to Hadamard products, (A * B) 1.
        edges: matrices.
        vectors: the column on each index, if any.
        scalars: factors that are finished.
        coefficient: numbers and sizes in front.
    """

    sizes: Mapping[sp.Symbol, Size]
    inner: list[sp.Symbol]
    loops: bool = False
    edges: list[Edge] = field(default_factory=list)
    vectors: dict[sp.Symbol, Node] = field(default_factory=dict)
    scalars: list[Node] = field(default_factory=list)
    coefficient: sp.Expr = ONE

    def add(self, indices: tuple[sp.Symbol, ...], x: Node, given: bool = True) -> None:
        """Add a factor at no, one or two indices."""
        if not indices:
            self.scalars.append(x)
        elif len(indices) == 1:
            self._add_vector(indices[0], x)
        elif indices[0] == indices[1]:
            self._add_vector(indices[0], diagonal(x))
        else:
            self.edges.append(Edge(indices[0], indices[1], x, given))

    def _add_vector(self, index: sp.Symbol, v: Node) -> None:
        self.vectors[index] = hadamard(self.vectors[index], v) if index in self.vectors else v

    def _at(self, index: sp.Symbol) -> list[Edge]:
        return [e for e in self.edges if index in (e.tail, e.head)]

    def _remove(self, *edges: Edge) -> None:
        for gone in edges:
            self.edges = [e for e in self.edges if e is not gone]

    def reduce(self) -> None:
        """Eliminate the summed indices.

        Raises:
            Stuck: the graph is not series-parallel.
        """
        steps = (self._bare, self._pendant, self._pair, self._series, self._parallel)
        while any(step() for step in steps):
            pass
        if self.inner:
            raise Stuck("not series-parallel")

    # -- the steps: each returns whether it did something --------------------------------------
    def _bare(self) -> bool:
        for u in self.inner:
            if not self._at(u):
                self.inner.remove(u)
                if u in self.vectors:
                    self.scalars.append(total(self.vectors.pop(u)))
                else:
                    self.coefficient *= self.sizes[u]  # a sum of equal terms
                return True
        return False

    def _pendant(self) -> bool:
        for u in self.inner:
            if len(edges := self._at(u)) == 1:
                (edge,) = edges
                self.inner.remove(u)
                self._remove(edge)
                v = self.vectors.pop(u, ones(self.sizes[u]))
                self._add_vector(edge.other_end(u), product(transpose(edge.seen_from(u)), v))
                return True
        return False

    def _pair(self) -> bool:
        """Two summed indices joined by two edges and by nothing else."""
        for u in self.inner:
            edges = self._at(u)
            if len(edges) != 2 or (w := edges[0].other_end(u)) != edges[1].other_end(u):
                continue
            if w not in self.inner or len(self._at(w)) != 2:
                continue
            self.inner.remove(u)
            self.inner.remove(w)
            self._remove(*edges)
            if edges[0].given and edges[0].tail == w:
                u, w = w, u
            x, y = (e.seen_from(u) for e in edges)
            if not edges[0].given and x == y:
                x = y = fewest_transposes(x, transpose(x))
            v, z = self.vectors.pop(u, None), self.vectors.pop(w, None)
            self.scalars.append(pair(x, y, v, z, self.loops, (self.sizes[u], self.sizes[w])))
            return True
        return False

    def _series(self) -> bool:
        for u in self.inner:
            edges = self._at(u)
            if len(edges) != 2:
                continue
            a, b = (e.other_end(u) for e in edges)
            if a == b and not (self.loops and any(e.matrix.op == "product" for e in edges)):
                continue
            self.inner.remove(u)
            self._remove(*edges)
            middle = [diag(self.vectors.pop(u))] if u in self.vectors else []
            self.add(
                (a, b), product(transpose(edges[0].seen_from(u)), *middle, edges[1].seen_from(u)), given=False
            )
            return True
        return False

    def _parallel(self) -> bool:
        for position, e in enumerate(self.edges):
            for f in self.edges[position + 1 :]:
                if f.joins(e.tail, e.head):
                    self._remove(e, f)
                    self.edges.append(Edge(e.tail, e.head, hadamard(e.matrix, f.seen_from(e.tail))))
                    return True
        return False

    # -- the result ----------------------------------------------------------------------------
    def result(self, row: sp.Symbol | None, column: sp.Symbol | None) -> Node:
        """Return what joins the terminals: ``Diag(v) A Diag(w)``, ``v w^T``, a vector, or 1."""
        if row is None and column is None:
            return UNIT
        v = self.vectors.get(row) if row is not None else None
        w = self.vectors.get(column) if column is not None else None
        if self.edges:
            (edge,) = self.edges
            assert row is not None
            left = [diag(v)] if v is not None else []
            right = [diag(w)] if w is not None else []
            return product(*left, edge.seen_from(row), *right)
        left_vector = v if v is not None else ones(self.sizes[row]) if row is not None else UNIT
        if column is None:
            return left_vector
        right_vector = w if w is not None else ones(self.sizes[column])
        return product(left_vector, transpose(right_vector))


def total(v: Node) -> Node:
    """Return the sum of the entries of a vector."""
    if v.op == "diagonal":
        return trace(v.args[0])
    if v.op == "hadamard" and len(v.args) == 2:
        return quadratic(product(transpose(v.args[0]), v.args[1]))
    if v.op == "power" and v.data[0] == 2:
        return quadratic(product(transpose(v.args[0]), v.args[0]))
    return quadratic(product(transpose(ones(v.shape[0])), v))


def pair(x: Node, y: Node, v: Node | None, z: Node | None, loops: bool, sizes: tuple[Size, Size]) -> Node:
    r"""Return :math:`\sum_{ij} v_i x_{ij} y_{ij} z_j`."""
    if v is None and z is None:
        return inner(x, y)
    if loops and x != y:
        left = [diag(v)] if v is not None else []
        right = [diag(z)] if z is not None else []
        return trace(product(transpose(x), *left, y, *right))
    v = v if v is not None else ones(sizes[0])
    z = z if z is not None else ones(sizes[1])
    return quadratic(product(transpose(v), hadamard(x, y), z))
