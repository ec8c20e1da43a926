r"""Sizes by construction: the table of all sizes that satisfy a theorem's constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import sympy as sp

from lemmax.errors import InvalidArgument, UnsupportedYet

LARGEST = 3  # default range of a size: what can go wrong with matrices goes wrong at 3 x 3
TABLE_LIMIT = 1_000_000  # rows of the full grid; beyond it the table itself would take seconds
FAMILY = ("N", "n", "D", "H")  # sizes that must be at least 2 in half of a run, where they occur

IntGrid = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SizeTable:
    """All admissible sizes.

    Attributes:
        symbols: size symbols, one per column.
        rows: admissible values, one row each, sorted lexicographically.
        is_family: per row, are all family sizes (those that can be) at least 2?
    """

    symbols: tuple[sp.Symbol, ...]
    rows: IntGrid
    is_family: npt.NDArray[np.bool_]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the symbols."""
        return tuple(map(str, self.symbols))

    def family_of(self, sizes: Mapping[str, int]) -> bool:
        """Do some sizes count as family sizes of at least 2?"""
        wanted = np.array([sizes[name] for name in self.names])
        hits = (self.rows == wanted).all(axis=1)
        return bool(self.is_family[hits].any())


def size_table(
    symbols: Sequence[sp.Symbol],
    constraints: Sequence[sp.Rel],
    ranges: Mapping[sp.Symbol, tuple[int, int]],
    violated: Sequence[sp.Rel] = (),
) -> SizeTable:
    """Return the table of sizes within ranges that satisfy all constraints.

    Args:
        symbols: the size symbols.
        constraints: what must hold.
        ranges: smallest and largest value by symbol.
        violated: constraints that were dropped: at least one of them must fail.

    Raises:
        InvalidArgument: no sizes satisfy them, or the grid is too large.
    """
    spans = [ranges.get(s, (1, LARGEST)) for s in symbols]
    count = int(np.prod([hi - lo + 1 for lo, hi in spans], dtype=float)) if spans else 1
    if count > TABLE_LIMIT:
        raise InvalidArgument(
            f"the ranges of sizes span {count} combinations, more than {TABLE_LIMIT}; "
            "narrow Instances(sizes=...)."
        )
    axes = [np.arange(lo, hi + 1) for lo, hi in spans]
    grid = (
        np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
        if axes
        else np.zeros((1, 0), int)
    )
    columns = {s: grid[:, p] for p, s in enumerate(symbols)}
    keep = np.ones(len(grid), dtype=bool)
    for constraint in constraints:
        keep &= _holds(constraint, columns)
    if violated:
        keep &= ~np.all([_holds(constraint, columns) for constraint in violated], axis=0)
    rows = grid[keep]
    if not len(rows):
        shown = ", ".join(f"{s} in {lo}..{hi}" for s, (lo, hi) in zip(symbols, spans, strict=True))
        raise InvalidArgument(
            f"no sizes with {shown} satisfy {_all(constraints)}{_but(violated)}; widen Instances(sizes=...)."
        )
    return SizeTable(tuple(symbols), rows, _family(tuple(map(str, symbols)), rows))


def _all(constraints: Sequence[sp.Rel]) -> str:
    return ", ".join(map(str, constraints)) or "no constraint"


def _but(violated: Sequence[sp.Rel]) -> str:
    return f" and violate {_all(violated)}" if violated else ""


def _family(names: tuple[str, ...], rows: IntGrid) -> npt.NDArray[np.bool_]:
    chosen = [p for p, name in enumerate(names) if name in FAMILY] or list(range(len(names)))
    free = [p for p in chosen if rows[:, p].max() >= 2]  # a size that is pinned to 1 asks nothing
    return np.asarray((rows[:, free] >= 2).all(axis=1))


_RELATIONS = {
    sp.Le: np.less_equal,
    sp.Ge: np.greater_equal,
    sp.Lt: np.less,
    sp.Gt: np.greater,
    sp.Eq: np.equal,
    sp.Ne: np.not_equal,
}


def _holds(constraint: sp.Rel, columns: Mapping[sp.Symbol, IntGrid]) -> npt.NDArray[np.bool_]:
    compare = _RELATIONS.get(type(constraint))
    if compare is None:
        raise UnsupportedYet(
            f"size constraint {constraint}: a {type(constraint).__name__} is not understood."
        )
    result: npt.NDArray[np.bool_] = compare(_value(constraint.lhs, columns), _value(constraint.rhs, columns))
    return result


def _value(expr: sp.Expr, columns: Mapping[sp.Symbol, IntGrid]) -> IntGrid:
    if expr in columns:
        return columns[expr]
    if expr.is_Integer:
        return np.array(int(expr))
    parts = [_value(a, columns) for a in expr.args]
    if expr.is_Add:
        return np.array(sum(parts))
    if expr.is_Mul:
        result = np.array(1)
        for part in parts:
            result = result * part
        return result
    if expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive:
        return parts[0] ** int(expr.exp)
    if isinstance(expr, sp.Max | sp.Min):
        pick = np.maximum if isinstance(expr, sp.Max) else np.minimum
        result = parts[0]
        for part in parts[1:]:
            result = pick(result, part)
        return result
    raise UnsupportedYet(
        f"size constraint with {expr}: expected sums, products, powers, Max and Min of sizes and integers."
    )
