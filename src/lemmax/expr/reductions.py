r"""Sums, means, norms, and reductions that have a rule instead of a body (max, log-sum-exp, softmax)."""

from __future__ import annotations

import sympy as sp

from lemmax.expr.arguments import of_tensors
from lemmax.expr.arithmetic import divide
from lemmax.expr.axes import Axis, one_axis, some_axes
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, product
from lemmax.expr.tensor import Tensor


def reduced_shape(t: Tensor, axes: tuple[int, ...], keepdims: bool = False) -> tuple[Size, ...]:
    """Return the shape after reducing ``axes``."""
    if keepdims:
        return tuple(sp.S.One if p in axes else s for p, s in enumerate(t.shape))
    return tuple(s for p, s in enumerate(t.shape) if p not in axes)


def _sum_of(t: Tensor, axes: tuple[int, ...], keepdims: bool, power: int = 1) -> Tensor:
    shape = reduced_shape(t, axes, keepdims)
    indices = free_indices(len(shape))
    left = iter([i for p, i in enumerate(indices) if p not in axes] if keepdims else indices)
    bound: list[tuple[sp.Symbol, Size]] = []
    at: list[sp.Expr] = []
    for p, s in enumerate(t.shape):
        if p in axes:
            bound.append((bound_index(len(bound)), s))
            at.append(bound[-1][0])
        else:
            at.append(next(left))
    return Lambda(shape, indices, (Term(tuple(bound), t.entry(*at) ** power),))


@of_tensors
def sum(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the sum over ``axis`` (all axes by default)."""
    axes = some_axes("sum", t, axis)
    return _sum_of(t, axes, keepdims) if axes else t


@of_tensors
def mean(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean over ``axis`` (all axes by default)."""
    axes = some_axes("mean", t, axis)
    return divide(sum(t, axis=axis, keepdims=keepdims), product(tuple(t.shape[a] for a in axes)))


@of_tensors
def sqnorm(t: Tensor) -> Tensor:
    r"""Return the squared Frobenius norm, the sum of all squared entries."""
    return _sum_of(t, tuple(range(t.ndim)), False, power=2)


def sum_of_squares(t: Tensor, axes: tuple[int, ...], keepdims: bool = False) -> Tensor:
    """Return the sum of squared entries over axes."""
    return _sum_of(t, axes, keepdims, power=2)


def _reduction(function: str, t: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    axes = some_axes(function, t, axis)
    params = {"axes": tuple(axes), "keepdims": keepdims}
    return Apply(function, (t,), reduced_shape(t, axes, keepdims), params) if axes else t


@of_tensors
def max(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the maximum over ``axis`` (all axes by default); not smooth at ties."""
    return _reduction("max", t, axis, keepdims)


@of_tensors
def min(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the minimum over ``axis`` (all axes by default); not smooth at ties."""
    return _reduction("min", t, axis, keepdims)


@of_tensors
def prod(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the product over ``axis`` (all axes by default)."""
    return _reduction("prod", t, axis, keepdims)


@of_tensors
def logsumexp(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    r"""Return :math:`\log \sum e^{x}` over ``axis`` (all axes by default)."""
    return _reduction("logsumexp", t, axis, keepdims)


@of_tensors
def softmax(t: Tensor, axis: int | str = -1) -> Tensor:
    r"""Return the softmax :math:`e^{x_j} / \sum_l e^{x_l}` along ``axis``.

    Entries may be ``-inf`` (they get weight 0) as long as one entry along the axis is finite.
    """
    return Apply("softmax", (t,), t.shape, {"axis": one_axis("softmax", t, axis)})


@of_tensors
def log_softmax(t: Tensor, axis: int | str = -1) -> Tensor:
    r"""Return the logarithm of the softmax, :math:`x_j - \log \sum_l e^{x_l}`, along ``axis``."""
    a = one_axis("log_softmax", t, axis)
    return t - logsumexp(t, axis=a, keepdims=True)
