r"""Re-examination in multiprecision: what float64 cannot decide, or would call refuted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lemmax.check.decide import CLOSE, FALSE, TRUE, compare_precisely, resolve
from lemmax.check.readings import Readers, Sizes, sides_of
from lemmax.expr.relation import Relation
from lemmax.statement.instances import Arrays
from lemmax.statement.verdict import Comparison

Array = npt.NDArray[Any]

DIGITS = (50, 100, 200)
"""Digits p tried in turn; each is compared with 2p, so that the finest arithmetic has 400."""


class Settled(NamedTuple):
    """A relation after re-examination.

    Attributes:
        state: TRUE, FALSE, or CLOSE if the sides agree in the finest arithmetic tried.
        comparison: the entry that decides: the one that fails, else the closest.
        digits: digits of the finest arithmetic used.
    """

    state: int
    comparison: Comparison
    digits: int


def settle(
    readers: Readers,
    relations: Sequence[Relation],
    arrays: Arrays,
    sizes: Sizes,
    levels: Sequence[int] = DIGITS,
) -> list[Settled]:
    """Return the state of each relation on one instance, doubling the digits until all are decided.

    Raises:
        EvaluationError: a side is undefined.
    """
    done: dict[int, Settled] = {}
    coarse: dict[str, Array] = {}
    for digits in levels:
        open_ = [p for p in range(len(relations)) if p not in done or done[p].state == CLOSE]
        if not open_:
            break
        reader = readers.of(sides_of(relations[p] for p in open_))
        if not all(t.digest in coarse for t in reader.tensors):
            coarse = reader.precise(arrays, sizes, digits)
        fine = reader.precise(arrays, sizes, 2 * digits)
        for p in open_:
            done[p] = _settle_one(relations[p], coarse, fine, digits)
        coarse = fine
    return [done[p] for p in range(len(relations))]


def _settle_one(relation: Relation, coarse: dict[str, Array], fine: dict[str, Array], digits: int) -> Settled:
    pairs = [
        _broadcast(values[relation.lhs.digest], values[relation.rhs.digest]) for values in (coarse, fine)
    ]
    entries, difference = compare_precisely(relation.op, pairs[0], pairs[1], digits)
    index = worst_entry(relation.op, entries, difference)
    state = int(entries.min())
    lhs, rhs = pairs[1][0][index], pairs[1][1][index]
    shown = digits_to_show(lhs, rhs, 2 * digits)
    comparison = Comparison(
        relation.name or "claim",
        relation.op,
        text_of(lhs, shown),
        text_of(rhs, shown),
        tuple(map(int, index)),
        2 * digits,
        {TRUE: True, FALSE: False, CLOSE: None}[state],
    )
    return Settled(state, comparison, 2 * digits)


def _broadcast(lhs: Array, rhs: Array) -> tuple[Array, Array]:
    left, right = np.broadcast_arrays(lhs, rhs)
    return left, right


def worst_entry(op: str, entries: Array, difference: Array) -> tuple[int, ...]:
    """Return the index of the entry that fails by most, or is closest to failing."""
    if entries.ndim == 0:
        return ()
    sign = {"==": 0, ">=": 1, ">": 1, "<=": -1, "<": -1}[op]
    keys = [-abs(d) if sign == 0 else sign * d for d in difference.flat]
    order = sorted(range(len(keys)), key=lambda p: (int(entries.flat[p]), keys[p]))
    return tuple(int(i) for i in np.unravel_index(order[0], entries.shape))


def digits_to_show(lhs: Any, rhs: Any, available: int) -> int:
    """Return how many digits make two numbers look different, at least 17."""
    import mpmath

    with mpmath.workdps(available):
        largest = max(abs(lhs), abs(rhs))
        gap = abs(lhs - rhs)
        if not gap or not largest or not mpmath.isfinite(gap):
            return 17
        return max(17, min(available - 5, int(mpmath.ceil(mpmath.log10(largest / gap))) + 3))


def text_of(value: Any, digits: int) -> str:
    """Return a multiprecision number in decimal digits."""
    import mpmath

    with mpmath.workdps(digits + 5):
        return str(mpmath.nstr(mpmath.mpf(value), digits, strip_zeros=True))


def agreement_of(comparison: Comparison) -> int:
    """Return to how many digits the two sides agree."""
    import mpmath

    with mpmath.workdps(comparison.digits):
        lhs, rhs = mpmath.mpf(comparison.lhs), mpmath.mpf(comparison.rhs)
        largest, gap = max(abs(lhs), abs(rhs)), abs(lhs - rhs)
        if gap <= largest * mpmath.mpf(10) ** (5 - comparison.digits // 2):
            return comparison.digits // 2 - 5
        return int(mpmath.floor(-mpmath.log10(gap / largest)))


def hypothesis_state(relation: Relation, settled: Settled) -> int:
    """Return a decided state of a hypothesis after re-examination."""
    return resolve(relation.op, [settled.state])
