r"""Counting: what a run has seen so far, kept so that an interrupted run can still report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import isfinite

from lemmax.check.confirm import is_open
from lemmax.check.decide import CLOSE, FALSE, TRUE
from lemmax.check.judge import Judged
from lemmax.check.plan import DrawPlan
from lemmax.expr.relation import Relation
from lemmax.statement.conditions import Claim
from lemmax.statement.evidence import Evidence, HypothesisTally, MutantOutcome, Tightest
from lemmax.statement.theorem import Theorem


@dataclass(slots=True)
class Tally:
    """Counts of a run on one theorem."""

    theorem: Theorem
    seed: int
    draws: int = 0
    accepted: int = 0
    family: int = 0
    undecided: int = 0
    reexamined: int = 0
    agreement: int | None = None
    strict_ties: Counter[str] = field(default_factory=Counter)
    doubtful: int = 0
    digits: int = 16
    trouble: Counter[str] = field(default_factory=Counter)
    states: list[Counter[int]] = field(default_factory=list)
    tightest: Tightest | None = None
    largest_error: Tightest | None = None

    def __post_init__(self) -> None:
        """Start one counter per hypothesis."""
        self.states = [Counter() for _ in self.theorem.hypotheses]

    def add(self, plan: DrawPlan, one: Judged) -> bool:
        """Count a judged instance and say whether it is accepted."""
        self.draws += 1
        failed = any(one.conditions.get(h) == FALSE for h in self.theorem.hypotheses)
        needed = self.theorem.hypotheses if failed else (*self.theorem.hypotheses, *self.theorem.claims)
        if any(part in one.undefined for part in needed):
            one.trouble = "a side is not a number in float64"
        if one.trouble:
            self.trouble[one.trouble] += 1
            return False
        found = [one.conditions[h] for h in self.theorem.hypotheses]
        for counter, state in zip(self.states, found, strict=True):
            counter[state] += 1
        state = min(found, default=TRUE)
        if state == CLOSE:
            self.doubtful += 1
        if state != TRUE:
            return False
        self.accepted += 1
        self.family += plan.table.family_of(one.sizes)
        return True

    def add_claims(self, one: Judged) -> None:
        """Count the comparisons on an accepted instance."""
        close = False
        for claim in self.theorem.claims:
            outcome = one.claims[claim]
            equality = isinstance(claim, Relation) and claim.op == "=="
            close |= outcome.state == CLOSE and (not equality or is_open(one, claim))
            if outcome.state == FALSE or not isfinite(outcome.slack) or is_open(one, claim):
                continue
            found = Tightest(self.name_of(claim), outcome.lhs, outcome.rhs, outcome.slack, str(one.recipe))
            if equality and (self.largest_error is None or found.slack > self.largest_error.slack):
                self.largest_error = found
            if not equality and (self.tightest is None or found.slack < self.tightest.slack):
                self.tightest = found
        self.undecided += close

    def name_of(self, claim: Claim) -> str:
        """Return how reports call a claim."""
        number = self.theorem.claims.index(claim) + 1
        return str(claim.name or ("claim" if len(self.theorem.claims) == 1 else f"claim {number}"))

    def seen_both(self) -> bool:
        """Was each hypothesis seen true and false?"""
        return all(c[TRUE] and c[FALSE] for c in self.states)

    def evidence(self, mutants: tuple[MutantOutcome, ...]) -> Evidence:
        """Return the counts as a record."""
        return Evidence(
            grade="tested",
            seed=self.seed,
            draws=self.draws,
            accepted=self.accepted,
            family=self.family,
            undecided=self.undecided,
            reexamined=self.reexamined,
            agreement=self.agreement,
            doubtful=self.doubtful,
            not_evaluated=tuple(sorted(self.trouble.items())),
            hypotheses=tuple(
                HypothesisTally(str(h.name), c[TRUE], c[FALSE], c[CLOSE])
                for h, c in zip(self.theorem.hypotheses, self.states, strict=True)
            ),
            tightest=self.tightest or self.largest_error,
            mutants=mutants,
            digits=self.digits,
        )
