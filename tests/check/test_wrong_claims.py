"""Wrong claims are refuted, and their mistakes named: a part of what ``record_corruptions`` asks about."""

from __future__ import annotations

import re

import pytest

from lemmax.check.claim import api, search
from lemmax.statement import Verdict
from tests.check.corruptions import KINDS, Corruption, all_corruptions, drawn, is_wrong, outcome
from tests.check.paper_claims import BLOCKS, GRADIENTS, Claim
from tests.check.record_corruptions import MARKED, PAGE

_NAMES = ("softmax W^Q", "gaussian W^K", "softmax W^V", "softmax S", "softmax head W^V W^Q functional")
CHEAP = [c for c in (*GRADIENTS, *BLOCKS) if c.name in _NAMES]


def test_wrong_claims_are_refuted_and_most_mistakes_named() -> None:
    outcomes = [outcome(c) for c in drawn(CHEAP, per=1, seed=1)]
    assert {o.corruption.kind for o in outcomes} == set(KINDS)
    missed = [
        (o.corruption.claim.name, o.corruption.kind, o.corruption.text) for o in outcomes if not o.is_named
    ]
    assert [o for o in outcomes if o.verdict != "refuted"] == []
    assert len(missed) <= 0.1 * len(outcomes), missed


def test_what_the_evidence_page_records() -> None:
    match = MARKED.search(PAGE.read_text(encoding="utf-8"))
    assert match is not None
    rows = re.findall(r"^\| (\w[\w ]*\w) \| (\d+) \| (\d+) \| (\d+) \|$", match[0], re.M)
    counts = {kind: tuple(map(int, numbers)) for kind, *numbers in rows}
    assert set(counts) == {*KINDS, "all"}
    asked, refuted, named = counts.pop("all")
    assert (asked, refuted, named) == tuple(map(sum, zip(*counts.values(), strict=True)))
    assert asked >= 200 and refuted >= 0.99 * asked and named >= 0.75 * asked


def right_ones(claim: Claim) -> list[Corruption]:
    """Return changes of the text that change no value."""
    _, where = claim.loss, ()
    return [
        Corruption(claim, "sign", f"-(-({claim.text}))", where),
        Corruption(claim, "factor", claim.text, where),
    ]


def test_what_changes_no_value_is_no_corruption() -> None:
    claim = GRADIENTS[0]
    assert not any(is_wrong(c) for c in right_ones(claim))
    assert any(not is_wrong(c) for c in all_corruptions(BLOCKS[0]))  # M_1^\top M_1 is symmetric


def test_the_count_sees_what_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure can fail: without proofs no mistake is named, with a blind verdict nothing is refuted."""
    wrong = Corruption(GRADIENTS[0], "sign", f"-({GRADIENTS[0].text})", ())
    assert outcome(wrong).is_named
    monkeypatch.setattr(search, "equal", lambda *a, **k: Verdict("unknown", "not tried"))
    assert not outcome(wrong).is_named
    monkeypatch.setattr(api, "equal", lambda *a, **k: Verdict("proved", "blind"))
    assert outcome(wrong).verdict == "proved"
