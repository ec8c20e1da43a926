r"""A theorem on one given instance: does it apply, and does its claim hold?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from lemmax.check.confirm import confirm, settle_claim
from lemmax.check.decide import CLOSE, FALSE, TRUE, Bounded, compare, met
from lemmax.check.judge import Judge, Judged, is_undefined, sides
from lemmax.check.readings import Sizes, sides_of, stacked
from lemmax.check.recipe import Recipe
from lemmax.check.settle import Settled, hypothesis_state, settle
from lemmax.check.witness import witness_of
from lemmax.errors import EvaluationError
from lemmax.expr.graph import inputs_of
from lemmax.expr.relation import Relation
from lemmax.expr.tensor import identifier
from lemmax.interpret.sizing import Axis, solve_sizes
from lemmax.statement.conditions import Condition, tensors_of
from lemmax.statement.evidence import Evidence, HypothesisTally, Tightest
from lemmax.statement.instances import Arrays
from lemmax.statement.report import Report
from lemmax.statement.theorem import Theorem
from lemmax.statement.verdict import Verdict

LARGEST_PRECISE = 600
"""Entries of all arrays together up to which an instance is re-examined in multiprecision by default: beyond,
a single evaluation takes minutes."""


def check_instance(
    theorem: Theorem,
    arrays: Mapping[str, Any],
    *,
    sizes: Mapping[str, int] | None = None,
    precise: bool | None = None,
) -> Report:
    """Check a theorem on given arrays.

    Args:
        theorem: the theorem.
        arrays: inputs by code name (``WQ`` for ``W^Q``); others are ignored.
        sizes: sizes that the arrays do not determine.
        precise: re-examine in multiprecision what float64 leaves open; by default if the arrays are small.

    Returns:
        The report: ``not applicable`` with what fails and by how much, ``survived``, ``refuted``, or
        ``unknown`` if a failure could not be confirmed.

    Raises:
        EvaluationError: an array is missing, or a side is undefined on these arrays.
        ShapeError: the arrays do not fit the shapes or one another.
    """
    one = _instance(theorem, arrays, sizes or {})
    precise = sum(a.size for a in one.arrays.values()) <= LARGEST_PRECISE if precise is None else precise
    failing = failing_sizes(theorem, one.sizes)
    if failing:
        return _report(theorem, Verdict("not applicable", "; ".join(failing)), one, {})
    judge = Judge()
    states, reasons = _hypotheses(judge, theorem, one, precise)
    if reasons:
        return _report(theorem, Verdict("not applicable", "; ".join(reasons)), one, states)
    batch = stacked([one.arrays])
    relations = [c for c in theorem.claims if isinstance(c, Relation)]
    values = judge.readers.of(sides_of(relations)).bounded(batch, one.sizes) if relations else {}
    _check_defined(relations, values)
    for claim in theorem.claims:
        one.claims[claim] = judge.outcomes(claim, values, batch, [one])[0]
    return _report(theorem, _verdict(judge, theorem, one, precise), one, states)


def _instance(theorem: Theorem, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Judged:
    needed = inputs_of(*[t for part in (*theorem.hypotheses, *theorem.claims) for t in tensors_of(part)])
    chosen: Arrays = {}
    axes: list[Axis] = []
    for t in needed:
        name = identifier(str(t.name))
        if name not in arrays:
            raise EvaluationError(f"theorem {theorem.name}: the array {name} is missing (input {t.label()}).")
        value = np.asarray(arrays[name], dtype=float)
        chosen[name] = value
        if value.ndim == t.ndim:  # otherwise the evaluation itself says what is wrong
            axes += [
                Axis(f"axis {p} of array {name}", s, length)
                for p, (s, length) in enumerate(zip(t.shape, value.shape, strict=True))
            ]
    symbols = {str(s): s for s in theorem.size_symbols}
    known = solve_sizes(axes, {symbols[k]: v for k, v in sizes.items() if k in symbols})
    return Judged(Recipe(tuple((str(s), known[s]) for s in theorem.size_symbols if s in known)), chosen)


def failing_sizes(theorem: Theorem, sizes: Sizes) -> list[str]:
    """Return the size constraints that some sizes violate, each with the numbers."""
    found = []
    for constraint in theorem.sizes:
        numbers = {s: sp.Integer(sizes[str(s)]) for s in constraint.free_symbols if str(s) in sizes}
        lhs, rhs = constraint.lhs.xreplace(numbers), constraint.rhs.xreplace(numbers)
        if constraint.func(lhs, rhs) == sp.false:
            found.append(
                f"sizes: {constraint.lhs} {constraint.rel_op} {constraint.rhs} fails: {lhs} against {rhs}"
            )
    return found


def _hypotheses(
    judge: Judge, theorem: Theorem, one: Judged, precise: bool
) -> tuple[dict[Condition, int], list[str]]:
    """Return the state of each hypothesis, and why the theorem does not apply, if so."""
    states: dict[Condition, int] = {}
    reasons: list[str] = []
    relations = [h for h in theorem.hypotheses if isinstance(h, Relation)]
    values = (
        judge.readers.of(sides_of(relations)).bounded(stacked([one.arrays]), one.sizes) if relations else {}
    )
    _check_defined(relations, values)
    for hypothesis in theorem.hypotheses:
        if not isinstance(hypothesis, Relation):
            states[hypothesis] = one.conditions[hypothesis] = TRUE  # given data are taken as generic
            continue
        lhs, rhs = sides(hypothesis, values)
        state = int(met(hypothesis.op, lhs, rhs, compare(hypothesis.op, lhs, rhs))[0])
        shown = _against(_shown(lhs), hypothesis.op, _shown(rhs))
        if state == CLOSE and precise:
            settled: Settled = settle(judge.readers, [hypothesis], one.arrays, one.sizes)[0]
            state = hypothesis_state(hypothesis, settled)
            shown = _against(settled.comparison.lhs, hypothesis.op, settled.comparison.rhs)
        states[hypothesis] = one.conditions[hypothesis] = state
        if state != TRUE:
            how = "fails" if state == FALSE else "cannot be told from failing (rounding)"
            reasons.append(f"hypothesis {hypothesis.name!r} {how}: {shown}")
    return states, reasons


def _check_defined(relations: Sequence[Relation], values: dict[str, Bounded]) -> None:
    for relation in relations:
        if is_undefined(relation, values):
            raise EvaluationError(
                f"{relation.name or 'the claim'}: a side is not a number on these arrays "
                f"({relation.lhs.label()} {relation.op} {relation.rhs.label()}); "
                "check scales and signs of the data."
            )


_NEEDED = {"==": "", ">=": "at least ", "<=": "at most ", ">": "more than ", "<": "less than "}


def _against(lhs: object, op: str, rhs: object) -> str:
    """Say what a side is and what it must be."""
    left, right = (str(x).removesuffix(".0") for x in (lhs, rhs))
    return f"{left}, must be {_NEEDED[op]}{right}"


def _shown(side: Bounded) -> str:
    flat, bounds = side.value.reshape(-1), side.bound.reshape(-1)
    if flat.size > 1:
        return f"entries from {flat.min():.6g} to {flat.max():.6g}"
    return f"{flat[0]:.12g}" + (f" (+- {bounds[0]:.1g})" if bounds[0] else "")


def _verdict(judge: Judge, theorem: Theorem, one: Judged, precise: bool) -> Verdict:
    if any(one.claims[c].state == FALSE for c in theorem.claims):
        if not precise:
            return Verdict(
                "unknown",
                "the claim seems to fail in float64; not confirmed, as precise=False or the arrays are large",
            )
        found = confirm(judge, one, theorem.hypotheses, theorem.claims)
        if found.accepted and found.state == FALSE:
            return Verdict("refuted", witness=witness_of(one, found.comparisons, theorem))
        if not found.accepted:
            return Verdict(
                "not applicable", "the hypotheses hold to rounding only: " + _texts(found.comparisons)
            )
        return Verdict("survived", "the sides agree to rounding")
    close = [c for c in theorem.claims if one.claims[c].state == CLOSE]
    if close and precise:
        settled = [settle_claim(judge, c, one, levels=(50,)) for c in close]
        if any(s.state == FALSE for s in settled):
            return Verdict("refuted", witness=witness_of(one, [s.comparison for s in settled], theorem))
        return Verdict("survived", _texts([s.comparison for s in settled]))
    return Verdict("survived", "the sides agree to rounding" if close else "")


def _texts(comparisons: Sequence[Any]) -> str:
    return "; ".join(map(str, comparisons))


def _report(theorem: Theorem, verdict: Verdict, one: Judged, states: Mapping[Condition, int]) -> Report:
    tallies = tuple(
        HypothesisTally(str(h.name), int(s == TRUE), int(s == FALSE), int(s == CLOSE))
        for h, s in states.items()
    )
    accepted = int(verdict.name != "not applicable")
    closest = min(
        ((c, o) for c, o in one.claims.items() if np.isfinite(o.slack)),
        key=lambda item: item[1].slack,
        default=None,
    )
    tightest = None
    if closest:
        claim, outcome = closest
        tightest = Tightest(claim.name or "claim", outcome.lhs, outcome.rhs, outcome.slack, str(one.recipe))
    undecided = sum(o.state == CLOSE for o in one.claims.values())
    evidence = Evidence(
        "tested", 0, draws=1, accepted=accepted, undecided=undecided, hypotheses=tallies, tightest=tightest
    )
    return Report(theorem.name, theorem.expected, verdict, evidence)
