r"""Worker processes that end when asked, and hand over what they know by then.

A terminal sends Ctrl-C to all processes.  The workers leave it to their parent, which then asks them
through a shared number: a theorem that is being checked is broken off and reported as far as it got.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

# Small matrices gain nothing from threads, and the workers share the cores.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

PATIENCE = 5.0  # seconds in which a process that was told to end ends


class Workers:
    """A pool of processes; :meth:`ask_to_stop` breaks off what they are at, :meth:`end` ends them."""

    def __init__(self, jobs: int) -> None:
        """Prepare ``jobs`` processes, which start with the first task."""
        context = get_context("spawn")
        # no event: to set one waits for processes that may have ended
        self._stop: Any = context.Value("b", 0, lock=False)
        self._processes: list[BaseProcess] = []
        self.pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(self._stop,))

    def ask_to_stop(self) -> None:
        """Have each worker break off its task by a ``KeyboardInterrupt``; no other task starts."""
        self._stop.value = 1
        self._shut_down()

    def end(self) -> None:
        """End the processes at once, whatever they are at."""
        workers = self._shut_down()
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(PATIENCE)
            if worker.is_alive():
                worker.kill()
                worker.join()

    def ended(self) -> bool:
        """Have all processes ended?"""
        return not any(worker.is_alive() for worker in self._processes)

    def _shut_down(self) -> list[BaseProcess]:
        # a pool that was shut down no longer knows its processes
        known = list((getattr(self.pool, "_processes", None) or {}).values())
        self._processes = known or self._processes
        self.pool.shutdown(wait=False, cancel_futures=True)
        return self._processes


class _Task:
    """What this worker is at."""

    running = False
    asked = False  # a plain flag: a lock that a signal handler waits for may be held by what it interrupted


def _begin(stop: Any) -> None:
    signal.signal(signal.SIGINT, _on_interrupt)
    _restore_interrupts(())
    sys.unraisablehook = dropped_quietly
    threading.Thread(target=_wait_for, args=(stop,), daemon=True).start()


def _wait_for(stop: Any) -> None:
    while not stop.value:
        time.sleep(0.1)
    _Task.asked = True
    _thread.interrupt_main()


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    if _Task.running:
        insist()


def dropped_quietly(dropped: sys.UnraisableHookArgs) -> None:
    """Say nothing of a ``KeyboardInterrupt`` that Python drops: it is raised again."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def insist(*progress: int) -> None:
    """Raise ``KeyboardInterrupt`` if the parent asked to stop; called at every sign of progress.

    Python drops an exception that comes up in a destructor, so that raising it once is not enough.
    """
    if _Task.asked:
        raise KeyboardInterrupt


@contextmanager
def breakable() -> Iterator[None]:
    """Let what is done within be broken off when the parent asks for it."""
    _Task.running = True
    try:
        yield
    finally:
        _Task.running = False


@contextmanager
def starting_children() -> Iterator[None]:
    """Start processes with one BLAS thread each, and Ctrl-C held back until they can deal with it."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update({name: "1" for name in ONE_THREAD if before[name] is None})
    mask = _block_interrupts()
    try:
        yield
    finally:
        _restore_interrupts(mask)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def _block_interrupts() -> Any:
    """Hold Ctrl-C back, also for children that start now; ``None`` where the system cannot (Windows)."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _restore_interrupts(mask: Any) -> None:
    if mask is not None and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
