"""Every slip in a rule of differentiation is caught: by complex steps, and by the numbers of a replay."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.derivation.replay import replay_by_numbers
from lemmax.interpret import Evaluator
from lemmax.rules.pullbacks import PULLBACKS
from tests.rules.cases import CASES, A, G, H, g, h, n
from tests.rules.test_tables import run
from tests.soundness.gradient_mutants import ENGINE_MUTANTS, RULE_MUTANTS, SPECIAL, STEP_MUTANTS
from tests.thorough import THOROUGH

k = lx.size("k")
x, w = lx.tensor("x", n), lx.tensor("w", k)
ENGINE_LOSSES: dict[str, tuple[lx.Tensor, lx.Tensor]] = {
    "cubic": (lx.trace(A @ A @ A @ G) + lx.trace(A) * lx.sum(A * H), A),
    "composition": (lx.sum(G * lx.tanh(A @ H) * lx.exp(A)), A),
    "transposes": (lx.sum(G * (A.T @ H @ A.T)) + lx.sum(A[0] * g), A),
    "powers": (lx.sum(x**3 * g) + lx.sum((x * x) ** lx.tensor("t") * g) + lx.sum(1 / (1 + x * x)) ** 2, x),
    "Gaussian kernel": (lx.sum(G * lx.exp(-((x[:, None] - x[None]) ** 2 + (x[:, None] - x) * g))), x),
    "shared": (lx.sum(lx.softmax(A) * lx.softmax(A) * G) + lx.sum(lx.concat([A, A], axis=0) ** 3), A),
    "two ranges": (
        lx.sqnorm(lx.tensor_from(lambda i, j: sp.KroneckerDelta(i, j) * x[i] * w[j]) + lx.outer(x, w)),
        w,
    ),
    "sizes": (lx.sum(lx.outer(x, lx.ones(k))) ** 2 + lx.sum(lx.outer(x, w) @ w[:, None]), x),
    "rectangular": (lx.sqnorm(lx.outer(x, w)) + lx.sum(lx.tanh(lx.outer(w, x)) @ A @ G), x),
    "nested": (lx.sum(lx.tanh((A @ G) @ (G @ A)) * H) + (A @ (A @ (A @ g))) @ h, A),
    "like terms": (lx.sum(A * G + 2 * G * A) + lx.trace(A @ G) * 3 + lx.trace(G @ A), A),
    "named": (
        lx.sqnorm(lx.softmax(A @ G).named("S") @ H) + lx.sum((A @ A).named("Z") * (A @ A).named("Z")),
        A,
    ),
}


def slips(f: lx.Tensor, wrt: lx.Tensor) -> bool:
    """Is the gradient wrong, or refused?"""
    try:
        found = lx.gradient(f, wrt, nonsmooth="subgradient")
        evaluator = Evaluator([found, lx.Derivative(f, wrt)])
        rng = np.random.default_rng(0)
        sizes = {"n": 3, "k": 2}
        symbols = {n: 3, k: 2}
        arrays = {}
        for name, t in evaluator.inputs.items():
            shape = [int(s.xreplace(symbols)) for s in t.shape]
            arrays[name] = (
                np.abs(rng.standard_normal(shape)) + 0.1 if name in "xt" else rng.standard_normal(shape)
            )
        left, right = evaluator.run(arrays, sizes={s: sizes[s] for s in evaluator.sizes})
    except Exception:  # a mutant may break anything; breaking loudly is being caught
        return True
    return not np.allclose(left, right, rtol=0, atol=1e-9 * np.max(np.abs(right)))


@pytest.mark.parametrize("name", ENGINE_LOSSES)
def test_without_a_slip_nothing_is_caught(name: str) -> None:
    assert not slips(*ENGINE_LOSSES[name])


@pytest.mark.parametrize(("function", "slip"), [*RULE_MUTANTS] if THOROUGH else [*RULE_MUTANTS][::3])
def test_mutants_of_rules_are_caught(function: str, slip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = CASES[function]
    (expected,) = run([lx.Derivative(loss, A)], 1)
    RULE_MUTANTS[function, slip](monkeypatch)
    d = lx.derive(loss, A, nonsmooth="subgradient")
    (found,) = run([d.result], 1)
    assert not np.allclose(found, expected, rtol=0, atol=1e-6 * np.max(np.abs(expected)))
    with pytest.raises(lx.ReplayError, match="differ by"):
        replay_by_numbers(d, instances=1)


@pytest.mark.parametrize("name", ENGINE_MUTANTS)
def test_mutants_of_engines_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ENGINE_MUTANTS[name](monkeypatch)
    assert any(slips(*pair) for pair in ENGINE_LOSSES.values())


@functools.cache
def losses_by_rule() -> dict[str, list[lx.Tensor]]:
    """Return the losses in whose derivation a rule is used; called before anything is broken."""
    S = lx.softmax(A @ G).named("S")
    Z = (A @ (G @ A)).named("Z")
    squares = lx.sqnorm((S @ H + A).named("R")) + lx.sum(A**3 * S)
    general = squares + lx.sum(lx.tanh(A) ** 2 * G) + lx.trace(A @ G)
    found: dict[str, list[lx.Tensor]] = {}
    for loss in [lx.trace(Z @ H @ Z @ G), general, *CASES.values()]:
        for rule in {step.rule for step in lx.derive(loss, A, nonsmooth="subgradient").steps}:
            found.setdefault(rule, []).append(loss)
    return found


@pytest.mark.parametrize(("rule", "slip"), STEP_MUTANTS)
def test_mutants_of_steps_are_caught(rule: str, slip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one derivation that uses the rule does not get through: the numbers differ."""
    using = losses_by_rule()[rule]
    STEP_MUTANTS[rule, slip](monkeypatch)
    for loss in using:
        try:
            lx.derive(loss, A, nonsmooth="subgradient").replay(instances=1)
        except lx.LemmaxError:
            return
    pytest.fail("no derivation was refused")


def test_every_rule_has_mutants_of_its_own() -> None:
    assert set(SPECIAL) == set(PULLBACKS)
    assert all(SPECIAL.values())
    assert len(RULE_MUTANTS) >= 100 and len(ENGINE_MUTANTS) >= 20
