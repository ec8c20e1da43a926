r"""The report on a theorem: verdict, evidence, and whether all is as expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lemmax.errors import InvalidArgument
from lemmax.statement.evidence import Evidence, MutantOutcome
from lemmax.statement.verdict import Comparison, Verdict, Witness


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        theorem: name of the theorem.
        expected: ``holds`` or ``refuted``.
        verdict: what came out.
        evidence: on what grounds.
        shortcomings: demands on a run that were not met (too few instances, a hypothesis that was
            never false, a mutant that survived); with any of them a run is not as expected.
        seconds: processor time used.
        interrupted: was the run broken off?  Then it holds what is known so far.
    """

    theorem: str
    expected: str
    verdict: Verdict
    evidence: Evidence
    shortcomings: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    interrupted: bool = False

    @property
    def as_expected(self) -> bool:
        """Is the verdict the expected one, on sufficient evidence, with every mutant refuted?"""
        wanted = ("refuted",) if self.expected == "refuted" else ("proved", "survived")
        if self.verdict.name == "not applicable":
            return not self.shortcomings and not self.interrupted
        return self.verdict.name in wanted and not self.shortcomings and not self.interrupted

    def __bool__(self) -> bool:
        """Refuse: a claim that is refuted may be as expected."""
        raise InvalidArgument(
            f"the report on {self.theorem} has no truth value; ask for report.as_expected or report.verdict."
        )

    @property
    def witness(self) -> Witness | None:
        """The witness of a refutation."""
        return self.verdict.witness

    def __str__(self) -> str:
        """Show the report as text."""
        e = self.evidence
        mark = "as expected" if self.as_expected else "NOT as expected"
        lines = [f"{self.theorem}: {self.verdict.name} ({e.grade}), {mark}"]
        if self.verdict.reason:
            lines.append(f"  {self.verdict.reason}")
        lines.append(
            f"  {e.accepted} instances accepted of {e.draws} drawn ({100 * e.acceptance:.0f} %), "
            f"seed {e.seed}; {e.family} with all family sizes at least 2"
        )
        if e.tightest:
            t = e.tightest
            ratio = f", ratio {t.ratio:.6g}" if t.ratio is not None else ""
            lines.append(
                f"  closest: {t.claim}: {t.lhs!r} against {t.rhs!r}, relative slack {t.slack:.3g}{ratio}"
            )
            lines.append(f"    on {t.recipe}")
        if e.undecided or e.doubtful:
            agree = f", equal to {e.agreement} digits" if e.agreement is not None else ""
            lines.append(
                f"  {_count(e.undecided, 'comparison')} within the rounding bound ({e.reexamined} re-examined"
                f"{agree}); {_count(e.doubtful, 'draw')} with an undecided hypothesis"
            )
        lines += [f"  {count} draws not evaluated: {why}" for why, count in e.not_evaluated]
        lines += [
            f"  hypothesis {h.name!r}: {h.true} true, {h.false} false" + _also(h.undecided)
            for h in e.hypotheses
        ]
        if e.mutants:
            killed = sum(m.refuted for m in e.mutants)
            lines.append(f"  {killed} of {len(e.mutants)} mutants refuted")
        lines += [f"  ! {text}" for text in self.shortcomings]
        lines += ["  ! interrupted: this is what was known so far"] if self.interrupted else []
        if self.witness:
            lines += ["  witness:", *("    " + line for line in str(self.witness).splitlines())]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-ready data; numbers of witnesses are strings with all digits."""
        e = self.evidence
        tightest = None
        if e.tightest:
            t = e.tightest
            tightest = {"claim": t.claim, "lhs": t.lhs, "rhs": t.rhs, "slack": t.slack, "recipe": t.recipe}
        return {
            "theorem": self.theorem,
            "expected": self.expected,
            "verdict": self.verdict.name,
            "reason": self.verdict.reason,
            "as_expected": self.as_expected,
            "grade": e.grade,
            "seed": e.seed,
            "draws": e.draws,
            "accepted": e.accepted,
            "acceptance": e.acceptance,
            "family": e.family,
            "undecided": e.undecided,
            "reexamined": e.reexamined,
            "agreement_digits": e.agreement,
            "doubtful": e.doubtful,
            "not_evaluated": dict(e.not_evaluated),
            "digits": e.digits,
            "hypotheses": [
                {"name": h.name, "true": h.true, "false": h.false, "undecided": h.undecided}
                for h in e.hypotheses
            ],
            "tightest": tightest,
            "mutants": [_mutant_json(m) for m in e.mutants],
            "witness": _witness_json(self.witness),
            "shortcomings": list(self.shortcomings),
            "interrupted": self.interrupted,
            "seconds": self.seconds,
        }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _also(undecided: int) -> str:
    return f", {undecided} undecided" if undecided else ""


def _mutant_json(m: MutantOutcome) -> dict[str, Any]:
    return {
        "name": m.name,
        "refuted": m.refuted,
        "reason": m.reason,
        "tried": m.tried,
        "witness": _witness_json(m.witness),
    }


def _comparison_json(c: Comparison) -> dict[str, Any]:
    return {
        "claim": c.claim,
        "op": c.op,
        "lhs": c.lhs,
        "rhs": c.rhs,
        "index": list(c.index),
        "digits": c.digits,
        "holds": c.holds,
    }


def _witness_json(w: Witness | None) -> dict[str, Any] | None:
    if w is None:
        return None
    return {
        "sizes": dict(w.sizes),
        "arrays": {k: v.tolist() if hasattr(v, "tolist") else v for k, v in w.arrays.items()},
        "comparisons": [_comparison_json(c) for c in w.comparisons],
        "recipe": w.recipe,
        "snippet": w.snippet,
    }
