r"""The order in which a product of several arrays is contracted, two at a time.

Up to :data:`MOST_EXACT` factors all orders are compared (dynamic programming over subsets);
beyond, opt_einsum's search decides.  The cost of a step is the number of multiplications, at
representative sizes; steps that are no matrix products cost more per multiplication, and what an
earlier statement has already computed costs nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.codegen.labels import Frame, Label

MOST_EXACT = 7
ENTRYWISE = 4.0
"""Cost of a multiplication outside matrix products: it is bound by memory, not by arithmetic."""

Tree = int | tuple["Tree", "Tree"] | frozenset[int]
"""A factor, a pair of trees to be contracted, or a set of factors whose product is already there."""


@dataclass(frozen=True, slots=True)
class Order:
    """A contraction order: its tree and its cost at representative sizes."""

    cost: float
    tree: Tree


@dataclass(frozen=True, slots=True)
class Decided:
    """A contraction whose order has been decided, to be looked at again when sizes are known.

    Attributes:
        labels: labels of each factor.
        keep: labels of the result.
        frame: sizes of the labels.
        available: sets of factors whose product was there already.
        tree: the order chosen.
    """

    labels: tuple[frozenset[Label], ...]
    keep: frozenset[Label]
    frame: Frame
    available: frozenset[frozenset[int]]
    tree: Tree

    def costs(self, extents: dict[sp.Symbol, int]) -> tuple[float, float]:
        """Return what the chosen order costs at these sizes, and what the best order would cost."""
        known = {x: representative(self.frame.sizes[x], extents) for x in frozenset().union(*self.labels)}
        best = cheapest(self.labels, self.keep, known.__getitem__, self.available.__contains__)
        return self.cost_of(self.tree, known.__getitem__), self.cost_of(best.tree, known.__getitem__)

    def cost_of(self, tree: Tree, extent: Callable[[Label], float]) -> float:
        """Return the cost of an order."""
        return self._walk(tree, extent)[0]

    def _walk(self, tree: Tree, extent: Callable[[Label], float]) -> tuple[float, frozenset[int]]:
        if isinstance(tree, int):
            return 0.0, frozenset([tree])
        if isinstance(tree, frozenset):
            return 0.0, tree
        (left, members), (right, others) = (self._walk(part, extent) for part in tree)
        both = members | others
        a, b, result = (kept_labels(self.labels, self.keep, part) for part in (members, others, both))
        return left + right + step_cost(a, b, result, extent), both


def kept_labels(
    labels: Sequence[frozenset[Label]], keep: frozenset[Label], chosen: frozenset[int]
) -> frozenset[Label]:
    """Return the labels that the product of the chosen factors must keep."""
    inside = frozenset().union(*[labels[p] for p in chosen])
    return inside & keep.union(*[labels[p] for p in range(len(labels)) if p not in chosen])


def cheapest(
    labels: Sequence[frozenset[Label]],
    keep: frozenset[Label],
    extent: Callable[[Label], float],
    available: Callable[[frozenset[int]], bool],
) -> Order:
    """Return the cheapest tree of pairwise contractions.

    Args:
        labels: those of each factor; at least one factor.
        keep: labels of the result.
        extent: representative size of a label.
        available: is the product of these factors, summed over what only they have, already computed?
    """
    count = len(labels)
    if count == 1:
        return Order(0.0, 0)
    if count > MOST_EXACT:
        return _searched(labels, keep, extent)
    everything = frozenset(range(count))
    kept = {}
    best: dict[frozenset[int], Order] = {}
    for p in range(count):
        single = frozenset([p])
        best[single] = Order(0.0, p)
        kept[single] = kept_labels(labels, keep, single)
    for size in range(2, count + 1):
        for members in itertools.combinations(range(count), size):
            chosen = frozenset(members)
            kept[chosen] = kept_labels(labels, keep, chosen)
            if available(chosen):
                best[chosen] = Order(0.0, chosen)
                continue
            options = []
            for left in _halves(members):
                right = chosen - left
                cost = (
                    best[left].cost
                    + best[right].cost
                    + step_cost(kept[left], kept[right], kept[chosen], extent)
                )
                options.append(Order(cost, (best[left].tree, best[right].tree)))
            best[chosen] = min(options, key=lambda order: order.cost)
    return best[everything]


def _halves(members: tuple[int, ...]) -> list[frozenset[int]]:
    """Return all proper subsets that hold the first member."""
    first, rest = members[0], members[1:]
    return [
        frozenset((first, *others))
        for size in range(len(rest))
        for others in itertools.combinations(rest, size)
    ]


def step_cost(
    left: frozenset[Label],
    right: frozenset[Label],
    result: frozenset[Label],
    extent: Callable[[Label], float],
) -> float:
    """Return the cost of one contraction."""
    work = 1.0
    for label in left | right:
        work *= extent(label)
    output = 1.0
    for label in result:
        output *= extent(label)
    matrix_product = bool((left & right) - result) and bool(left - right) and bool(right - left)
    return work * (1.0 if matrix_product else ENTRYWISE) + output


def _searched(
    labels: Sequence[frozenset[Label]], keep: frozenset[Label], extent: Callable[[Label], float]
) -> Order:
    """Return the order that opt_einsum's search finds."""
    from opt_einsum.paths import auto

    names = {label: str(label) for label in frozenset().union(*labels)}
    path = auto(
        [set(sorted(names[x] for x in group)) for group in labels],
        {names[x] for x in keep if x in names},
        {name: int(extent(label)) for label, name in names.items()},
    )
    trees: list[Tree] = list(range(len(labels)))
    for positions in path:
        parts = [trees[p] for p in positions]
        trees = [t for p, t in enumerate(trees) if p not in positions]
        merged = parts[0]
        for part in parts[1:]:
            merged = (merged, part)
        trees.append(merged)
    return Order(0.0, trees[0])


def representative(size: sp.Expr, extents: dict[sp.Symbol, int]) -> float:
    """Return a size at representative values of its symbols (32 for symbols without one)."""
    return float(size.xreplace({s: sp.Integer(extents.get(s, 32)) for s in size.free_symbols}))
