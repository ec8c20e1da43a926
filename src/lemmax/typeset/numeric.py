r"""The NumPy reading of matrix notation: what a printed formula is worth.

It shares no code with the reduction that made the tree, nor with the interpreter of tensors, so
that a tree can be checked against both.  Every value is a matrix: vectors (n, 1), scalars (1, 1).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp

from lemmax.errors import MissingRule
from lemmax.expr.tensor import Tensor
from lemmax.typeset.node import Node
from lemmax.typeset.numeric_special import by_sympy

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Instance:
    """Values for evaluation.

    Attributes:
        arrays: value of each atom, by name (of a formal derivative by digest).
        sizes: value of each symbolic size.
        at: value (from 0) of each free index.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    sizes: Mapping[sp.Symbol, int]
    at: Mapping[sp.Symbol, int]

    def integer(self, expr: sp.Expr) -> int:
        """Return an expression in sizes and indices as an integer."""
        return int(self.value(expr))

    def value(self, expr: sp.Expr) -> float:
        """Return an expression in sizes and indices as a number."""
        return float(sp.sympify(expr).xreplace({**self.sizes, **self.at}))

    def holds(self, condition: sp.Basic) -> bool:
        """Say whether a condition on indices holds."""
        return bool(condition.subs({**self.sizes, **self.at}))

    def shape(self, x: Node) -> tuple[int, int]:
        """Return the shape of a node."""
        return self.integer(x.shape[0]), self.integer(x.shape[1])

    def with_index(self, values: Mapping[sp.Symbol, int]) -> Instance:
        """Return the instance with more indices fixed."""
        return replace(self, at={**self.at, **values})


def evaluate_node(x: Node, instance: Instance) -> Array:
    """Return the value of a node as a matrix.

    Raises:
        MissingRule: the kind of node has no NumPy reading.
    """
    rule = _RULES.get(x.op)
    if rule is None:
        raise MissingRule(f"no NumPy reading of {x.op!r}: add it to lemmax/typeset/numeric.py.")
    return rule(x, instance)


def _operands(x: Node, instance: Instance) -> list[Array]:
    return [evaluate_node(a, instance) for a in x.args]


def _ranges(binders: tuple[tuple[sp.Symbol, sp.Expr], ...], instance: Instance) -> list[dict[sp.Symbol, int]]:
    counts = [range(instance.integer(s)) for _, s in binders]
    return [dict(zip([i for i, _ in binders], values, strict=True)) for values in itertools.product(*counts)]


def _atom(x: Node, instance: Instance) -> Array:
    tensor: Tensor = x.data[0]
    array = np.asarray(instance.arrays[tensor.name or tensor.digest], dtype=float)
    at = tuple(slice(None) if s is None else instance.integer(s) for s in x.data[1])
    return np.asarray(array[at], dtype=float).reshape(instance.shape(x))


def _unit(x: Node, instance: Instance) -> Array:
    return np.eye(instance.shape(x)[0])[:, [instance.integer(x.data[0])]]


def _delta(x: Node, instance: Instance) -> Array:
    p, q = (instance.integer(i) for i in x.data)
    return np.array([[float(p == q)]])


def _hadamard(x: Node, instance: Instance) -> Array:
    result = np.ones(instance.shape(x))
    for value in _operands(x, instance):
        assert value.shape == result.shape, (x, value.shape)
        result = result * value
    return result


def _product(x: Node, instance: Instance) -> Array:
    values = _operands(x, instance)
    result = values[0]
    for value in values[1:]:
        result = result @ value
    return result


def _linear(x: Node, instance: Instance) -> Array:
    total = np.zeros(instance.shape(x))
    for c, value in zip(x.data, _operands(x, instance), strict=True):
        assert value.shape == total.shape, (x, value.shape)
        total = total + instance.value(c) * value
    return total


def _scale(x: Node, instance: Instance) -> Array:
    *scalars, value = _operands(x, instance)
    for s in scalars:
        value = value * s[0, 0]
    return value


def _sum(x: Node, instance: Instance) -> Array:
    total = np.zeros(instance.shape(x))
    for at in _ranges(x.data, instance):
        total = total + evaluate_node(x.args[0], instance.with_index(at))
    return total


def _logsumexp(values: Array, axis: int | None = None) -> Array:
    top = np.max(values, axis=axis, keepdims=True)
    return np.asarray(np.squeeze(top, axis=axis) + np.log(np.sum(np.exp(values - top), axis=axis)))


_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "logsumexp": _logsumexp,
}


def _reduce(x: Node, instance: Instance) -> Array:
    function, *over = x.data
    values = [evaluate_node(x.args[0], instance.with_index(at)) for at in _ranges(tuple(over), instance)]
    return _REDUCTIONS[function](np.stack(values), axis=0)


