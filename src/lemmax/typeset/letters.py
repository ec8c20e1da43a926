r"""Letters for indices: chosen for a whole graph, the same wherever a size occurs.

A size called by one capital letter prefers its lower-case letter (h for heads H); others take
letters from a pool, families first.  A letter that names a tensor, a size, or a row of a tensor
(x for X) is not used.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import sympy as sp

from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Input, Lambda
from lemmax.expr.sizes import Size, is_one
from lemmax.expr.tensor import Tensor
from lemmax.typeset.names import Name, parse_name, render_name, upright

_POOL = "ijklpqrstuabcgmz"


class Letters:
    """Names of tensors and letters of indices for all tensors that some roots are made of."""

    def __init__(self, *roots: Tensor) -> None:
        """Collect names and sizes and share out the letters."""
        order = topological_order(*roots)
        named = [t for t in order if t.name is not None]
        self._names: dict[str, Name] = {}
        self._taken_names: dict[str, str] = {}
        for t in named:
            self._add_name(str(t.name))
        sizes = sorted({s for t in order for s in _sizes_of(t)}, key=str)
        self.reserved = {n.letter for n in self._names.values()} | {parse_name(str(s)).letter for s in sizes}
        rows = {n.row.letter for n in self._names.values() if n.row is not None}
        self._homes = self._share_out(named, rows)
        self._order = {size: position for position, size in enumerate(self._homes)}
        owned = {letter for letters in self._homes.values() for letter in letters}
        free = [c for c in _POOL if c not in self.reserved and c not in owned]
        self._spare = sorted(free, key=lambda c: c in rows)

    def _add_name(self, name: str) -> None:
        parsed = parse_name(name)
        shown = render_name(parsed)
        if self._taken_names.setdefault(shown, name) != name:
            parsed = upright(name)  # two names that would look alike
        self._names[name] = parsed

    def name(self, name: str) -> Name:
        """Return a tensor's name in parts."""
        if name not in self._names:
            self._add_name(name)
        return self._names[name]

    def _share_out(self, named: Sequence[Tensor], rows: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the letters of each size: as many as one tensor has axes of that size."""
        first: dict[str, tuple[bool, bool, int]] = {}
        wanted: dict[str, int] = {}
        uses: dict[str, int] = {}
        for position, t in enumerate(sorted(named, key=lambda t: not isinstance(t, Input))):
            for axis, size in enumerate(t.shape):
                if is_one(size):
                    continue
                key = str(size)
                family = axis < t.ndim - 2
                seen = first.get(key, (True, True, position))
                first[key] = (seen[0] and not family, seen[1] and axis == t.ndim - 1, seen[2])
                wanted[key] = max(wanted.get(key, 0), [str(s) for s in t.shape].count(key))
                uses[key] = uses.get(key, 0) + 1
        # families first, then sizes by how often they occur, rows before columns
        order = sorted(
            first, key=lambda s: (first[s][0], -uses[s] if first[s][0] else 0, first[s][1], first[s][2], s)
        )
        taken: set[str] = set(self.reserved)
        homes: dict[str, tuple[str, ...]] = {}
        capitals = [s for s in order if len(s) == 1 and s.isupper() and s.lower() not in self.reserved]
        taken |= {s.lower() for s in capitals}
        for size in order:
            letters = [size.lower()] if size in capitals else []
            for c in _POOL:
                if len(letters) >= wanted[size]:
                    break
                if c not in taken and c not in rows:
                    letters.append(c)
                    taken.add(c)
            homes[size] = tuple(letters)
        return homes

    def pick(self, size: Size, used: Collection[str]) -> str:
        """Return a letter for an index of a size that is none of ``used``."""
        own = self._homes.get(str(size), ())
        if own and own[0] == str(size).lower():
            own = (*own, f"{own[0]}'")  # h and h' run over heads
        others = [c for s, letters in self._homes.items() if s != str(size) for c in letters]
        for c in itertools.chain(own, self._spare, others):
            if c not in used:
                return c
        base = own[0] if own else "i"
        return next(c for c in (f"{base}_{{{k}}}" for k in itertools.count(1)) if c not in used)

    def rank(self, size: Size) -> int:
        """Return the place of a size among sums: families first."""
        return self._order.get(str(size), len(self._order))


def _sizes_of(t: Tensor) -> set[sp.Symbol]:
    """Return the sizes in the shape of a tensor, in its sums and in its body."""
    found = {s for size in t.shape for s in size.free_symbols}
    if isinstance(t, Lambda):
        for term in t.terms:
            found |= {s for _, size in term.bound for s in size.free_symbols}
            found |= {s for s in term.expr.free_symbols if s.is_integer and s.is_positive}
    if isinstance(t, Apply):
        for _, value in t.params:
            found |= value.free_symbols if isinstance(value, sp.Expr) else set()
    return found
