r"""The choice among equal readings of a sum of products whose rows or columns are pairs of indices.

As for ordinary matrices, the choice is made for all terms together: which role is opened (the
same axis of the same tensor, so that :math:`\mathrm{Diag}(d_k) - d_k s_k^\top - s_k d_k^\top`
meets in one bracket), how a term of rank one is grouped (as its neighbours are), and whether
:math:`v \odot A w` is written :math:`\mathrm{Diag}(v) A w`, which lets
:math:`(\mathrm{Diag}(s) - s s^\top) A (\mathrm{Diag}(s) - s s^\top)` form.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import entry_tensor
from lemmax.expr.nodes import Input
from lemmax.typeset.algebra import linear
from lemmax.typeset.choice import Reading, item_of, roles_of
from lemmax.typeset.cost import cost
from lemmax.typeset.factoring import Item, Style, combine
from lemmax.typeset.factors import Families, Reader
from lemmax.typeset.graph import Stuck
from lemmax.typeset.hoisting import hoisted
from lemmax.typeset.node import Node
from lemmax.typeset.pair_readings import PairTask, cost_of, pair_readings
from lemmax.typeset.terms import Product, contracted, entries_in, free_of, multiplied
from lemmax.typeset.widening import widened

FamiliesOf = Callable[[Product], Families]
Role = tuple[str, int]
"""An axis of a tensor, by its name."""

Choice = tuple[Reading, bool]
"""A reading, and whether it is widened."""


@dataclass(frozen=True, slots=True)
class Option:
    """A reading of one product and what tells it from others.

    Attributes:
        reading: the reading.
        grouping: which rows and columns meet.
        roles: axes of tensors that are opened.
        kind: the defined tensors in the product, and its deltas: terms of one kind are chosen together.
        cost: cost of reading it alone.
    """

    reading: Reading
    grouping: str
    roles: frozenset[Role]
    kind: tuple[str, ...]
    cost: float


def read_sum(reader: Reader, products: Iterable[Product], task: PairTask, families_of: FamiliesOf) -> Node:
    """Return the sum of products as a matrix.

    Raises:
        Stuck: a product has no reading as a matrix.
    """
    options: list[list[Option]] = []
    for p in products:
        options += _options_of(reader, p, task, families_of)
    return _choose(reader, options, task)


def _options_of(reader: Reader, p: Product, task: PairTask, families_of: FamiliesOf) -> list[list[Option]]:
    """Return the readings of a product; sums inside it are multiplied out as far as that is needed."""
    for every in (False, True):
        found = []
        for q in _spread(reader, p, families_of, every):
            options = _readings(reader, q, task, families_of(q))
            if not options:
                break
            found.append(options)
        else:
            return found
    raise Stuck("no matrix over pairs of indices")


def _spread(reader: Reader, p: Product, families_of: FamiliesOf, every: bool) -> list[Product]:
    """Multiply out the factors that stand at more than two indices (or all that are sums)."""
    todo = [contracted(p, reader.symbols)]
    done: list[Product] = []
    while todo:
        q = todo.pop()
        subscripts = families_of(q)
        for position, factor in enumerate(q.factors):
            if every or len(free_of(factor, subscripts)) > 2:
                parts = multiplied(q, position, reader.symbols, reader.is_atom)
                if parts is not None:
                    todo += [contracted(part, reader.symbols) for part in reversed(parts)]
                    break
        else:
            done.append(q)
    return done


def _readings(reader: Reader, p: Product, task: PairTask, families: Families) -> list[Option]:
    found = []
    kind = _kind_of(p, families)
    roles_at: dict[sp.Symbol, list[Role]] = {}
    for grouping, opened, r in pair_readings(reader, p, task, families):
        roles_at.update({i: roles_of(p, i) for i in opened if i not in roles_at})
        roles = frozenset(role for i in opened for role in roles_at[i])
        found.append(Option(r, grouping, roles, kind, cost_of(r)))
    return found


def _kind_of(p: Product, families: Families) -> tuple[str, ...]:
    entries = (entry_tensor(e) for f in p.factors for e in entries_in(f))
    defined = {t.name or t.digest for t in entries if t is not None and not isinstance(t, Input)}
    deltas = [f for f in p.factors if isinstance(f, sp.KroneckerDelta) and f.free_symbols <= set(families)]
    return (*sorted(defined), "", *sorted(map(str, deltas)))


# -- the joint choice --------------------------------------------------------------------------
def _choose(reader: Reader, options: list[list[Option]], task: PairTask) -> Node:
    assembly = Assembly(reader, task)
    kinds: dict[tuple[str, ...], list[list[Option]]] = {}
    for terms in options:
        kinds.setdefault(terms[0].kind, []).append(terms)
    parts = [assembly.best(_best_of(assembly, members)) for members in kinds.values()]
    shape = task.shape(reader.symbols)
    c, x = combine([part for part in parts if part is not None], shape, Style(apart=True))
    return linear([(c, x)], shape) if x is not None else linear([], shape)


def _best_of(assembly: Assembly, options: list[list[Option]]) -> list[Choice]:
    """Return the readings of terms of one kind that together are cheapest, and whether they are widened."""
    tried: dict[tuple[int, ...], list[Reading]] = {}
    groupings = sorted({o.grouping for terms in options for o in terms})
    avoided = (False, True) if "mixed" in groupings else (False,)  # entrywise products of Kronecker products
    for wanted, grouping, avoid in itertools.product(_wanted(options), groupings, avoided):
        picked = [_with(terms, wanted, grouping, avoid) for terms in options]
        tried.setdefault(tuple(map(id, picked)), picked)
    candidates = [
        [(r, wide) for r in picked]
        for picked in tried.values()
        for wide in (False, True)
        if not wide or any(map(assembly.widens, picked))
    ]
    return min(candidates, key=lambda chosen: assembly.ranked(chosen, Style())[0])


def _wanted(options: list[list[Option]]) -> list[frozenset[Role]]:
    """Return what may be opened in all terms: one axis of a tensor, or two axes of one tensor."""
    single = sorted({role for terms in options for o in terms for role in o.roles})
    both = [
        frozenset(pair)
        for pair in itertools.combinations(single, 2)
        if pair[0][0] == pair[1][0] and any(set(pair) <= o.roles for terms in options for o in terms)
    ]
    return [frozenset({role}) for role in single] + both or [frozenset()]


def _with(options: list[Option], wanted: frozenset[Role], grouping: str, unmixed: bool) -> Reading:
    def rank(o: Option) -> tuple[bool, bool, int, bool, float, str]:
        opened = o.reading.opened
        missed = bool(opened) and not wanted <= o.roles
        mixed = unmixed and o.grouping == "mixed"
        return mixed, missed, len(opened), o.grouping != grouping, o.cost, o.reading.matrix.key

    return min(options, key=rank).reading


class Assembly:
    """Makes a matrix of readings, and says how hard it is to read."""

    def __init__(self, reader: Reader, task: PairTask) -> None:
        """Start with nothing made."""
        self.reader = reader
        self.shape = task.shape(reader.symbols)
        self._items: dict[tuple[int, bool], Item] = {}

    def ranked(self, chosen: list[Choice], style: Style) -> tuple[tuple[float, int, str], Item | None]:
        """Return the sum of readings, and its rank among equal ones."""
        c, x = combine([self._item(r, wide) for r, wide in chosen], self.shape, style)
        if x is None:
            return (0.0, 0, ""), None
        node = hoisted(x)
        whole = linear([(c, node)], self.shape)
        return (round(cost(whole), 3), len(whole.key), whole.key), (c, node)

    def widens(self, r: Reading) -> bool:
        """Does a reading change when it is widened?"""
        return self._item(r, True) is not self._item(r, False)

    def best(self, chosen: list[Choice]) -> Item | None:
        """Return the sum of readings in the style that is easiest to read."""
        styles = itertools.starmap(Style, itertools.product((True, False), repeat=2))
        return min((self.ranked(chosen, style) for style in styles), key=lambda found: found[0])[1]

    def _item(self, r: Reading, wide: bool) -> Item:
        if (id(r), wide) not in self._items:
            form = widened(r) if wide else r
            self._items[id(r), wide] = item_of(form, self.reader.symbols) if form is not r else self._plain(r)
        return self._items[id(r), wide]

    def _plain(self, r: Reading) -> Item:
        if (id(r), False) not in self._items:
            self._items[id(r), False] = item_of(r, self.reader.symbols)
        return self._items[id(r), False]


__all__ = ["PairTask", "read_sum"]
