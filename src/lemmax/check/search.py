r"""A short random search for instances on which a claim fails, from those on which it comes closest.

A (1 + k) evolution strategy on the relative slack: entries, or a slice of an input, are perturbed on a
random scale, and the best instance that meets the hypotheses is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lemmax.check.build import build_base, build_structure
from lemmax.check.decide import FALSE, TRUE
from lemmax.check.generators import FREE
from lemmax.check.judge import Judge, Judged
from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Mutation
from lemmax.expr.tensor import identifier
from lemmax.statement.conditions import Claim, Condition
from lemmax.statement.instances import Arrays

STARTS = 8  # of different sizes
GENERATIONS = 60
PATIENCE = 12  # generations without progress before the next start is taken
CHILDREN = 12

Array = npt.NDArray[np.float64]


def slack_of(one: Judged, claims: Sequence[Claim]) -> float:
    """Return how close an instance comes to failing one of some claims."""
    return min(one.claims[c].slack for c in claims)


def nearest(
    judged: Sequence[Judged], conditions: Sequence[Condition], claims: Sequence[Claim]
) -> list[Judged]:
    """Return the instances that meet the hypotheses and come closest to failing."""
    met = [one for one in judged if not one.trouble and one.state_of(conditions) == TRUE]
    best: dict[tuple[tuple[str, int], ...], Judged] = {}
    for one in sorted(met, key=lambda one: (slack_of(one, claims), one.recipe.weight)):
        best.setdefault(one.recipe.sizes, one)
    return list(best.values())[:STARTS]


def search(
    judge: Judge,
    plan: DrawPlan,
    start: Judged,
    conditions: Sequence[Condition],
    claims: Sequence[Claim],
    seed: int,
) -> tuple[list[Judged], int]:
    """Return instances that seem to fail (none, if the search does not succeed) and how many were tried."""
    rng = np.random.default_rng([seed, 1])
    free = [
        identifier(str(t.name))
        for t, draw in plan.draws.items()
        if draw.kind in FREE and not t.assumptions and (draw.kind != "positive")
    ]
    best, base = start, build_base(plan, start.recipe)
    tried = 0
    waiting = 0
    for _ in range(GENERATIONS if free else 0):
        waiting += 1
        if waiting > PATIENCE:
            break
        bases = [perturbed(base, free, rng) for _ in range(CHILDREN)]
        children = [_finished(plan, start, child) for child in bases]
        judged = judge.judge_arrays(plan, children, conditions, claims)
        met = [
            (one, b)
            for one, b in zip(judged, bases, strict=True)
            if not one.trouble and one.state_of(conditions) == TRUE
        ]
        tried += len(met)
        failing = [one for one, _ in met if any(one.claims[c].state == FALSE for c in claims)]
        if failing:
            return failing, tried
        for one, b in met:
            if slack_of(one, claims) < slack_of(best, claims):
                best, base, waiting = one, b, 0
    return [], tried


def _finished(plan: DrawPlan, start: Judged, base: Arrays) -> Judged:
    arrays = dict(base)
    build_structure(plan, start.recipe, arrays)
    return Judged(start.recipe.with_mutation(Mutation("searched", ())), arrays)


def perturbed(base: Arrays, free: Sequence[str], rng: np.random.Generator) -> Arrays:
    """Return arrays of which one to all of the free ones are changed a little or a lot."""
    result = dict(base)
    count = int(rng.integers(1, len(free) + 1))
    for name in rng.choice(len(free), size=count, replace=False):
        result[free[name]] = _perturbed(base[free[name]], rng)
    return result


def _perturbed(x: Array, rng: np.random.Generator) -> Array:
    if rng.random() < 0.3 and x.ndim:
        y = x.copy()
        y[int(rng.integers(len(y)))] *= 10.0 ** rng.uniform(-1.0, 0.5)
        return y
    size = float(np.sqrt(np.mean(x * x))) or 1.0
    return np.asarray(x + size * 10.0 ** rng.uniform(-3.0, 0.0) * rng.standard_normal(x.shape))
