r"""From tensors to matrix notation.

:class:`Reader` turns any slice of a tensor (some axes kept, the others fixed as subscripts) into
a tree.  Inputs and named tensors are atoms; index lambdas are read as sums of products;
applications of functions by the table in ``applied``.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.calculus.terms import entry_tensor
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Derivative, Input, Lambda, Term
from lemmax.expr.sizes import is_one
from lemmax.expr.tensor import Tensor
from lemmax.typeset import applied
from lemmax.typeset.algebra import atom, transpose, zeros
from lemmax.typeset.choice import Task, assemble, choose, in_indices, item_of
from lemmax.typeset.factoring import Style
from lemmax.typeset.factors import Families
from lemmax.typeset.layout import Layout
from lemmax.typeset.node import ONE, Node, rename
from lemmax.typeset.pair_choice import PairTask, read_sum
from lemmax.typeset.terms import (
    Product,
    Symbols,
    distributed,
    entries_in,
    free_of,
    loose_indices,
    open_terms,
    products_of,
)


class Reader:
    """Reads tensors as matrix notation, or entry by entry as index notation.

    Attributes:
        root: the tensor that is to be explained; it is read although it has a name.
        by_entries: open all indices: index notation.
        symbols: supply of index symbols.
    """

    def __init__(self, root: Tensor, by_entries: bool = False) -> None:
        """Start with nothing read."""
        self.root = root
        self.by_entries = by_entries
        self.symbols = Symbols()
        self._slices: dict[tuple[str, tuple[bool, ...]], tuple[Node, tuple[sp.Expr | None, ...]]] = {}
        self._families: dict[str, frozenset[int]] = {}

    def is_atom(self, t: Tensor) -> bool:
        """Is the tensor printed by its name (or, a formal derivative, as it is)?"""
        if isinstance(t, Input | Derivative):
            return True
        return t.name is not None and t != self.root

    # -- slices --------------------------------------------------------------------------------
    def slice(self, t: Tensor, slots: tuple[sp.Expr | None, ...]) -> Node:
        """Return a slice of a tensor: ``None`` keeps an axis, an index fixes it.

        The kept axes are rows and columns in their order; one kept axis is a column.
        """
        kept = [p for p, at in enumerate(slots) if at is None]
        single = [p for p in kept if is_one(t.shape[p])]
        if single:  # an axis of size 1 is read at its only place
            inner = self.slice(t, tuple(sp.S.Zero if p in single else at for p, at in enumerate(slots)))
            return transpose(inner) if len(kept) == 2 and kept[0] in single else inner
        if self.is_atom(t):
            return atom(t, slots)
        pattern = (t.digest, tuple(at is None for at in slots))
        if pattern not in self._slices:
            # read once at symbols of its own, which are then replaced by the indices asked for
            own = tuple(
                None if at is None else sp.S.Zero if is_one(s) else self.symbols.fresh(s)
                for s, at in zip(t.shape, slots, strict=True)
            )
            self._slices[pattern] = self._read(t, own), own
        tree, own = self._slices[pattern]
        swap = {
            i: at for i, at in zip(own, slots, strict=True) if isinstance(i, sp.Symbol) and at is not None
        }
        return rename(tree, swap)

    def _read(self, t: Tensor, slots: tuple[sp.Expr | None, ...]) -> Node:
        if isinstance(t, Lambda):
            return self._read_lambda(t, slots)
        assert isinstance(t, Apply)
        return applied.read(self, t, slots)

    def _read_lambda(self, t: Lambda, slots: tuple[sp.Expr | None, ...]) -> Node:
        at = tuple(self.symbols.fresh(s) if e is None else e for s, e in zip(t.shape, slots, strict=True))
        kept = [i for i, e in zip(at, slots, strict=True) if e is None]
        row, column = (*kept, None, None)[:2]
        fixed = frozenset(s for e in slots if e is not None for s in e.free_symbols if is_index(s))
        products = [
            p
            for term in open_terms(t, at, self.symbols)
            for p in products_of(term, self.symbols, self.is_atom)
        ]
        return self.sum(products, Task(row, column, fixed))

    def expression(
        self, expr: sp.Expr, row: sp.Symbol | None, column: sp.Symbol | None, families: Families
    ) -> Node:
        """Return the matrix with entries ``expr`` at ``row`` and ``column``."""
        products = products_of(Term((), expr), self.symbols, self.is_atom)
        return self.sum(products, Task(row, column, frozenset(families)))

    def sum(self, products: list[Product], task: Task) -> Node:
        """Return the sum of products as a matrix over the row and column of the task."""
        if not products:
            rows, columns = (ONE if i is None else self.symbols.sizes[i] for i in (task.row, task.column))
            return zeros(rows, columns)
        if self.by_entries:
            rs = [in_indices(self, p, task, task.families) for p in products]
            return assemble([(r, item_of(r, self.symbols)) for r in rs], task, self.symbols, Style())
        forms = [self._forms(p, task) for p in products]
        shared = self._terminal_families([p for f in forms for p in f[0]], task)
        families = [[self._families_in(form, task, shared) for form in f] for f in forms]
        return choose(self, forms, task, families)

    def paired(self, t: Tensor, layout: Layout, at: Sequence[sp.Expr]) -> Node:
        """Return a tensor as a matrix whose rows and columns are pairs of its axes.

        Args:
            t: the tensor.
            layout: the axes of rows and columns, outermost first.
            at: an index for every axis; those of no row and no column are subscripts, also in expressions.

        Raises:
            Stuck: there is no such matrix form.
        """
        places = tuple(sp.S.Zero if is_one(s) else i for i, s in zip(at, t.shape, strict=True))
        rows, columns = (tuple(at[p] for p in axes) for axes in (layout.rows, layout.columns))
        fixed = frozenset().union(*(i.free_symbols for p, i in enumerate(at) if p not in layout.axes))
        task = PairTask(rows, columns, fixed)
        plain = Task(None, None, fixed)
        if isinstance(t, Lambda) and not self.is_atom(t):
            terms = open_terms(t, places, self.symbols)
        else:
            terms = [Term((), t.entry(*places))]
        products = [p for term in terms for p in products_of(term, self.symbols, self.is_atom)]
        return read_sum(self, products, task, lambda p: frozenset(self._subscripts([p], plain)))

    def _forms(self, p: Product, task: Task) -> list[list[Product]]:
        """Return a product whole, with its widest sums multiplied out, and with all sums multiplied out."""
        forms = [[p]]
        subscripts = self._subscripts([p], task)
        for wide in (lambda f: len(free_of(f, subscripts)) > 2, lambda f: True):
            form = distributed(p, self.symbols, self.is_atom, wide)
            if len(form) > len(forms[-1]) or (form != forms[-1] and form[0].factors != forms[-1][0].factors):
                forms.append(form)
        return forms

    # -- families ------------------------------------------------------------------------------
    def family_axes(self, t: Tensor) -> frozenset[int]:
        """Return the axes whose index is a subscript wherever the tensor is used.

        Leading axes of inputs, named tensors and applications; of an index lambda the axes whose
        index is a subscript in its terms.
        """
        if self.is_atom(t):
            return frozenset(range(max(t.ndim - 2, 0)))
        if t.digest not in self._families:
            if isinstance(t, Apply):
                self._families[t.digest] = applied.family_axes(self, t)
            else:
                assert isinstance(t, Lambda)
                at = tuple(sp.S.Zero if is_one(s) else self.symbols.fresh(s) for s in t.shape)
                terms = open_terms(t, at, self.symbols)
                products = [p for term in terms for p in products_of(term, self.symbols, self.is_atom)]
                subscripts = self._subscripts(
                    products, Task(None, None, frozenset()), loose=len(t.terms) == 1
                )
                self._families[t.digest] = frozenset(p for p, i in enumerate(at) if i in subscripts)
        return self._families[t.digest]

    def _subscripts(self, products: list[Product], task: Task, loose: bool = True) -> set[sp.Symbol]:
        found = set(task.families)
        for factor in (f for p in products for f in p.factors):
            found |= loose_indices(factor) if loose else set()
            for entry in entries_in(factor):
                t = entry_tensor(entry)
                assert t is not None
                axes = self.family_axes(t)
                found |= {i for p, i in enumerate(entry.indices) if p in axes and isinstance(i, sp.Symbol)}
        return found

    def _terminal_families(self, products: list[Product], task: Task) -> set[sp.Symbol]:
        """Return rows and columns that are families of a tensor in one product, hence in all."""
        return self._subscripts(products, task, loose=False) & set(task.terminals)

    def _families_in(self, products: list[Product], task: Task, shared: set[sp.Symbol]) -> Families:
        return frozenset(self._subscripts(products, task) | shared)
