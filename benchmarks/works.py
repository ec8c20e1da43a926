r"""What is measured: each work as calls of all contestants on the same numbers, checked against one another.

The loss is multi-head softmax attention under the squared loss, at three sizes. Generated code takes
separate weights and returns new arrays. The expert's layout is one fused array; "packed" counts packing
separate weights into it and unpacking the gradients, which is the call that generated code answers. JAX
runs compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import lemmax as lx
from benchmarks.peers import expert_numpy, expert_second_order

Calls = dict[str, Callable[[], Any]]
Array = np.ndarray[Any, np.dtype[np.float64]]

SIZES = tuple(expert_numpy.SIZES)
NAMES = ("WQ", "WK", "WV", "WO")
AGREEMENT = 1e-9
"""Largest difference of contestants, relative to the largest entry: sums run in different orders."""


@functools.cache
def model() -> Any:
    """Return the model."""
    return lx.models.attention()


@functools.cache
def generated(work: str) -> Any:
    """Return the generated function for a work."""
    m = model()
    if work == "instances":
        return lx.compile([m.loss, *lx.gradient(m.loss, m.weights)], batch=True)
    if work == "Hessian-vector product":
        directions = [lx.tensor(f"d{name}", *w.shape) for name, w in zip(NAMES, m.weights, strict=True)]
        return lx.compile(list(lx.hvp(m.loss, m.weights, directions)))
    if work == "dense Hessian":
        pairs = [(a, b) for p, a in enumerate(m.weights) for b in m.weights[p:]]
        return lx.compile([lx.hessian(m.loss, a, b) for a, b in pairs])
    outputs = [m.loss, *lx.gradient(m.loss, m.weights)]
    return lx.compile(outputs, stream="N", chunk=64) if work == "streamed" else lx.compile(outputs)


class Instance:
    """Arrays of one size, in the expert's layout and as separate weights, with a direction for each."""

    def __init__(self, size: str, instances: int | None = None, N: int | None = None) -> None:
        """Draw them."""
        X, Y, W, WO = expert_numpy.make(size)
        rng = np.random.default_rng(1)
        lead = () if instances is None else (instances,)
        if N is not None:
            X, Y = (rng.standard_normal((N, *a.shape[1:])) for a in (X, Y))
        if instances is not None:
            X, Y, W, WO = (a * rng.uniform(0.5, 1.5, (instances, *[1] * a.ndim)) for a in (X, Y, W, WO))
        self.X, self.Y, self.W, self.WO = X, Y, W, WO
        self.V, self.VO = rng.standard_normal(W.shape), rng.standard_normal(WO.shape)
        self.arrays: dict[str, Array] = {"X": X, "Y": Y}
        self.lead = lead
        for prefix, fused, out in (("", W, WO), ("d", self.V, self.VO)):
            self.arrays.update(
                {f"{prefix}{name}": a for name, a in zip(NAMES, self.split(fused, out), strict=True)}
            )

    def split(self, fused: Array, out: Array) -> list[Array]:
        """Return separate weights, as new arrays."""
        H, d = fused.shape[-2:]
        parts = [np.ascontiguousarray(np.moveaxis(fused[..., p, :, :], -2, -3)) for p in range(3)]
        return [*parts, out.reshape((*self.lead, H, d, -1)).copy()]


def agree(values: Any, expected: Any) -> None:
    """Raise unless two contestants return the same numbers."""
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_allclose(
            a, b, rtol=0, atol=AGREEMENT * max(1.0, float(np.abs(np.asarray(b)).max()))
        )


def value_and_gradient(size: str) -> Calls:
    """The loss and its four gradients."""
    fn, i = generated("value and gradient"), Instance(size)
    arguments = [i.arrays[name] for name in fn.inputs]
    workspace = expert_numpy.Workspace(i.X, i.W, i.WO)

    separate = [i.arrays[name] for name in NAMES]
    d, H = i.W.shape[-1], i.W.shape[-2]

    def packed() -> Any:
        WQ, WK, WV, WO = separate
        fused = np.ascontiguousarray(np.stack([WQ, WK, WV]).transpose(2, 0, 1, 3))
        value, gW, gO = workspace(i.X, i.Y, fused, WO.reshape(H * d, -1))
        gradients = [np.ascontiguousarray(gW[:, p].transpose(1, 0, 2)) for p in range(3)]
        return value, *gradients, gO.reshape(WO.shape).copy()

    calls: Calls = {
        "lemmax": lambda: fn(*arguments),
        "expert, workspace, packed": packed,
        "expert, workspace": lambda: workspace(i.X, i.Y, i.W, i.WO),
        "expert, lean": lambda: expert_numpy.value_and_gradient_lean(i.X, i.Y, i.W, i.WO),
    }
    agree(fn(*arguments), packed())
    jax = _jax()
    if jax is not None:
        run = jax.jit(jax.value_and_grad(_jax_loss))
        weights, X, Y = jax.device_put((tuple(i.arrays[n] for n in NAMES), i.X, i.Y))
        calls["JAX"] = lambda: jax.block_until_ready(run(weights, X, Y))
        agree(calls["JAX"]()[1], fn(*arguments)[1:])
    return calls


