r"""From the first confirmed failure of a theorem to its smallest witness."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from lemmax.check.confirm import Confirmed, confirm, is_open
from lemmax.check.decide import FALSE, TRUE
from lemmax.check.judge import Judge, Judged
from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Recipe
from lemmax.check.settle import DIGITS, settle
from lemmax.check.shrink import (
    SHRINK_CALLS,
    SHRINK_DESCENTS,
    Enough,
    Failure,
    Shrinker,
    run_blocks,
    shrink_further,
)
from lemmax.check.witness import witness_of
from lemmax.errors import EvaluationError
from lemmax.expr.relation import Relation
from lemmax.statement.conditions import Claim
from lemmax.statement.convergence import Convergence
from lemmax.statement.theorem import Theorem
from lemmax.statement.verdict import Witness

RANKS_EXAMINED = 60  # claims that hang on a rank, evaluated in multiprecision while a failure is shrunk


@dataclass(slots=True)
class Failures:
    """Failures of a theorem on a plan.

    Attributes:
        judge: evaluates instances.
        theorem: the theorem.
        plan: how instances are drawn.
        seed: seed of the round in which the first failure was met.
        blocks: number of blocks of that round.
    """

    judge: Judge
    theorem: Theorem
    plan: DrawPlan
    seed: int
    blocks: int
    _ranks_left: int = RANKS_EXAMINED

    def smallest(self, one: Judged, found: Confirmed) -> tuple[Witness, int]:
        """Return the smallest witness that multiprecision confirms, and the digits used.

        Hypothesis replays the round and shrinks; then all smaller sizes are tried in order.
        """
        costly = any(isinstance(claim, Convergence) for claim in self.theorem.claims)
        shrinker = Shrinker(self.failing, SHRINK_DESCENTS if costly else SHRINK_CALLS)
        with suppress(Failure, Enough):
            run_blocks(self.plan, self.blocks, self.seed, shrinker.examine)
        first = min([one.recipe, *shrinker.failing], key=lambda r: r.weight)
        further = shrink_further(self.plan, first, self.seed, self.failing)
        for recipe in sorted({*further, *shrinker.failing}, key=lambda r: (r.weight, str(r))):
            (again,) = self.judge.judge(self.plan, [recipe], self.theorem.hypotheses, self.theorem.claims)
            if again.trouble:
                continue
            confirmed = confirm(self.judge, again, self.theorem.hypotheses, self.theorem.claims)
            if confirmed.accepted and confirmed.state == FALSE:
                return witness_of(again, confirmed.comparisons, self.theorem), confirmed.digits
        return witness_of(one, found.comparisons, self.theorem), found.digits

    def failing(self, block: tuple[Recipe, ...]) -> list[Recipe]:
        """Return the recipes of a block on which the hypotheses are met and the claim seems to fail."""
        judged = self.judge.judge(self.plan, block, self.theorem.hypotheses, self.theorem.claims)
        met = [j for j in judged if not j.trouble and j.state_of(self.theorem.hypotheses) == TRUE]
        return [one.recipe for one in met if any(self._seems_false(one, c) for c in self.theorem.claims)]

    def _seems_false(self, one: Judged, claim: Claim) -> bool:
        """Does a claim fail in float64, or a rank in it come out deficient at two precisions?"""
        if not is_open(one, claim) or not isinstance(claim, Relation):
            return one.claims[claim].state == FALSE
        if self._ranks_left <= 0:
            return False
        self._ranks_left -= 1
        try:
            (found,) = settle(
                self.judge.readers, [claim], one.arrays, one.sizes, levels=DIGITS[:1], strict=False
            )
        except EvaluationError:
            return False
        return found.state == FALSE
