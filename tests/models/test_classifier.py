"""The exponential classification loss: parts by name, gradients as in the paper, all weightings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmax as lx
from lemmax.interpret import Evaluator
from tests.models import reference
from tests.models.reference import WEIGHTS

MODELS = {weights: lx.models.attention_classifier(weights) for weights in WEIGHTS}
PARTS = ("logits", "S", "Phi", "loss")
EVALUATORS = {
    weights: Evaluator([*(getattr(model, part) for part in PARTS), *lx.gradient(model.loss, model.weights)])
    for weights, model in MODELS.items()
}


@pytest.mark.parametrize("weights", WEIGHTS)
@settings(max_examples=25)
@given(sizes=st.tuples(*[st.integers(1, 4)] * 4), seed=st.integers(0, 10**6))
def test_parts_and_gradients(weights: str, sizes: tuple[int, ...], seed: int) -> None:
    arrays = reference.draw_classifier(np.random.default_rng(seed), weights, sizes)
    expected = reference.classifier(arrays, weights)
    found = EVALUATORS[weights].run(arrays)
    for name, value in zip([*PARTS, *(f"g{w}" for w in WEIGHTS[weights])], found, strict=True):
        # the row-sum form s * (g - s.g) of gradients cancels where attention saturates
        scale = np.abs(expected[name]).max() if not name.startswith("g") else cancelled(arrays, expected)
        np.testing.assert_allclose(
            value, expected[name], rtol=0, atol=1e-12 * max(scale, 1e-300), err_msg=name
        )


def cancelled(arrays: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Return the size of the terms that are subtracted in a gradient."""
    risk = np.exp(-arrays["y"] * expected["Phi"]) * np.abs(arrays["X"] @ arrays["v"]).max(axis=1)
    reach = np.abs(arrays["X"]).sum(axis=(1, 2)) * np.abs(arrays["Z"]).sum(axis=1)
    size = max(1.0, *(np.abs(arrays[w]).sum() for w in ("K", "Q", "W", "k", "q") if w in arrays))
    return float((risk * reach).sum() * size)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_gradients_are_those_of_complex_steps(weights: str) -> None:
    model = MODELS[weights]
    steps = Evaluator([lx.Derivative(model.loss, w) for w in model.weights])
    for seed, sizes in enumerate([(1, 2, 1, 1), (2, 3, 4, 2), (3, 4, 2, 3)]):
        arrays = reference.draw_classifier(np.random.default_rng(seed), weights, sizes)
        found = EVALUATORS[weights].run(arrays)[len(PARTS) :]
        for g, expected in zip(found, steps.run(arrays), strict=True):
            np.testing.assert_allclose(g, expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1e-3))


def test_weights_by_name() -> None:
    separate, combined, diagonal = (MODELS[w] for w in ("separate", "combined", "diagonal"))
    assert separate.weights == (separate.K, separate.Q) and combined.weights == (combined.W,)
    assert diagonal.weights == (diagonal.k, diagonal.q)
    assert list(map(str, separate.sizes)) == ["N", "L", "d", "r"]
    with pytest.raises(AttributeError, match="the model with combined weights has no 'K'"):
        _ = combined.K


def test_three_weightings_of_one_matrix_agree() -> None:
    arrays = reference.draw_classifier(np.random.default_rng(0), "diagonal", (3, 4, 2, 2))
    fixed = {name: arrays[name] for name in ("X", "Z", "y", "v")}
    k, q = np.diag(arrays["k"]), np.diag(arrays["q"])
    values = [
        lx.evaluate(MODELS["diagonal"].loss, arrays),
        lx.evaluate(MODELS["combined"].loss, {**fixed, "W": k @ q}),
        lx.evaluate(MODELS["separate"].loss, {**fixed, "K": k, "Q": q}),
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-13)


def test_bad_weights() -> None:
    with pytest.raises(
        lx.InvalidArgument, match="unknown weights 'tied': expected 'separate', 'combined' or"
    ):
        lx.models.attention_classifier("tied")
