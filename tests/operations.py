"""The builders of lemmax, each beside what NumPy calls the same thing.

An operation takes a tensor (or two) and the array (or two) that it stands for. The NumPy half is written
without lemmax and for complex arrays, so that derivatives can be taken by complex steps. An operation
returns ``None`` where it does not apply to the shapes at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

import lemmax as lx

Array = np.ndarray


@dataclass(frozen=True)
class Operation:
    """A builder and its NumPy half.

    Attributes:
        tensor: makes the tensor from one operand or two.
        array: makes the array from as many.
        applies: whether the shapes are acceptable.
        margin: how far the operands are from a kink; ``None`` if there is none.
    """

    tensor: Callable[..., Any]
    array: Callable[..., Any]
    applies: Callable[..., bool] = lambda *operands: True
    margin: Callable[..., float] | None = None

    @property
    def smooth(self) -> bool:
        return self.margin is None


# -- how far from a kink ------------------------------------------------------------------------
def from_zero(x: Array) -> float:
    return float(np.min(np.abs(x.real)))


def from_ones(x: Array) -> float:
    return float(np.min(np.abs(np.abs(x.real) - 1)))


def apart(x: Array, y: Array) -> float:
    return float(np.min(np.abs(x.real - y.real)))


def gap(axis: int | None, sign: int) -> Callable[[Array], float]:
    """Return the distance between the two largest (sign 1) or smallest (-1) entries along an axis."""

    def margin(x: Array) -> float:
        entries = np.sort(sign * (x.real.ravel() if axis is None else np.moveaxis(x.real, axis, -1)), axis=-1)
        return float(np.min(np.diff(entries, axis=-1)[..., -1])) if entries.shape[-1] > 1 else np.inf

    return margin


# -- NumPy halves that NumPy lacks, for complex arrays ---------------------------------------
def softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - np.max(x.real, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def logsumexp(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    top = np.max(x.real, axis=axis, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def take_extreme(x: Array, axis: int | None, find: Callable[..., Array], keepdims: bool = False) -> Array:
    if axis is None:
        return x.ravel()[find(x.real)]
    at = np.expand_dims(find(x.real, axis=axis), axis)
    found = np.take_along_axis(x, at, axis=axis)
    return found if keepdims else np.squeeze(found, axis=axis)


def well_conditioned(x: Any, tanh: Callable[[Any], Any], eye: Any, n: Any) -> Any:
    """Three times the identity plus a matrix with entries below 1/n: its inverse is tame."""
    return 3 * eye + tanh(x) / n


def step_of(x: Array) -> Array:
    return (x.real > 0).astype(float)


def has_axes(least: int) -> Callable[..., bool]:
    return lambda t, *others: t.ndim >= least


def is_square(t: lx.Tensor, *others: lx.Tensor) -> bool:
    return t.ndim >= 2 and t.shape[-1] == t.shape[-2]


def is_small(t: lx.Tensor, *others: lx.Tensor) -> bool:
    return 1 <= t.ndim <= 3


def same_shape(a: lx.Tensor, b: lx.Tensor) -> bool:
    return a.shape == b.shape


def broadcasts(a: lx.Tensor, b: lx.Tensor) -> bool:
    pairs = zip(reversed(a.shape), reversed(b.shape), strict=False)
    return all(x == y or x == 1 or y == 1 for x, y in pairs)


def multiplies(a: lx.Tensor, b: lx.Tensor) -> bool:
    if not (a.ndim and b.ndim) or max(a.ndim, b.ndim) > 3:
        return False
    inner = b.shape[-2] if b.ndim > 1 else b.shape[-1]
    lead = zip(reversed(a.shape[:-2]), reversed(b.shape[:-2]), strict=False)
    return a.shape[-1] == inner and all(x == y or x == 1 or y == 1 for x, y in lead)


# -- one operand ------------------------------------------------------------------------------
ELEMENTWISE = {
    "exp": Operation(lambda t: lx.exp(lx.tanh(t)), lambda x: np.exp(np.tanh(x))),
    "log": Operation(lambda t: lx.log(1 + t * t), lambda x: np.log(1 + x * x)),
    "sqrt": Operation(lambda t: lx.sqrt(1 + t**2), lambda x: np.sqrt(1 + x**2)),
    "sin": Operation(lx.sin, np.sin),
    "cos": Operation(lx.cos, np.cos),
    "tan": Operation(lambda t: lx.tan(lx.tanh(t)), lambda x: np.tan(np.tanh(x))),
    "arcsin": Operation(lambda t: lx.arcsin(lx.tanh(t) / 2), lambda x: np.arcsin(np.tanh(x) / 2)),
    "arccos": Operation(lambda t: lx.arccos(lx.tanh(t) / 2), lambda x: np.arccos(np.tanh(x) / 2)),
    "arctan": Operation(lx.arctan, np.arctan),
    "sinh": Operation(lambda t: lx.sinh(lx.tanh(t)), lambda x: np.sinh(np.tanh(x))),
    "cosh": Operation(lambda t: lx.cosh(lx.tanh(t)), lambda x: np.cosh(np.tanh(x))),
    "tanh": Operation(lx.tanh, np.tanh),
    "arcsinh": Operation(lx.arcsinh, np.arcsinh),
    "arccosh": Operation(lambda t: lx.arccosh(2 + t * t), lambda x: np.arccosh(2 + x * x)),
    "arctanh": Operation(lambda t: lx.arctanh(lx.sin(t) / 2), lambda x: np.arctanh(np.sin(x) / 2)),
    "erf": Operation(lx.erf, scipy.special.erf),
    "secant": Operation(lambda t: lx.sec(lx.tanh(t)), lambda x: 1 / np.cos(np.tanh(x))),
    "sigmoid": Operation(lx.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "softplus": Operation(lx.softplus, lambda x: np.log1p(np.exp(x))),
    "negative": Operation(lambda t: -t, lambda x: -x),
    "square": Operation(lambda t: (t / 2) ** 2, lambda x: (x / 2) ** 2),
    "cube": Operation(lambda t: lx.tanh(t) ** 3, lambda x: np.tanh(x) ** 3),
    "reciprocal": Operation(lambda t: 1 / (2 + t * t), lambda x: 1 / (2 + x * x)),
    "power of a number": Operation(lambda t: 2 ** lx.tanh(t), lambda x: 2 ** np.tanh(x)),
    "root": Operation(lambda t: (1 + t * t) ** 0.25, lambda x: (1 + x * x) ** 0.25),
    "affine": Operation(lambda t: 3 - 0.1 * t, lambda x: 3 - 0.1 * x),
    "abs": Operation(abs, lambda x: x * np.sign(x.real), margin=from_zero),
    "sign": Operation(lambda t: t * lx.sign(t), lambda x: x * np.sign(x.real), margin=from_zero),
    "relu": Operation(lx.relu, lambda x: x * step_of(x), margin=from_zero),
    "clip": Operation(
        lambda t: lx.minimum(lx.maximum(t, -1), 1),
        lambda x: np.where(x.real > 1, 1, np.where(x.real < -1, -1, x)),
        margin=from_ones,
    ),
    "where": Operation(
        lambda t: lx.where(t > 0, lx.sqrt(1 + t * t), t - 1),
        lambda x: np.where(x.real > 0, np.sqrt(1 + x * x), x - 1),
        margin=from_zero,
    ),
}

REDUCTIONS = {
    "sum": Operation(lx.sum, np.sum),
    "sum over rows": Operation(lambda t: t.sum(axis=0), lambda x: x.sum(axis=0), has_axes(1)),
    "sum kept": Operation(
        lambda t: lx.sum(t, axis=-1, keepdims=True), lambda x: np.sum(x, axis=-1, keepdims=True), has_axes(1)
    ),
    "sum over two": Operation(
        lambda t: lx.sum(t, axis=(0, -1)), lambda x: np.sum(x, axis=(0, -1)), has_axes(2)
    ),
    "mean": Operation(lx.mean, np.mean),
    "mean over columns": Operation(lambda t: t.mean(axis=-1), lambda x: x.mean(axis=-1), has_axes(1)),
    "sqnorm": Operation(lambda t: lx.sqnorm(t) / 10, lambda x: (x * x).sum() / 10),
    "norm": Operation(lambda t: lx.norm(1 + t * t), lambda x: np.sqrt(((1 + x * x) ** 2).sum()), has_axes(1)),
    "prod": Operation(lambda t: lx.prod(lx.tanh(t)), lambda x: np.prod(np.tanh(x))),
    "prod over rows": Operation(
        lambda t: lx.tanh(t).prod(axis=0), lambda x: np.tanh(x).prod(axis=0), has_axes(1)
    ),
    "logsumexp": Operation(lx.logsumexp, logsumexp),
    "logsumexp kept": Operation(
        lambda t: lx.logsumexp(t, axis=-1, keepdims=True),
        lambda x: logsumexp(x, axis=-1, keepdims=True),
        has_axes(1),
    ),
    "softmax": Operation(lx.softmax, softmax, has_axes(1)),
    "softmax over rows": Operation(lambda t: lx.softmax(t, axis=0), lambda x: softmax(x, 0), has_axes(1)),
    "log softmax": Operation(lx.log_softmax, lambda x: x - logsumexp(x, axis=-1, keepdims=True), has_axes(1)),
    "max": Operation(lambda t: t.max(), lambda x: take_extreme(x, None, np.argmax), margin=gap(None, 1)),
    "max over rows": Operation(
        lambda t: lx.max(t, axis=0), lambda x: take_extreme(x, 0, np.argmax), has_axes(1), margin=gap(0, 1)
    ),
    "min kept": Operation(
        lambda t: t.min(axis=-1, keepdims=True),
        lambda x: take_extreme(x, -1, np.argmin, keepdims=True),
        has_axes(1),
        margin=gap(-1, -1),
    ),
}

MATRICES = {
    "transpose": Operation(lambda t: t.T, lambda x: x.T, lambda t: t.ndim <= 2),
    "matrix transpose": Operation(lambda t: t.mT, lambda x: x.swapaxes(-1, -2), has_axes(2)),
    "permute": Operation(
        lambda t: lx.permute(t, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), lambda t: t.ndim == 3
    ),
    "trace": Operation(lx.trace, lambda x: np.trace(x, axis1=-2, axis2=-1), is_square),
    "diagonal": Operation(lx.diag, lambda x: np.diagonal(x, axis1=-2, axis2=-1), is_square),
    "diagonal matrix": Operation(lx.diag, np.diag, lambda t: t.ndim == 1),
    "inverse": Operation(
        lambda t: lx.inv(well_conditioned(t, lx.tanh, lx.eye(t.shape[-1]), t.shape[-1])),
        lambda x: np.linalg.inv(well_conditioned(x, np.tanh, np.eye(x.shape[-1]), x.shape[-1])),
        is_square,
    ),
    "determinant": Operation(
        lambda t: lx.det(well_conditioned(t, lx.tanh, lx.eye(t.shape[-1]), t.shape[-1])) / 9,
        lambda x: np.linalg.det(well_conditioned(x, np.tanh, np.eye(x.shape[-1]), x.shape[-1])) / 9,
        is_square,
    ),
    "log determinant": Operation(
        lambda t: lx.logdet(well_conditioned(t, lx.tanh, lx.eye(t.shape[-1]), t.shape[-1])),
        lambda x: np.log(np.linalg.det(well_conditioned(x, np.tanh, np.eye(x.shape[-1]), x.shape[-1]))),
        is_square,
    ),
}


# functions of tame matrices: invertible, with singular values apart from each other and from 0
def tame(x: Any, tanh: Callable[[Any], Any], lib: Any, n: int) -> Any:
    return lib.diag_of(n) + tanh(x) / (4 * n)


class OfTensors:
    @staticmethod
    def diag_of(n: Any) -> lx.Tensor:
        return lx.diag(lx.tensor_from(lambda i: i + 2, shape=(n,)))


class OfArrays:
    @staticmethod
    def diag_of(n: int) -> Array:
        return np.diag(np.arange(2.0, n + 2))


def of_tame(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: function(tame(t, lx.tanh, OfTensors, t.shape[-1]))


def array_of_tame(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    return lambda x: function(tame(x, np.tanh, OfArrays, x.shape[-1]))


def adjugate(x: Array) -> Array:
    return np.linalg.det(x)[..., None, None] * np.linalg.inv(x)


FUNCTIONS_OF_MATRICES = {
    "solve": Operation(
        lambda t: lx.solve(well_conditioned(t, lx.tanh, lx.eye(t.shape[-1]), t.shape[-1]), lx.sin(t)),
        lambda x: np.linalg.solve(well_conditioned(x, np.tanh, np.eye(x.shape[-1]), x.shape[-1]), np.sin(x)),
        is_square,
    ),
    "pseudo-inverse": Operation(
        lambda t: lx.pinv(well_conditioned(t, lx.tanh, lx.eye(t.shape[-1]), t.shape[-1])[..., :, :2]),
        lambda x: (lambda a: np.linalg.solve(a.swapaxes(-1, -2) @ a, a.swapaxes(-1, -2)))(
            well_conditioned(x, np.tanh, np.eye(x.shape[-1]), x.shape[-1])[..., :, :2]
        ),
        lambda t: is_square(t) and t.shape[-1] != 1,
    ),
    "matrix power": Operation(
        lambda t: lx.matrix_power(lx.tanh(t) / 2, 7),
        lambda x: np.linalg.matrix_power(np.tanh(x) / 2, 7),
        is_square,
    ),
    "power by the size": Operation(
        lambda t: lx.matrix_power(lx.tanh(t) / 2, t.shape[-1] + 6),
        lambda x: np.linalg.matrix_power(np.tanh(x) / 2, x.shape[-1] + 6),
        is_square,
    ),
    "adjugate": Operation(
        of_tame(lambda a: lx.adjugate(a) / 9), array_of_tame(lambda x: adjugate(x) / 9), is_square
    ),
}

INDEXING = {
    "first": Operation(lambda t: t[0], lambda x: x[0], has_axes(1)),
    "last of last": Operation(lambda t: t[..., -1], lambda x: x[..., -1], has_axes(1)),
    "tail": Operation(
        lambda t: lx.concat([t[1:], t[:1]]), lambda x: np.concatenate([x[1:], x[:1]]), is_small
    ),
    "columns": Operation(
        lambda t: t[..., :-1].sum(axis=-1),
        lambda x: x[..., :-1].sum(axis=-1),
        lambda t: t.ndim >= 1 and t.shape[-1] != 1,
    ),
    "new axis": Operation(lambda t: t[:, None], lambda x: x[:, None], lambda t: 1 <= t.ndim <= 2),
    "flatten": Operation(lx.vec, lambda x: x.reshape(-1), lambda t: t.ndim == 2),
    "regroup": Operation(
        lambda t: lx.split(lx.merge(t, (0, 1)), ((0, 1),), t.shape), lambda x: x, lambda t: t.ndim == 2
    ),
    "gram by indices": Operation(
        lambda t: lx.tensor_from(lambda i, j: lx.index_sum(lambda k: t[i, k] * t[j, k]) / 4),
        lambda x: x @ x.T / 4,
        lambda t: t.ndim == 2,
    ),
    "differences": Operation(
        lambda t: lx.tensor_from(lambda i, j: (t[i] - t[j]) ** 2 / 4),
        lambda x: (x[:, None] - x[None, :]) ** 2 / 4,
        lambda t: t.ndim == 1,
    ),
    "sum in a function": Operation(
        lambda t: lx.tensor_from(lambda i: lx.tanh(lx.index_sum(lambda k: t[i, k] * t[0, k]))),
        lambda x: np.tanh(x @ x[0]),
        lambda t: t.ndim == 2,
    ),
}

# -- two operands -----------------------------------------------------------------------------
PAIRS = {
    "add": Operation(lambda s, t: s + t, lambda x, y: x + y, broadcasts),
    "subtract": Operation(lambda s, t: s - 2 * t, lambda x, y: x - 2 * y, broadcasts),
    "multiply": Operation(lambda s, t: s * t / 2, lambda x, y: x * y / 2, broadcasts),
    "divide": Operation(lambda s, t: s / (2 + t * t), lambda x, y: x / (2 + y * y), broadcasts),
    "power": Operation(
        lambda s, t: (1 + s * s) ** lx.tanh(t), lambda x, y: (1 + x * x) ** np.tanh(y), broadcasts
    ),
    "matmul": Operation(lambda s, t: s @ t / 2, lambda x, y: x @ y / 2, multiplies),
    "by transposes": Operation(
        lambda s, t: s @ t.mT / 2,
        lambda x, y: x @ y.swapaxes(-1, -2) / 2,
        lambda s, t: s.ndim == 2 and t.ndim == 2 and s.shape[-1] == t.shape[-1],
    ),
    "dot": Operation(lambda s, t: lx.dot(s, t) / 5, lambda x, y: (x * y).sum() / 5, same_shape),
    "outer": Operation(lx.outer, np.multiply.outer, lambda s, t: 1 <= s.ndim + t.ndim <= 3),
    "kron": Operation(
        lambda s, t: lx.kron(s, t).sum(axis=0),
        lambda x, y: np.kron(x, y).sum(axis=0),
        lambda s, t: s.ndim == t.ndim and s.ndim in (1, 2),
    ),
    "einsum": Operation(
        lambda s, t: lx.einsum("ij,ik->kj", s, t) / 2,
        lambda x, y: np.einsum("ij,ik->kj", x, y) / 2,
        lambda s, t: s.ndim == 2 and t.ndim == 2 and s.shape[0] == t.shape[0],
    ),
    "concat": Operation(
        lambda s, t: lx.sin(lx.concat([s, t, s], axis=0)).sum(axis=0),
        lambda x, y: np.sin(np.concatenate([x, y, x])).sum(axis=0),
        lambda s, t: s.ndim == t.ndim >= 1 and s.shape[1:] == t.shape[1:],
    ),
    "stack": Operation(
        lambda s, t: lx.stack([s, t], axis=-1), lambda x, y: np.stack([x, y], axis=-1), same_shape
    ),
    "nested sums": Operation(
        lambda s, t: (
            lx.tensor_from(
                lambda i: lx.index_sum(lambda j: s[i, j] * lx.index_sum(lambda k: t[j, k] * s[i, k]))
            )
            / 4
        ),
        lambda x, y: np.einsum("ij,jk,ik->i", x, y, x) / 4,
        lambda s, t: s.ndim == 2 and t.ndim == 2 and t.shape == (s.shape[1], s.shape[1]),
    ),
    "larger": Operation(lx.maximum, lambda x, y: np.where(x.real > y.real, x, y), broadcasts, margin=apart),
    "smaller": Operation(lx.minimum, lambda x, y: np.where(x.real < y.real, x, y), broadcasts, margin=apart),
    "angle": Operation(
        lambda s, t: lx.arctan2(s, 2 + t * t), lambda x, y: np.arctan(x / (2 + y * y)), broadcasts
    ),
    "choose": Operation(
        lambda s, t: lx.where(s <= t, s * t, lx.cos(s)),
        lambda x, y: np.where(x.real <= y.real, x * y, np.cos(x) + 0 * y),
        broadcasts,
        margin=apart,
    ),
}

SINGLE: dict[str, Operation] = {**ELEMENTWISE, **REDUCTIONS, **MATRICES, **FUNCTIONS_OF_MATRICES, **INDEXING}
ALL: dict[str, Operation] = {**SINGLE, **PAIRS}
