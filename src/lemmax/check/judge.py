r"""Judging blocks of instances: which hypotheses and claims hold on each, in float64 with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lemmax.check.build import build, is_generic
from lemmax.check.decide import CLOSE, FALSE, TRUE, Bounded, aligned, compare, met, overall, slack, whole
from lemmax.check.descent import Descent
from lemmax.check.plan import DrawPlan
from lemmax.check.readings import Reader, Readers, sides_of, single, stacked, with_derived
from lemmax.check.recipe import Recipe
from lemmax.check.settle import counts_ranks
from lemmax.errors import EvaluationError
from lemmax.expr.relation import Relation
from lemmax.statement.conditions import Claim, Condition, Generic
from lemmax.statement.convergence import Convergence
from lemmax.statement.instances import Arrays


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a claim fared on one instance: its state, and the closest comparison."""

    state: int
    slack: float
    lhs: float
    rhs: float


@dataclass(slots=True)
class Judged:
    """One instance, judged.

    Attributes:
        recipe: how it was drawn.
        arrays: its arrays, derived inputs included.
        conditions: state by condition.
        claims: outcome by claim.
        trouble: why it could not be evaluated, if so.
        undefined: relations with a side that is not a number in float64.
    """

    recipe: Recipe
    arrays: Arrays = field(default_factory=dict)
    conditions: dict[Condition, int] = field(default_factory=dict)
    claims: dict[Claim, Outcome] = field(default_factory=dict)
    trouble: str = ""
    undefined: tuple[Relation, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """Value by size name."""
        return dict(self.recipe.sizes)

    def state_of(self, conditions: Sequence[Condition]) -> int:
        """Return the state of several hypotheses together."""
        return min((self.conditions[c] for c in conditions), default=TRUE)


class Judge:
    """Evaluates conditions and claims on blocks of recipes."""

    def __init__(self, readers: Readers | None = None) -> None:
        """Start with readers that may be shared."""
        self.readers = readers or Readers()
        self._descents: dict[Convergence, Descent] = {}

    def judge(
        self,
        plan: DrawPlan,
        recipes: Sequence[Recipe],
        conditions: Sequence[Condition],
        claims: Sequence[Claim],
    ) -> list[Judged]:
        """Judge recipes of equal sizes: all in one evaluation, one by one only if that fails."""
        return self.judge_arrays(plan, [Judged(r, build(plan, r)) for r in recipes], conditions, claims)

    def judge_arrays(
        self,
        plan: DrawPlan,
        judged: list[Judged],
        conditions: Sequence[Condition],
        claims: Sequence[Claim],
    ) -> list[Judged]:
        """Judge instances of equal sizes whose arrays are there, but for the derived inputs."""
        try:
            found = self._together(plan, judged, conditions, claims)
        except EvaluationError as error:
            if len(judged) == 1:
                judged[0].trouble = _first_sentence(str(error))
                return judged
            found = None
        if found is None or (len(judged) > 1 and not found):
            return [one for j in judged for one in self.judge_arrays(plan, [j], conditions, claims)]
        return judged

    def _together(
        self, plan: DrawPlan, judged: list[Judged], conditions: Sequence[Condition], claims: Sequence[Claim]
    ) -> bool:
        """Judge a block in one evaluation; say whether all values were defined."""
        sizes = judged[0].sizes
        arrays = stacked([j.arrays for j in judged])
        arrays = with_derived(self.readers, plan.theorem.instances.derived, arrays, sizes)
        relations = [r for r in (*conditions, *claims) if isinstance(r, Relation)]
        values: dict[str, Bounded] = {}
        if relations:
            reader: Reader = self.readers.of(sides_of(relations))
            values = reader.bounded(arrays, sizes)
            if any(np.isnan(v.value).any() for v in values.values()):
                if len(judged) > 1:
                    return False
                judged[0].undefined = tuple(r for r in relations if is_undefined(r, values))
        for at, one in enumerate(judged):
            one.arrays = single(arrays, at)
        for condition in conditions:
            for one, state in zip(judged, self._condition(plan, condition, values, judged), strict=True):
                one.conditions[condition] = state
        for claim in claims:
            outcomes = self.outcomes(claim, values, arrays, judged)
            for one, outcome in zip(judged, outcomes, strict=True):
                one.claims[claim] = outcome
        return True

    def _condition(
        self, plan: DrawPlan, condition: Condition, values: dict[str, Bounded], judged: list[Judged]
    ) -> list[int]:
        if isinstance(condition, Generic):
            return [TRUE if is_generic(plan, one.recipe, condition.inputs) else FALSE for one in judged]
        lhs, rhs = sides(condition, values)
        entries = compare(condition.op, lhs, rhs)
        return [int(s) for s in met(condition.op, lhs, rhs, entries)]

    def outcomes(
        self, claim: Claim, values: dict[str, Bounded], arrays: Arrays, judged: Sequence[Judged]
    ) -> list[Outcome]:
        """Return how a claim fares on each instance of a batch whose conditions were judged."""
        if isinstance(claim, Relation):
            return self._relation(claim, values)
        return self._convergence(claim, arrays, judged)

    def _relation(self, claim: Relation, values: dict[str, Bounded]) -> list[Outcome]:
        lhs, rhs = sides(claim, values)
        entries = compare(claim.op, lhs, rhs)
        margins = np.nan_to_num(slack(claim.op, lhs, rhs), nan=np.inf, posinf=np.inf, neginf=-np.inf)
        flat = margins.reshape(len(margins), -1)
        closest = flat.argmax(axis=1) if claim.op == "==" else flat.argmin(axis=1)
        left, right = (np.broadcast_to(s.value, margins.shape).reshape(flat.shape) for s in (lhs, rhs))
        return [
            Outcome(int(state), float(flat[k, p]), float(left[k, p]), float(right[k, p]))
            for k, (state, p) in enumerate(zip(overall(entries), closest, strict=True))
        ]

    def _convergence(self, claim: Convergence, arrays: Arrays, judged: Sequence[Judged]) -> list[Outcome]:
        """Run the descent on the instances that may be accepted; the others stay open."""
        outcomes = [Outcome(CLOSE, np.inf, np.nan, np.nan)] * len(judged)
        chosen = [k for k, one in enumerate(judged) if min(one.conditions.values(), default=TRUE) == TRUE]
        if not chosen:
            return outcomes
        part = {name: value[chosen] for name, value in arrays.items()}
        for k, outcome in zip(chosen, self.descent(claim).judge(part, judged[0].sizes), strict=True):
            outcomes[k] = Outcome(*outcome)
        return outcomes

    def descent(self, claim: Convergence) -> Descent:
        """Return the prepared descent of a convergence claim."""
        if claim not in self._descents:
            self._descents[claim] = Descent(claim, self.readers)
        return self._descents[claim]


def is_undefined(relation: Relation, values: dict[str, Bounded]) -> bool:
    """Is an entry of a side not a number?"""
    return any(np.isnan(values[t.digest].value).any() for t in (relation.lhs, relation.rhs))


def sides(relation: Relation, values: dict[str, Bounded]) -> tuple[Bounded, Bounded]:
    """Return the two sides of a relation, aligned; counts lose bounds that are below their unit."""
    lhs, rhs = aligned(values[relation.lhs.digest], values[relation.rhs.digest])
    return (whole(lhs), whole(rhs)) if counts_ranks(relation) else (lhs, rhs)


def _first_sentence(text: str) -> str:
    return text.split(" (")[0].split("; ")[0][:160]
