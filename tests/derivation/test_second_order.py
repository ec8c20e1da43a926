"""Derivations of Hessian blocks and their parts: results, replay, and what replay refuses."""

from __future__ import annotations

import functools
import itertools
import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings

import lemmax as lx
from lemmax.derivation.forward_rules import FORWARD_RULES, FORWARD_STATEMENTS
from lemmax.derivation.replay import replay_by_numbers, replay_by_rules
from lemmax.derivation.rules import RULES
from lemmax.derivation.split_rules import SPLIT_RULES, SPLIT_STATEMENTS
from lemmax.derivation.statements import rule_statement
from lemmax.expr.graph import depends_on
from lemmax.rules.pushforwards import PUSHFORWARDS
from tests.calculus.test_everyday_gradients import KINDS
from tests.derivation.tamper import altered, tampered_as_a_whole, tampered_with
from tests.strategies import INPUTS, Recipe, build, recipes

n, D, k = lx.sizes("n D k")
X, W, Y, V = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k), lx.tensor("V", k, k)
w, y, U = lx.tensor("w", D), lx.tensor("y", n), lx.tensor("U", D, k)

PARTS = ("total", "outer", "functional")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("softmax-attention-causal", "total"),
        ("softmax-attention", "outer"),
        ("gaussian-attention", "functional"),
        *(("attention-classifier-diagonal", part) for part in PARTS),
    ],
)
def test_models(name: str, part: str) -> None:
    model = lx.models.MODELS[name]()
    weights = model.weights[::2] if name == "gaussian-attention" else model.weights[:2]
    d = lx.derive(model.loss, weights, order=2, part=part)  # type: ignore[call-overload]
    assert d.replay(seed=1) is d
    assert d.order == 2 and d.part == part
    assert d.blocks == tuple(itertools.combinations_with_replacement(weights, 2))
    for (a, b), result in zip(d.blocks, d.results, strict=True):
        assert result == lx.hessian(model.loss, a, b, part=part)  # type: ignore[arg-type]
    if part != "total":
        split = lx.hessian_split(model.loss, *weights[:2])
        assert d.middle == split.through
        assert d.psd_reason == (split.psd_reason if part == "outer" else None)
        assert d.linear_in == (split.linear_in if part == "functional" else None)


@pytest.mark.parametrize("name", KINDS)
def test_everyday_losses(name: str) -> None:
    kind = KINDS[name]
    try:
        wanted = lx.hessian(kind.loss, kind.wrt, nonsmooth=kind.policy)
    except lx.MissingRule:
        with pytest.raises(lx.MissingRule):
            lx.derive(kind.loss, kind.wrt, kind.policy, order=2)
        return
    d = lx.derive(kind.loss, kind.wrt, kind.policy, order=2)
    assert d.replay(instances=1).result == wanted


@settings(max_examples=3)
@given(recipes())
def test_random_losses(recipe: Recipe) -> None:
    loss, _ = build(recipe).loss()
    variables = [t for t in INPUTS if depends_on(loss, t)][:2]
    lx.derive(loss, variables, nonsmooth="subgradient", order=2).replay(instances=1)


def test_blocks_may_be_chosen_and_a_tensor_inside_may_be_a_variable() -> None:
    model = lx.models.attention()
    d = lx.derive(model.loss, [(model.WV, model.S), (model.WK, model.WQ)], order=2).replay()
    assert d.results[0] == lx.hessian(model.loss, model.WV, model.S)
    assert d.results[1] == lx.hessian(model.loss, model.WK, model.WQ)
    assert d.variables == (model.WV, model.WK)


def test_a_step_applies_one_rule_that_is_in_a_table_and_says_something() -> None:
    model = lx.models.attention("gaussian")
    for part in PARTS:
        for step in lx.derive(model.loss, model.WQ, order=2, part=part).steps:
            rules = RULES if step.along is None else FORWARD_RULES
            assert step.rule in rules or step.rule in SPLIT_RULES
            assert rule_statement(step.rule)[0]
            assert step.before.shape == step.after.shape


