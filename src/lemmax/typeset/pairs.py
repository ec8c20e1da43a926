r"""A reduced graph with up to four terminals as a matrix: rows are a pair of indices, columns another.

What is left of a term when its summed indices are gone are matrices between the terminals
:math:`(a, b \mid c, e)` and a column on each of them:

* :math:`M_{ac} N_{be} = M \otimes N`;
* :math:`M_{ae} N_{bc} = (M \otimes N) K_{ce}`;
* :math:`M_{ab} N_{ce} = \mathrm{vec}(M) \mathrm{vec}(N)^\top`;
* a terminal without a matrix is a factor at an end: :math:`x_a M_{bc} y_e = x \otimes M \otimes y^\top`;
* all others are entrywise products of these: :math:`M_{ac} N_{bc}` is
  :math:`(M \otimes 1) \odot (1 \otimes N)`.

A product that is of rank one between the terminals has several of these forms.  Which of them is
read depends on the other terms of its sum, so all are returned, by their *grouping*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp

from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import UNIT, diag, hadamard, ones, product, transpose
from lemmax.typeset.graph import Edge
from lemmax.typeset.kronecker import commutation, kron, vec
from lemmax.typeset.node import Node

Indices = tuple[sp.Symbol, ...]


@dataclass
class Reduced:
    """A graph without summed indices.

    Attributes:
        rows: the indices of the rows, one or two, or none.
        columns: the indices of the columns.
        sizes: size of each index.
        edges: matrices between terminals, at most one between two of them.
        vectors: the columns on terminals.
    """

    rows: Indices
    columns: Indices
    sizes: Mapping[sp.Symbol, Size]
    edges: list[Edge] = field(default_factory=list)
    vectors: dict[sp.Symbol, Node] = field(default_factory=dict)

    def groupings(self) -> dict[str, Node]:
        """Return the forms of the matrix by name: the first letters of the terminals that meet."""
        if len(self.rows) <= 1 and len(self.columns) <= 1:
            return {"": self._plain()}
        self._move_along_identities()
        ends = {frozenset((e.tail, e.head)) for e in self.edges}
        found: dict[str, Node] = {}
        if len(self.rows) == len(self.columns) == 2:
            (a, b), (c, e) = self.rows, self.columns
            straight = {frozenset((a, c)), frozenset((b, e))}
            cross = {frozenset((a, e)), frozenset((b, c))}
            if not ends:
                found["ac,be"] = kron(self.block(a, c), self.block(b, e))
            if ends <= {frozenset((a, e))}:
                found["ae"] = kron(self.row(c), self.block(a, e), self.column(b))
            if ends <= {frozenset((b, c))}:
                found["bc"] = kron(self.column(a), self.block(b, c), self.row(e))
            if ends <= cross:
                swap = commutation(self.sizes[c], self.sizes[e])
                found["ae,bc"] = product(kron(self.block(a, e), self.block(b, c)), swap)
            if ends and ends <= straight:
                found["ac,be"] = kron(self.block(a, c), self.block(b, e))
        elif len(self.rows) + len(self.columns) == 3:
            (a, b), (c,) = sorted((self.rows, self.columns), key=len, reverse=True)
            turned = len(self.rows) == 1
            for name, one, other in (("ac", a, b), ("bc", b, a)):
                if ends <= {frozenset((one, c))}:
                    block, single = self.block(one, c), self.column(other)
                    x = kron(block, single) if one == a else kron(single, block)
                    found[name] = transpose(x) if turned else x
        inside = {frozenset(self.rows), frozenset(self.columns)}
        if ends <= inside:
            found["ab,ce"] = product(self.stacked(self.rows), transpose(self.stacked(self.columns)))
        return found or {"mixed": self.mixed()}

    # -- pieces --------------------------------------------------------------------------------
    def column(self, index: sp.Symbol) -> Node:
        """Return what stands on a terminal, as a column."""
        return self.vectors.get(index, ones(self.sizes[index]))

    def row(self, index: sp.Symbol) -> Node:
        """Return what stands on a terminal, as a row."""
        return transpose(self.column(index))

    def edge(self, u: sp.Symbol, w: sp.Symbol) -> Node | None:
        """Return the matrix between two terminals, with ``u`` on its rows."""
        return next((e.seen_from(u) for e in self.edges if e.joins(u, w)), None)

    def block(self, u: sp.Symbol, w: sp.Symbol) -> Node:
        """Return the matrix between two terminals with the columns on them."""
        matrix = self.edge(u, w)
        if matrix is None:
            return product(self.column(u), self.row(w))
        left = [diag(self.vectors[u])] if u in self.vectors else []
        right = [diag(self.vectors[w])] if w in self.vectors else []
        return product(*left, matrix, *right)

    def stacked(self, indices: Indices) -> Node:
        """Return what joins the rows (or the columns) among themselves, as a column."""
        if len(indices) == 2 and self.edge(*indices) is not None:
            return vec(self.block(*indices))
        return kron(*[self.column(i) for i in indices]) if indices else UNIT

    # -- entrywise products --------------------------------------------------------------------
    def mixed(self) -> Node:
        """Return the matrix as ``Diag(vec(M)) (P * Q) Diag(vec(N))``; loose terminals at the ends."""
        busy = {i for e in self.edges for i in (e.tail, e.head)}
        for indices, at in ((self.rows, 0), (self.rows, -1), (self.columns, 0), (self.columns, -1)):
            if indices and indices[at] not in busy and len(busy) < len(self.rows) + len(self.columns):
                return self._peeled(indices, at)
        left, right = (self._weights(indices) for indices in (self.rows, self.columns))
        parts = [self._pattern(us, ws) for us, ws in self._matchings() if self._meets(us, ws)]
        return product(*left, hadamard(*parts), *right)

    def _peeled(self, indices: Indices, at: int) -> Node:
        """Take off a terminal on which no matrix stands."""
        gone = indices[at]
        rest = tuple(i for i in indices if i != gone)
        inner = Reduced(
            rest if indices is self.rows else self.rows,
            rest if indices is self.columns else self.columns,
            self.sizes,
            self.edges,
            self.vectors,
        )
        single = self.column(gone) if indices is self.rows else self.row(gone)
        whole = inner.whole()
        return kron(single, whole) if at == 0 else kron(whole, single)

    def _plain(self) -> Node:
        """Return a matrix over single indices."""
        if self.rows and self.columns:
            return self.block(self.rows[0], self.columns[0])
        return product(self.stacked(self.rows), transpose(self.stacked(self.columns)))

    def whole(self) -> Node:
        """Return one form of the matrix."""
        forms = self.groupings()
        return forms[min(forms)]

    def _weights(self, indices: Indices) -> list[Node]:
        inside = self.edge(*indices) if len(indices) == 2 else None
        weighted = any(i in self.vectors for i in indices)
        if inside is None and not weighted:
            return []
        return [diag(self.stacked(indices))]

    def _matchings(self) -> list[tuple[Sequence[sp.Symbol | None], Sequence[sp.Symbol | None]]]:
        """Return the ways to join rows and columns: straight and crossed."""
        rows, columns = self.rows, self.columns
        if len(rows) == len(columns) == 2:
            return [(rows, columns), (rows, columns[::-1])]
        if len(rows) == 2:
            return [(rows, (columns[0], None)), (rows, (None, columns[0]))]
        return [((rows[0], None), columns), ((None, rows[0]), columns)]

    def _meets(self, us: Sequence[sp.Symbol | None], ws: Sequence[sp.Symbol | None]) -> bool:
        return any(
            u is not None and w is not None and self.edge(u, w) is not None
            for u, w in zip(us, ws, strict=True)
        )

    def _pattern(self, us: Sequence[sp.Symbol | None], ws: Sequence[sp.Symbol | None]) -> Node:
        """Return a Kronecker product of the matrices that join rows and columns in one way."""
        parts = []
        for u, w in zip(us, ws, strict=True):
            matrix = self.edge(u, w) if u is not None and w is not None else None
            up = ones(self.sizes[u]) if u is not None else UNIT
            across = transpose(ones(self.sizes[w])) if w is not None else UNIT
            parts.append(matrix if matrix is not None else product(up, across))
        found = kron(*parts)
        if ws == self.columns[::-1] and len(self.rows) == len(self.columns) == 2:
            return product(found, commutation(self.sizes[self.columns[0]], self.sizes[self.columns[1]]))
        return found

    def _move_along_identities(self) -> None:
        r"""Let :math:`\delta_{ac} M_{ae}` be :math:`\delta_{ac} M_{ce}`: what crosses turns to the inside."""
        for u in self.rows:
            for w in self.columns:
                identity = self.edge(u, w)
                if identity is None or identity.op != "eye":
                    continue
                for end, other, own in ((u, w, self.columns), (w, u, self.rows)):
                    for e in [e for e in self.edges if end in (e.tail, e.head) and e.other_end(end) in own]:
                        far = e.other_end(end)
                        if far == other:
                            continue
                        self.edges = [x for x in self.edges if x is not e]
                        moved, inside = e.seen_from(end), self.edge(other, far)
                        self.edges = [x for x in self.edges if not x.joins(other, far)]
                        whole = moved if inside is None else hadamard(inside, moved)
                        self.edges.append(Edge(other, far, whole))
