"""Comparison of two expressions on random arrays in float64: a filter before anything is proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from lemmax.errors import LemmaxError
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor, identifier
from lemmax.interpret import Evaluator

AGREE = 1e-8
"""Relative difference up to which values agree; what agrees is proved afterwards."""
# sizes at the points, by position of the symbol: no two are alike, none is the same at all points
_TRIPLES = ((2, 3, 3), (3, 2, 3), (3, 3, 2), (2, 2, 3), (2, 3, 2), (3, 2, 2), (4, 2, 3), (2, 4, 3), (3, 2, 4))


@dataclass(frozen=True, slots=True)
class Point:
    """Sizes, arrays, and the value of the right formula there."""

    sizes: Mapping[str, int]
    arrays: Mapping[str, np.ndarray]
    value: np.ndarray


def same_shape(a: Tensor, b: Tensor) -> bool:
    """Do two tensors have the same shape for all sizes?"""
    return a.ndim == b.ndim and all(same_size(x, y) for x, y in zip(a.shape, b.shape, strict=True))


def size_symbols(*roots: Tensor) -> list[sp.Symbol]:
    """Return the size symbols in shapes, bounds and bodies, sorted by name."""
    found: set[sp.Symbol] = set()
    for t in topological_order(*roots):
        found |= {x for s in t.shape for x in s.free_symbols}
        if isinstance(t, Lambda):
            for term in t.terms:
                symbols = term.expr.free_symbols.union(*(s.free_symbols for _, s in term.bound))
                found |= {x for x in symbols if x.is_integer and x.is_positive and not is_index(x)}
        if isinstance(t, Apply):  # the exponent of a matrix power
            found |= {x for _, value in t.params if isinstance(value, sp.Expr) for x in value.free_symbols}
    return sorted(found, key=str)


def points(right: Tensor, others: Iterable[Tensor], seed: int) -> list[Point]:
    """Return up to three points at which the right formula has a value, of different sizes.

    Args:
        right: the right formula.
        others: more expressions whose inputs and sizes must be given.
        seed: from which arrays are drawn.
    """
    rng = np.random.default_rng(seed)
    roots = [right, *others]
    symbols = size_symbols(*roots)
    evaluator = Evaluator([right])
    found = []
    for which in range(3):
        sizes = {s: _TRIPLES[p % len(_TRIPLES)][which] for p, s in enumerate(symbols)}
        for spread in ("normal", "positive", "near identity"):
            arrays = {
                identifier(str(t.name)): _drawn(
                    rng, tuple(int(s.subs(sizes)) for s in t.shape), spread, "positive" in t.assumptions
                )
                for t in inputs_of(*roots)
            }
            named = {str(s): k for s, k in sizes.items()}
            value = value_of(evaluator, arrays, named)
            if value is not None:
                found.append(Point(named, arrays, value))
                break
    return found


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], spread: str, positive: bool) -> np.ndarray:
    x = rng.standard_normal(shape)
    if spread == "near identity" and len(shape) >= 2 and shape[-1] == shape[-2]:
        return 0.2 * np.abs(x) + np.eye(shape[-1])
    return np.abs(x) if positive or spread != "normal" else x


def value_of(
    evaluator: Evaluator, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> np.ndarray | None:
    """Return the value of the only root of an evaluator, or ``None`` if it is undefined."""
    try:
        used = {k: v for k, v in sizes.items() if k in evaluator.sizes}
        value = np.asarray(evaluator.run(arrays, sizes=used)[0], dtype=float)
    except (LemmaxError, ArithmeticError, ValueError):
        return None
    return value if np.all(np.isfinite(value)) else None


def near(value: np.ndarray, right: np.ndarray) -> bool:
    """Do two arrays agree up to rounding?"""
    if value.shape != right.shape:
        return False
    largest = float(np.max(np.abs(right), initial=0.0))
    return bool(np.max(np.abs(value - right), initial=0.0) <= AGREE * max(largest, 1e-30))


def agrees(candidate: Tensor, at: Iterable[Point]) -> bool:
    """Does a candidate agree with the right formula at all points?"""
    evaluator = Evaluator([candidate])
    seen = False
    for point in at:
        value = value_of(evaluator, point.arrays, point.sizes)
        if value is None or not near(value, point.value):
            return False
        seen = True
    return seen
