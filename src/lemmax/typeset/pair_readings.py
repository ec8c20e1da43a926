r"""Readings of one product whose rows or columns are a pair of indices.

Summed indices are eliminated as usual.  Where the graph is stuck, an index of the core that is
left is opened: it becomes a subscript under an explicit sum, :math:`\sum_k x_k x_k^\top \otimes A_k`.
An opened row or column leaves a unit vector in its place, :math:`\sum_k e_k e_k^\top \otimes A_k`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import entry_tensor
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import bare
from lemmax.typeset.choice import Reading, finished_scalars
from lemmax.typeset.cost import cost
from lemmax.typeset.factors import Families, Reader, place
from lemmax.typeset.graph import IndexGraph, Stuck
from lemmax.typeset.node import ONE, make
from lemmax.typeset.pairs import Indices, Reduced
from lemmax.typeset.terms import Product, Symbols, free_of

_OPENED = 1.5  # cost of a subscript that another reading would do without


@dataclass(frozen=True, slots=True)
class PairTask:
    """What is to be read: the indices of rows and columns, and the subscripts.

    Attributes:
        rows: indices of the rows, outermost first.
        columns: indices of the columns.
        families: free subscripts.
    """

    rows: Indices
    columns: Indices
    families: frozenset[sp.Symbol]

    @property
    def terminals(self) -> Indices:
        """The indices of rows and columns."""
        return self.rows + self.columns

    def shape(self, symbols: Symbols) -> tuple[Size, Size]:
        """Return the shape of the matrix."""
        rows, columns = (
            sp.expand(sp.Mul(*[symbols.sizes[i] for i in group])) for group in (self.rows, self.columns)
        )
        return rows, columns


# -- one product -------------------------------------------------------------------------------
def pair_readings(
    reader: Reader, p: Product, task: PairTask, families: Families
) -> list[tuple[str, tuple[sp.Symbol, ...], Reading]]:
    """Return the readings with as few opened indices as possible, as (grouping, opened, reading)."""
    found: list[tuple[str, tuple[sp.Symbol, ...], Reading]] = []
    always = tuple(i for i in task.terminals if i in families)
    for level in _levels(reader, p, task, families):
        for opened in level:
            with contextlib.suppress(Stuck):
                forms = _read(reader, p, task, families, always + opened)
                found += [(grouping, opened, r) for grouping, r in forms]
        if found:
            break
    for _, opened, _ in list(found):
        # both indices of a kernel: (q_k - k_l)(q_k - k_l)^T needs two subscripts
        for more in _partners(p, families, opened) if len(opened) == 1 else ():
            with contextlib.suppress(Stuck):
                forms = _read(reader, p, task, families, (*always, *opened, more))
                found += [(grouping, (*opened, more), r) for grouping, r in forms]
    if found and all(grouping == "mixed" for grouping, _, _ in found):
        free = [i for i in task.terminals if i not in families]
        for i in free:  # an opened terminal does without entrywise products
            opened = (*found[0][1], i)
            with contextlib.suppress(Stuck):
                forms = _read(reader, p, task, families, always + opened)
                found += [(grouping, opened, r) for grouping, r in forms]
    return found


def _partners(p: Product, families: Families, opened: tuple[sp.Symbol, ...]) -> list[sp.Symbol]:
    """Return the summed indices that stand beside an opened one in what is no input."""
    found: list[sp.Symbol] = []
    for factor in p.factors:
        if isinstance(entry_tensor(factor), Input):
            continue
        free = free_of(factor, families)
        if set(opened) & set(free):
            found += [i for i in free if i in p.bound and i not in opened and i not in found]
    return found


def _levels(
    reader: Reader, p: Product, task: PairTask, families: Families
) -> Iterator[list[tuple[sp.Symbol, ...]]]:
    """Yield what may be opened, the fewest indices first; in the end all that is left is opened."""
    yield [()]
    core = _core(reader, p, task, families, ())
    terminals = [i for i in task.terminals if i not in families]
    inner = [i for i in core if i not in terminals]
    yield [(i,) for i in inner]
    yield [(i,) for i in terminals if i in core] + list(itertools.combinations(inner, 2))
    opened: tuple[sp.Symbol, ...] = ()
    while True:
        left = _core(reader, p, task, families, opened)
        if not left:
            break
        opened = (*opened, left[0])
        yield [opened]


def _core(
    reader: Reader, p: Product, task: PairTask, families: Families, opened: tuple[sp.Symbol, ...]
) -> list[sp.Symbol]:
    """Return the indices on which a reduction is stuck, those with most matrices first."""
    subscripts = {*families, *opened}
    wide = [f for f in p.factors if len(free_of(f, subscripts)) > 2]
    if wide:
        return sorted({i for f in wide for i in free_of(f, subscripts)}, key=str)
    try:
        graph = _graph(reader, p, task, subscripts)
    except Stuck:
        return sorted({i for f in p.factors for i in free_of(f, subscripts)}, key=str)
    try:
        graph.reduce()
    except Stuck:
        near = {e.other_end(i) for i in graph.inner for e in graph.edges if i in (e.tail, e.head)}
        degree = {
            i: sum(i in (e.tail, e.head) for e in graph.edges)
            for i in [*graph.inner, *(t for t in task.terminals if t in near)]
        }
        return sorted(degree, key=lambda i: (i in task.terminals, -degree[i], str(i)))
    return []


def _graph(reader: Reader, p: Product, task: PairTask, subscripts: set[sp.Symbol]) -> IndexGraph:
    inner = [i for i in p.bound if i not in subscripts]
    graph = IndexGraph(reader.symbols.sizes, inner)
    for factor in p.factors:
        indices, x = place(reader, factor, subscripts)
        c, scalars, x = bare(x)
        graph.coefficient *= c
        graph.scalars += scalars
        if any(i not in inner and i not in task.terminals for i in indices):
            raise Stuck("an index that is neither free nor summed")
        graph.add(indices, x)
    return graph


def _read(
    reader: Reader, p: Product, task: PairTask, families: Families, opened: tuple[sp.Symbol, ...]
) -> list[tuple[str, Reading]]:
    subscripts = {*families, *opened}
    graph = _graph(reader, p, task, subscripts)
    for i in task.terminals:
        if i in opened:
            graph.add((i,), make("unit", (), (i,), (reader.symbols.sizes[i], ONE)))
    graph.reduce()
    c, scalars = finished_scalars(graph.scalars)
    scalars.sort(key=lambda x: (x.weight, x.key))
    summed = tuple(i for i in (*p.bound, *task.terminals) if i in subscripts)
    reduced = Reduced(task.rows, task.columns, reader.symbols.sizes, graph.edges, graph.vectors)
    found = []
    for grouping, x in reduced.groupings().items():
        k, more, x = bare(x)
        coefficient = p.coefficient * graph.coefficient * c * k
        found.append((grouping, Reading(coefficient, x, (*scalars, *more), summed, opened, ())))
    return found


def cost_of(r: Reading) -> float:
    """Return the cost of a reading alone."""
    return cost(r.matrix, *r.scalars) + _OPENED * len(r.opened)
