"""The attention losses: derivatives by complex steps and slopes, masks, and what the source looks like."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx
from tests.codegen.samples import relative_error

Kernel = str
SETTINGS = [(kernel, mask) for kernel in ("softmax", "gaussian") for mask in (None, "causal", "additive")]
GRADIENTS = ["gWQ", "gWK", "gWV", "gWO"]


def compiled(kernel: str, mask: str | None, **options: Any) -> lx.codegen.CompiledFunction:
    model = lx.models.attention(kernel, mask)
    outputs = ["loss", *GRADIENTS]
    return lx.compile([model.loss, *lx.gradient(model.loss, model.weights)], outputs=outputs, **options)


FUNCTIONS = {setting: compiled(*setting) for setting in SETTINGS}
"""Compiled once: the functions hold no state."""


def instance(rng: np.random.Generator, mask: str | None, **sizes: int) -> dict[str, np.ndarray]:
    size = {"N": 2, "n": 3, "D": 4, "d": 2, "v": 3, "m": 2, "H": 2, **sizes}
    N, n, D, d, v, m, H = (size[k] for k in ("N", "n", "D", "d", "v", "m", "H"))
    shapes = {
        "X": (N, n, D),
        "Y": (N, n, m),
        "WQ": (H, D, d),
        "WK": (H, D, d),
        "WV": (H, D, v),
        "WO": (H, v, m),
    }
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    if mask == "additive":
        M = rng.standard_normal((n, n))
        M[rng.random((n, n)) < 0.4] = -np.inf
        M[np.arange(n), rng.integers(0, n, n)] = 0.5
        arrays["M"] = M
    return arrays


def by_hand(arrays: dict[str, np.ndarray], kernel: str, mask: str | None) -> Any:
    """The loss, written with einsum."""
    X, Y, WQ, WK, WV, WO = (arrays[name] for name in ("X", "Y", "WQ", "WK", "WV", "WO"))
    q, k = np.einsum("ika,hab->ihkb", X, WQ), np.einsum("ika,hab->ihkb", X, WK)
    n, d = q.shape[2:]
    if kernel == "softmax":
        A = np.einsum("ihkb,ihjb->ihkj", q, k) / np.sqrt(d)
    else:
        A = -np.sum((q[:, :, :, None] - k[:, :, None]) ** 2, axis=-1) / np.sqrt(d)
    if mask is not None:
        A = A + (np.where(np.tri(n, dtype=bool), 0, -np.inf) if mask == "causal" else arrays["M"])
    E = np.exp(A - A.real.max(axis=-1, keepdims=True)) if kernel == "softmax" else np.exp(A)
    S = E / E.sum(axis=-1, keepdims=True) if kernel == "softmax" else E
    R = np.einsum("ihkj,ija,hab,hbc->ikc", S, X, WV, WO) - Y
    return (R * R).sum() / 2


@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
@given(st.integers(0, 2**32 - 1), st.tuples(*[st.integers(1, 4)] * 7))
def test_gradients_by_complex_steps(
    kernel: str, mask: str | None, seed: int, extents: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(seed)
    arrays = instance(rng, mask, **dict(zip(("N", "n", "D", "d", "v", "m", "H"), extents, strict=True)))
    value, *gradients = FUNCTIONS[kernel, mask](**arrays)
    assert value == pytest.approx(by_hand(arrays, kernel, mask), rel=1e-12)
    for name, gradient in zip(("WQ", "WK", "WV", "WO"), gradients, strict=True):
        direction = rng.standard_normal(arrays[name].shape)
        stepped = {**arrays, name: arrays[name] + 1e-30j * direction}
        slope = by_hand(stepped, kernel, mask).imag / 1e-30
        scale = np.abs(gradient * direction).sum() + np.abs(gradient).max() + 1e-30
        assert abs((gradient * direction).sum() - slope) <= 1e-11 * max(scale, abs(value))


@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
def test_taylor_remainder_has_slope_two(kernel: str, mask: str | None) -> None:
    rng = np.random.default_rng(5)
    arrays = instance(rng, mask)
    fn = FUNCTIONS[kernel, mask]
    value, *gradients = fn(**arrays)
    names = ("WQ", "WK", "WV", "WO")
    directions = {name: rng.standard_normal(arrays[name].shape) for name in names}
    linear = sum((g * directions[name]).sum() for name, g in zip(names, gradients, strict=True))
    steps = np.array([1e-2, 1e-3])
    remainders = [
        abs(
            fn(**{**arrays, **{name: arrays[name] + t * directions[name] for name in names}})[0]
            - value
            - t * linear
        )
        for t in steps
    ]
    assert np.log(remainders[0] / remainders[1]) / np.log(10) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
def test_complex_step_through_generated_code(kernel: str, mask: str | None) -> None:
    rng = np.random.default_rng(6)
    arrays = instance(rng, mask)
    fn = FUNCTIONS[kernel, mask]
    gradient = fn(**arrays)[1]
    direction = rng.standard_normal(gradient.shape)
    stepped = fn(**{**arrays, "WQ": arrays["WQ"] + 1e-30j * direction})[0]
    assert stepped.imag / 1e-30 == pytest.approx((gradient * direction).sum(), rel=1e-11)


def test_source_uses_matrix_products_only() -> None:
    for setting in SETTINGS:
        source = FUNCTIONS[setting].source
        assert "einsum" not in source
        assert "tensordot" not in source
        assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For | ast.While)]


def test_shared_products_are_computed_once() -> None:
    fn = FUNCTIONS["softmax", None]
    assert fn.source.count("np.matmul(X_flat, WQ_WK_WV, out=X_WQ_WK_WV)") == 1
    # the projections, A, S V, F, the sum of squares | R W^O, bar S | one for each of WQ, WK, WV and one for
    # all three, one for W^O
    assert _products(fn.source) == 12
    assert _products(compiled("softmax", None, buffers=False).source) == 12


def _products(source: str) -> int:
    nodes = list(ast.walk(ast.parse(source)))
    operators = [node for node in nodes if isinstance(node, ast.MatMult)]
    return len(operators) + sum(isinstance(node, ast.Attribute) and node.attr == "matmul" for node in nodes)


def test_gaussian_gradients_end_in_one_product_each() -> None:
    source = FUNCTIONS["gaussian", None].source
    assert source.count("np.matmul(X_flat.T, columns, out=X_columns)") == 1


@pytest.mark.parametrize("scale", [1e2, 1e4])
@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
def test_huge_logits(kernel: str, mask: str | None, scale: float) -> None:
    """Finite results without a warning (warnings are errors here), and the right limit."""
    rng = np.random.default_rng(7)
    arrays = instance(rng, mask)
    q = np.einsum("ika,hab->ihkb", arrays["X"], arrays["WQ"])
    arrays["WQ"] *= scale / np.abs(q).max()
    value, *gradients = FUNCTIONS[kernel, mask](**arrays)
    assert value == pytest.approx(by_hand(arrays, kernel, mask), rel=1e-9)
    assert all(np.isfinite(g).all() for g in gradients)


def test_row_that_is_masked_throughout() -> None:
    rng = np.random.default_rng(8)
    arrays = instance(rng, "additive")
    arrays["M"][1] = -np.inf
    with pytest.raises(ValueError, match="a row are -inf throughout"):
        FUNCTIONS["softmax", "additive"](**arrays)
    model = lx.models.attention("gaussian", "additive")
    S = lx.compile(model.S)(**{key: arrays[key] for key in ("X", "WQ", "WK", "M")})
    assert (S[:, :, 1] == 0).all()
    assert all(np.isfinite(g).all() for g in FUNCTIONS["gaussian", "additive"](**arrays)[1:])


@pytest.mark.parametrize(("kernel", "mask"), SETTINGS)
def test_batch_equals_a_loop(kernel: str, mask: str | None) -> None:
    rng = np.random.default_rng(9)
    instances = [instance(rng, mask) for _ in range(4)]
    many = compiled(kernel, mask, batch=True)
    values = many(**{key: np.stack([i[key] for i in instances]) for key in instances[0]})
    for row, arrays in enumerate(instances):
        for value, expected in zip(values, FUNCTIONS[kernel, mask](**arrays), strict=True):
            assert relative_error(value[row], expected) < 1e-13


def test_batch_of_weights_only() -> None:
    rng = np.random.default_rng(10)
    fixed = instance(rng, None)
    weights = {key: rng.standard_normal((3, *fixed[key].shape)) for key in ("WQ", "WK", "WV", "WO")}
    many = compiled("softmax", None, batch=["W^Q", "WK", "WV", "W^O"])
    values = many(X=fixed["X"], Y=fixed["Y"], **weights)
    for row in range(3):
        arrays = {"X": fixed["X"], "Y": fixed["Y"], **{key: a[row] for key, a in weights.items()}}
        for value, expected in zip(values, FUNCTIONS["softmax", None](**arrays), strict=True):
            assert relative_error(value[row], expected) < 1e-13
