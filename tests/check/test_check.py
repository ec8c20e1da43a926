"""Checks of toy theorems: each gets its verdict, for many seeds, on enough instances of the right kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lemmax as lx
from lemmax.check import run as run_module
from lemmax.check.judge import Judge
from lemmax.statement import Instances, Report, Structure, load_theorem
from tests.check import toys

ROOT = Path(__file__).resolve().parents[2]


def data_of(report: Report) -> dict[str, Any]:
    data = report.to_json()
    data.pop("seconds")
    return data


@pytest.mark.parametrize("theorem", toys.HOLDING, ids=lambda t: t.name)
def test_true_theorems_survive_on_200_instances(theorem: lx.Theorem) -> None:
    report = lx.check(theorem)
    e = report.evidence
    assert report.as_expected, str(report)
    assert report.verdict.name == "survived"
    assert e.accepted >= 200
    assert 2 * e.family >= e.accepted
    assert e.acceptance >= 0.05
    assert all(h.true and h.false for h in e.hypotheses)
    assert not e.survivors and all(m.witness is not None for m in e.mutants)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 3))
def test_verdicts_do_not_depend_on_the_seed(seed: int) -> None:
    for theorem in toys.HOLDING:
        report = lx.check(theorem, instances=60, seed=seed)
        assert report.as_expected, str(report)
    for theorem in (toys.FALSE_BOUND, toys.FALSE_RANK):
        report = lx.check(theorem, instances=60, seed=seed)
        assert report.verdict.name == "refuted", str(report)
        assert max(report.witness.sizes.values()) <= 2  # type: ignore[union-attr]


def test_a_false_theorem_is_refuted_by_a_smallest_witness() -> None:
    report = lx.check(toys.FALSE_BOUND, seed=3)
    witness = report.witness
    assert report.as_expected and witness is not None
    assert dict(witness.sizes) == {"n": 1, "D": 1, "k": 1}
    (comparison,) = witness.comparisons
    assert comparison.holds is False and comparison.digits >= 100
    assert float(comparison.lhs) == pytest.approx(2 * float(comparison.rhs))
    assert "violated" in str(report) and "recipe: n=1 D=1 k=1" in str(report)


def test_the_snippet_reproduces_the_witness(tmp_path: Path) -> None:
    source = """
