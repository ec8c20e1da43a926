r"""Ask about many wrong claims, and write the outcome into the evidence page.

``python -m tests.check.record_corruptions`` draws wrong claims of each kind of mistake for every formula of
``tests.check.paper_claims``. It takes some minutes; each wrong claim whose mistake is not named is printed.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.check.corruptions import KINDS, Outcome, drawn, outcome
from tests.check.paper_claims import CLAIMS
from tests.repo.files import ROOT

PAGE = ROOT / "docs" / "explanation" / "evidence.md"
PER, SEED = 2, 0
MARKED = re.compile(r"(<!-- wrong claims -->\n).*?(<!-- end of wrong claims -->)", re.S)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the table: how many of each kind, how many refuted, how many named."""
    kinds = [o.corruption.kind for o in outcomes]
    refuted = Counter(o.corruption.kind for o in outcomes if o.verdict == "refuted")
    named = Counter(o.corruption.kind for o in outcomes if o.is_named)
    lines = ["| mistake | claims | refuted | mistake named |", "|---|---|---|---|"]
    lines += [f"| {k} | {kinds.count(k)} | {refuted[k]} | {named[k]} |" for k in KINDS if k in kinds]
    lines.append(f"| all | {len(kinds)} | {refuted.total()} | {named.total()} |")
    return "\n".join(lines) + "\n"


def run(per: int, seed: int) -> list[Outcome]:
    """Return the outcomes; show what was not named."""
    outcomes = []
    for corruption in drawn(CLAIMS, per, seed):
        start = time.process_time()
        found = outcome(corruption)
        outcomes.append(found)
        if found.verdict != "refuted" or not found.is_named:
            text = corruption.text
            changed = [w for w in corruption.where if w not in loss_where(corruption.claim.loss)]
            seconds = time.process_time() - start
            print(
                f"{corruption.claim.name} | {corruption.kind} | {found.verdict} |"
                f" {found.repair}: {found.text} | {changed or text} | {seconds:.1f} s",
                flush=True,
            )
    return outcomes


def loss_where(name: str) -> tuple[str, ...]:
    """Return the right definitions."""
    from tests.check.paper_claims import loss_of

    return loss_of(name)[1]


def main(page: Path = PAGE) -> None:
    """Run, and write the table."""
    shown = table(run(PER, SEED))
    print(shown)
    text = page.read_text(encoding="utf-8")
    page.write_text(MARKED.sub(lambda m: f"{m[1]}\n{shown}\n{m[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
