r"""Re-examination in multiprecision: what float64 cannot decide, or would call refuted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lemmax.check.decide import CLOSE, FALSE, TRUE, compare_precisely
from lemmax.check.readings import Readers, Sizes
from lemmax.check.watched import Watch
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply
from lemmax.expr.relation import Relation
from lemmax.statement.instances import Arrays
from lemmax.statement.verdict import Comparison

Array = npt.NDArray[Any]

DIGITS = (50, 100, 200)
"""Digits p tried in turn; each is compared with 2p, so that the finest arithmetic has 400."""


FEWEST_SHOWN = 17  # digits of a number in a report: those of float64


class Settled(NamedTuple):
    """A relation after re-examination.

    Attributes:
        state: TRUE, FALSE, or CLOSE if the sides agree in the finest arithmetic tried.
        comparison: the entry that decides: the one that fails, else the closest.
        digits: digits of the finest arithmetic used.
        is_tame: was no number so small that it could have been lost?
        agreement: to how many digits the sides agree, relative to the larger of them and 1.
    """

    state: int
    comparison: Comparison
    digits: int
    is_tame: bool = True
    agreement: int = 0


def settle(
    readers: Readers,
    relations: Sequence[Relation],
    arrays: Arrays,
    sizes: Sizes,
    levels: Sequence[int] = DIGITS,
    strict: bool = True,
) -> list[Settled]:
    """Return the state of each relation on one instance, doubling the digits until each is decided.

    Args:
        readers: prepared readers.
        relations: the relations.
        arrays: one instance.
        sizes: its sizes.
        levels: digits p tried in turn.
        strict: a rank counts as deficient only if it is so in the finest arithmetic, with no number in
            reach of rounding; otherwise (good enough to reject an instance) as soon as two precisions agree.

    Raises:
        EvaluationError: a side is undefined.
    """
    return [_settle_one(readers, relation, arrays, sizes, levels, strict) for relation in relations]


def _settle_one(
    readers: Readers, relation: Relation, arrays: Arrays, sizes: Sizes, levels: Sequence[int], strict: bool
) -> Settled:
    reader = readers.of([relation.lhs, relation.rhs])
    coarse = reader.precise(arrays, sizes, levels[0])
    for digits in levels:
        fine = reader.precise(arrays, sizes, 2 * digits)
        found = _compared(relation, coarse, fine)
        watch = coarse[1].joined(fine[1])
        open_rank = watch.deficient and strict and not (digits == levels[-1] and fine[1].is_tame)
        if open_rank:
            full = [reader.precise(arrays, sizes, d, full_ranks=True) for d in (digits, 2 * digits)]
            if _compared(relation, *full).state != found.state:  # both answers are possible
                found = found._replace(state=CLOSE, comparison=replace(found.comparison, holds=None))
        if found.state != CLOSE:
            break
        coarse = fine
    return found


def _compared(
    relation: Relation, coarse: tuple[dict[str, Array], Watch], fine: tuple[dict[str, Array], Watch]
) -> Settled:
    pairs = [np.broadcast_arrays(v[relation.lhs.digest], v[relation.rhs.digest]) for v, _ in (coarse, fine)]
    watch = coarse[1].joined(fine[1])
    entries, difference = compare_precisely(
        relation.op,
        (pairs[0][0], pairs[0][1]),
        (pairs[1][0], pairs[1][1]),
        watch,
        counts_ranks(relation) and all(is_count(x) for pair in pairs for x in pair),
    )
    index = worst_entry(relation.op, entries, difference)
    state = int(entries.min())
    lhs, rhs = pairs[1][0][index], pairs[1][1][index]
    shown = digits_to_show(lhs, rhs, fine[1].digits) if state != CLOSE else FEWEST_SHOWN
    comparison = Comparison(
        relation.name or "claim",
        relation.op,
        text_of(lhs, shown),
        text_of(rhs, shown),
        index,
        fine[1].digits,
        {TRUE: True, FALSE: False, CLOSE: None}[state],
    )
    return Settled(state, comparison, fine[1].digits, watch.is_tame, agreement_of(lhs, rhs, fine[1].digits))


def worst_entry(op: str, entries: Array, difference: Array) -> tuple[int, ...]:
    """Return the index of the entry that fails by most, or is closest to failing."""
    if entries.ndim == 0:
        return ()
    sign = {"==": 0, ">=": 1, ">": 1, "<=": -1, "<": -1}[op]
    keys = [-abs(d) if sign == 0 else sign * d for d in difference.flat]
    order = sorted(range(len(keys)), key=lambda p: (int(entries.flat[p]), keys[p]))
    return tuple(int(i) for i in np.unravel_index(order[0], entries.shape))


def digits_to_show(lhs: Any, rhs: Any, available: int) -> int:
    """Return how many digits make two numbers look different."""
    import mpmath

    with mpmath.workdps(available):
        largest = max(abs(lhs), abs(rhs))
        gap = abs(lhs - rhs)
        if not gap or not largest or not mpmath.isfinite(gap):
            return FEWEST_SHOWN
        return max(FEWEST_SHOWN, min(available - 5, int(mpmath.ceil(mpmath.log10(largest / gap))) + 3))


def text_of(value: Any, digits: int) -> str:
    """Return a multiprecision number in decimal digits."""
    import mpmath

    with mpmath.workdps(digits + 5):
        return str(mpmath.nstr(mpmath.mpf(value), digits, strip_zeros=True))


def agreement_of(lhs: Any, rhs: Any, digits: int) -> int:
    """Return to how many digits two sides agree, at most half of those computed, less a few."""
    import mpmath

    most = digits // 2 - 5
    with mpmath.workdps(digits):
        gap = abs(lhs - rhs) / max(abs(lhs), abs(rhs), mpmath.mpf(1))
        if not mpmath.isfinite(gap):
            return 0
        return min(most, int(mpmath.floor(-mpmath.log10(gap)))) if gap else most


def is_count(values: Array) -> bool:
    """Are all entries integers?"""
    import mpmath

    return all(mpmath.isint(x) for x in values.flat)


@cache
def counts_ranks(claim: Relation) -> bool:
    """Does a rank enter the relation?  Then float64 leaves open what a deficient rank decides."""
    nodes = topological_order(claim.lhs, claim.rhs)
    return any(isinstance(node, Apply) and node.function == "rank" for node in nodes)


def hypothesis_state(relation: Relation, settled: Settled) -> int:
    """Return a decided state of a hypothesis after re-examination.

    Sides that agree to all digits, where none can have been lost, count as equal.
    """
    if settled.state != CLOSE or not settled.is_tame:
        return settled.state
    return FALSE if relation.op in (">", "<") else TRUE
