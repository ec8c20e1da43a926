r"""What ``lemmax check --instance`` prints about an instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lemmax.cli.screen import folded, number, print_table, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lemmax.campaign.instance.features import Features
    from lemmax.campaign.instance.local import Hypothesis
    from lemmax.campaign.instance.report import InstanceReport, KernelReading, SetReading
    from lemmax.campaign.instance.theorems import Reading
    from lemmax.campaign.instance.tokens import Tokens

NAMES = {"WQ": "W^Q", "WK": "W^K", "WV": "W^V", "WO": "W^O"}
NAME_WIDTH = 36
LISTED = 8  # equal or blank tokens that are named one by one


def show_instance(screen: Console, report: InstanceReport) -> None:
    """Print the report on an instance."""
    screen.print()
    screen.print("\n".join(head(report)), soft_wrap=True)
    for reading in report.kernels:
        screen.print(
            f"\n{reading.kernel.capitalize()} kernel: where the PL inequality in W^V applies", style="bold"
        )
        print_table(screen, feature_table(reading))
        screen.print("\n".join(advice(reading, report)), soft_wrap=True)
        screen.print(
            "\nGradient descent on W^V, by the generated gradient, step 1/L; bound (1 - mu/L)^2 on each step"
        )
        print_table(screen, descent_table(reading))
        screen.print(
            "\nGradient descent on all weights, and the hypotheses of local convergence at its start"
        )
        screen.print("\n".join(local_lines(reading)), soft_wrap=True)
    if report.theorems:
        screen.print("\nTheorems on this instance", style="bold")
        print_table(screen, theorem_table(report))


def head(report: InstanceReport) -> Iterator[str]:
    """Say what the instance is, and what the tokens alone decide."""
    s = report.sizes
    yield f"Instance {report.file}: X ({s['N']}, {s['n']}, {s['D']})"
    yield (
        f"  N = {s['N']} samples, n = {s['n']} tokens, D = {s['D']}; H = {s['H']} heads, d = {s['d']}, "
        f"v = {s['v']}, m = {s['m']}"
    )
    groups: dict[str, list[str]] = {}
    for name, origin in report.origin.items():
        if name != "X":
            groups.setdefault(origin, []).append(NAMES.get(name, name))
    for origin, names in groups.items():
        yield f"  {', '.join(names)}: {origin}"
    enough = "H D >= N n" if s["H"] * s["D"] >= s["N"] * s["n"] else "H D < N n"
    yield f"  {enough}: H D = {s['H'] * s['D']}, N n = {s['N'] * s['n']}"
    yield from token_lines(report.tokens, s["D"])


def token_lines(tokens: Tokens, dimension: int) -> Iterator[str]:
    """Say what the tokens are like; samples and tokens are counted from 0."""
    columns = tokens.blank_columns
    blank = f"; column{'s' if len(columns) > 1 else ''} {listed(columns)} blank throughout" if columns else ""
    sure = "" if tokens.exact else "at least "
    yield f"  rank of the stacked X: {sure}{tokens.rank} of {dimension}{blank}"
    for sample, group in tokens.equal[:LISTED]:
        yield f"  equal tokens: {' = '.join(f'({sample}, {token})' for token in group)} (sample, token)"
    if len(tokens.equal) > LISTED:
        among = tokens.samples_with_equal
        yield f"  and more; {len(among)} samples have equal tokens: {listed(among)}"
    if tokens.blank:
        shown = ", ".join(f"({i}, {j})" for i, j in tokens.blank[:LISTED])
        more = f" and {len(tokens.blank) - LISTED} more" if len(tokens.blank) > LISTED else ""
        yield f"  blank tokens: {shown}{more} (sample, token)"
    if not tokens.equal:
        yield "  equal tokens: none within a sample"


def feature_table(reading: KernelReading) -> Table:
    """Return a row per set of samples: sizes, rank, smallest singular value, and whether PL applies."""
    right = ("N n", "H D", "rank B_0", "sigma_Nn(B_0)")
    made = table("set", "samples", *right, "PL in W^V", right=right, wrap=("samples", "PL in W^V"))
    for shown in reading.sets:
        f = shown.features
        sure = "" if f.full or f.rank == f.rank_bound else "~"
        cells = (str(f.rows), str(f.columns), f"{sure}{f.rank}", sigma_text(f), applies_text(f))
        made.add_row(shown.label, listed(f.samples, 12), *cells)
    return made


def sigma_text(f: Features) -> str:
    """Show sigma_{N n}(B_0), or how small it is at most where rounding says no more."""
    if f.rows > f.columns:
        return "0"
    if f.sigma.is_positive or f.full:
        return f"{f.sigma.value:.3g}"
    return f"< {number(f.sigma.value + f.sigma.radius)}"


def applies_text(f: Features) -> str:
    """Say whether the PL inequality applies, or why not."""
    if f.applies:
        return "applies"
    if f.full is None:
        return f"undecided: {f.by}"
    if f.full:
        return f"no: min_h sigma_m(W^O_h) = {number(f.w.value)}; it needs v >= m and W^O_h of rank m"
    return "no: " + "; ".join(f.obstacles)


def advice(reading: KernelReading, report: InstanceReport) -> Iterator[str]:
    """Say how large a sub-sample may be, and what would carry more."""
    found, s = reading.search, report.sizes
    total, unfit = s["N"], report.tokens.samples_with_equal
    if len(found.samples) == total:
        yield "Full row rank holds for all samples together."
        return
    if found.samples:
        how = "no larger one exists" if found.is_largest else f"at most {found.bound} samples could do"
        yield (
            f"Largest sub-sample with full row rank: {len(found.samples)} of {total} samples "
            f"({listed(found.samples)}); {how}."
        )
    else:
        yield "No single sample has features of full row rank."
    if unfit:
        yield f"Samples with equal tokens never fit, whatever the weights: {listed(unfit)}."
    if reading.heads_needed is not None and reading.heads_needed > s["H"]:
        rest = f"the other {total - len(unfit)}" if unfit else f"all {total}"
        yield (
            f"As far as sizes go, {rest} samples need --heads {reading.heads_needed} or more; longer tokens "
            "(larger patches) carry more, too."
        )


def descent_table(reading: KernelReading) -> Table:
    """Return a row per set of samples: the promise for descent on W^V, and what was observed."""
    numbers = ("mu", "L", "bound", "worst step", "mean step", "f_T/f_0", "T")
    made = table("set", *numbers, "kept", right=numbers)
    for shown in reading.sets:
        f, path = shown.features, shown.values
        kept = {"kept": "yes", "broken": "NO", "undecided": "to rounding", None: ""}[shown.kept]
        made.add_row(
            shown.label,
            number(f.mu) if f.applies else "",
            number(f.L),
            factor_text(f.rate) if f.applies else "none",
            factor_text(path.worst),
            factor_text(path.mean),
            number(path.decrease),
            str(len(path.steps)),
            kept,
            style="bold red" if shown.kept == "broken" else None,
        )
    return made


def factor_text(value: float | None) -> str:
    """Show a factor; one just below 1 by its distance from 1."""
    if value is None:
        return ""
    return f"1-{number(1 - value)}" if 0.999 < value < 1 else f"{value:.5f}"


def local_lines(reading: KernelReading) -> Iterator[str]:
    """Say how descent on all weights went, and by how much the hypotheses of local convergence fail."""
    for shown in reading.sets:
        if shown.everything is None or shown.local is None:
            continue
        path, local = shown.everything, shown.local
        yield (
            f"{shown.label}: f_T/f_0 = {number(path.decrease)}, T = {len(path.steps)} (backtracking), "
            f"mean step {factor_text(path.mean)}, worst {factor_text(path.worst)}, "
            f"distance moved {path.distance:.2g}"
        )
        for hypothesis in local.hypotheses:
            yield f"  {hypothesis.text}: {outcome_text(hypothesis)}"
        if local.applies:
            yield f"  it applies; factors 1 - eta alpha^2 {kept_text(shown)}"


def outcome_text(h: Hypothesis) -> str:
    """Say whether a hypothesis holds, or by how much it fails."""
    if h.op == ">":
        return f"{h.lhs:.3g}, holds" if h.holds else f"{h.lhs:.3g}, fails"
    if h.holds:
        return f"{h.lhs:.3g} <= {h.rhs:.3g}, holds"
    if h.factor is None or h.factor == float("inf"):
        return f"{h.lhs:.3g} against {h.rhs:.3g}, fails"
    return f"{h.lhs:.3g} against {h.rhs:.3g}, fails by a factor of {number(h.factor)}"


def kept_text(shown: SetReading) -> str:
    """Say whether the factors of a descent kept to their bounds."""
    return {"kept": "kept", "broken": "NOT kept", "undecided": "kept to rounding", None: ""}[
        shown.kept_locally
    ]


def theorem_table(report: InstanceReport) -> Table:
    """Return a row per theorem: verdict, samples, and sides or reason."""
    reason = "closest sides, or why not"
    made = table("theorem", "verdict", "samples", reason, wrap=("samples", reason))
    for reading in report.theorems:
        on = "" if not reading.samples else "all" if reading.on_all else listed(reading.samples)
        made.add_row(
            folded(reading.theorem, NAME_WIDTH),
            reading.verdict.name + ("" if reading.as_expected else " !"),
            on,
            sides_text(reading),
            style=None if reading.as_expected else "bold red",
        )
    return made


def sides_text(reading: Reading) -> str:
    """Show both sides of the closest comparison, and the reasons."""
    parts = []
    tightest = reading.report.evidence.tightest if reading.report is not None else None
    if tightest is not None:
        parts.append(f"{tightest.claim}: {tightest.lhs:.4g} against {tightest.rhs:.4g}")
    if reading.expected == "refuted" and reading.verdict.name == "survived":
        parts.append("false in general, not refuted here")
    if reading.verdict.reason:
        parts.append(reading.verdict.reason)
    if reading.reason_for_all:
        parts.append(f"not on all: {reading.reason_for_all}")
    if reading.reason_for_one:
        parts.append(f"on one sample: {reading.reason_for_one}")
    if reading.drawn:
        parts.append(f"drawn: {', '.join(reading.drawn)}")
    return "; ".join(parts)


def listed(numbers: Sequence[int], most: int = 16) -> str:
    """Return numbers as a list, runs as ranges."""
    runs: list[list[int]] = []
    for value in sorted(numbers):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")
