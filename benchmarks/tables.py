r"""Results as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BEGIN = "<!-- measured: begin (python -m benchmarks --docs) -->"
END = "<!-- measured: end -->"
_UNITS = ((1e6, "µs"), (1e3, "ms"), (1.0, "s"))


def tables(found: dict[str, Any]) -> list[str]:
    """Return all tables."""
    lines = []
    clock = {
        "wall": "Wall time.",
        "cpu": "Processor time, which leaves out other work on the machine but for the caches it takes.",
    }
    for run in found["runs"]:
        threads = run["threads"]
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}", ""]
        environment = ", ".join(f"{key} {value}" for key, value in run["environment"].items())
        lines += [f"{clock[found['clock']]} {environment}.", ""]
        for work, sizes in run["works"].items():
            lines += [f"### {work[0].upper()}{work[1:]}", "", *_times(sizes), ""]
    if found.get("memory"):
        lines += ["## Memory", "", *_memory(found["memory"]), ""]
    if found.get("scaling"):
        lines += ["## Growth with the sizes", "", *_scaling(found["scaling"]), ""]
    if found.get("symbolic"):
        lines += ["## Symbolic time", "", *_symbolic(found["symbolic"]), ""]
    return lines


def _times(sizes: dict[str, Any]) -> list[str]:
    lines = [f"| | {' | '.join(sizes)} |", f"|---|{'---|' * len(sizes)}"]
    names = dict.fromkeys(name for times in sizes.values() for name in times)
    for name in names:
        cells = [_cell(times.get(name)) for times in sizes.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _cell(times: dict[str, float] | None) -> str:
    if times is None:
        return ""
    scale, unit = next((s, u) for s, u in _UNITS if times["median"] * s < 1000 or u == "s")
    ratio = f"**{times['ratio']:.2f}**"
    if times["rounds"] == 1:
        return f"{times['median'] * scale:.3g} {unit} (one call), {ratio}"
    spread = f"{times['p10'] * scale:.3g} to {times['p90'] * scale:.3g}"
    return f"{times['median'] * scale:.3g} {unit} ({spread}), {ratio}"


def _memory(found: list[dict[str, Any]]) -> list[str]:
    lines = [
        "One call in a process of its own: its results, what the call adds to the process at most, results",
        "included, and the peak of the whole process. It is the first call: memory that is kept counts.",
        "",
        "| work | size | | results | at most | process |",
        "|---|---|---|---|---|---|",
    ]
    for row in found:
        cells = [f"{row[key]:.3g} MB" for key in ("results", "at most")] + [f"{row['process']:.0f} MB"]
        lines.append(f"| {row['work']} | {row['size']} | {row['contestant']} | {' | '.join(cells)} |")
    return lines


def _scaling(found: dict[str, Any]) -> list[str]:
    names = list(next(iter(found.values())))
    lines = [
        "Value and gradient, one thread: exponent of the time in one size, with its standard error.",
        "",
        f"| size | values | {' | '.join(names)} |",
        f"|---|---|{'---|' * len(names)}",
    ]
    for size, who in found.items():
        cells = [f"{fit['p']:.2f} ± {fit['error']:.2f}" for fit in who.values()]
        values = ", ".join(str(v) for v in next(iter(who.values()))["values"])
        lines.append(f"| {size} | {values} | {' | '.join(cells)} |")
    return lines


def _symbolic(found: dict[str, dict[str, float]]) -> list[str]:
    columns = list(next(iter(found.values())))
    lines = [
        "Processor time of deriving, after import, each in a process of its own. lemmax and tensorgrad",
        "simplify, SymPy's raw index sums are left as differentiation leaves them.",
        "",
        f"| | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    for name, seconds in found.items():
        lines.append(f"| {name} | {' | '.join(f'{seconds[column]:.2f} s' for column in columns)} |")
    return lines


def renew(page: Path, lines: list[str]) -> None:
    """Write tables between the marks of a page, one level below its headings."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    middle = "\n".join(f"#{line}" if line.startswith("#") else line for line in lines).strip("\n")
    page.write_text(f"{before}{BEGIN}\n\n{middle}\n\n{END}{after}", encoding="utf-8")
