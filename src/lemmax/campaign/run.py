r"""Runs: many theorems checked, one after another or in worker processes.

A theorem is checked by itself, from its file and the seed, so the results do not depend on the number
of workers; they are handed back in the order of the files.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed, wait
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from lemmax.campaign.registry import load
from lemmax.campaign.workers import Workers, breakable, dropped_quietly, insist, one_thread_for_children
from lemmax.statement.report import Report

GRACE = 20.0  # seconds in which a worker that was asked to stop says what it knows


@dataclass(frozen=True, slots=True)
class Settings:
    """How theorems are checked.

    Attributes:
        instances: accepted instances wanted per theorem.
        seed: seed of all draws.
        jobs: worker processes; 1 works in this process.
    """

    instances: int = 200
    seed: int = 0
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found.

    Attributes:
        reports: a report per theorem that was finished, in the order of the files.
        interrupted: was the run broken off by Ctrl-C?
        unfinished: files whose theorems were not finished.
    """

    reports: tuple[Report, ...]
    interrupted: bool = False
    unfinished: tuple[Path, ...] = ()


class Interrupts:
    """Ctrl-C that cannot get lost.

    Python drops a ``KeyboardInterrupt`` that happens to be raised in a callback of the garbage collector or
    in a destructor.  Within this context it is remembered, and :meth:`insist` raises it again.
    """

    def __init__(self) -> None:
        """Start with none seen."""
        self.seen = False
        self._before: Any = None
        self._unraisable: Any = None

    def __enter__(self) -> Interrupts:
        """Watch Ctrl-C; only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
            self._unraisable, sys.unraisablehook = sys.unraisablehook, dropped_quietly
        return self

    def __exit__(self, *error: object) -> None:
        """Leave Ctrl-C as it was."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            sys.unraisablehook = self._unraisable

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt

    def insist(self, *progress: int) -> None:
        """Raise an interrupt that was seen; called at every sign of progress."""
        if self.seen:
            raise KeyboardInterrupt


Tell: TypeAlias = Callable[[int, Path], None]


def _say_nothing(count: int, path: Path) -> None:
    pass


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_file(path: Path, instances: int, seed: int, interrupts: Interrupts | None = None) -> Report:
    """Load a theorem file and check its theorem."""
    from lemmax.check import check

    progress = interrupts.insist if interrupts is not None else insist
    return check(load(path), instances=instances, seed=seed, progress=progress)


def _check_in_worker(path: Path, instances: int, seed: int) -> Report:
    with breakable():
        return check_file(path, instances, seed)


def run(files: Sequence[Path], settings: Settings, tell: Tell = _say_nothing) -> Outcome:
    """Check theorem files, in worker processes if more than one job is allowed.

    Ctrl-C does not raise: the outcome says so and holds what was known by then.

    Args:
        files: theorem files.
        settings: how to check.
        tell: is called with the number of theorems done and the file last finished.

    Raises:
        LemmaxError: a file or theorem cannot be used.
    """
    jobs = min(settings.jobs, len(files))
    return _run_here(files, settings, tell) if jobs <= 1 else _run_in_workers(files, settings, jobs, tell)


def _run_here(files: Sequence[Path], settings: Settings, tell: Tell) -> Outcome:
    reports: list[Report] = []
    try:
        with Interrupts() as interrupts:
            for path in files:
                reports.append(check_file(path, settings.instances, settings.seed, interrupts))
                if reports[-1].interrupted:
                    return Outcome(tuple(reports), True, tuple(files[len(reports) - 1 :]))
                tell(len(reports), path)
                interrupts.insist()
    except KeyboardInterrupt:
        return Outcome(tuple(reports), True, tuple(files[len(reports) :]))
    return Outcome(tuple(reports))


def _run_in_workers(files: Sequence[Path], settings: Settings, jobs: int, tell: Tell) -> Outcome:
    workers = Workers(jobs)
    waiting: dict[Future[Report], Path] = {}
    interrupted = False
    try:
        with one_thread_for_children():
            for path in files:
                task = workers.pool.submit(_check_in_worker, path, settings.instances, settings.seed)
                waiting[task] = path
        for count, future in enumerate(as_completed(waiting), 1):
            future.result()
            tell(count, waiting[future])
    except KeyboardInterrupt:
        interrupted = True
        _gather(workers, waiting)
    except BaseException:
        workers.end()
        raise
    else:
        workers.pool.shutdown()
    reports = {path: future.result() for future, path in waiting.items() if _is_known(future)}
    finished = {path for path, report in reports.items() if not report.interrupted}
    return Outcome(
        tuple(reports[path] for path in files if path in reports),
        interrupted,
        tuple(path for path in files if path not in finished),
    )


def _gather(workers: Workers, waiting: dict[Future[Report], Path]) -> None:
    """Ask the workers to stop and wait for what they know; a second Ctrl-C waits no longer."""
    try:
        workers.ask_to_stop()
        wait([task for task in waiting if not task.cancelled()], timeout=GRACE)
    except KeyboardInterrupt:
        pass
    finally:
        workers.end()


def _is_known(future: Future[Report]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
