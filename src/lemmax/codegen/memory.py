r"""Stage 3b: which intermediate result lies where, and what may take its place when it is done with.

Input: the statements in order.  Output: a :class:`Memory`.  Results of operations that can write into
an array given to them get a place in a buffer; entrywise operations take the place of an operand that
nothing needs afterwards, and a buffer whose last reader is past serves the next result of its size.
Parts of a concatenation are computed where they belong in it.  Outputs never lie in a buffer, since
callers keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sympy as sp

from lemmax.codegen.memory_order import (
    ENTRYWISE,
    LARGE,
    REDUCTIONS,
    WITH_SCRATCH,
    memory_order,
    preferred_orders,
)
from lemmax.codegen.places import (
    Key,
    Place,
    covers,
    sliced,
    transposed,
    undone,
    view,
    whole,
)
from lemmax.codegen.values import Shape, Value
from lemmax.codegen.views import SHARING, chain_of_views

WRITING = ENTRYWISE | REDUCTIONS | {"matmul", "softmax", "pullback_rowsum", "concat", "copy"}
"""Operations that can write their result into a given array."""
IN_PLACE = ENTRYWISE | {"softmax"}
"""Operations that may write over an operand of their shape."""
CALLS = frozenset(
    {"exp", "log", "sqrt", "abs", "sign", "sin", "cos", "tan", "arcsin", "arccos", "arctan"}
    | {"sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "relu"}
)
"""Functions that are one NumPy function with an ``out`` argument."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Where intermediate results lie.

    Attributes:
        order: all values in order of execution.
        buffers: shapes of the buffers as they are allocated.
        shared: numbers of the buffers that are in use one after the other and lie in the same memory, for
            each piece of memory that holds several.
        places: place of each value that has one, by its number; views of such values included.
        scratch: place of the reductions inside an operation, by its number.
        copies: parts of a concatenation that are copied into it, with their places, by its number.
        takes_over: value that an operation writes over, by number of its result.
        parts: the concatenation in which a value is computed, by number of the value.
        needed: numbers of the values that anything reads.
    """

    order: tuple[Value, ...]
    buffers: tuple[Shape, ...]
    shared: tuple[tuple[int, ...], ...]
    places: Mapping[int, Place]
    scratch: Mapping[int, Place]
    copies: Mapping[int, tuple[tuple[Place, Value], ...]]
    takes_over: Mapping[int, int]
    parts: Mapping[int, int]
    needed: frozenset[int]

    @property
    def entries(self) -> sp.Expr:
        """Number of entries of all buffers."""
        sizes = [sp.Mul(*shape) for shape in self.buffers]
        inside = {number for group in self.shared for number in group}
        alone = [size for number, size in enumerate(sizes) if number not in inside]
        together = [sp.Max(*[sizes[number] for number in group]) for group in self.shared]
        return sp.Add(*alone, *together)

    def stored(self, place: Place, axis: int | None = None) -> Place | None:
        """Return all entries in the order of memory, as a matrix whose rows are one axis of the place.

        NumPy runs through a contiguous matrix faster than through a transposed array of several axes.

        Returns:
            ``None`` if the place is row-major as it stands, is a part only, or if another axis than
            ``axis`` lies outermost.
        """
        order = memory_order(place)
        entries = sp.expand(sp.Mul(*self.buffers[place.buffer]))
        if order == tuple(range(len(order))) or not covers(place, entries):
            return None
        if axis is not None and order[0] != axis:
            return None
        rest = sp.expand(sp.Mul(*[place.shape[a] for a in order[1:]]))
        return whole(place.buffer, self.buffers[place.buffer], (place.shape[order[0]], rest))

    def stored_rows(self, place: Place, like: Place, axis: int) -> Place | None:
        """Return the place of one number per row of ``like``, whose axis is ``axis``, as a vector.

        Returns:
            ``None`` if the numbers do not lie in memory as the rows do.
        """
        shape, strides = list(place.shape), list(place.strides)
        if len(shape) == len(like.shape):
            if shape.pop(axis) != 1:
                return None
            strides.pop(axis)
        if tuple(shape) != like.shape[:axis] + like.shape[axis + 1 :]:
            return None  # one number for several rows
        rest = [a for a in memory_order(like) if a != axis]
        numbers = replace(place, shape=tuple(shape), strides=tuple(strides))
        entries = sp.expand(sp.Mul(*self.buffers[place.buffer]))
        if not covers(numbers, entries) or memory_order(numbers) != tuple(a - (a > axis) for a in rest):
            return None
        return whole(place.buffer, self.buffers[place.buffer], (entries,))


def plan_memory(
    order: Sequence[Value],
    variables: Mapping[int, str],
    roots: Sequence[Value],
    extent: Callable[[sp.Expr], float],
) -> Memory:
    """Return where the values of ``order`` lie.

    Args:
        order: all values, operands first, as they are executed.
        variables: variables by number of their value; values without one are written where they are used.
        roots: the outputs.
        extent: the representative value of a size.
    """
    return _Planner(order, variables, roots, extent).run()


@dataclass(slots=True)
class _Buffer:
    """A buffer under way: shape, entries, and the positions at which it is first written and last read."""

    shape: Shape
    entries: sp.Expr
    first_written: int
    last_read: int


@dataclass(slots=True)
class _Part:
    """What a concatenation takes from an operand: the views on the way down to it, outermost first."""

    concat: Value
    bounds: tuple[tuple[sp.Expr, sp.Expr] | None, ...]
    shape: Shape
    views: list[Value] = field(default_factory=list)


class _Planner:
    def __init__(
        self,
        order: Sequence[Value],
        variables: Mapping[int, str],
        roots: Sequence[Value],
        extent: Callable[[sp.Expr], float],
    ) -> None:
        self.order = tuple(order)
        self.extent = extent
        self.position = {v.number: p for p, v in enumerate(order)}
        self.variables = variables
        self.kept = _bases(roots)
        self.written = {v.number for v in order if self._is_written(v)}
        self.preferred = preferred_orders(self.order, self.written, extent)
        self.parts = self._parts()
        self.last_read = self._last_reads()
        self.buffers: list[_Buffer] = []
        self.places: dict[int, Place] = {}
        self.known: dict[Key, Place] = {}
        self.scratch: dict[int, Place] = {}
        self.copies: dict[int, tuple[tuple[Place, Value], ...]] = {}
        self.takes_over: dict[int, int] = {}

    def run(self) -> Memory:
        for v in self.order:
            if v.number in self.written:
                self._put(v)
            elif v.op in SHARING and v.args[0].number in self.places:
                seen = view(self.places[v.args[0].number], v)
                if seen is not None:
                    self.places[v.number] = self._canonical(seen)
        shapes = tuple(b.shape for b in self.buffers)
        parts = {number: part.concat.number for number, part in self.parts.items()}
        return Memory(
            self.order, shapes, self._shared(), self.places, self.scratch, self.copies, self.takes_over,
            parts, self._needed(),
        )  # fmt: skip

    def _shared(self) -> tuple[tuple[int, ...], ...]:
        """Return which large buffers lie in the same memory: those in use at different times.

        The largest come first, each into the first memory that is idle while it is in use.
        """
        sizes = [self.extent(b.entries) for b in self.buffers]
        large = [number for number, size in enumerate(sizes) if size >= LARGE]
        groups: list[list[int]] = []
        for number in sorted(large, key=lambda number: -sizes[number]):
            for group in groups:
                if not any(self._at_once(number, other) for other in group):
                    group.append(number)
                    break
            else:
                groups.append([number])
        return tuple(tuple(sorted(group)) for group in groups if len(group) > 1)

    def _at_once(self, number: int, other: int) -> bool:
        a, b = self.buffers[number], self.buffers[other]
        return a.first_written <= b.last_read and b.first_written <= a.last_read

    # -- what there is ---------------------------------------------------------------------
    def _is_written(self, v: Value) -> bool:
        if v.op not in WRITING or v.ndim == 0 or v.number in self.kept:
            return False
        return v.op != "call" or str(v.params[0]) in CALLS

    def _parts(self) -> dict[int, _Part]:
        """Return the values that are computed inside a concatenation."""
        found: dict[int, _Part] = {}
        for v in self.order:
            if v.op == "concat" and v.number in self.written:
                for part, base in _parts_of(v):
                    inside = sliced(whole(0, v.shape, v.shape), part.bounds, part.shape)
                    if base.number in self.written and base.op != "concat" and _inside(inside, part):
                        found.setdefault(base.number, part)
        return found

    def _last_reads(self) -> dict[int, int]:
        """Return the last position at which each value is read, through views too."""
        last = {v.number: p for p, v in enumerate(self.order)}
        for p in range(len(self.order) - 1, -1, -1):
            v = self.order[p]
            later = v.op in SHARING or (v.number not in self.written and v.number not in self.variables)
            for a in v.args:
                if a.number in last:
                    last[a.number] = max(last[a.number], last[v.number] if later else p)
        for number, part in self.parts.items():  # parts stay until the whole is read
            last[part.concat.number] = max(last[part.concat.number], last[number])
        return last

    def _needed(self) -> frozenset[int]:
        needed = set(self.kept)
        for v in reversed(self.order):
            if v.number not in needed:
                continue
            if v.number in self.copies:
                needed.update(source.number for _, source in self.copies[v.number])
                needed.update(n for n, part in self.parts.items() if part.concat is v)
            else:
                needed.update(a.number for a in v.args)
        return frozenset(needed)

    # -- places ----------------------------------------------------------------------------
    def _put(self, v: Value) -> None:
        place = self._in_concatenation(v) or self._over_an_operand(v) or self._in_a_buffer(v)
        self.places[v.number] = self._canonical(place)
        if v.op in WITH_SCRATCH:
            axis = int(v.params[0])
            rows = tuple(sp.S.One if p == axis else s for p, s in enumerate(v.shape))
            order = memory_order(place)
            self.scratch[v.number] = self._canonical(self._allocate(rows, order, self.position[v.number]))
        if v.op == "concat":
            self.copies[v.number] = tuple(self._copied(v, place))

    def _in_concatenation(self, v: Value) -> Place | None:
        part = self.parts.get(v.number)
        if part is None:
            return None
        if part.concat.number not in self.places:
            self.places[part.concat.number] = self._in_a_buffer(part.concat, self.position[v.number])
        target = sliced(self.places[part.concat.number], part.bounds, part.shape)
        return _inside(target, part)

    def _over_an_operand(self, v: Value) -> Place | None:
        if v.op not in IN_PLACE or v.number in self.places:
            return None
        wish = self.preferred.get(v.number)
        for a in v.args[:2]:
            place = self.places.get(a.number)
            if place is None or a.shape != v.shape or wish not in (None, memory_order(place)):
                continue
            buffer = self.buffers[place.buffer]
            others = [b for b in v.args if b is not a]
            # two operands are combined first, over one of them: one that comes again must still be there
            again = a in v.args[2:]
            alone = not again and not any(place.buffer in self._buffers_in(b) for b in others)
            if alone and buffer.last_read == self.position[v.number] and covers(place, buffer.entries):
                buffer.last_read = self.last_read[v.number]
                self.takes_over[v.number] = a.number
                return place
        return None

    def _buffers_in(self, v: Value) -> set[int]:
        """Return the buffers that the text of an operand reads."""
        if v.number in self.places:
            return {self.places[v.number].buffer}
        return set().union(*[self._buffers_in(a) for a in v.args])

    def _in_a_buffer(self, v: Value, position: int | None = None) -> Place:
        if v.number in self.places:
            return self.places[v.number]
        order = self.preferred.get(v.number) or self._order_of_operands(v)
        at = self.position[v.number] if position is None else position
        return self._allocate(v.shape, order, at, self.last_read[v.number])

    def _order_of_operands(self, v: Value) -> tuple[int, ...]:
        if v.op in ENTRYWISE | WITH_SCRATCH:
            for a in v.args:
                if a.shape == v.shape and a.number in self.places:
                    return memory_order(self.places[a.number])
        return tuple(range(v.ndim))

    def _allocate(self, shape: Shape, order: Sequence[int], position: int, last: int | None = None) -> Place:
        stored = tuple(shape[a] for a in order)
        entries = sp.expand(sp.Mul(*stored))
        idle = [n for n, b in enumerate(self.buffers) if b.last_read < position and b.entries == entries]
        if not idle:
            self.buffers.append(_Buffer(stored, entries, position, position))
        number = idle[0] if idle else len(self.buffers) - 1
        self.buffers[number].last_read = position if last is None else last
        place = self._canonical(whole(number, self.buffers[number].shape, stored))
        return transposed(place, [tuple(order).index(a) for a in range(len(order))])

    def _copied(self, v: Value, place: Place) -> list[tuple[Place, Value]]:
        found = []
        for operand, (part, base) in zip(v.args, _parts_of(v), strict=True):
            mine = self.parts.get(base.number)
            if mine is not None and mine.concat is v and mine.bounds == part.bounds:
                continue
            target = sliced(place, part.bounds, part.shape)
            inner = _inside(target, part)
            found.append((self._canonical(inner or target), operand if inner is None else base))
        return found

    def _canonical(self, place: Place) -> Place:
        """Return the shortest known way to the same entries."""
        known = self.known.get(place.key)
        if known is None or len(place.steps) < len(known.steps):
            self.known[place.key] = known = place
        return replace(place, steps=known.steps)


def _bases(roots: Sequence[Value]) -> frozenset[int]:
    """Return the numbers of the outputs and of what they are views of."""
    found: set[int] = set()
    for root in roots:
        chain = chain_of_views(root)
        if chain[-1].op == "on_diagonal" and chain[-1].params[0]:  # diagonals are added where the rest is
            chain += chain_of_views(chain[-1].args[0])
        found |= {v.number for v in chain}
    return frozenset(found)


def _parts_of(v: Value) -> list[tuple[_Part, Value]]:
    """Return the parts of a concatenation, each with what its views look at."""
    found = []
    (axis,) = v.params
    start: sp.Expr = sp.S.Zero
    for a in v.args:
        stop = sp.expand(start + a.shape[axis])
        bounds = tuple((start, stop) if p == axis else None for p in range(v.ndim))
        part = _Part(v, bounds, a.shape)
        start = stop
        base = a
        while base.op in ("pin", "transpose", "reshape"):
            part.views.append(base)
            base = base.args[0]
        found.append((part, base))
    return found


def _inside(target: Place, part: _Part) -> Place | None:
    """Return the place of what the views of a part look at, if the part is at ``target``."""
    place: Place | None = target
    for v in part.views:
        place = undone(place, v) if place is not None else None
    return place
