"""Derived gradients against every oracle file to many digits, and against JAX on random shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.interpret import Evaluator, MpArithmetic
from tests.models import reference
from tests.oracle import instances

CASES = instances.names()
DIGITS = 60


def shipped_model(name: str) -> Any:
    """Return the shipped model that an oracle file is an instance of."""
    kernel = "gaussian" if "gauss" in name else "softmax"
    if "exp" in name:
        return lx.models.attention_classifier("combined" if name.endswith("W") else "separate")
    return lx.models.attention(kernel, "additive" if "causal" in name else None)


@pytest.mark.parametrize("name", CASES)
def test_gradients_in_multiprecision(name: str) -> None:
    """The derived gradient itself, free of rounding, has the digits that were computed elsewhere."""
    case = instances.load(name)
    gradients = lx.gradient(case.loss, case.trained)
    parts = Evaluator(list(gradients)).run(case.arrays, arithmetic=MpArithmetic(DIGITS))
    flat = np.concatenate([np.asarray(part).ravel() for part in parts])
    largest = np.abs(case.grad).max()
    assert flat.shape == case.grad.shape
    for value, stored in zip(flat, case.grad, strict=True):
        assert abs(float(value) - stored) <= 1e-13 * largest
    with mpmath.workdps(DIGITS):
        for position, digits in case.digits["grad"].items():
            error = abs(mpmath.mpf(flat[int(position)]) - mpmath.mpf(digits))
            assert error <= mpmath.mpf(10) ** -48 * max(abs(mpmath.mpf(digits)), mpmath.mpf(largest))


@pytest.mark.parametrize("name", CASES)
def test_shipped_models_have_the_stored_gradients(name: str) -> None:
    case = instances.load(name)
    model = shipped_model(name)
    by_name = {w.name: w for w in model.weights}
    trained = [by_name[w.name] for w in case.trained]
    value, *parts = lx.compile([model.loss, *lx.gradient(model.loss, trained)])(**case.arrays)
    tolerance = 1e-12 if "exp" in name else 1e-13
    assert value == pytest.approx(case.value, rel=tolerance, abs=0)
    flat = np.concatenate([part.ravel() for part in parts])
    np.testing.assert_allclose(flat, case.grad, rtol=0, atol=tolerance * np.abs(case.grad).max())


# -- JAX ------------------------------------------------------------------------------------------
def jax_attention(kernel: str, mask: str | None) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(weights: dict[str, Any], fixed: dict[str, Any]) -> Any:
        X = fixed["X"]
        q, k = (jnp.einsum("ina,hab->ihnb", X, weights[w]) for w in ("WQ", "WK"))
        root = jnp.sqrt(q.shape[-1])
        if kernel == "softmax":
            S = jax.nn.softmax(q @ k.swapaxes(-1, -2) / root + fixed["M"], axis=-1)
        else:
            S = jnp.exp(-((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1) / root + fixed["M"])
        F = jnp.einsum("ihkj,ija,hab,hbc->ikc", S, X, weights["WV"], weights["WO"])
        return ((F - fixed["Y"]) ** 2).sum() / 2

    return loss


def jax_classifier(weighting: str) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(weights: dict[str, Any], fixed: dict[str, Any]) -> Any:
        if weighting == "separate":
            W = weights["K"] @ weights["Q"].T
        else:
            W = weights["W"] if weighting == "combined" else jnp.diag(weights["k"] * weights["q"])
        S = jax.nn.softmax(jnp.einsum("ila,ab,ib->il", fixed["X"], W, fixed["Z"]), axis=-1)
        phi = jnp.einsum("il,ila,a->i", S, fixed["X"], fixed["v"])
        return jnp.exp(-fixed["y"] * phi).sum()

    return loss


def compare_with_jax(
    model: Any, loss: Callable[..., Any], arrays: dict[str, np.ndarray], fixed: dict[str, Any]
) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    names = [lx.identifier(w.name) for w in model.weights]
    value, gradients = jax.value_and_grad(loss)({name: arrays[name] for name in names}, fixed)
    ours, *parts = lx.compile([model.loss, *lx.gradient(model.loss, model.weights)])(**arrays)
    assert ours == pytest.approx(float(value), rel=1e-12)
    largest = max(float(np.abs(g).max()) for g in gradients.values())
    for name, part in zip(names, parts, strict=True):
        np.testing.assert_allclose(part, np.asarray(gradients[name]), rtol=0, atol=1e-12 * max(largest, 1e-3))


@pytest.mark.requires("jax")
@pytest.mark.parametrize("mask", reference.MASKS)
@pytest.mark.parametrize("kernel", reference.KERNELS)
def test_attention_against_jax(kernel: str, mask: str | None) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        sizes = tuple(int(s) for s in rng.integers(1, 5, size=7))
        arrays = reference.draw_attention(rng, mask, sizes)
        fixed = {"X": arrays["X"], "Y": arrays["Y"], "M": reference.mask_of(arrays, mask)}
        compare_with_jax(lx.models.attention(kernel, mask), jax_attention(kernel, mask), arrays, fixed)


@pytest.mark.requires("jax")
@pytest.mark.parametrize("weights", reference.WEIGHTS)
def test_classifier_against_jax(weights: str) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        sizes = tuple(int(s) for s in rng.integers(2, 5, size=4))
        arrays = reference.draw_classifier(rng, weights, sizes)
        for name in reference.WEIGHTS[weights]:
            arrays[name] /= 2  # far from saturation, where automatic differentiation is accurate
        fixed = {name: arrays[name] for name in ("X", "Z", "y", "v")}
        compare_with_jax(lx.models.attention_classifier(weights), jax_classifier(weights), arrays, fixed)
