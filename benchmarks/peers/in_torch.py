r"""The same loss in PyTorch, as it comes (eager) and compiled, in double precision.

Each function takes ``compiled`` and returns a call without arguments, after a first one that compiles;
where compiling is not usual (dense Hessians), only the eager call is offered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.instance import NAMES, Instance

Call = Callable[[], Any]


def loss(weights: Any, X: Any, Y: Any) -> Any:
    """Return half the squared residual."""
    WQ, WK, WV, WO = weights
    Q, K, V = (torch.einsum("ina,hab->ihnb", X, W) for W in (WQ, WK, WV))
    S = torch.softmax(Q @ K.transpose(-1, -2) / WQ.shape[-1] ** 0.5, dim=-1)
    return ((torch.einsum("ihnv,hvm->inm", S @ V, WO) - Y) ** 2).sum() / 2


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    torch._dynamo.reset()  # code for these sizes alone, not for any, as after a call with others
    return torch.compile(function, dynamic=False)


def _after_a_call(call: Call) -> Call:
    call()  # compiles
    return call


def _arrays(i: Instance, prefix: str = "", gradients: bool = False) -> tuple[Any, ...]:
    weights = tuple(torch.from_numpy(i.arrays[prefix + name]) for name in NAMES)
    return tuple(w.clone().requires_grad_(gradients) for w in weights)


def _fixed(i: Instance) -> tuple[Any, Any]:
    return torch.from_numpy(i.X), torch.from_numpy(i.Y)


def value_and_gradient(i: Instance, compiled: bool) -> Call:
    """The loss and its four gradients, by reverse mode."""
    weights, (X, Y) = _arrays(i, gradients=True), _fixed(i)
    forward = _compile(loss) if compiled else loss

    def call() -> Any:
        value = forward(weights, X, Y)
        return value.detach(), torch.autograd.grad(value, weights)

    return _after_a_call(call) if compiled else call


def hessian_vector_product(i: Instance, compiled: bool) -> Call:
    """Reverse mode twice, or, compiled, forward mode over reverse mode."""
    directions, (X, Y) = _arrays(i, "d"), _fixed(i)
    if compiled:
        fixed = _arrays(i)

        def product(weights: Any, directions: Any, X: Any, Y: Any) -> Any:
            return torch.func.jvp(lambda w: torch.func.grad(loss)(w, X, Y), (weights,), (directions,))[1]

        run = _compile(product)
        return _after_a_call(lambda: run(fixed, directions, X, Y))
    weights = _arrays(i, gradients=True)

    def call() -> Any:
        gradients = torch.autograd.grad(loss(weights, X, Y), weights, create_graph=True)
        return torch.autograd.grad(gradients, weights, directions)

    return call


def dense_hessian(i: Instance) -> Call:
    """All blocks of pairs of weights."""
    weights, (X, Y) = _arrays(i), _fixed(i)
    return lambda: torch.func.hessian(lambda w: loss(w, X, Y))(weights)


def instances(i: Instance, compiled: bool) -> Call:
    """The loss and its gradients for many instances."""
    weights, (X, Y) = _arrays(i), _fixed(i)
    mapped = torch.func.vmap(torch.func.grad_and_value(loss))
    run = _compile(mapped) if compiled else mapped

    def call() -> Any:
        gradients, value = run(weights, X, Y)
        return value, gradients

    return _after_a_call(call) if compiled else call
