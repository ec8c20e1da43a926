r"""Stage 2: definitions become operations on arrays.

Input: a :class:`~lemmax.codegen.lower.Program`.  Output: the values of its outputs, all made in
one pool, so that what two outputs share is computed once.  Products are contracted in the order
that costs least; a part of a product that an earlier definition has computed is free.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

import sympy as sp

from lemmax.codegen import applied
from lemmax.codegen.contract import contract, sum_out
from lemmax.codegen.elementwise import Reader
from lemmax.codegen.labels import Frame, Label, Labelled, align, combine
from lemmax.codegen.lower import Definition, Product, Program, labels_of
from lemmax.codegen.order import Tree, best_order, representative
from lemmax.codegen.values import Pool, Value
from lemmax.errors import UnsupportedYet
from lemmax.expr.indices import bound_index
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.tensor import Tensor

_MOST_ORDERS = 24  # of equal factors that are tried for the canonical form of a product

Key = tuple[object, ...]


class Planner:
    """Builds the values of a program.

    Attributes:
        pool: all values.
        names: name of the tensor that a value belongs to, by value number; the first one wins.
        tensors: the tensor behind each named value, for comments.
    """

    def __init__(self, program: Program, extents: dict[sp.Symbol, int]) -> None:
        """Plan ``program``, comparing costs at the sizes ``extents``."""
        self.pool = Pool()
        self.names: dict[int, str] = {}
        self.tensors: dict[int, Tensor] = {}
        self._program = program
        self._extents = extents
        self._arrays: dict[str, Value] = {}
        self._available: dict[Key, Labelled] = {}

    def run(self) -> list[Value]:
        """Return the values of the outputs."""
        for t in self._program.inputs:
            self._arrays[t.digest] = self.pool.make("input", (), (t.name,), t.shape)
        for definition in self._program.definitions:
            t = definition.tensor
            value = self._define(definition)
            self._arrays[t.digest] = value
            if t.name is not None and value.op not in ("input", "number"):
                self.names.setdefault(value.number, t.name)
            self.tensors.setdefault(value.number, t)
        return [self._arrays[t.digest] for t in self._program.outputs]

    def _array(self, t: Tensor) -> Value:
        return self._arrays[t.digest]

    def _define(self, definition: Definition) -> Value:
        t = definition.tensor
        if isinstance(t, Apply):
            return applied.build(self.pool, t, [self._array(o) for o in t.operands])
        if not isinstance(t, Lambda):
            raise UnsupportedYet(f"code for {t.label()}: no reading is known for {type(t).__name__}.")
        free = tuple(zip(t.indices, t.shape, strict=True))
        if not definition.products:
            return self.pool.broadcast(self.pool.number(0), t.shape)
        parts = [self._product(p, free) for p in definition.products]
        aligned = [align(self.pool, part, t.indices) for part in parts]
        return self.pool.broadcast(self.pool.add(aligned), t.shape)

    def _product(self, product: Product, free: tuple[tuple[Label, sp.Expr], ...]) -> Labelled:
        """Return one summand: what carries a summed index is contracted, the rest is multiplied in afterwards."""
        sizes = {**dict(free), **dict(product.bound)}
        frame = Frame(sizes, tuple(sizes))
        reader = Reader(self.pool, frame, self._array)
        bound = {i for i, _ in product.bound}
        inside = [f for f in product.factors if labels_of(f) & bound]
        outside = [f for f in product.factors if not labels_of(f) & bound]
        items: list[Labelled] = []
        if inside:
            items.append(self._contract([reader.read(f) for f in inside], {i for i, _ in free}, frame))
        if outside:
            items.append(reader.read(sp.Mul(*outside)))
        values, labels = combine(self.pool, frame, items)
        return Labelled(self.pool.scale(product.coefficient, self.pool.multiply(values)), labels)

    def _contract(self, factors: Sequence[Labelled], keep: Collection[Label], frame: Frame) -> Labelled:
        """Contract factors over all labels that are not in ``keep``, in the cheapest order."""
        everything = frozenset(range(len(factors)))

        def extent(label: Label) -> float:
            return representative(frame.sizes[label], self._extents)

        def kept_by(chosen: frozenset[int]) -> set[Label]:
            outside = set(keep).union(*[factors[p].labels for p in everything - chosen])
            return outside.intersection(*[set().union(*[factors[p].labels for p in chosen])])

        def key_of(chosen: frozenset[int]) -> tuple[Key, dict[Label, Label]]:
            return self._canonical([factors[p] for p in sorted(chosen)], kept_by(chosen))

        def available(chosen: frozenset[int]) -> bool:
            return key_of(chosen)[0] in self._available

        tree = best_order(factors, keep, frame, extent, available)
        result, _ = self._evaluate(tree, factors, frame, kept_by, key_of)
        return sum_out(self.pool, result, [x for x in result.labels if x not in keep])

    def _evaluate(
        self,
        tree: Tree,
        factors: Sequence[Labelled],
        frame: Frame,
        kept_by: Callable[[frozenset[int]], set[Label]],
        key_of: Callable[[frozenset[int]], tuple[Key, dict[Label, Label]]],
    ) -> tuple[Labelled, frozenset[int]]:
        if isinstance(tree, int):
            return factors[tree], frozenset([tree])
        if isinstance(tree, frozenset):
            key, numbering = key_of(tree)
            known = self._available[key]
            back = {new: old for old, new in numbering.items()}
            return Labelled(known.value, tuple(back[x] for x in known.labels)), tree
        (a, left), (b, right) = (self._evaluate(part, factors, frame, kept_by, key_of) for part in tree)
        chosen = left | right
        kept = kept_by(chosen)
        a, b = self._in_order(a, b, kept, frame, _rowness(factors))
        result = contract(self.pool, frame, a, b, kept)
        key, numbering = key_of(chosen)
        self._available.setdefault(key, Labelled(result.value, tuple(numbering[x] for x in result.labels)))
        return result, chosen

    def _in_order(self, a: Labelled, b: Labelled, result: set[Label], frame: Frame, rowness: dict[Label, float]) -> tuple[Labelled, Labelled]:
        """Put left the operand that reads better there: few transposes, then labels of rows before those of columns."""
        place = {label: p for p, label in enumerate(frame.order)}
        inner = [x for x in a.labels if x in b.labels and x not in result]

        def merit(left: Labelled, right: Labelled) -> tuple[float, ...]:
            rows = [x for x in left.labels if x not in right.labels]
            columns = [x for x in right.labels if x not in left.labels]
            if not rows or not columns:
                return (0.0,)
            transposes = 0
            if len(inner) == 1:
                transposes += left.labels[-1] != inner[0]
                transposes += right.labels[-2:-1] != (inner[0],)
            likely = rowness[columns[-1]] - rowness[rows[-1]] if len(inner) == 1 else 0.0
            return float(transposes), likely, float(max(place[x] for x in rows) > max(place[x] for x in columns))

        return (b, a) if merit(b, a) < merit(a, b) else (a, b)

    def _canonical(self, factors: Sequence[Labelled], kept: set[Label]) -> tuple[Key, dict[Label, Label]]:
        """Return a key equal for products that differ in the names of labels only, and the renaming to it."""
        ordered = sorted(factors, key=lambda f: f.value.number)
        groups = [list(g) for _, g in itertools.groupby(ordered, key=lambda f: f.value.number)]
        orders = itertools.islice(
            itertools.product(*[itertools.permutations(group) for group in groups]), _MOST_ORDERS
        )
        best: tuple[Key, dict[Label, Label]] | None = None
        best_text: tuple[object, ...] = ()
        for choice in orders:
            numbering: dict[Label, int] = {}
            parts = []
            for factor in itertools.chain(*choice):
                at = tuple(numbering.setdefault(x, len(numbering)) for x in factor.labels)
                parts.append((factor.value.number, at))
            key: Key = (tuple(parts), tuple(sorted(numbering[x] for x in kept)))
            if best is None or key < best_text:
                best_text = key
                best = (key, {x: bound_index(n) for x, n in numbering.items()})
        assert best is not None
        return best


def _rowness(factors: Sequence[Labelled]) -> dict[Label, float]:
    """Return, for each label, how far from the last axis it stands on average: columns near 0, rows near 1."""
    found: dict[Label, list[int]] = {}
    for factor in factors:
        for p, label in enumerate(reversed(factor.labels)):
            found.setdefault(label, []).append(min(p, 1))
    return {label: sum(at) / len(at) for label, at in found.items()}