def test_general_rules_and_rules_of_functions_make_up_the_tables() -> None:
    assert set(FORWARD_RULES) == set(FORWARD_STATEMENTS) | {rule.name for rule in PUSHFORWARDS.values()}
    assert set(SPLIT_RULES) == set(SPLIT_STATEMENTS)


def test_bad_calls_are_refused() -> None:
    f = lx.sqnorm(X @ W - Y)
    for order in (0, 3, True):
        with pytest.raises(lx.InvalidArgument, match="expected 1 or 2"):
            lx.derive(f, W, order=order)  # type: ignore[call-overload]
    with pytest.raises(lx.InvalidArgument, match="pass order=2"):
        lx.derive(f, W, part="outer")
    with pytest.raises(lx.InvalidArgument, match="expected 'total', 'outer' or 'functional'"):
        lx.derive(f, W, order=2, part="inner")  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="through= belongs to a part"):
        lx.derive(f, W, order=2, through="R")
    for wrt in ([(W,)], [W, (W, X)], [], "W", [("W", W)]):
        with pytest.raises(lx.InvalidArgument, match="expected variables, whose pairs are taken"):
            lx.derive(f, wrt, order=2)  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="does not occur"):
        lx.derive(f, [(W, V)], order=2)
    with pytest.raises(lx.InvalidArgument, match=r"expected a scalar.*lx\.jacobian"):
        lx.derive(X @ W, W, order=2)
    with pytest.raises(lx.InvalidArgument, match="in other ways too"):
        lx.derive(f + lx.sqnorm(W), W, order=2, part="outer", through=X @ W - Y)


def test_products_with_directions() -> None:
    model = lx.models.attention_classifier()
    weights = model.weights
    directions = tuple(lx.tensor(f"U{p}", *w.shape) for p, w in enumerate(weights))
    d = lx.derive(model.loss, weights, order=2, direction=directions).replay()
    assert d.order == 2 and d.directions == directions and not d.blocks
    for mine, wanted in zip(d.results, lx.hvp(model.loss, weights, directions), strict=True):
        assert lx.equal(mine, wanted).name == "proved"
    inner = lx.derive(model.loss, model.S, order=2, direction=lx.tensor("U", *model.S.shape)).replay()
    assert lx.equal(inner.result, lx.hvp(model.loss, model.S, inner.directions[0])).name == "proved"
    with pytest.raises(lx.InvalidArgument, match="2 variables, but 1 directions"):
        lx.derive(model.loss, weights, order=2, direction=directions[0])
    with pytest.raises(lx.ShapeError, match="does not have the shape of W"):
        lx.derive(lx.sqnorm(X @ W), W, order=2, direction=Y)
    for options in ({"order": 1}, {"order": 2, "part": "outer"}):
        with pytest.raises(lx.InvalidArgument, match="pass order=2 and no part"):
            lx.derive(lx.sqnorm(X @ W), W, direction=U, **options)  # type: ignore[arg-type]


def test_structured_variables() -> None:
    P = lx.tensor("P", k, k, symmetric=True)
    f = lx.sqnorm(W @ P)
    for order in (1, 2):
        with pytest.raises(lx.InvalidArgument, match="structured='ignore'"):
            lx.derive(f, P, order=order)  # type: ignore[call-overload]
        with pytest.raises(lx.InvalidArgument, match="expected 'raise' or 'ignore'"):
            lx.derive(f, P, order=order, structured="subspace")  # type: ignore[call-overload]
    assert lx.derive(f, P, structured="ignore").replay().result == lx.gradient(f, P, structured="ignore")
    second = lx.derive(f, P, order=2, structured="ignore").replay()
    assert second.result == lx.hessian(f, P, structured="ignore")


def test_pickles_replay() -> None:
    d = lx.derive(lx.sqnorm(lx.softmax(X @ W) - Y) / 2, W, order=2, part="outer")
    again = pickle.loads(pickle.dumps(d))
    assert again == d
    again.replay()