def _entrywise(x: Node, instance: Instance) -> Array:
    with np.errstate(over="ignore", divide="ignore"):
        function = _FUNCTIONS.get(x.data[0]) or by_sympy(x.data[0])
        return np.asarray(function(*_operands(x, instance)), dtype=float) * np.ones(instance.shape(x))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pow": np.power,
    "atan2": np.arctan2,
    "max": lambda *xs: np.max(np.broadcast_arrays(*xs), axis=0),
    "min": lambda *xs: np.min(np.broadcast_arrays(*xs), axis=0),
    "exp": np.exp,
    "log": np.log,
    "Abs": np.abs,
    "sign": np.sign,
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(lambda v: float(sp.erf(v))),
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "softplus": lambda v: np.logaddexp(0, v),
    "relu": lambda v: np.maximum(v, 0),
    "step": lambda v: (v > 0).astype(float),
    "Heaviside": lambda v: np.heaviside(v, 0.5),
    "floor": np.floor,
    "ceiling": np.ceil,
}


def _call(x: Node, instance: Instance) -> Array:
    function, *params = x.data
    values = _operands(x, instance)
    if function == "softmax":
        axis = 0 if x.shape[1] == 1 else 1
        e = np.exp(values[0] - values[0].max(axis=axis, keepdims=True))
        return np.asarray(e / e.sum(axis=axis, keepdims=True))
    if function in ("argmax_mask", "argmin_mask"):
        return _argument_mask(values[0] if function == "argmax_mask" else -values[0], params[0])
    if function == "sigma":
        return np.array([[_sigma(values[0], instance.integer(params[0]))]])
    if function == "matrix_power":
        return np.linalg.matrix_power(values[0], instance.integer(params[0]))
    if function == "singular_dyad":
        u, _, vt = np.linalg.svd(values[0], full_matrices=False)
        k = -1 if params[0] == "last" else int(params[0]) - 1
        return np.outer(u[:, k], vt[k])
    if function == "eigen_projector":
        q = np.linalg.eigh(_symmetric(values[0]))[1][:, 0 if params[0] == "min" else -1]
        return np.outer(q, q)
    if function in _REDUCTIONS:
        return np.array([[_REDUCTIONS[function](values[0].ravel())]]).reshape(1, 1)
    return np.asarray(_CALLS[function](values[0]), dtype=float).reshape(instance.shape(x))


def _sigma(value: Array, k: int) -> float:
    found = np.linalg.svd(value, compute_uv=False)
    return float(found[k - 1]) if k <= len(found) else 0.0


def _symmetric(value: Array) -> Array:
    return (value + value.T) / 2


def _polar(value: Array) -> Array:
    u, s, vt = np.linalg.svd(value, full_matrices=False)
    return np.asarray((u * (s > 1e-13 * s[0])) @ vt)


_CALLS: dict[str, Callable[[Array], Any]] = {
    "inv": np.linalg.inv,
    "pinv": np.linalg.pinv,
    "polar": _polar,
    "det": np.linalg.det,
    "logdet": lambda a: np.linalg.slogdet(a)[1],
    "vec": lambda a: a.reshape(-1, 1),
    "rank": np.linalg.matrix_rank,
    "sigma_min": lambda a: np.linalg.svd(a, compute_uv=False)[-1],
    "spectral_norm": lambda a: np.linalg.norm(a, 2),
    "nuclear_norm": lambda a: np.linalg.norm(a, "nuc"),
    "cond": np.linalg.cond,
    "lambda_min": lambda a: np.linalg.eigvalsh(_symmetric(a))[0],
    "lambda_max": lambda a: np.linalg.eigvalsh(_symmetric(a))[-1],
}


def _argument_mask(value: Array, where: str) -> Array:
    result = np.zeros_like(value)
    if where == "all" or value.shape[1] == 1:
        result.ravel()[np.argmax(value)] = 1
        return result
    result[np.arange(len(value)), np.argmax(value, axis=1)] = 1
    return result


def _argmask(x: Node, instance: Instance) -> Array:
    which, over, at = x.data
    places = _ranges(over, instance)
    values = [evaluate_node(x.args[0], instance.with_index(p))[0, 0] for p in places]
    first = places[int(np.argmax(values) if which == "max" else np.argmin(values))]
    hit = all(first[i] == instance.integer(e) for (i, _), e in zip(over, at, strict=True))
    return np.array([[float(hit)]])


def _hull(x: Node, instance: Instance) -> Array:
    """Least squares over convex weights, their sums held at 1 by a large weight."""
    from scipy.optimize import nnls

    point = evaluate_node(x.args[0], instance)[:, 0]
    hulls = [evaluate_node(x.args[1], instance.with_index(at)) for at in _ranges(x.data[1:], instance)]
    heavy = 1e5 * (1 + max(np.abs(point).max(), max(np.abs(h).max() for h in hulls)))
    counts = [len(h) for h in hulls]
    ones = np.zeros((len(hulls), sum(counts)))
    for row, count in enumerate(counts):
        ones[row, sum(counts[:row]) : sum(counts[:row]) + count] = heavy
    matrix = np.vstack([np.hstack([h.T for h in hulls]), ones])
    weights, _ = nnls(matrix, np.concatenate([point, np.full(len(hulls), heavy)]))
    return np.array([[float(np.linalg.norm(matrix[: len(point)] @ weights - point))]])


