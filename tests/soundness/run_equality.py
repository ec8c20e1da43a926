"""Runs lx.equal on many near misses and on many rewordings of true identities, and records what came out.

``python -m tests.soundness.run_equality --near 20000 --true 4`` writes ``equality_record.json``
beside this file; ``--seed`` and ``--shards`` split the near misses over processes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import lemmax as lx
from lemmax.calculus.normal_form import TooLarge as NormalFormTooLarge
from lemmax.calculus.normal_form import is_zero, normal_form
from lemmax.calculus.rewriting.prove import prove_zero
from lemmax.calculus.rewriting.records import Ledger, TooLarge
from lemmax.expr.arithmetic import as_tensor
from tests.soundness.formulas import Names, build, differ
from tests.soundness.near_misses import NearMiss, near_misses
from tests.soundness.rewordings import reword
from tests.soundness.true_identities import FAMILIES

RECORD = Path(__file__).with_name("equality_record.json")


def judge_near_miss(miss: NearMiss, directly: bool) -> str:
    """Return the verdict on a near miss; ``proved directly`` if rewriting alone proves it."""
    left, right = build(miss.left, miss.names), build(miss.right, miss.names)
    verdict = lx.equal(left, right)
    if directly and verdict.name == "refuted" and proves(left, right):
        return "proved directly"
    return verdict.name


def proves(left: Any, right: Any) -> bool:
    """Is a pair proved by normal forms or rewriting alone, without the points that would refute it first?"""
    difference = as_tensor(left) - as_tensor(right)
    try:
        if is_zero(normal_form(difference)):
            return True
    except NormalFormTooLarge:
        pass
    try:
        return prove_zero(difference, Ledger())
    except (TooLarge, RecursionError):
        return False


def near(seed: int, count: int, directly: int) -> dict[str, Counter[str]]:
    """Return verdicts by kind of mistake.

    Args:
        seed: from which near misses are drawn.
        count: how many.
        directly: each how-manieth is also put to the proof alone (0: none).
    """
    result: dict[str, Counter[str]] = {}
    for p, miss in enumerate(itertools.islice(near_misses(seed), count)):
        name = judge_near_miss(miss, bool(directly) and p % directly == 0)
        result.setdefault(miss.kind, Counter())[name] += 1
        if name != "refuted":
            print(f"{name}: {miss.kind}, {miss.family}: {miss.left} and {miss.right}", file=sys.stderr)
    return result


def true(seed: int, each: int) -> dict[str, Counter[str]]:
    """Return verdicts by family on identities in other words, each identity ``each`` times."""
    rng = np.random.default_rng(seed)
    result: dict[str, Counter[str]] = {family: Counter() for family in FAMILIES}
    for family, pairs in FAMILIES.items():
        for pair in pairs:
            for _ in range(each):
                left, right = (reword(f, rng, int(rng.integers(1, 7))) for f in pair)
                if differ(left, right) is not False:
                    raise AssertionError(f"{family}: NumPy says that {left} and {right} differ")
                names = Names(rng)
                verdict = lx.equal(build(left, names), build(right, names))
                result[family][verdict.name] += 1
                if verdict.name != "proved":
                    print(f"{verdict.name}: {family}: {left} and {right}", file=sys.stderr)
    return result


def _near(job: tuple[int, int, int]) -> dict[str, Counter[str]]:
    return near(*job)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--near", type=int, default=20000, help="how many near misses")
    parser.add_argument("--true", type=int, default=4, help="rewordings of each true identity")
    parser.add_argument("--directly", type=int, default=20, help="each how-manieth is put to the proof alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shards", type=int, default=3)
    given = parser.parse_args(arguments)
    start = time.process_time()
    shards = [given.near // given.shards + (p < given.near % given.shards) for p in range(given.shards)]
    jobs = [(given.seed * 1000 + p, count, given.directly) for p, count in enumerate(shards)]
    by_kind: dict[str, Counter[str]] = {}
    with ProcessPoolExecutor(given.shards) as pool:
        for part in pool.map(_near, jobs):
            for kind, counts in part.items():
                by_kind.setdefault(kind, Counter()).update(counts)
    record: dict[str, Any] = {
        "seed": given.seed,
        "shards": given.shards,
        "each so manieth put to the proof alone": given.directly,
        "near misses": {kind: dict(sorted(c.items())) for kind, c in sorted(by_kind.items())},
    }
    _write(record)  # the second part takes its time
    record["true identities"] = {
        family: dict(sorted(c.items())) for family, c in true(given.seed, given.true).items()
    }
    _write(record)
    print(json.dumps(record, indent=1), f"\n{time.process_time() - start:.0f} s in this process")


def _write(record: dict[str, Any]) -> None:
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
