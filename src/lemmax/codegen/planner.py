r"""Stage 2: definitions become operations on arrays.

Input: a :class:`~lemmax.codegen.lower.Program`.  Output: the values of its outputs, all made in
one pool, so that what two outputs share is computed once.  Products are contracted in the order
that costs least; a part of a product that an earlier definition has computed is free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sympy as sp

from lemmax.codegen import applied
from lemmax.codegen.contract import contract, hadamard, sum_out
from lemmax.codegen.diagonals import LEAST_AXES, on_diagonal
from lemmax.codegen.elementwise import Reader
from lemmax.codegen.factoring import Factored, common_factors
from lemmax.codegen.forms import Choice
from lemmax.codegen.fusion import fuse_products
from lemmax.codegen.gathering import gather_products
from lemmax.codegen.labels import Frame, Label, Labelled, align
from lemmax.codegen.lower import Definition, Product, Program, labels_of
from lemmax.codegen.order import ENTRYWISE, Decided, Order, Tree, cheapest, representative, step_cost
from lemmax.codegen.orientation import orient
from lemmax.codegen.passes import save_passes
from lemmax.codegen.row_major import copy_transposed
from lemmax.codegen.scaling import scale_small_operands
from lemmax.codegen.shared import SharedProducts
from lemmax.codegen.values import Pool, Value, constant
from lemmax.codegen.views import fresh_outputs, reachable, without_idle_pins
from lemmax.errors import UnsupportedYet
from lemmax.expr.domains import FULL_RANK, Guard
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor

_CHEAPEST = "fewest operations at representative sizes"

Ranges = tuple[tuple[Label, Size], ...]


class Planner:
    """Builds the values of a program.

    Attributes:
        pool: all values.
        names: name of the tensor that a value belongs to, by value number; the first one wins.
        tensors: the tensor behind each value that is one, for comments.
        choices: decisions with their reasons.
        sources: the product that a part of a larger one was, by number of the part, for its name.
        decided: contractions of more than two factors, with the order chosen.
    """

    def __init__(self, program: Program, extents: dict[sp.Symbol, int]) -> None:
        """Plan ``program``, comparing costs at the sizes ``extents``."""
        self.pool = Pool()
        self.names: dict[int, str] = {}
        self.tensors: dict[int, Tensor] = {}
        self.choices: list[Choice] = list(program.choices)
        self.sources: dict[int, Value] = {}
        self.decided: list[Decided] = []
        self._program = program
        self._extents = extents
        self._results = {t.digest for t in program.outputs}
        self._known: dict[sp.Expr, float] = {}
        self._arrays: dict[str, Value] = {}
        self._shared = SharedProducts()
        self._subject = ""  # the tensor that is being planned, for the record of choices

    def run(self) -> list[Value]:
        """Return the values of the outputs."""
        for t in self._program.inputs:
            self._arrays[t.digest] = self.pool.make("input", (), (t.name,), t.shape)
        for definition in self._program.definitions:
            defined = definition.tensor
            self._subject = defined.label()
            value = self._define(definition)
            self._arrays[defined.digest] = value
            if defined.name is not None and value.op not in ("input", "number"):
                self.names.setdefault(value.number, defined.name)
            self.tensors.setdefault(value.number, defined)
        # what is checked comes first, before anything fails for a reason that says less
        roots = [self._checked(guard) for guard in self._program.guards]
        roots += [self._arrays[t.digest] for t in self._program.outputs]
        roots = self._replaced(roots, without_idle_pins(self.pool, roots))
        new, choices = gather_products(self.pool, roots, self.names)
        self.choices += choices
        roots = self._replaced(roots, new)
        for improve in (fuse_products, orient, copy_transposed):
            new, choices = improve(self.pool, roots, self.extent)
            self.choices += choices
            roots = self._replaced(roots, new)
        for rearrange in (scale_small_operands, save_passes):
            new, choices = rearrange(self.pool, roots, self.extent, self.names)
            self.choices += choices
            roots = self._replaced(roots, new)
        return fresh_outputs(self.pool, roots)

    def _checked(self, guard: Guard) -> Value:
        """Return a check of a guard: an operation without a result."""
        value = self._arrays[guard.tensor.digest]
        params: tuple[object, ...] = (guard.condition, guard.told)
        if guard.condition == FULL_RANK:
            params = (*params, guard.tensor.operands[0].shape[-2:])
        return self.pool.make("check", (value,), params, ())

    def _replaced(self, roots: Sequence[Value], new: Mapping[int, Value]) -> list[Value]:
        """Return what takes the place of ``roots``; names and tensors go over to the new values."""
        self.names = {new[number].number: name for number, name in self.names.items() if number in new}
        self.tensors = {new[number].number: t for number, t in self.tensors.items() if number in new}
        self.sources = {new[number].number: v for number, v in self.sources.items() if number in new}
        for v in reachable(roots):
            if v.op == "matmul" and new[v.number].op == "slice":
                self.sources.setdefault(new[v.number].number, v)
        return [new[root.number] for root in roots]

    def extent(self, size: sp.Expr) -> float:
        """Return the representative value of a size."""
        if size not in self._known:
            self._known[size] = representative(size, self._extents)
        return self._known[size]

    def _array(self, t: Tensor) -> Value:
        return self._arrays[t.digest]

    def _define(self, definition: Definition) -> Value:
        t = definition.tensor
        if isinstance(t, Apply):
            return applied.build(self.pool, t, [self._array(o) for o in t.operands])
        if not isinstance(t, Lambda):
            raise UnsupportedYet(f"code for {t.label()}: no reading is known for {type(t).__name__}.")
        free = tuple(zip(t.indices, t.shape, strict=True))
        is_large_result = t.ndim >= LEAST_AXES and t.digest in self._results
        apart = [on_diagonal(p, free) if is_large_result else None for p in definition.products]
        whole = [p for p, found in zip(definition.products, apart, strict=True) if found is None]
        diagonals = [found for found in apart if found is not None]
        base = [self._sum(whole, free)] if whole or not diagonals else []
        if not diagonals:
            return base[0]
        self.choices.append(Choice(self._subject, "diagonal blocks added in place", "the others are zero"))
        blocks = [self._sum([found.product], found.free) for found in diagonals]
        # adding in place repeats along axes of length 1
        blocks = [b.args[0] if b.op == "broadcast" else b for b in blocks]
        pairs = tuple(found.pairs for found in diagonals)
        return self.pool.make("on_diagonal", (*base, *blocks), (bool(base), pairs), t.shape)

    def _sum(self, products: Sequence[Product], free: Ranges) -> Value:
        """Return a sum of products over the axes ``free``."""
        indices, shape = tuple(i for i, _ in free), tuple(s for _, s in free)
        if not products:
            return self.pool.broadcast(self.pool.number(0), shape)
        factored = self._best_factoring(products, free)
        if factored is not None:
            chosen = f"{factored.factor.base.label} taken out of {len(products)} products"
            self.choices.append(Choice(self._subject, chosen, _CHEAPEST))
            parts = [self._factored(factored, free)]
        else:
            parts = [self._product(p, free) for p in products]
        aligned = [align(self.pool, part, indices) for part in parts]
        return self.pool.broadcast(self.pool.add(aligned), shape)

    # -- products --------------------------------------------------------------------------
    def _product(self, product: Product, free: Ranges) -> Labelled:
        """Return one summand: what carries a summed index is contracted, the rest comes in afterwards."""
        frame = _frame(product, free)
        inside, outside = _split(product)
        reader = Reader(self.pool, frame, self._array)
        items: list[Labelled] = []
        if inside:
            items.append(self._contract([reader.read(f) for f in inside], {i for i, _ in free}, frame))
        if outside:
            items.append(reader.read(sp.Mul(*outside)))
        if not items:
            return Labelled(self.pool.number(product.coefficient), ())
        result = items[0] if len(items) == 1 else hadamard(self.pool, *items)
        return Labelled(self.pool.scale(product.coefficient, result.value), result.labels)

    def _contract(self, factors: Sequence[Labelled], keep: Collection[Label], frame: Frame) -> Labelled:
        """Contract factors over all labels that are not in ``keep``, in the cheapest order."""
        there: set[frozenset[int]] = set()
        order = self._order(factors, keep, frame, there)
        if len(factors) > 2:
            labels = tuple(frozenset(f.labels) for f in factors)
            self.decided.append(Decided(labels, frozenset(keep), frame, frozenset(there), order.tree))
            self.choices.append(Choice(self._subject, self._describe(order.tree, factors), _CHEAPEST))
        result, _ = self._evaluate(order.tree, Network(factors, keep, frame))
        return sum_out(self.pool, result, [x for x in result.labels if x not in keep])

    def _order(
        self,
        factors: Sequence[Labelled],
        keep: Collection[Label],
        frame: Frame,
        there: set[frozenset[int]] | None = None,
    ) -> Order:
        """Return the cheapest order; sets of factors whose product is there already go into ``there``."""
        network = Network(factors, keep, frame)

        def available(chosen: frozenset[int]) -> bool:
            found = self._shared.find(network.members(chosen), network.kept_by(chosen)) is not None
            if found and there is not None:
                there.add(chosen)
            return found

        labels = [frozenset(f.labels) for f in factors]
        return cheapest(labels, network.keep, lambda x: self._extent(frame, x), available)

    def _extent(self, frame: Frame, label: Label) -> float:
        return self.extent(frame.sizes[label])

    def _evaluate(self, tree: Tree, network: Network) -> tuple[Labelled, frozenset[int]]:
        if isinstance(tree, int):
            return network.factors[tree], frozenset([tree])
        if isinstance(tree, frozenset):
            found = self._shared.find(network.members(tree), network.kept_by(tree))
            assert found is not None
            return found, tree
        (a, left), (b, right) = (self._evaluate(part, network) for part in tree)
        chosen = left | right
        kept = network.kept_by(chosen)
        a, b = _in_order(a, b, kept, network.frame, network.rowness(chosen))
        result = contract(self.pool, network.frame, a, b, kept)
        if len(chosen) < len(network.factors):
            result = Labelled(self.pool.pin(result.value), result.labels)
        self._shared.add(network.members(chosen), kept, result)
        return result, chosen

    def _describe(self, tree: Tree, factors: Sequence[Labelled]) -> str:
        """Return a contraction order as text: ``((X WV) S) WO``; what is there already stands in brackets."""
        if isinstance(tree, int):
            v = factors[tree].value
            return self.names.get(v.number, str(v.params[0]) if v.op == "input" else v.op)
        if isinstance(tree, frozenset):
            return f"[{' '.join(self._describe(p, factors) for p in sorted(tree))}]"
        left, right = (self._describe(part, factors) for part in tree)
        return f"({left} {right})"

    # -- common factors --------------------------------------------------------------------
    def _best_factoring(self, products: Sequence[Product], free: Ranges) -> Factored | None:
        """Return the common factor that saves most, if one does."""
        options = common_factors(products)
        if not options:
            return None
        apart = sum(self._cost(p, free) for p in products)
        costs = [self._factored_cost(option, free) for option in options]
        cheapest = min(range(len(options)), key=lambda p: costs[p])
        return options[cheapest] if costs[cheapest] < apart else None

    def _cost(self, product: Product, free: Ranges) -> float:
        frame = _frame(product, free)
        inside, outside = _split(product)
        reader = Reader(self.pool, frame, self._array)
        keep = {i for i, _ in free}
        cost = self._order([reader.read(f) for f in inside], keep, frame).cost if inside else 0.0
        if not outside or len(product.factors) < 2:
            return cost
        # the rest multiplies entry by entry; a Kronecker delta of free indices makes a small array large
        work = ENTRYWISE
        for label in {x for f in product.factors for x in labels_of(f)} & keep:
            work *= self._extent(frame, label)
        return cost + work

    def _factored_cost(self, factored: Factored, free: Ranges) -> float:
        inner = sum(self._cost(p, (*free, *factored.bound)) for p in factored.inner)
        sizes = dict((*free, *factored.bound))
        own = frozenset(labels_of(factored.factor))
        rest = frozenset(x for p in factored.inner for f in p.factors for x in labels_of(f) if x in sizes)
        result = frozenset(i for i, _ in free) & (own | rest)
        return inner + step_cost(own, rest, result, lambda x: representative(sizes[x], self._extents))

    def _factored(self, factored: Factored, free: Ranges) -> Labelled:
        """Return the common factor times the sum of what is left."""
        # rows of what is left are summed next; they stand before the columns that are kept
        ranges = (*factored.bound, *free)
        frame = Frame(dict(ranges), tuple(i for i, _ in ranges))
        parts = [self._product(p, ranges) for p in factored.inner]
        labels = max((p.labels for p in parts), key=len)
        labels = (*frame.sort(x for p in parts for x in p.labels if x not in labels), *labels)
        total = Labelled(self.pool.add([align(self.pool, p, labels) for p in parts]), labels)
        factor = Reader(self.pool, frame, self._array).read(factored.factor)
        scaled = total.value.op == "scale"
        inner = Labelled(total.value.args[0], labels) if scaled else total
        result = self._contract([factor, inner], {i for i, _ in free}, frame)
        if not scaled:
            return result
        return Labelled(self.pool.scale(constant(total.value), result.value), result.labels)


class Network:
    """Factors that are to be multiplied and summed over the labels that are not kept."""

    def __init__(self, factors: Sequence[Labelled], keep: Collection[Label], frame: Frame) -> None:
        """Hold the factors."""
        self.factors = factors
        self.keep = frozenset(keep)
        self.frame = frame

    def members(self, chosen: frozenset[int]) -> list[Labelled]:
        """Return the chosen factors."""
        return [self.factors[p] for p in sorted(chosen)]

    def kept_by(self, chosen: frozenset[int]) -> frozenset[Label]:
        """Return the labels that the product of the chosen factors must keep."""
        inside = {x for p in chosen for x in self.factors[p].labels}
        outside = {x for p, f in enumerate(self.factors) if p not in chosen for x in f.labels}
        return frozenset(inside & (self.keep | outside))

    def rowness(self, chosen: frozenset[int]) -> dict[Label, float]:
        """Return, for each label, how far from the last axis it stands where the product is used next.

        Labels of columns are near 0, labels of rows near 1.
        """
        found: dict[Label, list[int]] = {}
        used_next = [f.labels for p, f in enumerate(self.factors) if p not in chosen]
        for labels in [*used_next, self.frame.sort(self.keep)]:
            for p, label in enumerate(reversed(labels)):
                found.setdefault(label, []).append(min(p, 1))
        return {label: sum(at) / len(at) for label, at in found.items()}


def _frame(product: Product, free: Ranges) -> Frame:
    ranges = (*free, *product.bound)
    return Frame(dict(ranges), tuple(i for i, _ in ranges))


def _split(product: Product) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """Split factors into those with a summed index and the others."""
    bound = {i for i, _ in product.bound}
    inside = [f for f in product.factors if labels_of(f) & bound]
    return inside, [f for f in product.factors if not labels_of(f) & bound]


def _in_order(
    a: Labelled, b: Labelled, kept: Collection[Label], frame: Frame, rowness: Mapping[Label, float]
) -> tuple[Labelled, Labelled]:
    """Put left the operand that reads better there: few transposes, then rows before columns."""
    place = {label: p for p, label in enumerate(frame.order)}
    inner = [x for x in a.labels if x in b.labels and x not in kept]

    def merit(left: Labelled, right: Labelled) -> tuple[float, ...]:
        rows = [x for x in left.labels if x not in right.labels]
        columns = [x for x in right.labels if x not in left.labels]
        if not rows or not columns:
            return (0.0,)
        later = float(max(place[x] for x in rows) > max(place[x] for x in columns))
        if len(inner) != 1:
            return (later,)
        transposes = (left.labels[-1] != inner[0]) + (right.labels[-2:-1] != (inner[0],))
        return float(transposes), rowness.get(columns[-1], 0.5) - rowness.get(rows[-1], 0.5), later

    return (b, a) if merit(b, a) < merit(a, b) else (a, b)
