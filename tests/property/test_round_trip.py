"""What lemmax prints it reads back: random expressions, both notations, and all gradients of all models.

The order of free indices stands on the left side of a definition and not in the text; it is given
to the reader, as a colon where an axis is printed as a row or a column.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx
from lemmax.expr.graph import topological_order
from lemmax.typeset.latex import Notation, inlined, read
from lemmax.typeset.letters import Letters
from tests.strategies import (
    SIZES,
    Recipe,
    build,
    h,
    k,
    n,
    recipes,
    same_values,
    steps_of_every_operation,
    values_for,
)
from tests.thorough import THOROUGH
from tests.typeset.random_terms import random_tensor
from tests.typeset.values import interpreted, random_inputs, size_values

NOTATIONS: tuple[Notation, ...] = ("matrix", "index")


def indices_of(t: lx.Tensor, notation: Notation) -> list[str] | None:
    """Return the free indices of the printed text by axis, ``None`` if there are none."""
    formula = read(t, Letters(t), by_entries=notation == "index")
    slots = [i for i, size in zip(formula.slots, t.shape, strict=True) if size != 1]
    marks = [":" if i is None else formula.scope.at[i] for i in slots]
    return marks if any(m != ":" for m in marks) else None


def read_back(t: lx.Tensor, notation: Notation, inline: bool = False) -> lx.Tensor:
    """Print a tensor and read the text."""
    shown = inlined(t) if inline else t
    text = lx.latex(t, notation=notation, inline=inline)
    parts = t.named(None) if t.name is not None and not isinstance(t, lx.Input) else t
    return lx.parse_latex(text, parts, like=t, indices=indices_of(shown, notation))


def sizes_in(t: lx.Tensor) -> set[sp.Symbol]:
    return set(size_values(t))


def check(recipe: Recipe, notation: Notation) -> None:
    expression = build(recipe)
    if not expression.made or any(0 in a.shape for a in expression.arrays):
        return  # nothing was made, or an axis without entries, which no size is
    t, arrays = expression.tensors[-1], expression.arrays
    inputs = {
        str(x.name): a for x, a in zip(expression.tensors, arrays, strict=True) if isinstance(x, lx.Input)
    }
    back = read_back(t, notation)
    if back == t:
        return
    values = []
    for side in (t, back):
        sizes = {symbol: SIZES[str(symbol)] for symbol in (n, k, h) if symbol in sizes_in(side)}
        values.append(lx.evaluate(side, values_for(side, inputs), sizes=sizes))
    assert same_values(values[1], values[0], 1e-9), lx.latex(t, notation=notation)


@pytest.mark.parametrize("notation", NOTATIONS)
@given(recipes())
def test_random_expressions(notation: Notation, recipe: Recipe) -> None:
    check(recipe, notation)


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_operation(notation: Notation) -> None:
    for recipe in steps_of_every_operation():
        check(recipe, notation)


@pytest.mark.parametrize("notation", NOTATIONS)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
def test_random_sums_of_products(notation: Notation, seed: int, planar: bool, terms: int) -> None:
    t = random_tensor(seed, planar, terms)
    back = read_back(t, notation)
    sizes = size_values(t)
    arrays = random_inputs(t, sizes, seed % 1000)
    want, got = (interpreted(side, arrays, sizes) for side in (t, back))
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * max(1.0, float(np.abs(want).max())))


MODELS = [
    *(
        lx.models.attention(kernel, mask)
        for kernel in ("softmax", "gaussian")
        for mask in (None, "causal", "additive")
    ),
    *(lx.models.attention_classifier(weights) for weights in ("separate", "combined", "diagonal")),
]


# a mask that is added is one more summand of the logits, as the causal one
GRADIENTS = [model for model in MODELS if THOROUGH or not model.name.endswith(("additive", "causal"))]


@pytest.mark.slow
@pytest.mark.parametrize("model", GRADIENTS, ids=[model.name for model in GRADIENTS])
def test_gradients_of_models(model: lx.models.AttentionModel | lx.models.ClassifierModel) -> None:
    for weight in model.weights:
        gradient = lx.gradient(model.loss, weight)
        for notation in NOTATIONS:
            back = read_back(gradient, notation)
            assert lx.equal(back, gradient).name == "proved", (weight.name, notation)
        sizes = size_values(gradient)
        arrays = random_inputs(gradient, sizes)
        for notation in NOTATIONS:
            inline = read_back(gradient, notation, inline=True)
            want, got = (interpreted(side, arrays, sizes) for side in (gradient, inline))
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10 * max(1.0, float(np.abs(want).max())))


@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_definitions_of_models(model: lx.models.AttentionModel | lx.models.ClassifierModel) -> None:
    for t in topological_order(model.loss):
        if t.name is None or isinstance(t, lx.Input):
            continue
        for notation in NOTATIONS:
            back = read_back(t, notation)
            assert back.shape == t.shape
            assert lx.equal(back, t).name != "refuted", (t.name, notation)
