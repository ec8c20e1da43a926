r"""Comparing two sides: true, false, or too close to tell.

In floating point each side comes with a bound on its rounding error, and sides closer than the sum of
the bounds are *close*.  In multiprecision a side is evaluated twice, with p and with 2p digits; what the
two differ by bounds the error of the finer one with a wide margin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lemmax.check.watched import FACTORS, Watch
from lemmax.expr.relation import Op

Array = npt.NDArray[Any]
States = npt.NDArray[np.int8]

TRUE, CLOSE, FALSE = 1, 0, -1

GUARD = 8  # digits at the end of a p-digit number that no comparison relies on

AGREEMENT = 1e-8
"""An equality hypothesis that is close counts as met if its rounding bound is this small, relative to
the largest entry; should the claim then seem to fail, the hypothesis is evaluated again as well."""


class Bounded(NamedTuple):
    """Numbers with bounds on their rounding error, of one shape (leading axis: instances)."""

    value: Array
    bound: Array


INTEGER = 1e-6  # a count (a rank, a product of sizes) is known exactly if it is known to this


def whole(side: Bounded) -> Bounded:
    """Return counts without the rounding bounds that products of integers come with."""
    nearest = np.round(side.value)
    known = (np.abs(side.value - nearest) + side.bound) < INTEGER
    return Bounded(np.where(known, nearest, side.value), np.where(known, 0.0, side.bound))


def align(a: Array, ndim: int) -> Array:
    """Return an array (k, ...) with axes of length 1 inserted after the first, up to ``ndim`` axes."""
    return a.reshape(a.shape[:1] + (1,) * (ndim - a.ndim) + a.shape[1:])


def aligned(lhs: Bounded, rhs: Bounded) -> tuple[Bounded, Bounded]:
    """Return two sides with the same number of axes, instances first."""
    ndim = max(lhs.value.ndim, rhs.value.ndim)
    left, right = (Bounded(align(s.value, ndim), align(s.bound, ndim)) for s in (lhs, rhs))
    return left, right


def tolerance(lhs: Bounded, rhs: Bounded) -> Array:
    """Return how far two sides may differ by rounding: both bounds, and that of their difference."""
    with np.errstate(invalid="ignore", over="ignore"):
        slip = np.finfo(float).eps * (np.abs(lhs.value) + np.abs(rhs.value))
        exact = (lhs.bound == 0) & (rhs.bound == 0)
        return np.where(exact, 0.0, lhs.bound + rhs.bound + slip)


def compare(op: Op, lhs: Bounded, rhs: Bounded) -> States:
    """Return the state of ``lhs op rhs``, entry by entry; what is not a number is close.

    Args:
        op: the relation.
        lhs: left side, aligned with the right one.
        rhs: right side.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        difference = lhs.value - rhs.value
        allowed = tolerance(lhs, rhs)
        above, below = difference > allowed, difference < -allowed
        same = (lhs.value == rhs.value) & (allowed == 0)
    return states(op, above, below, same)


def states(op: Op, above: Array, below: Array, same: Array) -> States:
    """Return states from where the left side is surely above, below, or the same as the right one."""
    true: Array
    false: Array
    if op == "==":
        true, false = same, above | below
    elif op in (">=", ">"):
        true, false = above | (same if op == ">=" else False), below | (same if op == ">" else False)
    else:
        true, false = below | (same if op == "<=" else False), above | (same if op == "<" else False)
    return (true.astype(np.int8) - false.astype(np.int8)).astype(np.int8)


def overall(entries: States) -> States:
    """Return one state per instance: false if any entry is, else close if any is."""
    result: States = entries.reshape(len(entries), -1).min(axis=1)  # FALSE < CLOSE < TRUE
    return result


def met(op: Op, lhs: Bounded, rhs: Bounded, entries: States) -> States:
    """Return one state per instance for a *hypothesis*: equalities that agree to rounding count as met.

    Integer-valued sides (ranks) have bounds of at least 1 where they are open: these stay close.
    """
    state = overall(entries)
    if op == "==":
        flat = [np.abs(a).reshape(len(a), -1) for a in (lhs.value, rhs.value, tolerance(lhs, rhs))]
        with np.errstate(invalid="ignore"):
            scale = np.maximum(flat[0].max(axis=1), flat[1].max(axis=1))
            state = np.where((state == CLOSE) & (flat[2].max(axis=1) <= AGREEMENT * scale), TRUE, state)
    return state.astype(np.int8)


def slack(op: Op, lhs: Bounded, rhs: Bounded) -> Array:
    """Return, entry by entry, the distance to failure relative to the larger side.

    For an equality it is the relative error (of the largest entry of the instance).  Sides that are both
    0 to rounding say nothing: their slack is infinite (0 for an equality).
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        size = np.maximum(np.abs(lhs.value), np.abs(rhs.value))
        difference = lhs.value - rhs.value
        if op == "==":
            largest = size.reshape(len(size), -1).max(axis=1).reshape((-1,) + (1,) * (size.ndim - 1))
            return np.where(largest > 0, np.abs(difference) / largest, 0.0)
        signed = difference if op in (">=", ">") else -difference
        return np.where(size > tolerance(lhs, rhs), signed / size, np.inf)


def error_of(coarse: Any, fine: Any, watch: Watch) -> Any:
    """Return a bound on the error of a number evaluated with 2p digits, from its value with p digits.

    To the difference of the two comes what both may have lost: a part 10^(GUARD - p) of the number, and of
    the largest numbers that met on the way (:data:`lemmax.check.watched.FACTORS` of them multiplied).
    """
    import mpmath

    lost = mpmath.mpf(10) ** (GUARD - watch.digits)
    return abs(fine - coarse) + lost * (abs(fine) + mpmath.mpf(2) ** (FACTORS * watch.high))


def compare_precisely(
    op: Op, coarse: tuple[Array, Array], fine: tuple[Array, Array], watch: Watch, counts: bool = False
) -> tuple[States, Array]:
    """Return the states of a relation evaluated in multiprecision, and the differences of its sides.

    Args:
        op: the relation.
        coarse: both sides with p digits (object arrays of mpf, one instance, broadcast to one shape).
        fine: both sides with 2p digits.
        watch: what both evaluations met; ``watch.digits`` is p.
        counts: both sides are counts (ranks, sizes), which have no rounding error.
    """
    import mpmath

    (l0, r0), (l1, r1) = coarse, fine
    with mpmath.workdps(2 * watch.digits):
        difference = np.asarray(l1 - r1, dtype=object)
        error = abs(l1 - l0) + abs(r1 - r0)
        if not counts:
            error = error_of(l0, l1, watch) + error_of(r0, r1, watch)
        above, below = (np.array(x, dtype=bool) for x in (difference > error, difference < -error))
        # numbers that two precisions give alike, and where nothing can have been lost, are exact
        alike = np.array((difference == 0) & (l1 == l0) & (r1 == r0), dtype=bool)
    same = alike & (counts or (watch.is_tame and op not in ("<", ">")))
    return states(op, above, below, same), difference
