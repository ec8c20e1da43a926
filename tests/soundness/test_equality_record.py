"""What a full run of tests.soundness.run_equality found, and that the page on evidence says the same."""

from __future__ import annotations

import json
from collections import Counter

from tests.repo.files import ROOT
from tests.soundness.run_equality import RECORD


def test_the_record_holds_what_is_promised() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    misses: Counter[str] = Counter()
    for counts in record["near misses"].values():
        misses.update(counts)
    count = sum(misses.values())
    assert count >= 20000
    assert not {name for name in misses if name.startswith("proved")}
    assert misses["refuted"] >= 0.95 * count
    proved = total = 0
    for family, counts in record["true identities"].items():
        assert "refuted" not in counts
        assert counts["proved"] >= 0.9 * sum(counts.values()), family
        proved, total = proved + counts["proved"], total + sum(counts.values())
    assert proved >= 0.95 * total
    page = (ROOT / "docs" / "explanation" / "evidence.md").read_text(encoding="utf-8")
    for number in (count, misses["refuted"], total, proved):
        assert f"{number:,}".replace(",", " ") in page, number
