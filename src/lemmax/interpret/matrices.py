r"""Functions of matrices (the last two axes) in terms of an arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import sympy as sp

from lemmax.expr.nodes import Apply
from lemmax.interpret.frame import Frame, compile_size
from lemmax.interpret.protocol import Arithmetic, Value

Compute: TypeAlias = Callable[..., Value]


def _method(name: str) -> Callable[[Apply], Compute]:
    """Compile a function that the arithmetic has by itself."""

    def compiler(node: Apply) -> Compute:
        return lambda frame, *xs: getattr(frame.arithmetic, name)(*xs)

    return compiler


def _of_spectrum(method: str, reading: Callable[[Arithmetic, Value], Value]) -> Callable[[Apply], Compute]:
    """Compile a function of singular values (largest first) or eigenvalues (smallest first)."""

    def compiler(node: Apply) -> Compute:
        return lambda frame, x: reading(frame.arithmetic, getattr(frame.arithmetic, method)(x))

    return compiler


def _first(arithmetic: Arithmetic, values: Value) -> Value:
    return arithmetic.rearrange(lambda v: v[..., 0], values)


def _last(arithmetic: Arithmetic, values: Value) -> Value:
    return arithmetic.rearrange(lambda v: v[..., -1], values)


def _sum(arithmetic: Arithmetic, values: Value) -> Value:
    return arithmetic.contract("...a->...", [values], arithmetic.shape(values)[-1])


def _ratio(arithmetic: Arithmetic, values: Value) -> Value:
    largest, smallest = _first(arithmetic, values), _last(arithmetic, values)
    ratio = arithmetic.multiply(largest, arithmetic.integer_power(smallest, -1))
    singular = arithmetic.compare("==", smallest, arithmetic.rational(0, 1))
    return arithmetic.select(singular, arithmetic.constant("inf"), ratio)


def _sigma(node: Apply) -> Compute:
    k = compile_size(cast(sp.Expr, node.param("k")))

    def compute(frame: Frame, x: Value) -> Value:
        at = k(frame.sizes) - 1
        values = frame.arithmetic.singular_values(x)
        if at < frame.arithmetic.shape(values)[-1]:
            return frame.arithmetic.rearrange(lambda v: v[..., at], values)
        # by convention sigma_k is 0 beyond the smaller side of the matrix
        return frame.arithmetic.integers(np.zeros(frame.arithmetic.shape(values)[:-1], dtype=np.int64))

    return compute


APPLICATIONS: dict[str, Callable[[Apply], Callable[..., Any]]] = {
    "inv": _method("inverse"),
    "det": _method("determinant"),
    "logdet": _method("log_determinant"),
    "rank": _method("rank"),
    "hull_distance": _method("hull_distance"),
    "sigma": _sigma,
    "sigma_min": _of_spectrum("singular_values", _last),
    "spectral_norm": _of_spectrum("singular_values", _first),
    "nuclear_norm": _of_spectrum("singular_values", _sum),
    "cond": _of_spectrum("singular_values", _ratio),
    "lambda_min": _of_spectrum("eigenvalues", _first),
    "lambda_max": _of_spectrum("eigenvalues", _last),
}
"""Each function with what compiles it."""
