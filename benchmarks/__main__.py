r"""Generated code against hand-written NumPy and JAX: ``python -m benchmarks [--quick] [-o FILE]``.

Runs each work at each size, once with one thread and once with two, in a process of its own. The contestants
of a work take turns in random order, each call after one that warms its cache; the table shows medians with
the tenth and ninetieth percentile, and the median of the ratios of calls of one round, which other work on
the machine disturbs least; ``--clock cpu`` leaves that work out. Ratios carry over to other machines, times
do not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

BUDGET = 4.0
"""Seconds for each work at each size."""
QUICK = 0.3
LEAST_ROUNDS = 3

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def main() -> None:
    """Run the works in child processes and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and few rounds: does everything run?"
    )
    parser.add_argument("--work", action="append", help="only this work; may be given several times")
    parser.add_argument(
        "--threads", type=int, nargs="*", default=[1, 2], help="numbers of threads (default 1 2)"
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: processor time, on a machine with other work",
    )
    parser.add_argument("-o", "--output", help="write the tables to this file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(options.quick, options.work, CLOCKS[options.clock])))
        return
    lines: list[str] = []
    for threads in options.threads:
        lines += _tables(threads, options)
    text = "\n".join(lines)
    print(text)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")


def measured(quick: bool, only: list[str] | None, clock: Clock) -> dict[str, Any]:
    """Return the times of all works in this process."""
    from benchmarks.works import SIZES, WORKS

    found: dict[str, Any] = {"environment": environment(), "works": {}}
    for work, (calls_at, reference) in WORKS.items():
        if only and not any(work.startswith(o) for o in only):
            continue
        for size in SIZES[:1] if quick else SIZES:
            calls = calls_at(size)
            if calls:
                times = interleaved(calls, reference, QUICK if quick else BUDGET, clock)
                found["works"].setdefault(work, {})[size] = times
    found["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def interleaved(
    calls: dict[str, Callable[[], Any]], reference: str, budget: float, clock: Clock
) -> dict[str, Any]:
    """Return the median time of each call in seconds, with spread, and its median ratio to the reference."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    shuffle = random.Random(0).shuffle
    start = time.perf_counter()
    while len(times[reference]) < LEAST_ROUNDS or time.perf_counter() - start < budget:
        shuffle(order)
        for name in order:
            calls[name]()
            begin = clock()
            calls[name]()
            times[name].append(clock() - begin)
    found = {}
    for name, taken in times.items():
        ordered = sorted(taken)
        found[name] = {
            "median": statistics.median(ordered),
            "p10": ordered[len(ordered) // 10],
            "p90": ordered[(len(ordered) * 9) // 10],
            "ratio": statistics.median(a / b for a, b in zip(taken, times[reference], strict=True)),
            "rounds": len(taken),
        }
    return found


def environment() -> dict[str, str]:
    """Return versions, processor and BLAS kernel."""
    import numpy as np

    import lemmax as lx

    found = {"Python": platform.python_version(), "NumPy": np.__version__, "lemmax": lx.__version__}
    try:
        import threadpoolctl

        blas = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
        found["BLAS"] = ", ".join(f"{p['internal_api']} {p['version']} {p.get('architecture')}" for p in blas)
    except ImportError:
        found["BLAS"] = "unknown (threadpoolctl is not installed)"
    try:
        import jax

        found["JAX"] = jax.__version__
    except ImportError:
        found["JAX"] = "not installed"
    found["load"] = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    return found


def _tables(threads: int, options: argparse.Namespace) -> list[str]:
    settings = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        settings[name] = str(threads)
    multi = str(threads > 1).lower()
    settings["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={multi} intra_op_parallelism_threads={threads}"
    command = [sys.executable, "-m", "benchmarks", "--child", "--clock", options.clock]
    command += ["--quick"] if options.quick else []
    for work in options.work or []:
        command += ["--work", work]
    done = subprocess.run(command, env=settings, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if not found["works"]:
        raise SystemExit(
            f"no work starts with one of {options.work}; see benchmarks/works.py for their names"
        )
    lines = [f"## {threads} thread{'s' if threads > 1 else ''}", ""]
    lines += [", ".join(f"{key} {value}" for key, value in found["environment"].items()) + ".", ""]
    for work, sizes in found["works"].items():
        lines += [
            f"### {work[0].upper()}{work[1:]}",
            "",
            f"| | {' | '.join(sizes)} |",
            f"|---|{'---|' * len(sizes)}",
        ]
        for name in next(iter(sizes.values())):
            cells = [_cell(times.get(name)) for times in sizes.values()]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def _cell(times: dict[str, float] | None) -> str:
    if times is None:
        return ""
    units = ((1e6, "µs"), (1e3, "ms"), (1.0, "s"))
    scale, unit = next((s, u) for s, u in units if times["median"] * s < 1000 or u == "s")
    spread = f"{times['p10'] * scale:.3g} to {times['p90'] * scale:.3g}"
    return f"{times['median'] * scale:.3g} {unit} ({spread}), **{times['ratio']:.2f}**"


if __name__ == "__main__":
    main()
