"""Formulas as nested tuples, with two readings: built with lemmax, and evaluated with NumPy alone.

A formula is ``(operation, *arguments)``; arguments that are tuples are formulas.  The NumPy reading shares no
code with lemmax and says which pairs of formulas are really equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import sympy as sp

import lemmax as lx

Formula: TypeAlias = tuple[Any, ...]

SIZES = ("n", "k", "m", "p")
VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys("ABC", (("n", "n"), "")),
    **dict.fromkeys("KL", (("k", "k"), "")),
    "U": (("n", "k"), ""),
    "V": (("k", "n"), ""),
    "X": (("n", "m"), ""),
    "Y": (("n", "m"), ""),
    "W": (("m", "p"), ""),
    **dict.fromkeys("xyuv", (("n",), "")),
    "z": (("k",), ""),
    "w": (("m",), ""),
    "s": ((), ""),
    "t": ((), ""),
    "S": (("n", "n"), "symmetric"),
    "P": (("n", "n"), "positive_definite"),
    "Q": (("n", "n"), "orthogonal"),
    "G": (("n", "n"), "diagonal"),
    "R": (("n", "n"), "lower_triangular"),
    "c": (("n",), "positive"),
}
"""Shape and assumption by name."""

POINTS = ({"n": 3, "k": 2, "m": 4, "p": 2}, {"n": 2, "k": 3, "m": 2, "p": 4})


# -- walking ----------------------------------------------------------------------------------------
def children(f: Formula) -> list[int]:
    """Return the positions of the formulas among the arguments."""
    return [p for p, a in enumerate(f) if isinstance(a, tuple)]


def places(f: Formula) -> list[tuple[int, ...]]:
    """Return the paths to all formulas in a formula, the whole first."""
    return [(), *((p, *rest) for p in children(f) for rest in places(f[p]))]


def at(f: Formula, path: tuple[int, ...]) -> Formula:
    """Return the formula at a path."""
    for p in path:
        f = f[p]
    return f


def put(f: Formula, path: tuple[int, ...], new: Formula) -> Formula:
    """Return the formula with another one at a path."""
    if not path:
        return new
    p, *rest = path
    return (*f[:p], put(f[p], tuple(rest), new), *f[p + 1 :])


def variables(f: Formula) -> set[str]:
    """Return the names of the variables."""
    if f[0] == "var":
        return {f[1]}
    return set().union(*(variables(f[p]) for p in children(f)))


# -- NumPy --------------------------------------------------------------------------------------------
def draw(rng: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Draw a value for each variable; square ones are near the identity, so that log det is defined."""
    values = {}
    for name, (shape, kind) in VARIABLES.items():
        x = rng.normal(size=[sizes[s] for s in shape])
        if len(shape) == 2 and shape[0] == shape[1]:
            x = 0.4 * x + np.eye(len(x))
        if kind == "symmetric":
            x = (x + x.T) / 2
        elif kind == "positive_definite":
            x = x @ x.T + np.eye(len(x)) / 2
        elif kind == "orthogonal":
            x = np.linalg.qr(x)[0]
        elif kind == "diagonal":
            x = np.diag(np.diag(x))
        elif kind == "lower_triangular":
            x = np.tril(x)
        elif kind == "positive":
            x = np.abs(x) + 0.1
        values[name] = x
    return values


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    weights = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _log_det(x: np.ndarray) -> Any:
    sign, value = np.linalg.slogdet(x)
    return value if sign > 0 else np.nan


_NUMPY: dict[str, Callable[..., Any]] = {
    "T": lambda x: x.T,
    "mul": lambda x, y: x @ y,
    "had": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "div": lambda x, y: x / y,
    "scale": lambda q, x: float(q) * x,
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "logdet": _log_det,
    "tr": np.trace,
    "diag": np.diag,
    "kron": np.kron,
    "vec": lambda x: x.reshape(-1),
    "outer": np.outer,
    "norm": lambda x: np.sqrt(np.sum(x * x)),
    "sqnorm": lambda x: np.sum(x * x),
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "softplus": lambda x: np.logaddexp(0, x),
    "cosh": np.cosh,
    "sinh": np.sinh,
    "relu": lambda x: np.maximum(x, 0),
    "softmax": lambda axis, x: _softmax(x, axis),
    "lse": lambda axis, x: np.log(np.sum(np.exp(x), axis=axis)),
    "sum": lambda axis, x: np.sum(x, axis=axis),
    "prod": np.prod,
    "row": lambda p, x: x[p],
    "tail": lambda x: x[1:],
    "head": lambda x: x[:-1],
}


