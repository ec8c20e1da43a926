"""lx.equal on near misses and rewordings: a fast part of :mod:`tests.soundness.run_equality`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import lemmax as lx
from lemmax.check.refute import Refuter
from tests.soundness import run_equality
from tests.soundness.formulas import Names, build, differ
from tests.soundness.near_misses import MISTAKES, near_misses
from tests.soundness.run_equality import judge_near_miss, near, true
from tests.soundness.true_identities import FAMILIES

NEAR = 220
DIRECTLY = 4  # each so manieth is also put to the proof alone, without the points that refute it


def test_no_near_miss_is_proved_and_most_are_refuted() -> None:
    verdicts: Counter[str] = Counter()
    by_kind = near(seed=11, count=NEAR, directly=DIRECTLY)
    assert set(by_kind) == set(MISTAKES)
    for counts in by_kind.values():
        verdicts.update(counts)
    assert sum(verdicts.values()) == NEAR
    assert not {name for name in verdicts if name.startswith("proved")}, verdicts
    assert verdicts["refuted"] >= 0.95 * NEAR, verdicts


def test_true_identities_in_other_words_are_proved() -> None:
    verdicts = true(seed=12, each=1)
    assert set(verdicts) == set(FAMILIES)
    for family, counts in verdicts.items():
        assert not counts["refuted"], (family, counts)
        assert counts["proved"] >= 0.9 * sum(counts.values()) - 0.5, (family, counts)
    proved = sum(counts["proved"] for counts in verdicts.values())
    assert proved >= 0.95 * sum(sum(counts.values()) for counts in verdicts.values()), verdicts


def test_the_judge_tells_true_from_false() -> None:
    for pairs in FAMILIES.values():
        for left, right in pairs:
            assert differ(left, right) is False, (left, right)
            assert differ(left, ("scale", 2, right)) in (True, None) or _is_zero(right)


def _is_zero(right: tuple[object, ...]) -> bool:
    return right == ("number", 0) or right[:2] == ("had", ("number", 0))


def test_a_prover_that_proves_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    miss = next(near_misses(0))
    assert judge_near_miss(miss, directly=True) == "refuted"
    with monkeypatch.context() as patch:
        patch.setattr(run_equality, "proves", lambda left, right: True)
        assert judge_near_miss(miss, directly=True) == "proved directly"
    with monkeypatch.context() as patch:
        patch.setattr(Refuter, "witness", lambda self, point: None)
        assert judge_near_miss(miss, directly=False) == "unknown"


def test_a_refuter_that_sees_rounding_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names()
    left, right = (build(f, names) for f in FAMILIES["log-sum-exp and sigmoid"][1])
    assert lx.equal(left, right).name == "proved"
    from lemmax.interpret.enclosure import Enclosure

    middles = lambda self, other: self.ends is not None and self.middle() < other.middle()  # noqa: E731
    monkeypatch.setattr(Enclosure, "below", middles)  # an interval taken for its middle
    assert lx.equal(left, right).name == "refuted"


def test_names_do_not_matter() -> None:
    left, right = FAMILIES["log-sum-exp and sigmoid"][5]
    for seed in range(6):
        names = Names(np.random.default_rng(seed))
        assert lx.equal(build(left, names), build(right, names)).name == "proved"
