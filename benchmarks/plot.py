r"""Results as a picture: ratios to the expert, and times against sizes with their fitted lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORKS = {
    "value and gradient": ("value, gradient", "expert, workspace, packed"),
    "Hessian-vector product": ("Hessian-vector", "expert"),
    "dense Hessian": ("dense Hessian", "expert"),
    "Hessian in the query and key weights of one head": ("one head's Hessian", "expert"),
    "1000 instances, value and gradient": ("1000 instances", "expert"),
}
COLOURS = {"lemmax": "C3", "expert": "0.3", "JAX": "C0", "PyTorch, compiled": "C1", "PyTorch": "C8"}
MARKERS = {"lemmax": "o", "expert": "|", "JAX": "s", "PyTorch, compiled": "^", "PyTorch": "v"}


def draw(found: dict[str, Any], file: Path) -> None:
    """Draw the run with the fewest threads, and the scaling study, into an SVG or PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "lemmax"  # the same picture from the same numbers
    from matplotlib import pyplot as plt

    scaling = found.get("scaling") or {}
    widths = [2.6, *[1] * len(scaling)]
    figure = plt.figure(figsize=(2 * sum(widths), 4.6), layout="constrained")
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    _ratios(figure.add_subplot(grid[0]), found["runs"][0])
    first = None
    for place, (size, who) in enumerate(scaling.items(), start=1):
        axis = figure.add_subplot(grid[place], sharey=first)
        _growth(axis, size, who)
        if first is None:
            first = axis
            axis.set_ylabel("value and gradient, ms")
        else:
            axis.tick_params(labelleft=False)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # the picture alone
    figure.savefig(file, metadata=nothing if file.suffix == ".svg" else None, dpi=130)
    plt.close(figure)


def _ratios(axis: Any, run: dict[str, Any]) -> None:
    labels: list[str] = []
    shown: set[str] = set()
    for work, sizes in run["works"].items():
        if work not in WORKS:
            continue
        title, reference = WORKS[work]
        for size, times in sizes.items():
            row = len(labels)
            labels.append(f"{title}, {size}")
            base = times[reference]["median"]
            for name, colour in COLOURS.items():
                at = times.get(reference if name == "expert" else name)
                if at is None:
                    continue
                low, mid, high = (at[key] / base for key in ("p10", "median", "p90"))
                axis.plot([low, high], [row, row], color=colour, linewidth=1.2, alpha=0.6)
                axis.plot(
                    mid,
                    row,
                    MARKERS[name],
                    color=colour,
                    markersize=7,
                    label=None if name in shown else name,
                    linestyle="none",
                )
                shown.add(name)
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.axvline(1, color="0.7", linewidth=0.8, zorder=0)
    axis.set_xlabel("time as a multiple of the expert's (median, 10th to 90th percentile)", fontsize=8)
    axis.set_title(f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}", fontsize=9)
    axis.grid(axis="x", alpha=0.25)
    axis.legend(fontsize=8)


def _growth(axis: Any, size: str, who: dict[str, Any]) -> None:
    import numpy as np

    for name, fit in who.items():
        key = "expert" if name.startswith("expert") else name
        values, times = np.array(fit["values"], float), 1e3 * np.array(fit["times"])
        axis.plot(values, times, MARKERS[key], color=COLOURS[key], markersize=5)
        centre = np.exp(np.log(times).mean() - fit["p"] * np.log(values).mean())
        axis.plot(
            values,
            centre * values ** fit["p"],
            color=COLOURS[key],
            linewidth=1,
            label=f"{key}: {fit['p']:.2f}",
        )
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel(size)
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=7, title="exponent", title_fontsize=7)
