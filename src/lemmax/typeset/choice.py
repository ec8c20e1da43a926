r"""The choice among equal readings of a sum of products, made for all its terms together.

A term may have several readings: which index is opened (becomes a subscript under an explicit
sum) where no matrix form exists without; loops or Hadamard products; sums inside a product kept
whole or multiplied out; the sign of a bracket.  Term by term the smallest reading is right but
ugly, as brackets that could be shared do not meet.  So all combinations are assembled, and the
one that is cheapest to read, shared parts counted once, is kept.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, replace

import sympy as sp

from lemmax.calculus.terms import entry_tensor
from lemmax.expr.indices import is_index
from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import UNIT, bare, linear, scale
from lemmax.typeset.binding import blocks, canonical_sum
from lemmax.typeset.cost import cost
from lemmax.typeset.factoring import Item, Style, combine
from lemmax.typeset.factors import Families, Reader, place
from lemmax.typeset.graph import IndexGraph, Stuck
from lemmax.typeset.node import ONE, Node
from lemmax.typeset.terms import Product, Symbols, entries_in

_MOST_OPENED = 2  # more than two explicit sums are no longer searched for: the term goes into indices
_OPENED = 1.5  # cost of a subscript that another reading would do without
_OPENED_TERMINAL = 0.5  # cost of opening a row or column of the result: a bracket, if anything


@dataclass(frozen=True, slots=True)
class Reading:
    """One matrix form of one product.

    Attributes:
        coefficient: number and sizes in front.
        matrix: what stands at the terminals.
        scalars: factors that are scalars.
        summed: subscripts that are summed.
        opened: indices that were made subscripts for this reading.
        terminals: those of ``opened`` that number rows or columns of the result.
    """

    coefficient: sp.Expr
    matrix: Node
    scalars: tuple[Node, ...]
    summed: tuple[sp.Symbol, ...]
    opened: tuple[sp.Symbol, ...]
    terminals: tuple[sp.Symbol, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be read: rows and columns of the result, and its subscripts.

    Attributes:
        row: index of the rows, if there are several.
        column: index of the columns, if there are several.
        families: free subscripts.
    """

    row: sp.Symbol | None
    column: sp.Symbol | None
    families: frozenset[sp.Symbol]

    @property
    def terminals(self) -> tuple[sp.Symbol, ...]:
        """The indices of rows and columns."""
        return tuple(i for i in (self.row, self.column) if i is not None)


# -- readings of one product -------------------------------------------------------------------
def read_product(
    reader: Reader, p: Product, task: Task, families: Families, opened: tuple[sp.Symbol, ...], loops: bool
) -> Reading:
    """Return the reading of a product in which some indices are opened.

    Raises:
        Stuck: it has none.
    """
    subscripts = {*families, *opened}
    everything = tuple(i for i in (*p.bound, *task.terminals) if i not in families)
    inner = [i for i in p.bound if i not in subscripts]
    graph = IndexGraph(reader.symbols.sizes, inner, loops)
    coefficient = p.coefficient
    for factor in p.factors:
        indices, x = place(reader, factor, subscripts)
        c, scalars, x = bare(x)
        coefficient *= c
        graph.scalars += scalars
        if any(i not in inner and i not in task.terminals for i in indices):
            raise Stuck("an index that is neither free nor summed")
        graph.add(indices, x)
    graph.reduce()
    row, column = (None if i in subscripts else i for i in (task.row, task.column))
    c, scalars = finished_scalars(graph.scalars)
    if opened != everything:  # in index notation factors stay in the order of the product
        scalars.sort(key=lambda x: (x.weight, x.key))
    summed = tuple(i for i in p.bound if i in subscripts)
    terminals = tuple(i for i in task.terminals if i in subscripts)
    return Reading(coefficient * c, graph.result(row, column), tuple(scalars), summed, opened, terminals)


def finished_scalars(found: list[Node]) -> tuple[sp.Expr, list[Node]]:
    """Return scalar factors as a coefficient in sizes and numbers, and the rest."""
    coefficient: sp.Expr = ONE
    scalars: list[Node] = []
    for s in found:
        c, more, rest = bare(s)
        coefficient *= c
        for x in (*more, rest):
            if x.op == "number" and not x.indices:
                coefficient *= x.data[0]
            else:
                scalars.append(x)
    return coefficient, scalars


