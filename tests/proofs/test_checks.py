"""Every theorem gets its expected verdict, and every mutant of it is refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

import lemmax as lx
from lemmax.statement import Report
from tests.proofs.files import FILES, theorem_of
from tests.thorough import THOROUGH

FEW, MANY = 40, 200
SEEDS = range(1, 11) if THOROUGH else range(1, 4)
# with all instances and mutants, which take most of the time
SEEDS_IN_FULL = SEEDS if THOROUGH else SEEDS[:1]
SMALL = {"N": 2, "n": 2, "H": 2}  # a false claim is refuted on no more than this


def assert_expected(report: Report, instances: int) -> None:
    assert report.as_expected, str(report)
    evidence = report.evidence
    assert not evidence.survivors, str(report)
    if report.expected == "holds":
        assert evidence.accepted >= instances, str(report)
        assert 2 * evidence.family >= evidence.accepted, str(report)
        assert evidence.acceptance >= 0.05, str(report)
        assert all(h.true and h.false for h in evidence.hypotheses), str(report)
    else:
        assert report.witness is not None
        sizes = report.witness.sizes
        assert all(sizes[name] <= most for name, most in SMALL.items() if name in sizes), str(report)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verdict_for_every_seed(path: Path) -> None:
    theorem = theorem_of(path)
    for seed in SEEDS:
        instances = MANY if seed in SEEDS_IN_FULL else FEW
        report = lx.check(theorem, instances=instances, seed=seed, mutants=seed in SEEDS_IN_FULL)
        assert_expected(report, instances)


def test_a_run_follows_from_its_seed() -> None:
    theorem = theorem_of(FILES[0])
    first, again, other = (lx.check(theorem, instances=FEW, seed=seed).to_json() for seed in (3, 3, 4))
    for report in (first, again, other):
        del report["seconds"]
    assert first == again
    assert first != other
