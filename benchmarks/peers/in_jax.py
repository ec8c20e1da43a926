r"""The same loss in JAX, compiled, in double precision; arrays lie on the device before a call.

Each function returns a call without arguments. Compilation happens before the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.instance import NAMES, Instance

jax.config.update("jax_enable_x64", True)

Call = Callable[[], Any]
AT_ONCE = 256
"""Columns of the large Hessian that are taken at once: all of them do not fit into memory."""


def loss(weights: Any, X: Any, Y: Any) -> Any:
    """Return half the squared residual."""
    WQ, WK, WV, WO = weights
    Q, K, V = (jnp.einsum("ina,hab->ihnb", X, W) for W in (WQ, WK, WV))
    S = jax.nn.softmax(Q @ K.swapaxes(-1, -2) / WQ.shape[-1] ** 0.5, axis=-1)
    return ((jnp.einsum("ihnv,hvm->inm", S @ V, WO) - Y) ** 2).sum() / 2


def _compiled(function: Callable[..., Any], *arguments: Any) -> Call:
    placed = jax.device_put(arguments)
    run = jax.jit(function).lower(*placed).compile()
    return lambda: jax.block_until_ready(run(*placed))


def _weights(i: Instance, prefix: str = "") -> tuple[Any, ...]:
    return tuple(i.arrays[prefix + name] for name in NAMES)


def value_and_gradient(i: Instance) -> Call:
    """The loss and its four gradients."""
    return _compiled(jax.value_and_grad(loss), _weights(i), i.X, i.Y)


def hessian_vector_product(i: Instance) -> Call:
    """Forward mode over reverse mode."""

    def product(weights: Any, directions: Any, X: Any, Y: Any) -> Any:
        return jax.jvp(lambda w: jax.grad(loss)(w, X, Y), (weights,), (directions,))[1]

    return _compiled(product, _weights(i), _weights(i, "d"), i.X, i.Y)


def dense_hessian(i: Instance) -> Call:
    """All blocks of pairs of weights."""
    return _compiled(jax.hessian(loss), _weights(i), i.X, i.Y)


def head_hessian(i: Instance) -> Call:
    """The Hessian in the query and key weights of one head, some columns at a time."""

    def columns(own: Any, weights: Any, X: Any, Y: Any) -> Any:
        WQ, WK, WV, WO = weights

        def of_head(both: Any) -> Any:
            return loss((WQ.at[0].set(both[0]), WK.at[0].set(both[1]), WV, WO), X, Y)

        def column(direction: Any) -> Any:
            return jax.jvp(jax.grad(of_head), (own,), (direction.reshape(own.shape),))[1].ravel()

        return jax.lax.map(column, jnp.eye(own.size), batch_size=min(AT_ONCE, own.size))

    weights = _weights(i)
    return _compiled(columns, jnp.stack([weights[0][0], weights[1][0]]), weights, i.X, i.Y)


def instances(i: Instance) -> Call:
    """The loss and its gradients for many instances."""
    return _compiled(jax.vmap(jax.value_and_grad(loss)), _weights(i), i.X, i.Y)
