r"""The table of verdicts and evidence, and the line that sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lemmax.cli.screen import folded, number, table

if TYPE_CHECKING:
    from rich.table import Table

    from lemmax.statement.report import Report

HEADINGS = ("theorem", "expected", "verdict", "grade", "accepted", "undec.", "slack", "mutants")
NAME_WIDTH = 35


def verdict_table(reports: Sequence[Report]) -> Table:
    """Return a row per theorem: what was expected, what came out, and on what evidence.

    *accepted* are the instances that met all hypotheses, and their share of all draws; *undec.* those with
    sides closer than rounding can tell; *slack* is the smallest relative distance to failure; *mutants* how
    many false variants were refuted.
    """
    made = table(*HEADINGS, right=("accepted", "undec.", "slack", "mutants"), wrap=("theorem",))
    for report in reports:
        e = report.evidence
        killed = sum(m.refuted for m in e.mutants)
        made.add_row(
            folded(report.theorem, NAME_WIDTH),
            report.expected,
            report.verdict.name + ("" if report.as_expected else " !"),
            e.grade,
            f"{e.accepted} {100 * e.acceptance:3.0f}%",
            str(e.undecided),
            "" if e.smallest_slack is None else number(e.smallest_slack, 0),
            f"{killed}/{len(e.mutants)}" if e.mutants else "",
            style=None if report.as_expected else "bold red",
        )
    return made


def remarks(reports: Sequence[Report]) -> list[str]:
    """Return what the table cannot hold: witnesses of refutations, and why something is not as expected."""
    lines: list[str] = []
    for report in reports:
        if report.as_expected and report.witness is None:
            continue
        lines.append(f"{report.theorem}: {report.verdict.name}")
        if report.verdict.reason:
            lines.append(f"  {report.verdict.reason}")
        lines += [f"  ! {text}" for text in report.shortcomings]
        if report.interrupted:
            lines.append("  ! interrupted: this is what was known so far")
        if report.witness is not None:
            sizes = ", ".join(f"{name}={value}" for name, value in report.witness.sizes.items())
            lines.append(f"  witness at {sizes}")
            lines += [f"  {comparison}" for comparison in report.witness.comparisons]
            if not report.as_expected and report.witness.snippet:
                lines += ["  reproduce:", *(f"    {line}" for line in report.witness.snippet.splitlines())]
    return lines


def summary(reports: Sequence[Report], unfinished: int = 0) -> str:
    """Return the line that sums up a run."""
    good = sum(report.as_expected for report in reports)
    instances = sum(report.evidence.accepted for report in reports)
    mutants = [m for report in reports for m in report.evidence.mutants]
    killed = sum(m.refuted for m in mutants)
    text = (
        f"{good} of {len(reports)} theorem{'s' if len(reports) != 1 else ''} as expected, "
        f"on {instances} accepted instances; {killed} of {len(mutants)} mutants refuted"
    )
    return text + (f"; {unfinished} not finished" if unfinished else "") + "."
