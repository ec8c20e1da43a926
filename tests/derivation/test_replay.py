"""Replay passes for what was derived and refuses whatever was altered, exchanged or removed."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import lemmax as lx
from lemmax.derivation.replay import draw_arrays, replay_by_numbers, replay_by_rules
from lemmax.derivation.rules import RULES, STATEMENTS
from lemmax.derivation.statements import rule_statement
from lemmax.expr.graph import depends_on
from lemmax.rules.pullbacks import PULLBACKS
from tests.calculus.test_everyday_gradients import KINDS
from tests.derivation.tamper import altered, tampered_with
from tests.strategies import INPUTS, Recipe, build, recipes

n, D, k = lx.sizes("n D k")
X, W, Y, V = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k), lx.tensor("V", k, k)
A, x, s = lx.tensor("A", n, n), lx.tensor("x", n), lx.tensor("s")


@pytest.mark.parametrize("name", lx.models.MODELS)
def test_models(name: str) -> None:
    model = lx.models.MODELS[name]()
    d = lx.derive(model.loss, model.weights)
    assert d.replay(seed=1) is d
    assert d.results == lx.gradient(model.loss, model.weights)
    assert d.f == model.loss and d.variables == model.weights


@pytest.mark.parametrize("name", KINDS)
def test_everyday_losses(name: str) -> None:
    kind = KINDS[name]
    d = lx.derive(kind.loss, kind.wrt, nonsmooth=kind.policy)
    d.replay()
    assert d.result == lx.gradient(kind.loss, kind.wrt, nonsmooth=kind.policy)


@settings(max_examples=8)
@given(recipes())
def test_random_losses(recipe: Recipe) -> None:
    loss, _ = build(recipe).loss()
    variables = [t for t in INPUTS if depends_on(loss, t)]
    lx.derive(loss, variables, nonsmooth="subgradient").replay(instances=1)


def test_a_tensor_inside_as_variable() -> None:
    model = lx.models.attention()
    d = lx.derive(model.loss, (model.S, model.WQ)).replay()
    assert d.results == lx.gradient(model.loss, (model.S, model.WQ))


def test_fixed_slices_sizes_in_bodies_and_narrow_domains() -> None:
    for f, wrt in [
        (lx.sqnorm(x[:5]), x),
        (lx.sum(x) * lx.tensor_from(lambda: lx.index_sum(lambda i: s, k)), s),
        (lx.sum(lx.arccosh(x)) + lx.sum(lx.log(x)), x),
        (lx.sum(lx.arcsin(x) * lx.arctanh(x)), x),
        (lx.logdet(A) + lx.trace(lx.inv(A)), A),
        (lx.sum(lx.log(lx.tensor("p", n, positive=True))), lx.tensor("p", n, positive=True)),
    ]:
        lx.derive(f, wrt).replay()


def test_a_step_applies_one_rule_that_is_in_the_table() -> None:
    for name in lx.models.MODELS:
        model = lx.models.MODELS[name]()
        for step in lx.derive(model.loss, model.weights).steps:
            assert step.rule in RULES and rule_statement(step.rule)[0]
            assert step.before != step.after or step.rule == "inline_definitions"
            assert step.before.shape == step.after.shape


def test_general_rules_and_rules_of_functions_make_up_the_table() -> None:
    assert set(RULES) == set(STATEMENTS) | {rule.name for rule in PULLBACKS.values()}


def test_nothing_to_derive() -> None:
    with pytest.raises(lx.InvalidArgument, match=r"x \(n\) does not occur"):
        lx.derive(lx.sum(W), x)
    with pytest.raises(lx.NonSmooth):
        lx.derive(lx.sum(lx.relu(x)), x)


def test_pickles_replay() -> None:
    d = lx.derive(lx.sqnorm(lx.softmax(X @ W) - Y) / 2, W)
    again = pickle.loads(pickle.dumps(d))
    assert again == d
    again.replay()


# -- tampering ------------------------------------------------------------------------------------
@functools.cache
def derivation(name: str) -> lx.Derivation:
    softmax, gaussian = lx.models.attention(), lx.models.attention("gaussian")
    classifier = lx.models.attention_classifier()
    made: dict[str, Callable[[], lx.Derivation]] = {
        "softmax": lambda: lx.derive(softmax.loss, (softmax.WQ, softmax.WV)),
        "gaussian": lambda: lx.derive(gaussian.loss, gaussian.WK),
        "classifier": lambda: lx.derive(classifier.loss, classifier.weights),
        "least squares": lambda: lx.derive(lx.sqnorm(X @ W - Y) / 2, W),
        "two layers": lambda: lx.derive(lx.sqnorm(lx.relu(X @ W) @ V - Y) / 2, (W, V), "subgradient"),
        "matrix functions": lambda: lx.derive(lx.logdet(A) + lx.trace(A @ lx.inv(A @ A)) * lx.norm(A), A),
    }
    return made[name]()


NAMES = ["softmax", "gaussian", "classifier", "least squares", "two layers", "matrix functions"]


@pytest.mark.parametrize(
    ("name", "stride"),
    [("least squares", 2), ("two layers", 16), ("matrix functions", 16), *((m, 29) for m in NAMES[:3])],
)
def test_every_alteration_is_refused(name: str, stride: int) -> None:
    """Every second alteration for a short derivation, fewer for long ones."""
    d = derivation(name)
    replay_by_rules(d)
    survivors = []
    count = 0
    for what, tampered in itertools.islice(tampered_with(d), 0, None, stride):
        count += 1
        try:
            replay_by_rules(tampered)
        except lx.ReplayError:
            continue
        survivors.append(what)
    assert count >= 30
    assert not survivors


def test_the_policy_for_kinks_belongs_to_a_derivation() -> None:
    d = derivation("two layers")
    with pytest.raises(lx.ReplayError, match="cannot be applied"):
        replace(d, nonsmooth="raise").replay()


@pytest.mark.parametrize("name", NAMES)
def test_numbers_alone_refuse_a_false_step(name: str) -> None:
    """The numerical half finds false steps without knowing any rule."""
    d = derivation(name)
    replay_by_numbers(d)
    survivors = []
    for p, step in enumerate(d.steps[::3]):
        for slip, wrong in altered(step.after):
            if slip == "swapped index" and step.rule == "chain_rule":
                continue  # a formal derivative may be block-diagonal, and then the two are equal
            try:
                replay_by_numbers(replace(d, steps=(replace(step, after=wrong),)), instances=1)
            except lx.ReplayError as error:
                assert "differ by" in str(error) or "no random point" in str(error)
                continue
            survivors.append(f"step {p + 1} ({step.rule}), {slip}: {step.after!r} -> {wrong!r}")
    assert not survivors


def test_an_adjoint_that_cancels_to_rounding_is_no_failure() -> None:
    n, k, D = lx.sizes("n k D")
    c, V, Y, W = lx.tensor("c"), lx.tensor("V", n, k), lx.tensor("Y", n, D), lx.tensor("W", D, k)
    loss = lx.dot(lx.sqrt(1 + (Y @ W) ** 2), lx.softmax(V + c))  # softmax does not see c
    for variables in (c, V):
        derivation = lx.derive(loss, variables)
        for seed in range(5):
            replay_by_numbers(derivation, seed)


def test_messages_name_the_step() -> None:
    d = derivation("least squares")
    with pytest.raises(lx.ReplayError, match=r"step 2 .* does not start where the step before ended"):
        d.without(1).replay()
    with pytest.raises(lx.ReplayError, match="the first step must write out the given scalar"):
        d.without(0).replay()
    with pytest.raises(lx.ReplayError, match="the derivation has no steps"):
        replace(d, steps=()).replay()
    with pytest.raises(lx.ReplayError, match="0 results are given for 1 variables"):
        replace(d, results=()).replay()


def test_arrays_are_drawn_from_the_seed() -> None:
    results, sizes = list(derivation("softmax").results), {size: 2 for size in lx.models.attention().sizes}

    def drawn(seed: int) -> list[list[float]]:
        arrays = draw_arrays(results, sizes, np.random.default_rng(seed), 0)
        return [a.tolist() for _, a in sorted(arrays.items())]

    assert drawn(4) == drawn(4) != drawn(5)
