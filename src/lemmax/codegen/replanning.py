r"""Planning again for the sizes of the arrays, at the first call that shows them.

Contraction orders are chosen before an array is seen, at representative sizes.  At the first call with
sizes of a new class the orders are looked at again, at these sizes; if others would save more than
:data:`LEAST_SHARE` of their work, and more than :data:`LEAST_WORK` multiplications, the plan is made again,
and taken if it costs less.  A class holds the sizes that are equal up to a factor of about four, so that
few plans are made; a later call of a class that is known searches nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from lemmax.codegen.order import Decided
from lemmax.codegen.records import Plan

LEAST_SHARE = 0.2
LEAST_WORK = 1e5
"""About 0.1 ms: below, what counts is the number of operations, which an order hardly changes."""
MOST_PLANS = 16
MOST_SHAPES = 256
"""Plans, and shapes of arguments, that are remembered."""

Shapes = tuple[tuple[int, ...], ...]
Extents = dict[sp.Symbol, int]
Function = Callable[..., Any]
Written = tuple[Plan, str, Function]
"""A plan, its text, and the function of that text."""


class Replanner:
    """Finds the function for the shapes of the arguments of a call.

    Attributes:
        first: the plan, text and function of the first call, or the ones made before any call.
        telling: positions of arguments whose shapes give all sizes; other arguments need not be looked at.
        last: the shapes of the call before and their function; comparing is faster than looking up.
    """

    def __init__(
        self,
        made: Written,
        decided: Sequence[Decided],
        extents: Extents,
        again: Callable[[Extents], Written],
    ) -> None:
        """Start from what was ``made`` at representative sizes ``extents``; ``again`` plans at others."""
        self.first = made
        self.last: tuple[list[tuple[int, ...]], Function] = ([], made[2])
        self.telling = _telling(made[0])
        self._made = made
        self._decided = tuple(decided)
        self._extents = extents
        self._again = again
        self._by_shapes: dict[Shapes, Function] = {}
        self._by_class: dict[tuple[int, ...], Written] = {}
        self._lock = threading.Lock()

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans in use, that of the first call in front."""
        found = [self.first[0]]
        for plan, _, _ in list(self._by_class.values()):
            if all(plan is not other for other in found):
                found.append(plan)
        return tuple(found)

    def function(self, shapes: Shapes) -> Function:
        """Return the function for arguments of these shapes, given of those that are :attr:`telling`."""
        found = self._by_shapes.get(shapes) or self._look(shapes)
        if shapes in self._by_shapes:
            self.last = (list(shapes), found)
        return found

    def _look(self, shapes: Shapes) -> Function:
        with self._lock:  # one thread plans, others wait for what it finds
            sizes = self._sizes(shapes)
            if sizes is None:
                return self._made[2]  # which says what is wrong with the shapes
            key = tuple(round(math.log2(n) / 2) if n else -1 for n in sizes.values())
            if key not in self._by_class:
                written = self._made if len(self._by_class) >= MOST_PLANS else self._planned(sizes)
                if not self._by_class:
                    self.first = written
                self._by_class[key] = written
            found = self._by_class[key][2]
            if len(self._by_shapes) >= MOST_SHAPES:
                self._by_shapes.clear()
            self._by_shapes[shapes] = found
            return found

    def _sizes(self, shapes: Shapes) -> Extents | None:
        """Return the sizes that the shapes give, or ``None`` if they contradict one another."""
        found: Extents = {}
        for position, shape in zip(self.telling, shapes, strict=True):
            t = self._made[0].inputs[position]
            if len(shape) != t.ndim:
                return None
            for extent, n in zip(t.shape, shape, strict=True):
                if isinstance(extent, sp.Symbol) and found.setdefault(extent, n) != n:
                    return None
        return found

    def _planned(self, sizes: Extents) -> Written:
        """Return the plan for these sizes: the one there is, unless another is cheaper."""
        plan = self._made[0]
        extents = {**self._extents, **{s: n for s, n in sizes.items() if n > 0}}
        if plan.chunks is not None:
            extents = {s: min(n, plan.chunks.length) if str(s) == plan.chunks.size else n
                       for s, n in extents.items()}  # fmt: skip
        costs = [decided.costs(extents) for decided in self._decided]
        chosen, best = (sum(c[p] for c in costs) for p in (0, 1))
        if chosen - best < max(LEAST_WORK, LEAST_SHARE * chosen):
            return self._made
        new = self._again(extents)
        return new if cost(new[0], extents) < cost(plan, extents) else self._made


def _telling(plan: Plan) -> tuple[int, ...]:
    """Return few arguments that have all size symbols on their axes, found greedily."""
    symbols = [{s for s in t.shape if isinstance(s, sp.Symbol)} for t in plan.inputs]
    missing, found = set[sp.Symbol]().union(*symbols), list[int]()
    while missing:
        best = max(range(len(symbols)), key=lambda p: len(symbols[p] & missing))
        found.append(best)
        missing -= symbols[best]
    return tuple(found)


def cost(plan: Plan, extents: Extents) -> float:
    """Return operations, and bytes written, at these sizes: a byte costs about as much as an operation."""
    total = plan.flops + plan.bytes
    return float(total.xreplace({s: sp.Integer(extents.get(s, 32)) for s in total.free_symbols}))
