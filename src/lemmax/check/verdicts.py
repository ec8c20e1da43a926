r"""From counts to a verdict, and to what is missing from a run."""

from __future__ import annotations

from lemmax.check.tally import Tally
from lemmax.statement.evidence import Evidence, MutantOutcome
from lemmax.statement.report import Report
from lemmax.statement.theorem import Theorem
from lemmax.statement.verdict import Verdict, Witness

LOWEST_ACCEPTANCE = 0.05
FAMILY_SHARE = 0.5  # of the accepted instances, this part has all family sizes at least 2


def report_of(
    theorem: Theorem,
    tally: Tally,
    wanted: int,
    witness: Witness | None,
    mutants: tuple[MutantOutcome, ...],
    seconds: float,
    interrupted: bool,
) -> Report:
    """Return the report on a run."""
    evidence = tally.evidence(mutants)
    verdict = verdict_of(evidence, wanted, witness, interrupted)
    shortcomings = () if interrupted else shortcomings_of(theorem, evidence, verdict)
    if verdict.name == "survived" and not interrupted:
        shortcomings += ties_of(tally)
    return Report(theorem.name, theorem.expected, verdict, evidence, shortcomings, seconds, interrupted)


def verdict_of(evidence: Evidence, wanted: int, witness: Witness | None, interrupted: bool) -> Verdict:
    """Return the verdict."""
    e = evidence
    if witness is not None:
        return Verdict("refuted", witness=witness)
    if interrupted and e.accepted < wanted:
        return Verdict("unknown", f"interrupted after {e.accepted} of {wanted} instances")
    if e.accepted == 0:
        troubled = sum(count for _, count in e.not_evaluated)
        if e.doubtful or troubled:
            return Verdict(
                "unknown",
                f"no instance was accepted; on {e.doubtful} of {e.draws} draws a hypothesis stayed "
                f"undecided, {troubled} could not be evaluated",
            )
        never = [h.name for h in e.hypotheses if not h.true]
        reason = f"none of {e.draws} draws satisfies the hypotheses"
        return Verdict("vacuous", reason + (f"; never true: {', '.join(never)}" if never else ""))
    if e.accepted < wanted:
        return Verdict("unknown", f"only {e.accepted} of {wanted} instances were accepted in {e.draws} draws")
    return Verdict("survived")


def shortcomings_of(theorem: Theorem, evidence: Evidence, verdict: Verdict) -> tuple[str, ...]:
    """Return what a run lacks, each with the way out."""
    e = evidence
    found: list[str] = []
    if verdict.name == "survived":
        if e.family < FAMILY_SHARE * e.accepted:
            found.append(
                f"only {e.family} of {e.accepted} instances have all family sizes at least 2: "
                "widen Instances(sizes=...)"
            )
        if e.acceptance < LOWEST_ACCEPTANCE:
            found.append(
                f"acceptance {100 * e.acceptance:.1f} % is below {100 * LOWEST_ACCEPTANCE:.0f} %: "
                "build the hypotheses into the instances (structure, derived)"
            )
        for h in e.hypotheses:
            if not h.false:
                found.append(
                    f"hypothesis {h.name!r} was never false: it does nothing on these instances; "
                    "widen them, or leave it out"
                )
        troubled = sum(count for _, count in e.not_evaluated)
        if 2 * troubled > e.draws:
            found.append(f"{troubled} of {e.draws} draws could not be evaluated")
    found += [
        f"mutant {m.name!r} survived {m.tried} instances, though it should be false: {m.reason}"
        for m in e.survivors
    ]
    return tuple(found)


def ties_of(tally: Tally) -> tuple[str, ...]:
    """Return the strict claims whose sides could not be told apart: equality would refute them."""
    return tuple(
        f"{name} is strict, but on {count} of the re-examined instances its sides agree to all digits tried, "
        "and equality would refute it: claim >= or <=, or exclude these instances by a hypothesis"
        for name, count in tally.strict_ties.items()
        if count
    )
