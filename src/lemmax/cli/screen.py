r"""What the commands print: text, tables, JSON, and progress on a terminal."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH = 100  # of tables; a narrower terminal breaks their lines, which is better than cutting numbers off
NARROWEST = 12  # a column of text that may be broken is at least this wide


def emit_json(data: object) -> None:
    """Print data as JSON; infinities become strings (``"inf"``), what is not a number becomes null."""
    click.echo(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def plain(data: Any) -> Any:
    """Return data as JSON can hold it: no infinities, no NumPy numbers, names as keys."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, str) or data is None or isinstance(data, bool | int):
        return data
    if isinstance(data, float):
        if math.isnan(data):
            return None
        return data if math.isfinite(data) else str(data)
    if isinstance(data, Sequence):
        return [plain(value) for value in data]
    if hasattr(data, "tolist"):
        return plain(data.tolist())
    return str(data)


def console() -> Console:
    """Return where tables are printed: as wide as the terminal, but at least 100 columns."""
    from rich.console import Console

    terminal = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    return Console(file=sys.stdout, width=max(terminal, WIDTH), highlight=False, markup=False, emoji=False)


def print_table(screen: Console, made: Table) -> None:
    """Print a table, wider than the screen if otherwise something would be cut off."""
    needed = 0
    for column in made.columns:
        lines = [line for cell in (column.header, *column.cells) for line in str(cell).splitlines()]
        longest = max(map(len, lines), default=0)
        needed += (longest if column.no_wrap else min(longest, NARROWEST)) + 2  # padding, separator
    screen.width = max(screen.width, needed)
    screen.print(made)


def table(*columns: str, right: Sequence[str] = (), wrap: Sequence[str] = ()) -> Table:
    """Return an empty table.

    Args:
        columns: headings.
        right: headings of columns of numbers, set flush right.
        wrap: headings of columns that may be broken; the others keep their lines.
    """
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        made.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name not in wrap,
            overflow="fold",
        )
    return made


def folded(name: str, width: int) -> str:
    """Break a long name at its underscores."""
    lines = [""]
    for part in name.replace("_", "_ ").split():
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def number(value: float, digits: int = 1) -> str:
    """Return a number in scientific notation, 0 as such."""
    return f"{value:.{digits}e}" if value else "0"


@contextmanager
def progress(title: str, total: int, shown: bool = True) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar on the terminal (none elsewhere); yield what moves it to a count and a label.

    Args:
        title: what goes on.
        total: the count at the end.
        shown: ``False`` for no bar at all.
    """
    if not (shown and total and sys.stderr.isatty()):
        yield lambda count, label: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[label]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, label="")
        yield lambda count, label: bar.update(task, completed=count, label=label)