# -- tampering ------------------------------------------------------------------------------------
@functools.cache
def derivation(name: str) -> lx.Derivation:
    model = lx.models.attention()
    loss, _, part = name.partition(", ")
    part = part or "total"
    if part == "product":
        return lx.derive(lx.sqnorm(lx.tanh(X @ W) - Y) / 2, W, order=2, direction=U)
    if loss == "softmax":
        return lx.derive(model.loss, [(model.WQ, model.WV)], order=2, part=part)  # type: ignore[arg-type]
    if loss == "logistic":
        f = lx.sum(lx.log(1 + lx.exp(-y * lx.tanh(X @ w))))
        return lx.derive(f, w, order=2, part=part)  # type: ignore[arg-type]
    return lx.derive(lx.sqnorm(lx.tanh(X @ W) - Y) / 2, W, order=2, part=part)  # type: ignore[arg-type]


NAMES = [*(f"two layers, {part}" for part in (*PARTS, "product")), "softmax, total", "logistic, outer"]


@pytest.mark.parametrize("name", NAMES)
def test_every_alteration_is_refused(name: str) -> None:
    d = derivation(name)
    replay_by_rules(d)
    survivors = []
    count = 0
    stride = 2 * len(d.steps) - 1  # of about fifty alterations a step
    for what, tampered in itertools.islice(tampered_with(d), NAMES.index(name) % stride, None, stride):
        count += 1
        try:
            replay_by_rules(tampered)
        except lx.ReplayError:
            continue
        survivors.append(what)
    assert count >= 20
    assert not survivors


@pytest.mark.parametrize("name", NAMES)
def test_no_step_can_be_removed_and_no_claim_changed(name: str) -> None:
    d = derivation(name)
    for p in range(0, len(d.steps), 1 + len(d.steps) // 8):
        with pytest.raises(lx.ReplayError):
            replay_by_rules(d.without(p))
    for what, tampered in itertools.islice(tampered_as_a_whole(d), 0, None, 2 if "total" in name else 1):
        with pytest.raises(lx.ReplayError):
            replay_by_rules(tampered)
            pytest.fail(what)


@pytest.mark.parametrize("name", ["softmax, outer", "two layers, functional", "two layers, product"])
def test_numbers_alone_refuse_a_false_step(name: str) -> None:
    d = derivation(name)
    replay_by_numbers(d)
    survivors = []
    for p in range(0, len(d.steps), 4):
        step = d.steps[p]
        for slip, wrong in altered(step.after):
            if slip == "swapped index" and "chain_rule" in step.rule:
                continue  # a formal derivative may be block-diagonal, and then the two are equal
            try:
                replay_by_numbers(replace(d, steps=(replace(step, after=wrong),)), instances=1)
            except lx.ReplayError as error:
                assert "differ by" in str(error) or "no random point" in str(error)
                continue
            survivors.append(f"step {p + 1} ({step.rule}), {slip}: {step.after!r} -> {wrong!r}")
    assert not survivors


def test_numbers_alone_refuse_a_curvature_that_is_not_positive_semidefinite() -> None:
    d = lx.derive(lx.sum((lx.tanh(X @ w) - y) ** 3), w, order=2, part="outer")
    assert d.psd_reason is None
    d.replay()
    false = replace(d, psd_reason="the curvature is a diagonal with even powers")
    with pytest.raises(lx.ReplayError, match="does not follow from the steps"):
        replay_by_rules(false)
    with pytest.raises(lx.ReplayError, match="has the eigenvalue -"):
        replay_by_numbers(false, instances=8)


def test_numbers_alone_refuse_a_functional_part_that_is_not_linear() -> None:
    d = derivation("two layers, functional")
    (p,) = [p for p, step in enumerate(d.steps) if step.rule == "insert_slope"]
    step = d.steps[p]
    for wrong in (step.before * step.before, step.before + 1):
        steps = (*d.steps[:p], replace(step, before=wrong, after=wrong), *d.steps[p + 1 :])
        with pytest.raises(lx.ReplayError, match="is not linear in what stands for the slope"):
            replay_by_numbers(replace(d, steps=steps))
