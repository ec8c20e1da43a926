r"""Runs: many theorems checked, one after another or in worker processes.

A theorem is checked by itself, from its file and the seed, so the results do not depend on the number
of workers; they are handed back in the order of the files.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from lemmax.campaign.registry import load
from lemmax.statement.report import Report

# Small matrices gain nothing from threads, and the workers share the cores.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


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

    def __enter__(self) -> Interrupts:
        """Watch Ctrl-C; only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave Ctrl-C as it was."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

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

    progress = interrupts.insist if interrupts is not None else None
    return check(load(path), instances=instances, seed=seed, progress=progress)


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
                    return Outcome(tuple(reports), True, tuple(files[len(reports) :]))
                tell(len(reports), path)
                interrupts.insist()
    except KeyboardInterrupt:
        return Outcome(tuple(reports), True, tuple(files[len(reports) :]))
    return Outcome(tuple(reports))


def _run_in_workers(files: Sequence[Path], settings: Settings, jobs: int, tell: Tell) -> Outcome:
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_leave_interrupts)
    waiting: dict[Future[Report], Path] = {}
    interrupted = False
    try:
        with _one_thread_for_children():
            for path in files:
                waiting[pool.submit(check_file, path, settings.instances, settings.seed)] = path
        for count, future in enumerate(as_completed(waiting), 1):
            future.result()
            tell(count, waiting[future])
    except KeyboardInterrupt:
        interrupted = True
        _stop(pool)
    except BaseException:
        _stop(pool)
        raise
    else:
        pool.shutdown()
    known = {path: future for future, path in waiting.items() if _is_known(future)}
    reports = tuple(known[path].result() for path in files if path in known)
    return Outcome(reports, interrupted, tuple(path for path in files if path not in known))


def _is_known(future: Future[Report]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _leave_interrupts() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers at once, whatever they are at."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


@contextmanager
def _one_thread_for_children() -> Iterator[None]:
    """Start processes with one BLAS thread each."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update({name: "1" for name in ONE_THREAD if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
