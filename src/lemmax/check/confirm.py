r"""Before anything is called refuted: hypotheses and claims of one instance in multiprecision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lemmax.check.decide import CLOSE, TRUE
from lemmax.check.judge import Judge, Judged
from lemmax.check.settle import DIGITS, Settled, counts_ranks, hypothesis_state, settle
from lemmax.errors import EvaluationError
from lemmax.expr.relation import Relation
from lemmax.statement.conditions import Claim, Condition
from lemmax.statement.convergence import Convergence
from lemmax.statement.verdict import Comparison


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What multiprecision says about an instance.

    Attributes:
        accepted: are all hypotheses met?
        state: state of the claims together.
        comparisons: hypotheses, then claims, in digits.
        digits: digits of the finest arithmetic used.
    """

    accepted: bool
    state: int
    comparisons: tuple[Comparison, ...]
    digits: int


def confirm(
    judge: Judge,
    one: Judged,
    conditions: Sequence[Condition],
    claims: Sequence[Claim],
    levels: Sequence[int] = DIGITS,
) -> Confirmed:
    """Evaluate an instance in multiprecision: the claims that are not surely true, and all hypotheses."""
    hypotheses = [c for c in conditions if isinstance(c, Relation)]
    others_met = all(one.conditions[c] == TRUE for c in conditions if not isinstance(c, Relation))
    try:
        checked = settle(judge.readers, hypotheses, one.arrays, one.sizes, levels)
        comparisons = [s.comparison for s in checked]
        digits = max((s.digits for s in checked), default=0)
        accepted = others_met and all(
            hypothesis_state(h, s) == TRUE for h, s in zip(hypotheses, checked, strict=True)
        )
        if not accepted:
            return Confirmed(False, CLOSE, tuple(comparisons), digits)
        worst = TRUE
        for claim in claims:
            if one.claims[claim].state == TRUE:
                continue
            settled = settle_claim(judge, claim, one, levels)
            comparisons.append(settled.comparison)
            digits = max(digits, settled.digits)
            worst = min(worst, settled.state)  # FALSE < CLOSE < TRUE
        return Confirmed(True, worst, tuple(comparisons), digits)
    except EvaluationError:
        return Confirmed(False, CLOSE, (), 0)


def settle_claim(judge: Judge, claim: Claim, one: Judged, levels: Sequence[int] = DIGITS) -> Settled:
    """Re-examine one claim on one instance."""
    if isinstance(claim, Convergence):
        return judge.descent(claim).settle(one.arrays, one.sizes)
    return settle(judge.readers, [claim], one.arrays, one.sizes, levels)[0]


def is_open(one: Judged, claim: Claim) -> bool:
    """Does the claim on an instance hang on a rank that float64 leaves open?"""
    return one.claims[claim].state == CLOSE and isinstance(claim, Relation) and counts_ranks(claim)