def _blocks(x: Node, instance: Instance) -> Array:
    row, column = x.data
    rows = [{row[0]: p} for p in range(instance.integer(row[1]))] if row is not None else [{}]
    columns = [{column[0]: p} for p in range(instance.integer(column[1]))] if column is not None else [{}]
    return np.block(
        [[evaluate_node(x.args[0], instance.with_index({**r, **c})) for c in columns] for r in rows]
    )


def _pick(x: Node, instance: Instance) -> Array:
    row, column = x.data
    (value,) = _operands(x, instance)
    at = tuple(slice(None) if e is None else instance.integer(e) for e in (row, column))
    return value[at].reshape(instance.shape(x))


def _cases(x: Node, instance: Instance) -> Array:
    compared = iter(x.args[len(x.data) :])
    for value, condition in zip(x.args[: len(x.data)], x.data, strict=True):
        if isinstance(condition, str):
            left, right = (evaluate_node(next(compared), instance)[0, 0] for _ in range(2))
            holds = bool(_COMPARE[condition](left, right))
        else:
            holds = instance.holds(condition)
        if holds:
            return evaluate_node(value, instance)
    raise ValueError("no case holds")


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "Equality": lambda a, b: a == b,
    "Unequality": lambda a, b: a != b,
    "GreaterThan": lambda a, b: a >= b,
    "LessThan": lambda a, b: a <= b,
    "StrictGreaterThan": lambda a, b: a > b,
    "StrictLessThan": lambda a, b: a < b,
}


def _range(x: Node, instance: Instance) -> Array:
    (value,) = _operands(x, instance)
    at = [slice(None), slice(None)]
    for axis, r in enumerate(x.data):
        if r is not None:
            start = instance.integer(r[0])
            at[axis] = slice(start, start + instance.integer(r[1]))
    return value[tuple(at)]


def _pad(x: Node, instance: Instance) -> Array:
    (value,) = _operands(x, instance)
    result = np.zeros(instance.shape(x))
    r, c = (instance.integer(e) for e in x.data)
    result[r : r + value.shape[0], c : c + value.shape[1]] = value
    return result


def _kron(x: Node, instance: Instance) -> Array:
    result = np.ones((1, 1))
    for value in _operands(x, instance):
        result = np.asarray(np.kron(result, value), dtype=float)
    return result


def _commutation(x: Node, instance: Instance) -> Array:
    """Put the entries of the rows of a p x q matrix in the order of its columns."""
    p, q = (instance.integer(n) for n in x.data)
    order = np.arange(p * q).reshape(p, q).T.ravel()
    return np.eye(p * q)[order]


def _number(x: Node, instance: Instance) -> Array:
    return np.array([[instance.value(x.data[0])]])


_RULES: dict[str, Callable[[Node, Instance], Array]] = {
    "atom": _atom,
    "eye": lambda x, at: np.eye(at.shape(x)[0]),
    "ones": lambda x, at: np.ones(at.shape(x)),
    "zeros": lambda x, at: np.zeros(at.shape(x)),
    "unit": _unit,
    "delta": _delta,
    "number": _number,
    "transpose": lambda x, at: _operands(x, at)[0].T,
    "product": _product,
    "hadamard": _hadamard,
    "diag": lambda x, at: np.diag(_operands(x, at)[0][:, 0]),
    "diagonal": lambda x, at: np.diag(_operands(x, at)[0])[:, None],
    "trace": lambda x, at: np.array([[np.trace(_operands(x, at)[0])]]),
    "norm": lambda x, at: np.array([[float(np.linalg.norm(_operands(x, at)[0]))]]),
    "inner": lambda x, at: np.array([[np.sum(np.multiply(*_operands(x, at)))]]),
    "power": lambda x, at: np.asarray(_operands(x, at)[0] ** at.value(x.data[0]), dtype=float),
    "entrywise": _entrywise,
    "linear": _linear,
    "scale": _scale,
    "sum": _sum,
    "reduce": _reduce,
    "call": _call,
    "kron": _kron,
    "commutation": _commutation,
    "stack": lambda x, at: np.concatenate(_operands(x, at), axis=1 if x.data[0] == "beside" else 0),
    "blocks": _blocks,
    "pick": _pick,
    "cases": _cases,
    "range": _range,
    "pad": _pad,
    "argmask": _argmask,
    "hull": _hull,
}
