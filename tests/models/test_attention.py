"""The attention loss: parts by name, masks, gradients as in the paper, on random shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmax as lx
from lemmax.interpret import Evaluator
from tests.models import reference
from tests.models.reference import KERNELS, MASKS

SETTINGS = [(kernel, mask) for kernel in KERNELS for mask in MASKS]
MODELS = {setting: lx.models.attention(*setting) for setting in SETTINGS}
PARTS = ("S", "heads", "F", "R", "B", "C", "loss")
SIZES = st.tuples(*[st.integers(1, 3)] * 7)


def evaluators(kernel: str, mask: str | None) -> Evaluator:
    model = MODELS[kernel, mask]
    gradients = lx.gradient(model.loss, model.weights)
    return Evaluator([*(getattr(model, part) for part in PARTS), *gradients])


EVALUATORS = {setting: evaluators(*setting) for setting in SETTINGS}


@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
@settings(max_examples=20)
@given(sizes=SIZES, seed=st.integers(0, 10**6))
def test_parts_and_gradients(kernel: str, mask: str | None, sizes: tuple[int, ...], seed: int) -> None:
    arrays = reference.draw_attention(np.random.default_rng(seed), mask, sizes)
    expected = reference.attention(arrays, kernel, mask)
    terms = cancelled(arrays, expected)
    found = EVALUATORS[kernel, mask].run(arrays)
    for name, value in zip([*PARTS, "gWQ", "gWK", "gWV", "gWO"], found, strict=True):
        # the differences in gradients cancel where attention saturates
        size = terms.get(name, 10 * np.abs(expected[name]).max())
        np.testing.assert_allclose(value, expected[name], rtol=0, atol=1e-13 * size, err_msg=name)


def cancelled(arrays: reference.Arrays, expected: reference.Arrays) -> dict[str, float]:
    """Return the size of the terms that are subtracted in the gradients."""
    X, Y, WQ, WK, WV, WO = (np.abs(arrays[name]) for name in ("X", "Y", "WQ", "WK", "WV", "WO"))
    X, S, n = X[:, None], expected["S"], X.shape[1]
    residual = (S @ X @ WV @ WO).sum(axis=1, keepdims=True) + Y[:, None]
    E = S * (residual @ (X @ WV @ WO).mT)
    rows = E.sum(axis=-1, keepdims=True)
    to_logits = E + rows * np.maximum(S, np.eye(n)) + E.sum(axis=-2, keepdims=True) * np.eye(n)
    sizes = {
        "gWQ": X.mT @ to_logits @ X @ WK + X.mT @ (to_logits @ np.ones((n, 1)) * (X @ WQ)),
        "gWK": X.mT @ to_logits.mT @ X @ WQ + X.mT @ (to_logits.mT @ np.ones((n, 1)) * (X @ WK)),
        "gWV": X.mT @ S.mT @ residual @ WO.mT,
        "gWO": (S @ X @ WV).mT @ residual,
    }
    return {name: size.sum(axis=0).max() for name, size in sizes.items()}


@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
def test_gradients_are_those_of_complex_steps(kernel: str, mask: str | None) -> None:
    model = MODELS[kernel, mask]
    steps = Evaluator([lx.Derivative(model.loss, w) for w in model.weights])
    for seed, sizes in enumerate([(1, 1, 1, 1, 1, 1, 1), (2, 3, 4, 2, 3, 2, 2), (3, 4, 2, 3, 1, 2, 1)]):
        arrays = reference.draw_attention(np.random.default_rng(seed), mask, sizes)
        found = EVALUATORS[kernel, mask].run(arrays)[len(PARTS) :]
        for g, expected in zip(found, steps.run(arrays), strict=True):
            np.testing.assert_allclose(g, expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1e-3))


def test_shapes_and_names() -> None:
    model = lx.models.attention()
    N, n, D, d, v, m, H = model.sizes
    assert list(map(str, model.sizes)) == ["N", "n", "D", "d", "v", "m", "H"]
    shapes = {
        "X": (N, n, D), "Y": (N, n, m), "WQ": (H, D, d), "WK": (H, D, d), "WV": (H, D, v), "WO": (H, v, m),
        "logits": (N, H, n, n), "S": (N, H, n, n), "B": (N * n, H * D), "C": (N * n, H * v),
        "heads": (N, H, n, m), "F": (N, n, m), "R": (N, n, m), "loss": (),
    }  # fmt: skip
    assert {name: getattr(model, name).shape for name in shapes} == shapes
    assert [w.name for w in model.weights] == ["W^Q", "W^K", "W^V", "W^O"]
    assert (model.S.name, model.R.name, model.B.name, model.logits.name) == ("S", "R", "B", "A")
    assert model.M is None and model.mask is None and model.kernel == "softmax"


def test_masks() -> None:
    causal, additive = lx.models.attention(mask="causal"), lx.models.attention("gaussian", mask="additive")
    assert isinstance(additive.M, lx.Input) and additive.M.shape == (additive.sizes[1],) * 2
    assert not isinstance(causal.M, lx.Input)
    np.testing.assert_array_equal(lx.evaluate(causal.M, sizes={"n": 2}), [[0, -np.inf], [0, 0]])


def test_logits_are_those_before_the_mask() -> None:
    rng = np.random.default_rng(0)
    arrays = reference.draw_attention(rng, "additive", (2, 3, 2, 2, 1, 1, 2))
    for kernel in KERNELS:
        with_mask, without = lx.models.attention(kernel, "additive"), lx.models.attention(kernel)
        assert with_mask.logits == without.logits
        needed = {name: arrays[name] for name in ("X", "WQ", "WK")}
        assert np.all(np.isfinite(lx.evaluate(with_mask.logits, needed)))


def test_rows_that_are_masked_out() -> None:
    arrays = reference.draw_attention(np.random.default_rng(0), "additive", (1, 3, 2, 2, 2, 2, 1))
    arrays["M"][1] = -np.inf
    gaussian = lx.models.attention("gaussian", "additive")
    needed = {name: arrays[name] for name in ("X", "WQ", "WK", "M")}
    assert np.all(lx.evaluate(gaussian.S, needed)[0, 0, 1] == 0)
    with pytest.raises(lx.EvaluationError):
        lx.evaluate(lx.models.attention("softmax", "additive").S, needed)


def test_single_token_gives_the_query_no_gradient() -> None:
    model = MODELS["softmax", None]
    arrays = reference.draw_attention(np.random.default_rng(0), None, (2, 1, 3, 2, 2, 2, 2))
    assert not np.any(lx.evaluate(lx.gradient(model.loss, model.WQ), arrays))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("linear",), "unknown kernel 'linear': expected 'softmax' or 'gaussian'"),
        (("softmax", "full"), "unknown mask 'full': expected None, 'causal' or 'additive'"),
        ((None,), "unknown kernel None"),
    ],
)
def test_bad_calls(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        lx.models.attention(*arguments)


def test_names_on_the_command_line() -> None:
    assert len(lx.models.MODELS) == 7
    for name, make in lx.models.MODELS.items():
        assert make().name == name


# -- models of one's own, with the public builders ------------------------------------------------
def test_linear_attention_as_a_user_would_write_it() -> None:
    N, n, D, d, m = lx.sizes("N n D d m")
    X, Y = lx.tensor("X", N, n, D), lx.tensor("Y", N, n, m)
    WQ, WK, WV = lx.tensor("W^Q", D, d), lx.tensor("W^K", D, d), lx.tensor("W^V", D, m)
    R = ((X @ WQ) @ (X @ WK).mT @ (X @ WV) / n - Y).named("R")
    f = lx.sqnorm(R) / 2
    rng = np.random.default_rng(1)
    a = {"X": rng.standard_normal((2, 3, 4)), "Y": rng.standard_normal((2, 3, 2))}
    a |= {
        "WQ": rng.standard_normal((4, 3)),
        "WK": rng.standard_normal((4, 3)),
        "WV": rng.standard_normal((4, 2)),
    }
    r = [x @ a["WQ"] @ (x @ a["WK"]).T @ x @ a["WV"] / 3 - y for x, y in zip(a["X"], a["Y"], strict=True)]
    expected = sum(x.T @ p @ (x @ a["WV"]).T @ x @ a["WK"] / 3 for x, p in zip(a["X"], r, strict=True))
    np.testing.assert_allclose(lx.evaluate(lx.gradient(f, WQ), a), expected, rtol=1e-12)


def test_two_layer_network_as_a_user_would_write_it() -> None:
    n, D, k, m = lx.sizes("n D k m")
    X, Y, W, V = lx.tensor("X", n, D), lx.tensor("Y", n, m), lx.tensor("W", D, k), lx.tensor("V", k, m)
    f = lx.sqnorm(lx.relu(X @ W) @ V - Y) / 2
    g, h = lx.gradient(f, (W, V), nonsmooth="subgradient")
    rng = np.random.default_rng(1)
    a = {
        name: rng.standard_normal(s)
        for name, s in {"X": (5, 3), "Y": (5, 2), "W": (3, 4), "V": (4, 2)}.items()
    }
    z = a["X"] @ a["W"]
    r = np.maximum(z, 0) @ a["V"] - a["Y"]
    np.testing.assert_allclose(lx.evaluate(g, a), a["X"].T @ ((r @ a["V"].T) * (z > 0)), rtol=1e-12)
    np.testing.assert_allclose(lx.evaluate(h, a), np.maximum(z, 0).T @ r, rtol=1e-12)
