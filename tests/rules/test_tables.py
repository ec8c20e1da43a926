"""Every rule has a name, says what it states, when and after whom, and is tested against complex steps."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.calculus.forward import push
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply
from lemmax.interpret import Evaluator, MpArithmetic
from lemmax.rules.definitions import DEFINITIONS
from lemmax.rules.pullbacks import PULLBACKS
from lemmax.rules.pushforwards import PUSHFORWARDS
from tests.rules.cases import CASES, SIZES, A

NEAR_IDENTITY = ("A", "H")  # where determinants are positive


def arrays_for(evaluator: Evaluator, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    symbols = {lx.size(name): value for name, value in SIZES.items()}
    arrays = {}
    for name, t in evaluator.inputs.items():
        shape = [int(s.xreplace(symbols)) for s in t.shape]
        x = rng.standard_normal(shape)
        arrays[name] = np.eye(*shape) + 0.4 * np.tanh(x) if name in NEAR_IDENTITY else x
    return arrays


def run(tensors: list[lx.Tensor], seed: int, **options: object) -> list[np.ndarray]:
    evaluator = Evaluator(tensors)
    sizes = {name: SIZES[name] for name in evaluator.sizes}
    return evaluator.run(arrays_for(evaluator, seed), sizes=sizes, **options)


def test_every_row_has_a_case_and_every_case_a_row() -> None:
    assert set(CASES) == set(PULLBACKS), "give the new rule a loss in tests/rules/cases.py"
    for function, loss in CASES.items():
        assert any(isinstance(t, Apply) and t.function == function for t in topological_order(loss))


@pytest.mark.parametrize("function", PULLBACKS)
def test_rows_say_what_they_state(function: str) -> None:
    row = PULLBACKS[function]
    assert row.function == function
    assert row.name.isidentifier() and row.name == row.name.lower()
    assert len(row.statement) > 5 and row.statement.count("{") == row.statement.count("}")
    assert r"\bar" in row.statement
    assert row.conditions and row.reference
    assert row.apply.__doc__ and row.apply.__name__.startswith("pull_")


def test_names_of_rules_are_unique() -> None:
    names = [row.name for table in (PULLBACKS, PUSHFORWARDS) for row in table.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("function", PULLBACKS)
def test_pullback_against_complex_steps(function: str) -> None:
    loss = CASES[function]
    g = lx.gradient(loss, A, nonsmooth="subgradient")
    for seed in range(3):
        found, expected = run([g, lx.Derivative(loss, A)], seed)
        scale = np.max(np.abs(expected))
        assert scale > 1e-3
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(scale, 1))


@pytest.mark.parametrize("function", ["softmax", "logsumexp", "prod", "inv", "det", "logdet"])
def test_pullback_in_multiprecision(function: str) -> None:
    loss = CASES[function]
    found, expected = run([lx.gradient(loss, A), lx.Derivative(loss, A)], 1, arithmetic=MpArithmetic(50))
    largest = max(abs(e) for e in np.asarray(expected).flat)
    assert all(abs(e) <= largest * 10**-45 for e in (np.asarray(found) - np.asarray(expected)).flat)


@pytest.mark.parametrize("function", [f for f, row in PULLBACKS.items() if not row.smooth])
def test_kinks_are_asked_about(function: str) -> None:
    with pytest.raises(lx.NonSmooth, match="Pass nonsmooth='subgradient'"):
        lx.gradient(CASES[function], A)


@pytest.mark.parametrize("function", PULLBACKS)
def test_pushforward_against_complex_steps(function: str) -> None:
    """What can be pulled back can be pushed forward, by a row or by its definition."""
    assert function in PUSHFORWARDS or function in DEFINITIONS
    loss, direction = CASES[function], lx.tensor("D", A.shape[0], A.shape[0])
    (found_t,) = push([loss], {A: direction}, (), "subgradient")
    expected_t = lx.sum(lx.Derivative(loss, A) * direction)
    found, expected = run([found_t, expected_t], 2)
    assert abs(expected) > 1e-3
    assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("function", DEFINITIONS)
def test_definitions_have_the_value_of_what_they_define(function: str) -> None:
    nodes = [t for t in topological_order(CASES[function]) if isinstance(t, Apply) and t.function == function]
    for node in nodes:
        written = DEFINITIONS[function](node)
        found, expected = run([written, node], 0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.max(np.abs(expected)))


def test_a_function_without_a_rule_is_named() -> None:
    with pytest.raises(lx.MissingRule, match="add a row to the table PULLBACKS"):
        lx.gradient(lx.rank(A), A)
