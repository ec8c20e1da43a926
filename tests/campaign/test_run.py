from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from lemmax.campaign import run as runs
from lemmax.campaign.run import Interrupts, Settings, check_file, run
from lemmax.campaign.workers import Workers
from lemmax.errors import DataError
from lemmax.statement import Report
from tests.campaign.texts import put

NAMES = ("wrong_norm_of_vectors", "triangle_inequality_of_vectors", "additive_norm_of_vectors")


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    files = put(tmp_path, *NAMES)
    alone = run(files, Settings(instances=10, seed=3, jobs=1))
    seen: list[int] = []
    together = run(files, Settings(instances=10, seed=3, jobs=2), lambda count, path: seen.append(count))
    assert [r.theorem for r in together.reports] == list(NAMES)
    for one, two in zip(alone.reports, together.reports, strict=True):
        assert one.to_json() | {"seconds": 0} == two.to_json() | {"seconds": 0}
    assert seen == [1, 2, 3]


def test_seed_reproduces_and_matters(tmp_path: Path) -> None:
    (path,) = put(tmp_path, "additive_norm_of_vectors")
    first, again, other = (check_file(path, 10, seed) for seed in (5, 5, 6))
    assert first.to_json() | {"seconds": 0} == again.to_json() | {"seconds": 0}
    assert first.witness is not None and other.witness is not None
    assert first.evidence.seed != other.evidence.seed


@pytest.mark.slow
def test_error_in_a_worker_is_the_error_of_the_run(tmp_path: Path) -> None:
    files = put(tmp_path, *NAMES)
    files[1].write_text("THEOREM = None\n")
    with pytest.raises(DataError, match="must bind THEOREM"):
        run(files, Settings(instances=5, jobs=2))


def test_interrupt_keeps_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = put(tmp_path, *NAMES)

    def interrupted_at_the_second(path: Path, instances: int, seed: int, interrupts: object) -> Report:
        if path == files[1]:
            raise KeyboardInterrupt
        return check_file(path, instances, seed)

    monkeypatch.setattr(runs, "check_file", interrupted_at_the_second)
    outcome = run(files, Settings(instances=5, jobs=1))
    assert outcome.interrupted
    assert [r.theorem for r in outcome.reports] == [NAMES[0]]
    assert outcome.unfinished == tuple(files[1:])


def test_interrupt_that_python_drops_is_raised_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = put(tmp_path, *NAMES[1:])
    before = signal.getsignal(signal.SIGINT)

    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def with_a_dropped_interrupt(path: Path, instances: int, seed: int, interrupts: Interrupts) -> Report:
        Dropped()
        return check_file(path, instances, seed, interrupts)

    monkeypatch.setattr(runs, "check_file", with_a_dropped_interrupt)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    outcome = run(files, Settings(instances=1000, jobs=1))
    assert outcome.interrupted
    assert signal.getsignal(signal.SIGINT) == before


def test_an_interrupt_that_python_drops_is_not_told_as_a_defect(capsys: pytest.CaptureFixture[str]) -> None:
    class Dropping:
        def __init__(self, error: type[BaseException]) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error

    before = sys.unraisablehook
    with Interrupts():
        Dropping(KeyboardInterrupt)
        assert capsys.readouterr().err == ""
        Dropping(ValueError)
        assert "ValueError" in capsys.readouterr().err
    assert sys.unraisablehook is before


@pytest.mark.slow
def test_workers_that_do_not_stop_when_asked_are_ended() -> None:
    workers = Workers(1)
    task = workers.pool.submit(time.sleep, 600)  # which no progress interrupts
    while not task.running():
        time.sleep(0.05)
    workers.ask_to_stop()
    workers.end()
    assert workers.ended()
