"""The smallest witness that two expressions differ: small sizes first, then entries that are 0 or 1."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from lemmax.check.points import size_symbols, value_of
from lemmax.errors import LemmaxError
from lemmax.expr.graph import inputs_of
from lemmax.expr.tensor import Tensor, identifier
from lemmax.interpret import Evaluator
from lemmax.interpret.multiprecision import MpArithmetic
from lemmax.statement.verdict import Comparison, Verdict, Witness

_DIGITS = 100
_MOST_SIZES = 80  # assignments of sizes that are tried
_DRAWS = 2  # arrays per assignment
_MOST_ENTRIES = 64  # of a witness whose entries are made simple
_APART = 1e-6  # relative; what is apart in float64 is compared with 50 and 100 digits


def smaller(verdict: Verdict, left: Tensor, right: Tensor, seed: int = 0) -> Verdict:
    """Return a refutation with the smallest witness that was found."""
    if verdict.name != "refuted" or verdict.witness is None or not verdict.witness.arrays:
        return verdict
    found = _search(left, right, seed)
    return verdict if found is None else Verdict("refuted", verdict.reason, found)


def _search(left: Tensor, right: Tensor, seed: int) -> Witness | None:
    evaluators = Evaluator([left]), Evaluator([right])
    inputs = inputs_of(left, right)
    rng = np.random.default_rng(seed)
    assignments = itertools.islice(_assignments(size_symbols(left, right)), _MOST_SIZES)
    for sizes in (s for s in assignments for _ in range(_DRAWS)):
        named = {str(s): k for s, k in sizes.items()}
        arrays = {}
        for t in inputs:
            shape = tuple(int(s.subs(sizes)) for s in t.shape)
            x = rng.integers(-2, 3, size=shape).astype(float)
            arrays[identifier(str(t.name))] = np.abs(x) + 1 if "positive" in t.assumptions else x
        if _differ(evaluators, arrays, named) is None:
            continue
        simple = _simplified(evaluators, arrays, named)
        for candidate in (simple, arrays):
            witness = _exact(left, right, candidate, named)
            if witness is not None:
                return witness
    return None


def _assignments(symbols: list[sp.Symbol]) -> Iterator[dict[sp.Symbol, int]]:
    """Yield sizes from {1, 2}, those with few twos first, then all 3."""
    for count in range(len(symbols) + 1):
        for twos in itertools.combinations(symbols, count):
            yield {s: 2 if s in twos else 1 for s in symbols}
    yield dict.fromkeys(symbols, 3)


def _differ(
    evaluators: tuple[Evaluator, Evaluator], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> tuple[int, ...] | None:
    """Return a place at which the values differ."""
    values = [value_of(e, arrays, sizes) for e in evaluators]
    if values[0] is None or values[1] is None or values[0].shape != values[1].shape:
        return None
    gap = np.abs(values[0] - values[1])
    scale = np.abs(values[0]) + np.abs(values[1])
    found = np.argwhere((gap > _APART * scale) & (gap > 1e-9))
    return tuple(int(i) for i in found[0]) if len(found) else None


def _simplified(
    evaluators: tuple[Evaluator, Evaluator], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    best = {name: x.copy() for name, x in arrays.items()}
    if sum(x.size for x in best.values()) > _MOST_ENTRIES:
        return best
    for name in sorted(best):
        for at in np.ndindex(best[name].shape):
            for value in (0.0, 1.0):
                old = best[name][at]
                if old == value:
                    break
                best[name][at] = value
                if _differ(evaluators, best, sizes) is not None:
                    break
                best[name][at] = old
    return best


def _exact(
    left: Tensor, right: Tensor, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> Witness | None:
    """Return the witness if the sides differ by far more than 50 and 100 digits differ from one another."""
    both = Evaluator([left, right])
    used = {k: v for k, v in sizes.items() if k in both.sizes}
    try:
        coarse, fine = (
            [np.asarray(v) for v in both.run(arrays, sizes=used, arithmetic=MpArithmetic(digits))]
            for digits in (_DIGITS // 2, _DIGITS)
        )
    except (LemmaxError, ArithmeticError):
        return None
    for at in np.ndindex(fine[0].shape):
        x, y = fine[0][at], fine[1][at]
        slip = abs(coarse[0][at] - x) + abs(coarse[1][at] - y)
        if x == x and y == y and abs(x - y) > 10**10 * slip and abs(x - y) > _APART * (abs(x) + abs(y)):
            numbers = Comparison("the sides", "==", _text(x), _text(y), at, _DIGITS, False)
            entries = {name: _fractions(a) for name, a in sorted(arrays.items()) if name in both.inputs}
            return Witness(dict(sorted(used.items())), entries, (numbers,))
    return None


def _text(x: Any) -> str:
    import mpmath

    return str(mpmath.nstr(x, 20))


def _fractions(array: np.ndarray) -> Any:
    if array.ndim == 0:
        return str(Fraction(float(array)))
    return [_fractions(row) for row in array]
