r"""What is measured: each work at each size, with its contestants.

The loss is multi-head softmax attention under the squared loss, at three sizes. Generated code takes
separate weights and returns new arrays. The expert's layout is one fused array; "packed" counts packing
separate weights into it and unpacking the gradients, which is the call that generated code answers. JAX
and PyTorch take part if they are installed.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lemmax as lx
from benchmarks.instance import NAMES, Instance
from benchmarks.peers import expert_numpy, expert_second_order

Call = Callable[[], Any]

SIZES = tuple(expert_numpy.SIZES)
INSTANCES = 1000
PAIRS = tuple(itertools.combinations_with_replacement(range(len(NAMES)), 2))


@dataclass(frozen=True)
class Contestant:
    """One way to do a work.

    Attributes:
        build: makes ready what a call needs, compiles, and returns the call.
        arrays: the result of a call as a list of arrays, the same for all contestants; ``None`` where
            contestants do different work and are not compared.
    """

    build: Callable[[], Call]
    arrays: Callable[[Any], list[Any]] | None


Contestants = dict[str, Contestant]


def _same(result: Any) -> list[Any]:
    return list(result)


def _value_first(result: Any) -> list[Any]:
    value, gradients = result
    return [value, *gradients]


def _pairs(blocks: Any) -> list[Any]:
    return [blocks[p][q] for p, q in PAIRS]


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
        return lx.compile([lx.hessian(m.loss, m.weights[p], m.weights[q]) for p, q in PAIRS])
    if work == "head":
        f, Q, K = _one_head_apart()
        return lx.compile([lx.hessian(f, Q, Q), lx.hessian(f, Q, K), lx.hessian(f, K, K)])
    outputs = [m.loss, *lx.gradient(m.loss, m.weights)]
    return lx.compile(outputs, stream="N", chunk=64) if work == "streamed" else lx.compile(outputs)


def _one_head_apart() -> tuple[Any, Any, Any]:
    """Return the loss with the weights of the first head as variables of their own, and two of them."""
    N, n, D, d, v, m, G = lx.sizes("N n D d v m G")
    X, Y = lx.tensor("X", N, n, D), lx.tensor("Y", N, n, m)
    shapes = {"Q": (D, d), "K": (D, d), "V": (D, v), "O": (v, m)}
    own = [lx.tensor(f"W{x}1", *shape) for x, shape in shapes.items()]
    others = [lx.tensor(f"W{x}", G, *shape) for x, shape in shapes.items()]

    def head(tokens: Any, Q: Any, K: Any, V: Any, O: Any) -> Any:  # noqa: E741
        return lx.softmax((tokens @ Q) @ (tokens @ K).mT / lx.sqrt(d)) @ tokens @ V @ O

    output = head(X, *own) + head(X[:, None], *others).sum(axis=1)
    return lx.sqnorm(output - Y) / 2, own[0], own[1]


def _lemmax(work: str, i: Instance, arrays: Callable[[Any], list[Any]] = _same) -> Contestant:
    def build() -> Call:
        fn = generated(work)
        arguments = [i.arrays[name] for name in fn.inputs]
        return lambda: fn(*arguments)

    return Contestant(build, arrays)


def _peer(
    library: str, work: str, i: Instance, arrays: Callable[[Any], list[Any]], **given: Any
) -> Contestant:
    def build() -> Call:
        peer = importlib.import_module(f"benchmarks.peers.in_{library}")
        call: Call = functools.partial(getattr(peer, work), i, **given)()
        return call

    return Contestant(build, arrays)


def value_and_gradient(size: str) -> Contestants:
    """The loss and its four gradients."""
    i = Instance(size)
    separate = [i.arrays[name] for name in NAMES]
    d, H = i.W.shape[-1], i.W.shape[-2]

    def packed() -> Call:
        workspace = expert_numpy.Workspace(i.X, i.W, i.WO)

        def call() -> Any:
            WQ, WK, WV, WO = separate
            fused = np.ascontiguousarray(np.stack([WQ, WK, WV]).transpose(2, 0, 1, 3))
            value, gW, gO = workspace(i.X, i.Y, fused, WO.reshape(H * d, -1))
            gradients = [np.ascontiguousarray(gW[:, p].transpose(1, 0, 2)) for p in range(3)]
            return value, *gradients, gO.reshape(WO.shape).copy()

        return call

    def in_workspace() -> Call:
        return functools.partial(expert_numpy.Workspace(i.X, i.W, i.WO), i.X, i.Y, i.W, i.WO)

    def lean() -> Call:
        return functools.partial(expert_numpy.value_and_gradient_lean, i.X, i.Y, i.W, i.WO)

    def unpacked(result: Any) -> list[Any]:
        value, gW, gO = result
        return [value, *i.split(gW.reshape(i.W.shape), gO)]

    return {
        "lemmax": _lemmax("value and gradient", i),
        "expert, workspace, packed": Contestant(packed, _same),
        "expert, workspace": Contestant(in_workspace, unpacked),
        "expert, lean": Contestant(lean, unpacked),
        "JAX": _peer("jax", "value_and_gradient", i, _value_first),
        "PyTorch, compiled": _peer("torch", "value_and_gradient", i, _value_first, compiled=True),
        "PyTorch": _peer("torch", "value_and_gradient", i, _value_first, compiled=False),
    }


def hessian_vector_product(size: str) -> Contestants:
    """The product of the Hessian in all weights with one direction."""
    i = Instance(size)
    expert = functools.partial(expert_second_order.hessian_vector_product, i.X, i.Y, i.W, i.WO, i.V, i.VO)
    return {
        "lemmax": _lemmax("Hessian-vector product", i),
        "expert": Contestant(lambda: expert, lambda result: i.split(*result)),
        "JAX": _peer("jax", "hessian_vector_product", i, _same),
        "PyTorch, compiled": _peer("torch", "hessian_vector_product", i, _same, compiled=True),
        "PyTorch": _peer("torch", "hessian_vector_product", i, _same, compiled=False),
    }


def dense_hessian(size: str) -> Contestants:
    """The Hessian in all weights: lemmax returns each pair of weights once, the others all."""
    if size == "large":
        return {}
    i = Instance(size)
    D, _, H, d = i.W.shape
    o = i.WO.shape[-1]
    fused = D * 3 * H * d

    def blocks(matrix: Any) -> list[Any]:
        WW = matrix[:fused, :fused].reshape(D, 3, H, d, D, 3, H, d)
        WO = matrix[:fused, fused:].reshape(D, 3, H, d, H, d, o)
        OO = matrix[fused:, fused:].reshape(H, d, o, H, d, o)
        return [
            OO
            if p == 3
            else WO[:, p].transpose(1, 0, 2, 3, 4, 5)
            if q == 3
            else WW[:, p, :, :, :, q].transpose(1, 0, 2, 4, 3, 5)
            for p, q in PAIRS
        ]

    expert = functools.partial(expert_second_order.dense_hessian, i.X, i.Y, i.W, i.WO)
    return {
        "lemmax": _lemmax("dense Hessian", i),
        "expert": Contestant(lambda: expert, blocks),
        "JAX": _peer("jax", "dense_hessian", i, _pairs),
        "PyTorch": _peer("torch", "dense_hessian", i, _pairs),
    }


def head_hessian(size: str) -> Contestants:
    """The Hessian in the query and key weights of one head: the sizes of the large model allow no more."""
    if size != "large":
        return {}
    i = Instance(size)
    for name in NAMES:
        i.arrays[f"{name}1"], i.arrays[f"{name}_rest"] = i.arrays[name][0], i.arrays[name][1:]

    def build() -> Call:
        fn = generated("head")
        own = [n if n in ("X", "Y") or n.endswith("1") else f"{n}_rest" for n in fn.inputs]
        arguments = [i.arrays[n] for n in own]
        return lambda: fn(*arguments)

    def blocks(matrix: Any) -> list[Any]:
        D, _, _, d = i.W.shape
        parts = np.asarray(matrix).reshape(2, D, d, 2, D, d)
        return [parts[0, :, :, 0], parts[0, :, :, 1], parts[1, :, :, 1]]

    expert = functools.partial(expert_second_order.head_hessian, i.X, i.Y, i.W, i.WO)
    return {
        "lemmax": Contestant(build, _same),
        "expert": Contestant(lambda: expert, blocks),
        "JAX": _peer("jax", "head_hessian", i, blocks),
    }


def instances(size: str) -> Contestants:
    """The loss and its four gradients of many small instances in one call."""
    if size != "small":
        return {}
    i = Instance(size, INSTANCES)
    expert = functools.partial(expert_second_order.batched_value_and_gradient, i.X, i.Y, i.W, i.WO)
    return {
        "lemmax": _lemmax("instances", i),
        "expert": Contestant(lambda: expert, lambda result: [result[0], *i.split(*result[1:])]),
        "JAX": _peer("jax", "instances", i, _value_first),
        "PyTorch, compiled": _peer("torch", "instances", i, _value_first, compiled=True),
        "PyTorch": _peer("torch", "instances", i, _value_first, compiled=False),
    }


def more_samples(size: str) -> Contestants:
    """The loss and its four gradients for ever more samples, at the sizes of the medium model else."""
    if size != "medium":
        return {}
    found: Contestants = {}
    for N in (16, 64, 256, 1024):
        i = Instance("medium", N=N)
        for work in ("value and gradient", "streamed"):
            name = f"N = {N}" + (", streamed" if work == "streamed" else "")
            found[name] = Contestant(_lemmax(work, i).build, None)
    return found


WORKS: dict[str, tuple[Callable[[str], Contestants], str]] = {
    "value and gradient": (value_and_gradient, "expert, workspace, packed"),
    "Hessian-vector product": (hessian_vector_product, "expert"),
    "dense Hessian": (dense_hessian, "expert"),
    "Hessian in the query and key weights of one head": (head_hessian, "expert"),
    "1000 instances, value and gradient": (instances, "expert"),
    "more samples, value and gradient": (more_samples, "N = 16"),
}
"""Work to its contestants at a size, and the contestant that ratios refer to."""