def hessian_vector_product(size: str) -> Calls:
    """The product of the Hessian in all weights with one direction."""
    fn, i = generated("Hessian-vector product"), Instance(size)
    arguments = [i.arrays[name] for name in fn.inputs]
    expert = functools.partial(expert_second_order.hessian_vector_product, i.X, i.Y, i.W, i.WO, i.V, i.VO)
    agree(fn(*arguments), i.split(*expert()))
    calls: Calls = {"lemmax": lambda: fn(*arguments), "expert": expert}
    jax = _jax()
    if jax is not None:

        def product(weights: Any, directions: Any, X: Any, Y: Any) -> Any:
            return jax.jvp(lambda w: jax.grad(_jax_loss)(w, X, Y), (weights,), (directions,))[1]

        run = jax.jit(product)
        w, v = (tuple(i.arrays[prefix + n] for n in NAMES) for prefix in ("", "d"))
        w, v, X, Y = jax.device_put((w, v, i.X, i.Y))
        calls["JAX"] = lambda: jax.block_until_ready(run(w, v, X, Y))
        agree(calls["JAX"](), fn(*arguments))
    return calls


def dense_hessian(size: str) -> Calls:
    """The Hessian in all weights: lemmax returns each pair of weights once, the expert the whole matrix."""
    if size == "large":
        return {}
    fn, i = generated("dense Hessian"), Instance(size)
    arguments = [i.arrays[name] for name in fn.inputs]
    expert = functools.partial(expert_second_order.dense_hessian, i.X, i.Y, i.W, i.WO)
    D, _, H, d = i.W.shape
    fused = D * 3 * H * d
    block = expert()[:fused, :fused].reshape(D, 3, H, d, D, 3, H, d)[:, 0, :, :, :, 1]
    agree([fn(*arguments)[1]], [block.transpose(1, 0, 2, 4, 3, 5)])
    calls: Calls = {"lemmax": lambda: fn(*arguments), "expert": expert}
    jax = _jax()
    if jax is not None:
        run = jax.jit(jax.hessian(_jax_loss))
        weights, X, Y = jax.device_put((tuple(i.arrays[n] for n in NAMES), i.X, i.Y))
        calls["JAX"] = lambda: jax.block_until_ready(run(weights, X, Y))
    return calls


def instances(size: str, count: int = 1000) -> Calls:
    """The loss and its four gradients of many small instances in one call."""
    if size != "small":
        return {}
    fn, i = generated("instances"), Instance(size, count)
    arguments = [i.arrays[name] for name in fn.inputs]
    expert = functools.partial(expert_second_order.batched_value_and_gradient, i.X, i.Y, i.W, i.WO)
    value, gW, gO = expert()
    agree(fn(*arguments), [value, *i.split(gW, gO)])
    calls: Calls = {"lemmax": lambda: fn(*arguments), "expert": expert}
    jax = _jax()
    if jax is not None:
        run = jax.jit(jax.vmap(jax.value_and_grad(_jax_loss)))
        weights, X, Y = jax.device_put((tuple(i.arrays[n] for n in NAMES), i.X, i.Y))
        calls["JAX"] = lambda: jax.block_until_ready(run(weights, X, Y))
    return calls


def more_samples(size: str) -> Calls:
    """The loss and its four gradients for ever more samples, at the medium size."""
    if size != "small":
        return {}
    calls: Calls = {}
    for N in (16, 64, 256, 1024):
        i = Instance("medium", N=N)
        for work in ("value and gradient", "streamed"):
            fn = generated(work)
            name = f"N = {N}" + (", streamed" if work == "streamed" else "")
            calls[name] = functools.partial(fn, *[i.arrays[a] for a in fn.inputs])
    return calls


WORKS: dict[str, tuple[Callable[[str], Calls], str]] = {
    "value and gradient": (value_and_gradient, "expert, workspace, packed"),
    "Hessian-vector product": (hessian_vector_product, "expert"),
    "dense Hessian": (dense_hessian, "expert"),
    "1000 instances, value and gradient": (instances, "expert"),
    "more samples, value and gradient": (more_samples, "N = 16"),
}
"""Work to its calls at a size, and the contestant that ratios refer to."""


@functools.cache
def _jax() -> Any:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    return jax


def _jax_loss(weights: Any, X: Any, Y: Any) -> Any:
    import jax
    import jax.numpy as jnp

    WQ, WK, WV, WO = weights
    Q, K, V = (jnp.einsum("ina,hab->ihnb", X, W) for W in (WQ, WK, WV))
    S = jax.nn.softmax(Q @ K.swapaxes(-1, -2) / WQ.shape[-1] ** 0.5, axis=-1)
    return ((jnp.einsum("ihnv,hvm->inm", S @ V, WO) - Y) ** 2).sum() / 2