def value(f: Formula, values: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> np.ndarray:
    """Return the value of a formula, with NumPy."""
    if f[0] == "var":
        return np.asarray(values[f[1]])
    if f[0] == "number":
        return np.asarray(float(f[1]))
    if f[0] in ("eye", "ones"):
        return np.eye(sizes[f[1]]) if f[0] == "eye" else np.ones([sizes[s] for s in f[1:]])
    if f[0] == "size":
        return np.asarray(float(sizes[f[1]]) ** float(f[2]))
    if f[0] == "power":
        exponent = sizes[f[2]] if isinstance(f[2], str) else float(f[2])
        return np.asarray(value(f[1], values, sizes) ** exponent)
    with np.errstate(all="ignore"):
        return np.asarray(
            _NUMPY[f[0]](*[value(a, values, sizes) if isinstance(a, tuple) else a for a in f[1:]])
        )


# -- lemmax ---------------------------------------------------------------------------------------------
_LEMMAX: dict[str, Callable[..., Any]] = {
    "T": lambda x: x.T,
    "mul": lambda x, y: x @ y,
    "had": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "div": lambda x, y: x / y,
    "scale": lambda q, x: sp.Rational(q.numerator, q.denominator) * x,
    "softmax": lambda axis, x: lx.softmax(x, axis=axis),
    "lse": lambda axis, x: lx.logsumexp(x, axis=axis),
    "sum": lambda axis, x: lx.sum(x, axis=axis),
    "tr": lx.trace,
    "row": lambda p, x: x[p],
    "tail": lambda x: x[1:],
    "head": lambda x: x[:-1],
}


class Names:
    """Names of variables and sizes, as they are or drawn anew."""

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        """Draw names if a generator is given."""
        letters = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        order = letters if rng is None else [letters[p] for p in rng.permutation(len(letters))]
        known = [*SIZES, *VARIABLES]
        self._name = {x: x if rng is None else order[p] for p, x in enumerate(known)}
        self.sizes = {s: lx.size(self._name[s]) for s in SIZES}

    def variable(self, name: str) -> lx.Tensor:
        """Return a variable."""
        shape, kind = VARIABLES[name]
        return lx.tensor(self._name[name], *[self.sizes[s] for s in shape], **({kind: True} if kind else {}))


def build(f: Formula, names: Names) -> Any:
    """Return the formula as a lemmax expression.

    Raises:
        lx.ShapeError: shapes do not fit.
    """
    if f[0] == "var":
        return names.variable(f[1])
    if f[0] == "number":
        return sp.Rational(Fraction(f[1]).numerator, Fraction(f[1]).denominator)
    if f[0] in ("eye", "ones"):
        return getattr(lx, f[0])(*[names.sizes[s] for s in f[1:]])
    if f[0] == "size":
        return names.sizes[f[1]] ** sp.Rational(f[2].numerator, f[2].denominator)
    if f[0] == "power":
        exponent = names.sizes[f[2]] if isinstance(f[2], str) else f[2]
        return build(f[1], names) ** exponent
    function = _LEMMAX.get(f[0]) or getattr(lx, f[0])
    return function(*[build(a, names) if isinstance(a, tuple) else a for a in f[1:]])


def differ(left: Formula, right: Formula, seed: int = 0) -> bool | None:
    """Do two formulas differ, by NumPy?  ``None`` if shapes differ or no point is in both domains."""
    rng = np.random.default_rng(seed)
    seen = None
    for sizes in (*POINTS, *POINTS):
        values = draw(rng, sizes)
        try:
            a, b = value(left, values, sizes), value(right, values, sizes)
        except (ValueError, IndexError, np.linalg.LinAlgError):
            return None
        if a.shape != b.shape:
            return None
        if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
            continue
        scale = max(float(np.max(np.abs(a), initial=0.0)), float(np.max(np.abs(b), initial=0.0)), 1e-300)
        if np.max(np.abs(a - b), initial=0.0) > max(1e-7 * scale, 1e-10):
            return True
        seen = False
    return seen
