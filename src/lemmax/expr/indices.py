r"""Index symbols.

Inside a stored index lambda the free indices are ``_i0, _i1, ...`` by axis and the summed
ones ``_k0, _k1, ...`` in order, so that alpha-equivalent constructions are the same object.
Whoever opens a lambda to put its body elsewhere renames first (:func:`fresh`): a summed
index can then never be captured.  Plain integer symbols are used, never SymPy's ranged
``Idx``, whose substitutions are unreliable.
"""

from __future__ import annotations

import itertools
from functools import cache

import sympy as sp

_counter = itertools.count()


@cache
def free_index(axis: int) -> sp.Symbol:
    """Return the canonical free index of an axis."""
    return sp.Symbol(f"_i{axis}", integer=True)


@cache
def bound_index(position: int) -> sp.Symbol:
    """Return the canonical summed index at a position of a term's list of sums."""
    return sp.Symbol(f"_k{position}", integer=True)


def free_indices(ndim: int) -> tuple[sp.Symbol, ...]:
    """Return the canonical free indices of a tensor with ``ndim`` axes."""
    return tuple(free_index(axis) for axis in range(ndim))


def fresh(count: int = 1) -> tuple[sp.Symbol, ...]:
    """Return index symbols that occur nowhere else; they are gone once a lambda is stored."""
    # the width keeps the order of names that of their making, however many were made before
    return tuple(sp.Symbol(f"_f{next(_counter):012d}", integer=True) for _ in range(count))


def is_index(symbol: object) -> bool:
    """Is the object an index symbol (and not a size or a tensor)?"""
    return isinstance(symbol, sp.Symbol) and symbol.is_integer is True and symbol.is_positive is None