def readings(reader: Reader, p: Product, task: Task, families: Families, loops: bool) -> list[Reading]:
    """Return the readings with as few opened indices as possible, at most ``_MOST_OPENED``; maybe none.

    If an index must be opened, opening all terminals (entries in a bracket) is a reading as well.
    """
    candidates = [i for i in (*p.bound, *task.terminals) if i not in families]
    entries = tuple(i for i in task.terminals if i not in families)
    found: dict[tuple[sp.Symbol, ...], Reading] = {}
    for count in range(min(_MOST_OPENED, len(candidates)) + 1):
        for opened in itertools.chain(itertools.combinations(candidates, count), [entries] if count else []):
            if opened not in found:
                with contextlib.suppress(Stuck):
                    found[opened] = read_product(reader, p, task, families, opened, loops)
        if found:
            break
    return list(found.values())


def in_indices(reader: Reader, p: Product, task: Task, families: Families) -> Reading:
    """Return the reading with all indices opened: index notation."""
    opened = tuple(i for i in (*p.bound, *task.terminals) if i not in families)
    ordered = replace(p, factors=tuple(along_chain(list(p.factors), set(p.bound))))
    return read_product(reader, ordered, task, families, opened, loops=False)


def along_chain(factors: list[sp.Expr], bound: set[sp.Symbol]) -> list[sp.Expr]:
    r"""Return factors in the order of a matrix product: :math:`X_{ij} W_{jk}`, not :math:`W_{jk} X_{ij}`.

    The walk starts at a free index that one factor has, and goes on along indices that two have.
    """
    indices = [[i for i in f.free_symbols if is_index(i)] for f in factors]
    places = [[i for e in entries_in(f) for i in e.indices if isinstance(i, sp.Symbol)] for f in factors]
    count = {i: sum(i in own for own in indices) for own in indices for i in own}
    free = sorted((i for i in count if i not in bound and count[i] == 1), key=str)
    order = [p for p, own in enumerate(indices) if not own]  # scalars come first
    left = [p for p, own in enumerate(indices) if own]
    current = free[0] if free else None
    while left:
        here = [p for p in left if current in places[p]] or left
        # of two factors with the index, the one that has it in front continues the product
        best = min(here, key=lambda p: (current is not None and places[p][-1:] == [current], p))
        order.append(best)
        left.remove(best)
        onward = [i for i in places[best] if i != current and count[i] == 2 and i in bound]
        current = onward[-1] if onward else None
    return [factors[p] for p in order]


# -- from readings to a node -------------------------------------------------------------------
def item_of(r: Reading, symbols: Symbols) -> Item:
    """Return a reading as coefficient and node, scalars with sums of their own apart."""
    parts = [*r.scalars, r.matrix]
    groups: list[tuple[set[sp.Symbol], list[Node]]] = []
    for x in parts:
        own = set(r.summed) & x.indices
        joined = [g for g in groups if g[0] & own]
        merged = (own.union(*[g[0] for g in joined]), [*[y for g in joined for y in g[1]], x])
        groups = [g for g in groups if g not in joined] + [merged]
    outside: list[Node] = []
    main = UNIT
    for own, members in groups:
        has_matrix = any(x is r.matrix for x in members)
        scalars = [x for x in members if x is not r.matrix]
        body = scale(scalars, r.matrix if has_matrix else UNIT)
        ordered = tuple(i for i in r.summed if i in own)
        summed = canonical_sum(body, ordered, symbols)
        if has_matrix and (summed.shape != (ONE, ONE) or main is UNIT):
            main = summed
        else:
            outside.append(summed)
    # a sum over an index that nothing depends on is a factor: its size
    absent = [symbols.sizes[i] for i in r.summed if not any(i in own for own, _ in groups)]
    return r.coefficient * sp.Mul(*absent), scale([x for x in outside if x != UNIT], main)


def assemble(chosen: list[tuple[Reading, Item]], task: Task, symbols: Symbols, style: Style) -> Node:
    """Return the sum of readings; those with the same opened terminals share one bracket."""
    groups: dict[tuple[sp.Symbol, ...], list[Item]] = {}
    for r, item in chosen:
        groups.setdefault(r.terminals, []).append(item)
    parts: list[Item] = []
    for opened, items in groups.items():
        shape = _shape(task, opened, symbols)
        c, x = combine(items, shape, style)
        if x is None:
            continue
        if opened:
            c, x = sp.S.One, bracket(linear([(c, x)], shape), task, opened, symbols)
        parts.append((c, x))
    whole = _shape(task, (), symbols)
    c, x = combine(parts, whole, style)
    return linear([(c, x)], whole) if x is not None else linear([], whole)


