from __future__ import annotations

import re

import numpy as np
import pytest

import lemmax as lx
from lemmax.campaign.instance.setup import KERNELS, Instance
from lemmax.campaign.instance.theorems import Reading, kernel_of, read_theorem
from lemmax.campaign.registry import load
from lemmax.statement import Draw, Instances
from tests.campaign.instance.cases import instance
from tests.repo.files import ROOT

CHAIN = {kernel: [(0, 1), (0,)] for kernel in KERNELS}
model = lx.models.attention("softmax")
N, n, D, d, v, m, H = model.sizes


def shipped(name: str, given: Instance) -> Reading:
    return read_theorem(load(ROOT / "proofs" / f"{name}.py"), given, CHAIN, seed=0)


def theorem(**given: object) -> lx.Theorem:
    parts = {"name": "claim_of_tests", "reference": "tests", "expected": "refuted"} | given
    return lx.Theorem(**parts)  # type: ignore[arg-type]


def test_theorem_that_applies_shows_both_sides() -> None:
    read = shipped("pl_value_weights_of_full_row_rank", instance())
    assert read.verdict.name == "survived" and read.on_all and read.samples == (0, 1)
    assert read.report is not None and read.report.evidence.tightest is not None
    data = read.to_json()
    assert data["lhs"] > data["rhs"] > 0 and data["as_expected"]


def test_theorem_that_does_not_apply_says_by_how_much() -> None:
    given = instance()
    read = shipped("zero_query_gradient_of_zero_key_weights_softmax", given)
    assert read.verdict.name == "not applicable" and read.as_expected
    assert (
        "zero key weights" in read.verdict.reason and f"{given.arrays['WK'].max():.6g}" in read.verdict.reason
    )


def test_theorem_falls_back_on_the_largest_part() -> None:
    given = instance(sizes=(3, 2, 5, 3, 3, 2, 1))
    read = shipped("pl_value_weights_of_full_row_rank", given)
    assert read.verdict.name == "survived" and not read.on_all and read.samples == (0, 1)
    assert "fails: 6 against 5" in read.reason_for_all
    read = shipped("pl_value_weights_of_full_row_rank", instance(sizes=(3, 4, 3, 3, 3, 2, 1)))
    assert read.verdict.name == "not applicable" and read.on_all
    assert "12 against 3" in read.verdict.reason and "4 against 3" in read.reason_for_one


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pl_dense_value_weights_of_full_row_rank", "its W.* has shape"),
        ("nuclear_norm_bound_of_factor_norms", "belongs to another model"),
        ("key_query_balance_of_gradient_flow_classifier", "belongs to another model"),
    ],
)
def test_theorem_of_another_model_is_not_read(name: str, said: str) -> None:
    read = shipped(name, instance())
    assert read.verdict.name == "not applicable" and read.samples == ()
    assert re.search(said, read.verdict.reason)


def test_further_inputs_are_drawn_from_the_seed() -> None:
    eta, theta = lx.tensor("eta"), lx.tensor("theta")
    claim = theorem(
        conclusion=(lx.sqnorm(model.X) * eta).gt(0).named("claim"),
        instances=Instances(draw={theta: Draw("positive")}, derived={eta: theta / 2}),
    )
    given = instance()
    one, again, other = (read_theorem(claim, given, CHAIN, seed) for seed in (0, 0, 1))
    assert one.verdict.name == "survived" and one.drawn == ("theta",)
    assert one.to_json() == again.to_json()
    assert one.to_json()["lhs"] != other.to_json()["lhs"]


def test_true_theorem_that_fails_here_is_not_as_expected() -> None:
    wrong = (lx.sqnorm(model.X) < 0).named("wrong")
    mutants = [lx.Mutant(str(k), lx.sqnorm(model.Y) < -k, "norms are positive") for k in (1, 2, 3)]
    given = instance(sizes=(1, 2, 2, 1, 1, 1, 1))
    read = read_theorem(theorem(conclusion=wrong, expected="holds", mutants=mutants), given, CHAIN, 0)
    assert read.verdict.name == "refuted" and not read.as_expected
    read = read_theorem(theorem(conclusion=wrong), given, CHAIN, 0)
    assert read.verdict.name == "refuted" and read.as_expected


def test_claim_that_cannot_be_evaluated_is_unknown() -> None:
    claim = theorem(conclusion=lx.log(-lx.sqnorm(model.X)).gt(0).named("claim"))
    read = read_theorem(claim, instance(), CHAIN, 0)
    assert read.verdict.name == "unknown" and "cannot be evaluated" in read.verdict.reason


def test_kernel_is_told_by_the_attention_matrix() -> None:
    for kernel in KERNELS:
        S = lx.models.attention(kernel).S
        assert kernel_of(theorem(conclusion=lx.sum(S).gt(0))) == kernel
    assert np.isfinite(instance().arrays["X"]).all()


def test_what_is_drawn_has_the_structure_that_the_theorem_asks_for() -> None:
    read = shipped("query_key_balance_of_rotation_symmetry_gaussian", instance())
    assert read.verdict.name == "survived" and read.drawn == ("T",)
