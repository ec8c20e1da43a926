"""Every mechanical variant of a theorem is refuted, or listed with the reason why it is true as well."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import lemmax as lx
from lemmax.expr.relation import Relation
from lemmax.statement import Convergence, Generic, Instances, Theorem
from tests.proofs.files import FILES, PROOFS, TEMPLATE, theorem_of
from tests.soundness.survivors import SURVIVORS
from tests.soundness.theorem_mutator import as_theorem, variants, with_mutants
from tests.thorough import THOROUGH

TRUE_FILES = [path for path in FILES if theorem_of(path).expected == "holds"]
SEED, INSTANCES = 20, 100 if THOROUGH else 40


@pytest.mark.slow
@pytest.mark.parametrize("path", TRUE_FILES, ids=lambda path: path.stem)
def test_variants_are_refuted_unless_listed(path: Path) -> None:
    theorem = theorem_of(path)
    listed = SURVIVORS.get(theorem.name, {})
    changed = with_mutants(theorem, [v for v in variants(theorem) if v.name not in listed])
    report = lx.check(changed, instances=INSTANCES, seed=SEED)
    assert report.verdict.name == "survived", str(report)
    assert not report.evidence.survivors, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SURVIVORS))
def test_listed_variants_are_true_as_far_as_they_are_tested(name: str) -> None:
    theorem = theorem_of(PROOFS / f"{name}.py")
    listed = [variant for variant in variants(theorem) if variant.name in SURVIVORS[name]]
    assert listed
    for variant in listed if THOROUGH else listed[:1]:
        report = lx.check(as_theorem(theorem, variant), instances=INSTANCES, seed=SEED, mutants=False)
        assert report.verdict.name == "survived", f"{variant.name}: {report}"


def test_listed_survivors_exist() -> None:
    names = {path.stem: {v.name for v in variants(theorem_of(path))} for path in TRUE_FILES}
    assert set(SURVIVORS) <= set(names)
    for name, reasons in SURVIVORS.items():
        assert set(reasons) <= names[name], name
        assert all(reason.startswith(("weaker: ", "still true: ")) for reason in reasons.values())


def test_all_kinds_of_change_occur() -> None:
    kinds: Counter[str] = Counter()
    for path in TRUE_FILES:
        for variant in variants(theorem_of(path)):
            kinds[variant.reason.removeprefix("seeded: ").split(" of ")[0]] += 1
    wanted = {"factor 2", "sign", "transpose", "next singular value", "largest singular value", "dropped"}
    assert wanted | {"flipped", "off by 1"} == set(kinds)
    listed = sum(map(len, SURVIVORS.values()))
    assert kinds.total() >= 200
    assert listed < kinds.total() / 3  # most variants are refuted


def test_each_part_of_a_theorem_is_changed() -> None:
    theorem = theorem_of(TEMPLATE)
    assert [v.name for v in variants(theorem)] == [
        "claim: factor 2",
        "claim: sign",
        "claim: flipped",
        "dropped: A is not zero",
    ]
    for path in TRUE_FILES:
        theorem = theorem_of(path)
        names = [v.name for v in variants(theorem)]
        assert len(set(names)) == len(names)
        for hypothesis in theorem.hypotheses:
            assert isinstance(hypothesis, Relation | Generic)
            assert f"dropped: {hypothesis.name}" in names
        for number, claim in enumerate(theorem.claims, start=1):
            assert isinstance(claim, Relation | Convergence)
            label = claim.name or ("claim" if len(theorem.claims) == 1 else f"claim {number}")
            assert any(name.startswith(f"{label}: ") for name in names)


def test_a_true_variant_survives_and_a_false_one_does_not() -> None:
    n = lx.size("n")
    x = lx.tensor("x", n)
    theorem = Theorem(
        name="sign_of_squares",
        conclusion=lx.sqnorm(x) >= lx.max(x) ** 2,
        reference="folklore",
        mutants=[
            lx.Mutant(str(k), lx.sqnorm(x) >= k + 1 + lx.sqnorm(x), "less is not more") for k in range(3)
        ],
        instances=Instances(sizes={n: 3}),
    )
    report = lx.check(with_mutants(theorem, variants(theorem)), instances=50, seed=0)
    assert {m.name for m in report.evidence.survivors} == {"claim: sign"}
    assert {m.name for m in report.evidence.mutants} == {"claim: factor 2", "claim: sign", "claim: flipped"}
    verdicts = {
        v.name: lx.check(as_theorem(theorem, v), instances=50).verdict.name for v in variants(theorem)
    }
    assert verdicts == {"claim: factor 2": "refuted", "claim: sign": "survived", "claim: flipped": "refuted"}
