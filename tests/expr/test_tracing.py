"""The same Python function runs on tensors and on NumPy arrays, through the array API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lemmax as lx

n, k = lx.sizes("n k")
SHAPES = {"X": (n, 3), "W": (3, k), "Y": (n, k), "x": (n,)}
TENSORS = {name: lx.tensor(name, *shape) for name, shape in SHAPES.items()}
rng = np.random.default_rng(0)
ARRAYS = {
    name: rng.standard_normal([{"n": 4, "3": 3, "k": 2}[str(s)] for s in shape])
    for name, shape in SHAPES.items()
}


def namespace(x: Any) -> Any:
    """Return the array's own functions, as code written against the array API does."""
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np


def attention(X: Any, W: Any, Y: Any) -> Any:
    xp = namespace(X)
    q = X @ W
    logits = q @ xp.matrix_transpose(q)
    e = xp.exp(logits - xp.max(logits, axis=-1, keepdims=True))
    s = e / xp.sum(e, axis=-1, keepdims=True)
    return xp.sum((s @ Y) ** 2) / 2


def layer_norm(X: Any) -> Any:
    xp = namespace(X)
    centred = X - xp.mean(X, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + 0.001)


def network(X: Any, W: Any, Y: Any) -> Any:
    xp = namespace(X)
    hidden = xp.tanh(X @ W)
    return xp.log(1 + xp.sum(xp.abs(hidden - Y)))


def pieces(X: Any, x: Any) -> Any:
    xp = namespace(X)
    both = xp.concat([X, xp.stack([x, -x, +x], axis=1)], axis=0)
    chosen = xp.where(both > 0, xp.sqrt(xp.abs(both)), 0.0)
    return xp.permute_dims(chosen[1:-1, None, :], (2, 0, 1)) * xp.min(x) - xp.prod(x)


def methods(X: Any, W: Any, x: Any) -> Any:
    return (
        abs(-X.T @ x).sum() * W.max(axis=0) - W.mean(axis=0) + W.min(axis=0) * x.prod() + (2**x @ X @ W) / 7
    )


FUNCTIONS: list[Callable[..., Any]] = [attention, layer_norm, network, pieces, methods]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_function_on_tensors_and_on_arrays(function: Callable[..., Any]) -> None:
    names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    traced = function(*[TENSORS[name] for name in names])
    expected = function(*[ARRAYS[name] for name in names])
    found = lx.evaluate(traced, {name: ARRAYS[name] for name in names})
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_namespace_is_lemmax() -> None:
    assert TENSORS["X"].__array_namespace__() is lx
    assert TENSORS["X"].__array_namespace__(api_version="2023.12") is lx
    wanted = (
        "abs concat exp log matmul matrix_transpose max mean min permute_dims prod sqrt stack sum tanh where"
    )
    assert all(callable(getattr(lx, name)) for name in wanted.split())