import lemmax as lx
n, D, k = lx.sizes("n D k")
A, C = lx.tensor("A", n, D), lx.tensor("C", D, k)
THEOREM = lx.Theorem(
    name="false_bound_of_norms",
    conclusion=lx.norm(A @ C) <= lx.norm(A) * lx.spectral_norm(C) / 2,
    reference="test",
    expected="refuted",
)
"""
    path = tmp_path / "false_bound_of_norms.py"
    path.write_text(source)
    witness = lx.check(load_theorem(path), seed=1).witness
    assert witness is not None
    done = subprocess.run(
        [sys.executable, "-c", witness.snippet], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "refuted" in done.stdout
    for number in (witness.comparisons[-1].lhs, witness.comparisons[-1].rhs):
        assert number in done.stdout


def test_a_theorem_that_no_instance_satisfies_is_vacuous() -> None:
    report = lx.check(toys.VACUOUS)
    assert report.verdict.name == "vacuous"
    assert "negative square" in report.verdict.reason
    assert report.evidence.accepted == 0 and report.evidence.draws >= 400
    assert not report.as_expected


def test_a_hypothesis_that_is_never_false_is_reported() -> None:
    report = lx.check(toys.IDLE)
    assert report.verdict.name == "survived"
    assert not report.as_expected
    assert any("never false" in text for text in report.shortcomings)


def test_a_mutant_that_is_true_is_reported_as_a_survivor() -> None:
    weaker = lx.Mutant("weaker", toys.inner**2 <= 2 * toys.bound, "it is not false at all")
    theorem = toys.theorem(
        "cauchy_schwarz_of_pairs", toys.inner**2 <= toys.bound, mutants=[*toys.CAUCHY_SCHWARZ.mutants, weaker]
    )
    report = lx.check(theorem, instances=40)
    assert [m.name for m in report.evidence.survivors] == ["weaker"]
    assert not report.as_expected
    assert "it is not false at all" in str(report)


def test_tight_bounds_are_undecided_and_agree_to_forty_digits() -> None:
    e = lx.check(toys.CAUCHY_SCHWARZ).evidence
    assert e.undecided > 0 and e.reexamined > 0
    assert e.agreement is not None and e.agreement >= 40
    assert e.tightest is not None and e.tightest.ratio == pytest.approx(1.0)


def test_near_duplicates_are_decided_in_multiprecision() -> None:
    report = lx.check(toys.GRAM_RANK)
    assert report.as_expected, str(report)
    assert report.evidence.digits >= 100


def test_a_run_follows_from_its_seed() -> None:
    first, again, other = (data_of(lx.check(toys.TIED, instances=50, seed=s)) for s in (4, 4, 5))
    assert first == again
    assert first != other


def test_output_does_not_depend_on_the_hash_seed() -> None:
    text = (
        "import json, lemmax as lx; from tests.check import toys;"
        "r = lx.check(toys.GRAM_RANK, instances=30, seed=2);"
        "d = r.to_json(); d.pop('seconds'); print(json.dumps(d))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and json.loads(outputs.pop())["verdict"] == "survived"


def test_nothing_is_written_to_the_current_directory(tmp_path: Path) -> None:
    text = "import lemmax as lx; from tests.check import toys; lx.check(toys.TIED, instances=30)"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", text], check=True, cwd=tmp_path, env=env)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_run_reports_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    judge = Judge.judge

    def interrupted(self: Judge, *args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return judge(self, *args)

    monkeypatch.setattr(Judge, "judge", interrupted)
    report = lx.check(toys.CAUCHY_SCHWARZ)
    assert report.interrupted and not report.as_expected
    assert report.verdict.name == "unknown" and "interrupted after" in report.verdict.reason
    assert 0 < report.evidence.accepted < 200
    assert "this is what was known so far" in str(report)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    lx.check(toys.TIED, instances=30, mutants=False, progress=lambda done, all_: seen.append((done, all_)))
    assert seen[-1] == (30, 30) and all(a <= b for a, b in pairwise(seen))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "expected a lx.Theorem"),
        ((toys.TIED, 0), "at least 1"),
        ((toys.TIED, True), "at least 1"),
        ((toys.TIED, 10, -1), "non-negative"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        lx.check(*arguments)


def test_draws_that_cannot_be_evaluated_are_counted_and_do_not_spoil_their_block() -> None:
    x = toys.x
    theorem = toys.theorem(
        "logarithm_of_sums",
        lx.log(lx.sum(x)) <= lx.sum(x) - 1,
        mutants=[
            lx.Mutant("minus 2", lx.log(lx.sum(x)) <= lx.sum(x) - 2, "equality at 1"),
            lx.Mutant("reversed", lx.log(lx.sum(x)) >= lx.sum(x) - 1, "strict away from 1"),
            lx.Mutant("half", lx.log(lx.sum(x)) <= lx.sum(x) / 2 - 1, "false at 1"),
        ],
    )
    report = lx.check(theorem, instances=50)
    assert report.verdict.name == "survived", str(report)
    assert sum(count for _, count in report.evidence.not_evaluated) > 5


def test_equality_hypotheses_that_hold_to_rounding_only_refute_nothing() -> None:
    # B is A / 3 * 3 in float64: equal to A to rounding, seldom exactly, and the claim magnifies the gap
    A, B = toys.A, toys.B
    theorem = toys.theorem(
        "magnified_gap_of_rounded_copies",
        (1e20 * lx.sqnorm(A - B)).le(1),
        hypotheses=[A.eq(B).named("equal")],
        instances=Instances(
            structure=[
                Structure("rounded copy", (A, B), by=lambda a, rng: {"B": a["A"] / 3 * 3 * (1 + 2e-16)})
            ]
        ),
    )
    report = lx.check(theorem, instances=40, mutants=False)
    assert report.verdict.name != "refuted", str(report)


def test_half_of_a_run_has_large_family_sizes_even_if_they_are_seldom_accepted() -> None:
    X, n, D = toys.X, toys.n, toys.D
    picky = (lx.min(X).gt(-0.5)).named("entries above -1/2")
    theorem = toys.theorem(
        "sign_of_picky_sums",
        lx.sum(X) >= -n * D / 2,
        hypotheses=[picky],
        mutants=[
            lx.Mutant("positive", lx.sum(X) >= 0, "entries may be negative"),
            lx.Mutant("negative", lx.sum(X) <= 0, "entries may be positive"),
            lx.Mutant("small", lx.sum(X) <= n * D / 4, "entries may be large"),
        ],
    )
    e = lx.check(theorem, instances=40).evidence
    assert 2 * e.family >= e.accepted >= 40
    assert e.acceptance < 0.8


def test_the_budget_of_a_run_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "DRAWS_PER_INSTANCE", 2)
    rare = (lx.min(toys.X).gt(1.0)).named("rare")
    theorem = toys.theorem(
        "rare_claim_of_large_entries", lx.sum(toys.X) > 0, hypotheses=[rare], expected="refuted"
    )
    report = lx.check(theorem, instances=300)
    assert report.verdict.name == "unknown" and "only" in report.verdict.reason
    assert report.evidence.draws <= 300 * 2 + 200


def test_witness_arrays_are_those_of_the_recipe() -> None:
    witness = lx.check(toys.FALSE_BOUND, seed=2).witness
    assert witness is not None
    A, C = np.asarray(witness.arrays["A"]), np.asarray(witness.arrays["C"])
    assert np.linalg.norm(A @ C) > np.linalg.norm(A) * np.linalg.norm(C, 2) / 2


def test_thousands_of_instances_come_in_large_blocks() -> None:
    report = lx.check(toys.SUBMULTIPLICATIVE, instances=3000, mutants=False)
    assert report.verdict.name == "survived" and report.evidence.accepted >= 3000
    assert report.seconds < 6


def test_a_claim_that_is_undefined_where_a_hypothesis_fails_counts_as_rejected() -> None:
    n = toys.n
    T, y = lx.tensor("T", n, n), toys.y
    theorem = toys.theorem(
        "solution_of_invertible_systems",
        (T @ (lx.inv(T) @ y)).eq(y),
        hypotheses=[(lx.det(T) ** 2).gt(0).named("T is invertible")],
        mutants=[
            lx.Mutant("wrong order", (lx.inv(T) @ y).eq(y), "only for T = I"),
            lx.Mutant("sign", (T @ (lx.inv(T) @ y)).eq(-y), "only for y = 0"),
            lx.Mutant("transpose", (T.T @ (lx.inv(T) @ y)).eq(y), "only for symmetric T"),
        ],
    )
    report = lx.check(theorem, instances=50)
    assert report.as_expected, str(report)
    assert report.evidence.hypotheses[0].false > 0


def test_a_strict_claim_that_equality_would_refute_does_not_pass() -> None:
    n, D = lx.sizes("n D")
    A, B = lx.tensor("A", n, D), lx.tensor("B", n, D)
    product, bound = lx.dot(A, B) ** 2, lx.sqnorm(A) * lx.sqnorm(B)
    mutants = [
        lx.Mutant("half", product <= bound / 2, "equality for n = D = 1"),
        lx.Mutant("the other way round", product > bound, "the inequality of Cauchy and Schwarz"),
        lx.Mutant("a bound by one", product <= 1, "both sides scale"),
    ]
    for strict in (True, False):
        claim = product < bound if strict else product <= bound
        theorem = lx.Theorem(
            name="cauchy_schwarz_of_two", conclusion=claim, reference="folklore", mutants=mutants
        )
        report = lx.check(theorem, instances=50)
        assert report.verdict.name == "survived"
        assert report.as_expected is not strict
        assert ("claim is strict" in str(report)) is strict


def test_a_strict_claim_with_a_gap_passes() -> None:
    n = lx.size("n")
    A = lx.tensor("A", n, n)
    claim = lx.sqnorm(lx.softmax(A)) < n + 1
    mutants = [
        lx.Mutant(f"at most {c}", lx.sqnorm(lx.softmax(A)) < c * n, "a one-hot row") for c in (0.2, 0.5, 0.7)
    ]
    report = lx.check(
        lx.Theorem(name="softmax_rows_of_norm", conclusion=claim, reference="folklore", mutants=mutants), 50
    )
    assert report.as_expected, str(report)
