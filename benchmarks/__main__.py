r"""Generated code against hand-written NumPy, JAX and PyTorch: ``python -m benchmarks [--quick] [--docs]``.

Runs each work at each size, with one thread and with two, in a process of its own for each number of
threads. The contestants of a work take turns in random order, each call after one that warms its cache; the
tables show medians with the tenth and ninetieth percentile, and the median of the ratios of calls of one
round, which other work on the machine disturbs least; ``--clock cpu`` leaves that work out. Then come peak
memory, each call in a process of its own, the growth with the sizes, and the time of deriving. Ratios carry
over to other machines, times do not. JAX, PyTorch and tensorgrad take part if they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "explanation" / "benchmarks.md"
PICTURE = DOCS / "images" / "benchmarks.svg"
PARTS = ("works", "memory", "scaling", "symbolic")


def main() -> None:
    """Run everything in child processes and write the tables and the picture."""
    options = _options()
    if options.child:
        print(json.dumps(child(json.loads(options.child))))
        return
    if options.from_json:
        found = json.loads(Path(options.from_json).read_text(encoding="utf-8"))
    else:
        found = measured(options)
    from benchmarks import tables

    lines = tables.tables(found)
    print("\n".join(lines))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if options.docs:
        tables.renew(PAGE, lines)
    for file in [options.plot] if options.plot else [str(PICTURE)] if options.docs else []:
        from benchmarks import plot

        plot.draw(found, Path(file))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="smallest sizes and few rounds: does everything run?")
    add("--docs", action="store_true", help="renew the tables and the picture of the documentation")
    add("--part", choices=PARTS, action="append", help="only this part; may be given several times")
    add("--work", action="append", default=[], help="only works that start so; may be given several times")
    add("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (default 1 2)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: processor time, on a machine with other work; counts the waiting of threads too",
    )
    add("-o", "--output", help="write the tables to this file")
    add("--plot", help="draw the picture into this file, .svg or .png; needs matplotlib")
    add("--json", help="write the numbers to this file")
    add("--from-json", help="measure nothing, take the numbers from this file")
    add("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return all numbers, each part from processes of its own."""
    parts = options.part or PARTS
    common = {"quick": options.quick, "clock": options.clock, "only": options.work}
    found: dict[str, Any] = {"clock": options.clock, "runs": []}
    if "works" in parts:
        for threads in options.threads:
            run = in_child({"part": "works", **common}, threads)
            if not run["works"] and not options.quick:
                raise SystemExit(f"no work starts with one of {options.work}; see benchmarks/works.py.")
            found["runs"].append({"threads": threads, **run})
    if "memory" in parts:
        cases = in_child({"part": "cases", **common}, 1)
        rows = [(case, in_child({"part": "memory", **case}, 1)) for case in cases]
        found["memory"] = [{**case, **row} for case, row in rows if row]
    if "scaling" in parts:
        found["scaling"] = in_child({"part": "scaling", **common}, 1)
    if "symbolic" in parts:
        from benchmarks.symbolic_time import comparison

        _say("symbolic time")
        found["symbolic"] = comparison(1 if options.quick else 3)
    return found


def child(what: dict[str, Any]) -> Any:
    """Return the numbers of one part, in this process."""
    from benchmarks import measure

    if what["part"] == "cases":
        return measure.memory_cases(what["quick"], what["only"])
    if what["part"] == "memory":
        return measure.peak_memory(what["work"], what["size"], what["contestant"])
    clock = measure.CLOCKS[what["clock"]]
    if what["part"] == "scaling":
        from benchmarks import scaling

        return scaling.study(what["quick"], clock)
    times = measure.works(what["quick"], what["only"], clock)
    return {"works": times, "environment": measure.environment()}


def in_child(what: dict[str, Any], threads: int) -> Any:
    """Return what a child process with so many threads measures."""
    # settings that choose a kernel by hand slow down NumPy's own BLAS; the tables name the kernel
    settings = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        settings[name] = str(threads)
    multi = str(threads > 1).lower()
    settings["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={multi} intra_op_parallelism_threads={threads}"
    _say(f"{what['part']}, {threads} threads: {what.get('work', '')} {what.get('contestant', '')}")
    command = [sys.executable, "-m", "benchmarks", "--child", json.dumps(what)]
    done = subprocess.run(command, env=settings, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}".rstrip(), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
