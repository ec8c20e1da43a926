r"""Runs: many theorems checked, one after another or in worker processes.

A theorem is checked by itself, from its file and the seed, so the results do not depend on the number
of workers; they are handed back in the order of the files.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from lemmax.campaign.registry import load
from lemmax.campaign.workers import Workers, breakable, dropped_quietly, insist, starting_children
from lemmax.statement.report import Report

GRACE = 20.0  # seconds in which a worker that was asked to stop says what it knows
LOOK = 0.2  # seconds between looks whether Ctrl-C was pressed


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
    in a destructor.  Within this context it is counted, and :meth:`insist` raises it again.

    Attributes:
        seen: how often Ctrl-C was pressed.
    """

    def __init__(self, raising: bool = True) -> None:
        """Start with none seen; without ``raising`` they are counted only."""
        self.seen = 0
        self._raising = raising
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
        self.seen += 1
        if self._raising:
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
    tasks: dict[Future[Report], Path] = {}
    # counted, not raised: an exception could come up where a future or the pool holds a lock
    with Interrupts(raising=False) as interrupts:
        try:
            with starting_children():
                for path in files:
                    task = workers.pool.submit(_check_in_worker, path, settings.instances, settings.seed)
                    tasks[task] = path
            waiting = set(tasks)
            while waiting and not interrupts.seen:
                done, waiting = wait(waiting, LOOK, FIRST_COMPLETED)
                for task in done:
                    task.result()
                    tell(len(tasks) - len(waiting), tasks[task])
            if waiting:
                _gather(workers, waiting, interrupts)
        except BaseException:
            workers.end()
            raise
    workers.pool.shutdown()
    reports = {path: task.result() for task, path in tasks.items() if _is_known(task)}
    finished = {path for path, report in reports.items() if not report.interrupted}
    return Outcome(
        tuple(reports[path] for path in files if path in reports),
        interrupts.seen > 0,
        tuple(path for path in files if path not in finished),
    )


def _gather(workers: Workers, waiting: set[Future[Report]], interrupts: Interrupts) -> None:
    """Ask the workers to stop and wait for what they know; a second Ctrl-C waits no longer."""
    workers.ask_to_stop()
    waiting = {task for task in waiting if not task.cancelled()}
    last = time.monotonic() + GRACE
    while waiting and interrupts.seen == 1 and time.monotonic() < last:
        waiting = wait(waiting, LOOK, FIRST_COMPLETED).not_done
    workers.end()


def _is_known(future: Future[Report]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
