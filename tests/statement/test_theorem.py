"""A theorem must be complete when it is built; each gap has its own message."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import lemmax as lx
from lemmax.statement import Convergence, Draw, Generic, Instances, Structure

n, D, k = lx.sizes("n D k")
A, B = lx.tensor("A", n, D), lx.tensor("B", n, D)
claim = lx.dot(A, B) ** 2 <= lx.sqnorm(A) * lx.sqnorm(B)
positive = (lx.sqnorm(A) > 0).named("A is not zero")
mutants = [lx.Mutant(name, claim=claim, reason="because") for name in ("one", "two", "three")]


def make(**changes: Any) -> lx.Theorem:
    parts: dict[str, Any] = {
        "name": "inequality_of_matrices",
        "conclusion": claim,
        "reference": "folklore",
        "sizes": [n <= D],
        "hypotheses": [positive],
        "mutants": mutants,
    }
    return lx.Theorem(**{**parts, **changes})


def test_sequences_become_tuples_and_inputs_are_found() -> None:
    t = make()
    assert t.claims == (claim,)
    assert t.hypotheses == (positive,)
    assert t.inputs == (A, B)
    assert t.size_symbols == (n, D)
    assert repr(t) == "<Theorem inequality_of_matrices, expected holds>"


def test_the_example_of_the_contract_is_accepted() -> None:
    model = lx.models.attention(kernel="softmax")
    WO, f = model.WO, model.loss
    N, n, D, _, v, m, H = model.sizes
    bound = 2 * lx.sigma(model.B, N * n) ** 2 * lx.min(lx.sigma(WO, m), axis="H") ** 2 * f
    t = lx.Theorem(
        name="pl_value_weights_of_full_row_rank",
        sizes=[N * n <= H * D, v >= m],
        hypotheses=[
            lx.rank(model.B).eq(N * n).named("full row rank"),
            lx.min(lx.sigma(WO, m), axis="H").gt(0).named("every output head has rank m"),
        ],
        conclusion=lx.sqnorm(lx.gradient(f, model.WV)) >= bound,
        expected="holds",
        bound="tight",
        reference="...",
        mutants=mutants,
    )
    assert len(t.hypotheses) == 2


def test_trivially_true_constraints_vanish() -> None:
    assert make(sizes=[n >= 1, n <= D]).sizes == (n <= D,)


def test_auxiliary_inputs_of_derived_ones_belong_to_the_theorem() -> None:
    E = lx.tensor("E", n, D)
    t = make(instances=Instances(derived={B: A + E}))
    assert set(t.inputs) == {A, B, E}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Wrong Name"}, "conclusion_of_hypotheses"),
        ({"name": "inequality"}, "conclusion_of_hypotheses"),
        ({"reference": " "}, "no reference"),
        ({"expected": "true"}, "expected 'holds' or 'refuted'"),
        ({"bound": "sharp"}, "expected 'tight'"),
        ({"conclusion": []}, "expected a relation"),
        ({"conclusion": [claim, 3]}, "neither a relation"),
        ({"conclusion": lx.sqnorm(A)}, "expected a relation"),
        ({"hypotheses": [lx.sqnorm(A) > 0]}, "has no name"),
        ({"hypotheses": [positive, positive]}, "two hypotheses share a name"),
        ({"hypotheses": ["A > 0"]}, "neither a relation nor a Generic"),
        ({"mutants": mutants[:2]}, "at least 3"),
        ({"mutants": [*mutants, mutants[0]]}, "two mutants share a name"),
        ({"mutants": [*mutants, lx.Mutant("x", claim)]}, "gives no reason"),
        ({"mutants": [*mutants, lx.Mutant("x", reason="r")]}, "changes nothing"),
        ({"mutants": [*mutants, lx.Mutant("x", drop="no such", reason="r")]}, "drops 'no such'"),
        ({"mutants": [*mutants, lx.Mutant("x", drop=n >= D + 1, reason="r")]}, "drops"),
        ({"sizes": [n <= k]}, "speaks of k"),
        ({"sizes": [3]}, "is no relation between sizes"),
        ({"instances": Instances(sizes={k: 3})}, "speaks of k"),
        ({"instances": Instances(draw={lx.tensor("Z", n): "signs"})}, "no input of the theorem"),
        ({"instances": Instances(derived={B: A.T})}, "cannot take the value"),
        ({"instances": Instances(tokens=lx.tensor("z", n))}, "no input of the theorem"),
        ({"conclusion": lx.zeros(n, D).eq(0), "hypotheses": [], "mutants": ()}, "depends on no input"),
    ],
)
def test_gaps_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        make(**changes)


def test_false_theorems_need_no_mutants() -> None:
    assert make(expected="refuted", mutants=()).mutants == ()


def test_mutants_may_drop_hypotheses_and_size_constraints() -> None:
    t = make(mutants=[*mutants, lx.Mutant("x", drop=("A is not zero", n <= D), reason="r")])
    assert t.mutants[-1].dropped == ("A is not zero", n <= D)
    assert t.mutants[-1].claims == ()


def test_two_inputs_of_one_name_clash() -> None:
    other = lx.tensor("A", D, n)
    with pytest.raises(lx.NameClash):
        make(hypotheses=[(lx.sqnorm(other) > 0).named("other")])


def test_names_that_collide_in_code_are_refused() -> None:
    W1, W2 = lx.tensor("W^Q", n), lx.tensor("WQ", n)
    with pytest.raises(lx.InvalidArgument, match="in code"):
        make(conclusion=lx.dot(W1, W2) >= 0, hypotheses=[], sizes=[], mutants=[], expected="refuted")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": A}, "scalar tensor"),
        ({"variables": ()}, "one or more inputs"),
        ({"steps": 0}, "at least 1"),
        ({"step": "newton"}, "backtracking"),
        ({"rate": None}, "exactly one"),
        ({"reaches": 0.1}, "exactly one"),
        ({"rate": lx.tensor("r", n)}, "must be a scalar"),
    ],
)
def test_convergence_claims_are_checked(changes: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"loss": lx.sqnorm(A), "variables": A, "step": 0.1, "steps": 3, "rate": 0.9}
    assert Convergence(**parts).variables == (A,)
    with pytest.raises(lx.InvalidArgument, match=message):
        Convergence(**{**parts, **changes})


def test_instances_check_their_parts() -> None:
    assert Instances(sizes={n: 4, D: (2, 5)}).sizes == {n: (1, 4), D: (2, 5)}
    assert Instances(draw={A: "signs"}).draw == {A: Draw("signs")}
    bad: list[tuple[Any, str]] = [
        (lambda: Instances(sizes={n: (3, 2)}), "is empty"),
        (lambda: Instances(sizes={sp.Symbol("x"): 3}), "no size symbol"),
        (lambda: Instances(mutations=("explode",)), "unknown mutation"),
        (lambda: Draw("cauchy"), "unknown kind"),
        (lambda: Draw("gaussian", scale=0.0), "must be positive"),
        (lambda: Structure("tied", A), r"acts on 2 input\(s\)"),
        (lambda: Structure("odd", A), "unknown kind"),
        (lambda: Structure("zero", ()), "one or more inputs"),
        (lambda: Generic(()), "one or more inputs"),
    ]
    for build, message in bad:
        with pytest.raises(lx.InvalidArgument, match=message):
            build()
