r"""Evidence: what was tried, on what, and how close it came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lemmax.statement.verdict import Witness

Grade: TypeAlias = Literal["assumed", "tested", "searched", "enclosed", "derived", "rechecked"]
GRADES: tuple[Grade, ...] = ("assumed", "tested", "searched", "enclosed", "derived", "rechecked")


@dataclass(frozen=True, slots=True)
class HypothesisTally:
    """How often a hypothesis was true, false or undecided among the draws."""

    name: str
    true: int
    false: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Tightest:
    """The accepted instance on which the claim came closest to failing.

    Attributes:
        claim: which claim.
        lhs: left side (float64).
        rhs: right side (float64).
        slack: distance to failure relative to the larger side; for an equality the relative error.
        recipe: how the instance was drawn.
    """

    claim: str
    lhs: float
    rhs: float
    slack: float
    recipe: str

    @property
    def ratio(self) -> float | None:
        """Left side over right side; ``None`` if the right side is 0."""
        return self.lhs / self.rhs if self.rhs else None


@dataclass(frozen=True, slots=True)
class MutantOutcome:
    """What became of a mutant.

    Attributes:
        name: name of the mutant.
        refuted: was it refuted, as it must be?
        reason: the theorem's reason why it is false.
        tried: number of instances that met the mutant's hypotheses.
        witness: what refutes it.
    """

    name: str
    refuted: bool
    reason: str
    tried: int
    witness: Witness | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reading of a theorem found.

    Attributes:
        grade: what kind of evidence it is.
        seed: seed of all draws.
        draws: instances drawn.
        accepted: instances that met all hypotheses, and on which the claim was compared.
        family: accepted instances with all family sizes (N, n, D, H where they occur) at least 2.
        undecided: accepted instances with a comparison closer than its rounding bound.
        reexamined: of those, how many were evaluated again in high precision.
        agreement: digits to which re-examined close sides agree at least, if any were.
        doubtful: draws not accepted because a hypothesis could not be decided.
        not_evaluated: draws on which an expression could not be evaluated, by reason.
        hypotheses: how often each was true and false.
        tightest: closest comparison, or ``None`` if nothing was compared.
        mutants: what became of the mutants.
        digits: decimal digits of the finest arithmetic used.
    """

    grade: Grade
    seed: int
    draws: int = 0
    accepted: int = 0
    family: int = 0
    undecided: int = 0
    reexamined: int = 0
    agreement: int | None = None
    doubtful: int = 0
    not_evaluated: tuple[tuple[str, int], ...] = ()
    hypotheses: tuple[HypothesisTally, ...] = ()
    tightest: Tightest | None = None
    mutants: tuple[MutantOutcome, ...] = ()
    digits: int = 16

    @property
    def acceptance(self) -> float:
        """Accepted draws over all draws."""
        return self.accepted / self.draws if self.draws else 0.0

    @property
    def smallest_slack(self) -> float | None:
        """Smallest relative distance to failure."""
        return self.tightest.slack if self.tightest else None

    @property
    def survivors(self) -> tuple[MutantOutcome, ...]:
        """Mutants that were not refuted."""
        return tuple(m for m in self.mutants if not m.refuted)
