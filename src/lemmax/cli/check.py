r"""``lemmax check``: theorems on random instances, and the theory of attention on real tokens."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lemmax.cli.params import FILE, common
from lemmax.cli.screen import console, emit_json, print_table, progress

if TYPE_CHECKING:
    from lemmax.campaign.instance.report import InstanceReport
    from lemmax.campaign.instance.setup import Options
    from lemmax.campaign.run import Outcome

SIZE = click.IntRange(min=1)


@click.command()
@click.argument("what", nargs=-1, metavar="[PATH|NAME]...")
@click.option(
    "--instances",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Accepted instances per theorem.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all draws.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: all cores]")
@click.option(
    "--instance",
    "file",
    type=FILE,
    metavar="FILE.npz",
    help="Also ask whether the theory holds on these tokens X (N, n, D).",
)
@click.option("--heads", type=SIZE, help="Heads H of the instance.  [default: 4]")
@click.option("--dim", type=SIZE, help="Key dimension d.  [default: D/H, rounded up]")
@click.option("--value-dim", type=SIZE, help="Value dimension v.  [default: D]")
@click.option("--out-dim", type=SIZE, help="Output dimension m.  [default: 2]")
@click.option(
    "--init",
    type=click.Choice(["gaussian", "xavier", "orthogonal"]),
    help="How weights are drawn.  [default: gaussian]",
)
@click.option(
    "--scale", type=click.FloatRange(min=0, min_open=True), help="Factor on the weights.  [default: 1]"
)
@common
def check(
    what: Sequence[str],
    instances: int,
    seed: int,
    jobs: int | None,
    file: Path | None,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Check theorems on random instances; with --instance also on real data.

    PATH is a theorem file or a folder of them, NAME the name of a theorem, looked for in the folders
    given, in ./proofs, and among the theorems shipped with lemmax. Without any, all theorems of ./proofs
    (or all shipped ones) are checked. Theorem files are Python and run as your own code; instance files
    are data, and nothing in them is run.

    Exit code 0: every theorem as expected (a false one refuted counts; one that does not apply to the
    instance does not fail). 1: some theorem not as expected. 2: bad use. 130: ended by Ctrl-C, after what
    was known by then is printed.
    """
    from lemmax.campaign.registry import find_files, load
    from lemmax.campaign.run import Settings, run, usable_cores

    options = _options(file, seed, chosen)
    instance = None
    if file is not None:
        from lemmax.campaign.instance.setup import load_instance

        instance = load_instance(file, options)
    files = find_files(what)
    theorems = [load(path) for path in files]  # so that a broken file is told at once
    settings = Settings(instances, seed, jobs or usable_cores())
    with progress("checking", len(files), shown=not as_json) as tell:
        outcome = run(files, settings, lambda count, path: tell(count, path.stem))
    if not as_json:
        show_verdicts(outcome)
    read = None
    if file is not None and instance is not None and not outcome.interrupted:
        from lemmax.campaign.instance.report import read_instance

        try:
            with progress("reading the instance", 2 + len(theorems), shown=not as_json) as show:
                read = read_instance(file, instance, options, theorems, show)
        except KeyboardInterrupt:
            outcome = replace(outcome, interrupted=True)
    return conclude(outcome, read, as_json)


def _options(file: Path | None, seed: int, chosen: dict[str, Any]) -> Options:
    """Return the options of an instance; without one they have no meaning."""
    from lemmax.campaign.instance.setup import Options

    given = {name: value for name, value in chosen.items() if value is not None}
    if given and file is None:
        name = "--" + next(iter(given)).replace("_", "-")
        raise click.UsageError(f"{name} describes an instance, but none is given. Add --instance FILE.npz.")
    return Options(seed=seed, **given)


def show_verdicts(outcome: Outcome) -> None:
    """Print the table of verdicts and evidence, remarks, and a line that sums up."""
    from lemmax.cli.verdicts import remarks, summary, verdict_table

    screen = console()
    if outcome.reports:
        print_table(screen, verdict_table(outcome.reports))
        notes = remarks(outcome.reports)
        if notes:
            screen.print("\n" + "\n".join(notes), soft_wrap=True)
        screen.print()
    screen.print(summary(outcome.reports, len(outcome.unfinished)), soft_wrap=True)


def conclude(outcome: Outcome, read: InstanceReport | None, as_json: bool) -> int:
    """Print the report on the instance, or all as JSON, and return the exit code."""
    good = all(report.as_expected for report in outcome.reports) and (read is None or read.as_expected)
    code = 130 if outcome.interrupted else 0 if good else 1
    if as_json:
        emit_json(
            {
                "theorems": [report.to_json() for report in outcome.reports],
                "instance": None if read is None else read.to_json(),
                "interrupted": outcome.interrupted,
                "unfinished": [str(path) for path in outcome.unfinished],
                "exit_code": code,
            }
        )
        return code
    if read is not None:
        from lemmax.cli.instance import show_instance

        show_instance(console(), read)
    if outcome.interrupted:
        print("Interrupted: this is what was known by then.", file=sys.stderr)
    return code