def _shape(task: Task, opened: tuple[sp.Symbol, ...], symbols: Symbols) -> tuple[Size, Size]:
    sizes = [ONE if i is None or i in opened else symbols.sizes[i] for i in (task.row, task.column)]
    return sizes[0], sizes[1]


def bracket(body: Node, task: Task, opened: tuple[sp.Symbol, ...], symbols: Symbols) -> Node:
    """Return the matrix whose rows, columns or entries are ``body`` at the opened indices."""
    row, column = (i if i in opened else None for i in (task.row, task.column))
    return blocks(body, row, column, symbols)


# -- the joint choice --------------------------------------------------------------------------
def choose(
    reader: Reader, alternatives: list[list[list[Product]]], task: Task, families: list[list[Families]]
) -> Node:
    """Return the cheapest node for a sum.

    Args:
        reader: the reader of tensors.
        alternatives: per summand its forms, each a list of products (kept whole, or multiplied out).
        task: rows, columns and subscripts of the result.
        families: per summand and form, the subscripts of its products.
    """
    best: tuple[tuple[float, int, str], Node] | None = None
    seen: set[str] = set()
    for loops in (False, True):
        pairs = zip(alternatives, families, strict=True)
        bundles = [_bundles(reader, forms, task, fams, loops) for forms, fams in pairs]
        roles = {role for options in bundles for option in options for role in option.roles}
        items: dict[int, Item] = {}
        tried: set[tuple[int, ...]] = set()
        for role in sorted(roles) or [("", 0)]:
            picked = [r for options in bundles for r in _with_role(options, role).readings]
            identity = tuple(map(id, picked))
            if identity in tried:
                continue
            tried.add(identity)
            for r in picked:
                if id(r) not in items:
                    items[id(r)] = item_of(r, reader.symbols)
            chosen = [(r, items[id(r)]) for r in picked]
            for style in itertools.starmap(Style, itertools.product((True, False), repeat=2)):
                node = assemble(chosen, task, reader.symbols, style)
                if node.key in seen:
                    continue
                seen.add(node.key)
                rank = (round(cost(node), 3), len(node.key), node.key)
                if best is None or rank < best[0]:
                    best = rank, node
    assert best is not None
    return best[1]


@dataclass(frozen=True, slots=True)
class Bundle:
    """One way to read one summand: a reading for each of its products.

    Attributes:
        readings: the readings.
        roles: axes of tensors that are opened, as (name, axis).
        opened: how many indices are opened at most.
        cost: cost of reading them apart.
        text: text, to break ties.
    """

    readings: tuple[Reading, ...]
    roles: frozenset[tuple[str, int]]
    opened: int
    cost: float
    text: str


def _with_role(options: list[Bundle], role: tuple[str, int]) -> Bundle:
    return min(options, key=lambda o: (o.opened > 0 and role not in o.roles, o.cost, o.text))


def _bundles(
    reader: Reader, forms: list[list[Product]], task: Task, families: list[Families], loops: bool
) -> list[Bundle]:
    found: list[Bundle] = []
    for products, fams in zip(forms, families, strict=True):
        if found and min(o.opened for o in found) == 0:
            break  # what needs no opened index is never multiplied out
        per_product = [
            readings(reader, p, task, fams, loops) or [in_indices(reader, p, task, fams)] for p in products
        ]
        if len(products) == 1:
            found += [_bundle([r], products, reader) for r in per_product[0]]
        else:
            found.append(_bundle([min(rs, key=_cost_of) for rs in per_product], products, reader))
    return found


def _cost_of(r: Reading) -> tuple[int, float, str]:
    return len(r.opened), cost(r.matrix, *r.scalars), r.matrix.key


def _bundle(rs: list[Reading], products: list[Product], reader: Reader) -> Bundle:
    pairs = zip(rs, products, strict=True)
    roles = frozenset(role for r, p in pairs for i in r.opened for role in roles_of(p, i))
    whole = sum(cost(r.matrix, *r.scalars) for r in rs)
    whole += sum(_OPENED_TERMINAL if i in r.terminals else _OPENED for r in rs for i in r.opened)
    return Bundle(tuple(rs), roles, max(len(r.opened) for r in rs), whole, "|".join(r.matrix.key for r in rs))


def roles_of(p: Product, index: sp.Symbol) -> list[tuple[str, int]]:
    """Return the axes of tensors on which an index stands."""
    found = []
    for factor in p.factors:
        for entry in entries_in(factor):
            t = entry_tensor(entry)
            assert t is not None
            found += [(t.name or "", position) for position, i in enumerate(entry.indices) if i == index]
    return found
