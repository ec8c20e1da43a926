"""Random expressions from all builders: values, gradients, code and rewritings agree with NumPy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings

import lemmax as lx
from lemmax.calculus.flatten import flatten
from lemmax.expr.graph import depends_on
from lemmax.interpret import Evaluator
from tests.strategies import (
    INPUTS,
    SIZES,
    Recipe,
    build,
    draw_inputs,
    recipes,
    same_values,
    sizes_of,
    slopes_by_complex_steps,
    steps_of_every_operation,
    values_for,
)


def values_of(tensors: list[lx.Tensor], seed: int) -> list[np.ndarray]:
    evaluator = Evaluator(tensors)
    arrays = {lx.identifier(name): x for name, x in draw_inputs(seed).items()}
    return evaluator.run(arrays, sizes={name: SIZES[name] for name in evaluator.sizes})


def check_values(recipe: Recipe) -> None:
    expression = build(recipe)
    found = values_of(expression.tensors, recipe.seed)
    for t, x, y in zip(expression.tensors, found, expression.arrays, strict=True):
        assert sizes_of(t) == y.shape
        assert same_values(x, y), f"{t!r} is {x}, NumPy says {y}"


def check_gradients(recipe: Recipe, rtol: float = 1e-11) -> None:
    loss, _ = build(recipe).loss()
    variables = [t for t in INPUTS if depends_on(loss, t)]
    gradients = lx.gradient(loss, variables, nonsmooth="subgradient")
    for t, g, found in zip(variables, gradients, values_of(list(gradients), recipe.seed), strict=True):
        assert g.shape == t.shape
        expected = slopes_by_complex_steps(recipe, t)
        assert same_values(found, expected, rtol), f"gradient in {t!r}: {found}, complex steps say {expected}"


@pytest.mark.parametrize(
    "recipe", steps_of_every_operation(), ids=lambda r: f"{r.steps[-1][0]}-{len(r.steps)}"
)
def test_every_operation_has_the_value_that_numpy_has(recipe: Recipe) -> None:
    check_values(recipe)


@pytest.mark.parametrize(
    "recipe", steps_of_every_operation(), ids=lambda r: f"{r.steps[-1][0]}-{len(r.steps)}"
)
def test_every_operation_has_the_gradient_of_complex_steps(recipe: Recipe) -> None:
    check_gradients(recipe, rtol=1e-12)


@settings(max_examples=60)
@given(recipes())
def test_random_values(recipe: Recipe) -> None:
    check_values(recipe)


@settings(max_examples=25)
@given(recipes())
def test_random_gradients(recipe: Recipe) -> None:
    check_gradients(recipe)


@settings(max_examples=12)
@given(recipes(smooth=True))
def test_smooth_expressions_need_no_policy_for_kinks(recipe: Recipe) -> None:
    loss, _ = build(recipe).loss()
    variables = [t for t in INPUTS if depends_on(loss, t)]
    lx.gradient(loss, variables)


@settings(max_examples=12)
@given(recipes())
def test_generated_code_of_value_and_gradients(recipe: Recipe) -> None:
    loss, value = build(recipe).loss()
    variables = [t for t in INPUTS if depends_on(loss, t)]
    gradients = lx.gradient(loss, variables, nonsmooth="subgradient")
    fn = lx.compile([loss, *gradients])
    arrays = draw_inputs(recipe.seed)
    first, *found = fn(**values_for(loss, arrays))
    assert same_values(first, value)
    for t, x in zip(variables, found, strict=True):
        assert same_values(x, slopes_by_complex_steps(recipe, t), 1e-11)


@settings(max_examples=60)
@given(recipes())
def test_flattening_keeps_values_and_is_done_once(recipe: Recipe) -> None:
    expression = build(recipe)
    flat = flatten(expression.tensors)
    for t, x, y in zip(flat, values_of(flat, recipe.seed), expression.arrays, strict=True):
        assert same_values(x, y), f"{t!r} is {x}, NumPy says {y}"
    assert [t.shape for t in flat] == [t.shape for t in expression.tensors]
    assert [t.name for t in flat] == [t.name for t in expression.tensors]


@settings(max_examples=40)
@given(recipes())
def test_pickling_and_copying_keep_identity(recipe: Recipe) -> None:
    loss, _ = build(recipe).loss()
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss and hash(again) == hash(loss) and again is not loss
    assert copy.copy(loss) is loss and copy.deepcopy(loss) is loss
    assert build(recipe).loss()[0] == loss


def test_the_comparison_notices_a_wrong_gradient() -> None:
    recipe = Recipe((("tanh", 0, 0),))
    loss, _ = build(recipe).loss()
    t = next(t for t in INPUTS if depends_on(loss, t))
    (found,) = values_of([2 * lx.gradient(loss, t)], recipe.seed)
    assert not same_values(found, slopes_by_complex_steps(recipe, t))
