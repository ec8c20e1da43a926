"""Recipes are small, readable, and fully determine the arrays."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.check.build import build, is_generic
from lemmax.check.generators import GENERATORS, random_of
from lemmax.check.mutations import MUTATIONS, mutate
from lemmax.check.plan import draw_plan
from lemmax.check.recipe import Mutation, Recipe
from lemmax.check.shrink import draw_blocks
from lemmax.statement import Draw, Instances, Structure
from lemmax.statement.instances import KINDS
from lemmax.statement.instances import MUTATIONS as NAMES

N, n, D = lx.sizes("N n D")
X, Z = lx.tensor("X", N, n, D), lx.tensor("Z", N, n, D)
y, s = lx.tensor("y", N), lx.tensor("s", positive=True)
SIZES = (("N", 2), ("n", 3), ("D", 4))


def theorem(**instances: object) -> lx.Theorem:
    claim = lx.dot(X, Z) * lx.sum(y) * s <= 0
    return lx.Theorem(
        name="claim_of_tests",
        conclusion=claim,
        reference="test",
        expected="refuted",
        instances=Instances(**instances),  # type: ignore[arg-type]
    )


def test_the_same_recipe_gives_the_same_arrays() -> None:
    plan = draw_plan(theorem(draw={y: "signs"}))
    one, two = (build(plan, Recipe(SIZES, seed=5)) for _ in range(2))
    other = build(plan, Recipe(SIZES, seed=6))
    assert all((one[k] == two[k]).all() for k in one)
    assert not (one["X"] == other["X"]).any()
    assert set(np.unique(one["y"])) <= {-1.0, 1.0}
    assert one["s"] > 0 and one["s"].shape == ()


def test_a_recipe_shows_itself_and_no_floats() -> None:
    recipe = Recipe(
        SIZES, 7, ((0, 0, 1), (2, 2, 2)), (Mutation("near_duplicate", ("X",), 0, 2),), ("zero(Z)",)
    )
    assert str(recipe) == (
        "N=2 n=3 D=4 seed=7 tokens=[[0, 0, 1], [2, 2, 2]] near_duplicate(X, 0, 2) without zero(Z)"
    )


def test_the_token_table_makes_tokens_equal() -> None:
    x = build(draw_plan(theorem()), Recipe(SIZES, tokens=((0, 0, 1), (2, 1, 5))))["X"]
    assert (x[0, 0] == x[0, 1]).all() and (x[0, 2] == x[1, 1]).all()
    assert len(np.unique(x.reshape(6, 4), axis=0)) == 4


@pytest.mark.parametrize(
    ("structure", "holds"),
    [
        (Structure("zero", Z), lambda a: not a["Z"].any()),
        (Structure("tied", (X, Z)), lambda a: (a["X"] == a["Z"]).all()),
        (Structure("identical_tokens", X), lambda a: (a["X"] == a["X"][:, :1]).all()),
        (Structure("rank_one", Z), lambda a: (np.linalg.matrix_rank(a["Z"]) == 1).all()),
        (Structure("zero_head", Z), lambda a: a["Z"][0].all() and not a["Z"][1:].any()),
        (Structure("saturated", Z), lambda a: np.abs(a["Z"]).max() > 1000),
        (
            Structure("orthonormal_columns", Structure("zero", Z).inputs),
            lambda a: np.allclose(np.swapaxes(a["Z"], 1, 2)[:, :3] @ a["Z"][..., :3], np.eye(3)),
        ),
        (
            Structure("rotated", (X, Z)),
            lambda a: (np.swapaxes(a["X"], 1, 2) @ a["X"] == np.swapaxes(a["Z"], 1, 2) @ a["Z"]).all(),
        ),
        (
            Structure("doubled", (X, Z), by=lambda a, rng: {"Z": 2 * a["X"]}),
            lambda a: (a["Z"] == 2 * a["X"]).all(),
        ),
    ],
)
def test_structure_is_built_in_and_can_be_left_out(structure: Structure, holds: object) -> None:
    plan = draw_plan(theorem(structure=[structure]))
    assert holds(build(plan, Recipe(SIZES)))  # type: ignore[operator]
    assert not holds(build(plan, Recipe(SIZES, omitted=(structure.label,))))  # type: ignore[operator]


def test_orthonormal_rows_are_orthonormal_as_far_as_possible() -> None:
    x = build(draw_plan(theorem(structure=[Structure("orthonormal_rows", X)])), Recipe(SIZES))["X"]
    rows = x.reshape(6, 4)[:4]
    assert np.allclose(rows @ rows.T, np.eye(4))


def test_mutations_do_what_they_say() -> None:
    x = np.arange(1.0, 25.0).reshape(2, 3, 4)

    def after(kind: str, i: int, j: int) -> np.ndarray:
        arrays = {"X": x.copy(), "Z": -x}
        inputs = ("X", "Z") if kind == "tie" else ("X",)
        mutate(arrays, Mutation(kind, inputs, i, j))
        return arrays[inputs[-1]]

    assert (after("duplicate", 0, 5)[0, 0] == x[1, 2]).all()
    assert (after("duplicate", 1, 1)[0, 1] == x[0, 2]).all()  # never with itself
    assert np.allclose(after("near_duplicate", 0, 0)[0, 0], x[0, 1] + 1e-4 * x[0, 0], rtol=0, atol=1e-15)
    assert not after("zero_row", 4, 0)[1, 1].any()
    assert not after("zero", 0, 0).any()
    assert not after("zero_slice", 1, 0)[1].any() and after("zero_slice", 1, 0)[0].all()
    assert (after("scale", 3, 0) == 1e4 * x).all()
    assert (after("scale_slice", 1, 1)[1] == 100 * x[1]).all()
    assert (after("round", 0, 0) == x).all()
    assert (np.linalg.matrix_rank(after("rank_one", 0, 0)) == 1).all()
    assert (after("tie", 0, 0) == x).all()
    assert set(NAMES) == set(MUTATIONS) | {"tie"}


def test_every_kind_of_draw_is_known_and_exact_where_it_must_be() -> None:
    assert set(KINDS) == set(GENERATORS)
    draws = {kind: GENERATORS[kind](random_of(3, kind), (2, 5, 5)) for kind in KINDS}
    q = draws["orthogonal"]
    assert (q @ np.swapaxes(q, 1, 2) == np.eye(5)).all()
    assert (draws["symmetric"] == np.swapaxes(draws["symmetric"], 1, 2)).all()
    assert (np.linalg.eigvalsh(draws["positive_definite"]) > 0).all()
    assert (np.triu(draws["lower_triangular"], 1) == 0).all()
    assert (draws["uniform"] > 0).all() and (draws["uniform"] <= 1).all()


def test_assumptions_decide_how_an_input_is_drawn() -> None:
    A = lx.tensor("A", n, n, positive_definite=True)
    t = lx.Theorem(name="sign_of_trace", conclusion=lx.trace(A) < 0, reference="test", expected="refuted")
    plan = draw_plan(t)
    assert plan.draws[A] == Draw("positive_definite")
    assert plan.strikes == ()  # nothing may break the assumption


def test_genericity_is_lost_by_what_is_done_afterwards() -> None:
    plan = draw_plan(theorem(structure=[Structure("zero", Z)]))
    assert is_generic(plan, Recipe(SIZES), (X,))
    assert is_generic(plan, Recipe(SIZES, mutations=(Mutation("scale", ("X",)),)), (X,))
    assert not is_generic(plan, Recipe(SIZES, mutations=(Mutation("round", ("X",)),)), (X,))
    assert not is_generic(plan, Recipe(SIZES, tokens=((0, 1, 2), (3, 4, 5))), (X,))
    assert not is_generic(plan, Recipe(SIZES), (Z,))
    assert is_generic(plan, Recipe(SIZES, omitted=("zero(Z)",)), (Z,))


def test_draws_follow_from_the_seed_alone_and_vary() -> None:
    plan = draw_plan(theorem(structure=[Structure("zero", Z)]))
    first, again, other = (list(draw_blocks(plan, 30, seed)) for seed in (1, 1, 2))
    assert first == again != other
    recipes = [r for block in first for r in block]
    assert len({r.sizes for r in recipes}) > 8
    assert {bool(r.mutations) for r in recipes} == {True, False} == {bool(r.omitted) for r in recipes}
    assert any(r.tokens is not None for r in recipes)
    assert all(len({r.sizes for r in block}) == 1 for block in first)
