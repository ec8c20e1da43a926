r"""Measure in this process: times of contestants in turns, peak memory of one call, the environment."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import platform
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.works import SIZES, WORKS, Call, Contestants

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}

BUDGET = 3.0
"""Seconds for each work at each size."""
QUICK = 0.2
LEAST_ROUNDS = 3
SLOW = 5.0
"""Seconds after which a contestant is called once only: spread matters little there, minutes do."""
AGREEMENT = 1e-9
"""Largest difference of contestants, relative to the largest entry: sums run in different orders."""

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")


def works(quick: bool, only: list[str], clock: Clock) -> dict[str, Any]:
    """Return the times of all works."""
    found: dict[str, Any] = {}
    for work, (contestants_at, reference) in WORKS.items():
        if only and not any(work.startswith(o) for o in only):
            continue
        sizes = [size for size in SIZES if contestants_at(size)]
        for size in sizes[:1] if quick else sizes:
            if quick and size == "large":
                continue  # takes gigabytes
            times = interleaved(contestants_at(size), reference, QUICK if quick else BUDGET, clock)
            found.setdefault(work, {})[size] = times
    return found


def built(contestants: Contestants) -> dict[str, Call]:
    """Return the calls of those contestants whose library is installed."""
    calls = {}
    for name, contestant in contestants.items():
        try:
            calls[name] = contestant.build()
        except ModuleNotFoundError as missing:
            if missing.name not in ("jax", "torch"):
                raise
    return calls


def interleaved(
    contestants: Contestants, reference: str, budget: float, clock: Clock
) -> dict[str, dict[str, Any]]:
    """Return the median time of each contestant in seconds, with spread, and its ratio to ``reference``.

    The first call of each is compared with that of the reference, and counts only if it is slow.
    """
    calls = built(contestants)
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = [reference, *[name for name in calls if name != reference]]
    expected: Any = None
    for name in order:
        begin = clock()
        result = calls[name]()
        taken = clock() - begin
        if taken > SLOW:
            times[name].append(taken)
        arrays = contestants[name].arrays
        if arrays is not None:
            values = [np.asarray(a) for a in arrays(result)]
            if expected is None:
                expected = [a.copy() for a in values]
            agree(name, values, expected)
        del result
    expected = None
    slow = {name for name in order if times[name]}
    shuffle = random.Random(0).shuffle
    start = time.perf_counter()
    while len(times[reference]) < LEAST_ROUNDS or time.perf_counter() - start < budget:
        shuffle(order)
        for name in order:
            if name in slow:
                continue
            calls[name]()  # warms its cache
            begin = clock()
            calls[name]()
            times[name].append(clock() - begin)
        if reference in slow:
            break
    return {name: summary(taken, times[reference]) for name, taken in times.items()}


def summary(taken: list[float], reference: list[float]) -> dict[str, Any]:
    """Return median, spread, rounds, and the median ratio of calls of one round."""
    ordered = sorted(taken)
    pairs = list(zip(taken, reference, strict=False))
    return {
        "median": statistics.median(ordered),
        "p10": ordered[len(ordered) // 10],
        "p90": ordered[(len(ordered) * 9) // 10],
        "ratio": statistics.median(a / b for a, b in pairs)
        if len(taken) == len(reference)
        else statistics.median(taken) / statistics.median(reference),
        "rounds": len(taken),
    }


def agree(name: str, values: list[Any], expected: list[Any]) -> None:
    """Raise unless two contestants return the same numbers."""
    for a, b in zip(values, expected, strict=True):
        scale = max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(a, b, rtol=0, atol=AGREEMENT * scale, err_msg=f"{name} disagrees")


def peak_memory(work: str, size: str, name: str) -> dict[str, float] | None:
    """Return the megabytes that one call adds at most, its results, and the peak of the whole process.

    Code is compiled before. ``None``: the library is not installed, or the system keeps no such account.
    """
    calls = built({name: WORKS[work][0](size)[name]})
    if name not in calls or not _FORGET.exists():
        return None
    gc.collect()
    _FORGET.write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    result = calls[name]()
    peak = _status("VmHWM")
    return {"results": _bytes(result) / 1e6, "at most": peak - before, "process": peak}


def memory_cases(quick: bool, only: list[str]) -> list[dict[str, str]]:
    """Return what memory is measured of: each work at its largest size, by each contestant that can do it."""
    cases = []
    for work, (contestants_at, _) in WORKS.items():
        if only and not any(work.startswith(o) for o in only):
            continue
        sizes = [size for size in SIZES if contestants_at(size)]
        size = sizes[0] if quick else sizes[-1]
        if quick and size == "large":
            continue
        names = [n for n in contestants_at(size) if not n.startswith(("expert, workspace,", "PyTorch, com"))]
        cases += [{"work": work, "size": size, "contestant": name} for name in names[: 1 if quick else None]]
    return cases


def _status(key: str) -> float:
    found = re.search(rf"^{key}:\s+(\d+) kB", _STATUS.read_text(), re.M)
    assert found, key
    return int(found[1]) * 1024 / 1e6


def _bytes(result: Any) -> int:
    if isinstance(result, list | tuple):
        return sum(_bytes(part) for part in result)
    return int(getattr(result, "nbytes", 8))


def environment() -> dict[str, str]:
    """Return versions, processor and BLAS kernel."""
    found = {"Python": platform.python_version()}
    for library in ("lemmax", "numpy", "jax", "torch"):
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "not installed"
    import lemmax as lx

    found["lemmax"] = lx.__version__
    try:
        import threadpoolctl

        np.linalg.norm(np.eye(2) @ np.eye(2))
        blas = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
        found["BLAS"] = ", ".join(
            sorted({f"{p['internal_api']} {p['version']} {p.get('architecture')}" for p in blas})
        )
    except ImportError:
        found["BLAS"] = "unknown (threadpoolctl is not installed)"
    found["processor"] = _processor()
    found["load"] = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    return found


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M)
        if model:
            return model[1]
    return platform.processor() or platform.machine()
