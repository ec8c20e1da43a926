r"""Functions of matrices (the last two axes) in terms of an arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import sympy as sp

from lemmax.errors import EvaluationError
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


# -- solves, powers, cofactors -----------------------------------------------------------------------
def _solve(node: Apply) -> Compute:
    if node.ndim == node.operands[0].ndim:
        return _method("solve")(node)

    def compute(frame: Frame, a: Value, b: Value) -> Value:
        columns = frame.arithmetic.rearrange(lambda v: v[..., None], b)
        return frame.arithmetic.rearrange(lambda v: v[..., 0], frame.arithmetic.solve(a, columns))

    return compute


def _product(arithmetic: Arithmetic, x: Value, y: Value) -> Value:
    return arithmetic.contract("...ij,...jk->...ik", [x, y], arithmetic.shape(x)[-1])


def _identity(arithmetic: Arithmetic, n: int) -> Value:
    return arithmetic.integers(np.eye(n, dtype=np.int64))


def _power(arithmetic: Arithmetic, x: Value, k: int) -> Value:
    """Return a matrix power by repeated squaring."""
    if k < 0:
        return _power(arithmetic, arithmetic.inverse(x), -k)
    shape = arithmetic.shape(x)
    result = arithmetic.rearrange(lambda v: np.broadcast_to(v, shape), _identity(arithmetic, shape[-1]))
    square = x
    while k:
        if k & 1:
            result = _product(arithmetic, result, square)
        k >>= 1
        if k:
            square = _product(arithmetic, square, square)
    return result


def _matrix_power(node: Apply) -> Compute:
    k = compile_size(cast(sp.Expr, node.param("k")))
    return lambda frame, x: _power(frame.arithmetic, x, k(frame.sizes))


def _power_derivative(node: Apply) -> Compute:
    """Compile the sum of A^r E A^(k-1-r) by the recursion D_(j+1) = D_j A + A^j E; k < 0 by the inverse."""
    exponent = compile_size(cast(sp.Expr, node.param("k")))

    def compute(frame: Frame, a: Value, e: Value) -> Value:
        arithmetic, k = frame.arithmetic, exponent(frame.sizes)
        if k < 0:
            a = arithmetic.inverse(a)
            turned = _product(arithmetic, _product(arithmetic, a, e), a)
            e, k = arithmetic.multiply(arithmetic.rational(-1, 1), turned), -k
        power = _power(arithmetic, a, 0)
        total = arithmetic.multiply(arithmetic.rational(0, 1), e)
        for _ in range(k):
            total = arithmetic.add(_product(arithmetic, total, a), _product(arithmetic, power, e))
            power = _product(arithmetic, power, a)
        return total

    return compute


MOST_ENTRIES = 1 << 22  # of minors that are taken at once


def _cofactors(node: Apply) -> Compute:
    """Compile derivatives of the determinant: signed minors, each a determinant of its own."""
    order = cast(int, node.param("order"))

    def compute(frame: Frame, x: Value) -> Value:
        arithmetic = frame.arithmetic
        n = arithmetic.shape(x)[-1]
        lead = arithmetic.shape(x)[:-2]
        if order > n:
            zeros = np.zeros((*lead, *(n, n) * order), dtype=np.int64)
            return arithmetic.integers(zeros)
        chosen = list(itertools.combinations(range(n), order))
        minors = _minors(arithmetic, x, chosen)
        # where each entry finds its minor, and its sign
        at = np.zeros((n,) * order, dtype=int)
        sign = np.zeros((n,) * order, dtype=np.int64)
        for position, subset in enumerate(chosen):
            for permutation in itertools.permutations(range(order)):
                where = tuple(subset[p] for p in permutation)
                at[where] = position
                parity = sum(p > q for i, p in enumerate(permutation) for q in permutation[i + 1 :])
                sign[where] = (-1) ** (parity + sum(subset))
        interleaved = [axis for p in range(order) for axis in (p, order + p)]
        rows = at.reshape(at.shape + (1,) * order)
        columns = at.reshape((1,) * order + at.shape)
        signs = sign.reshape(rows.shape) * sign.reshape(columns.shape)
        found = arithmetic.rearrange(
            lambda v: np.transpose(
                v[..., rows, columns],
                [*range(v.ndim - 2), *[v.ndim - 2 + a for a in interleaved]],
            ),
            minors,
        )
        return arithmetic.multiply(arithmetic.integers(np.transpose(signs, interleaved)), found)

    return compute


def _minors(arithmetic: Arithmetic, x: Value, chosen: list[tuple[int, ...]]) -> Value:
    """Return the determinants that are left without the chosen rows and columns, a matrix of them."""
    n = arithmetic.shape(x)[-1]
    kept = np.array([[i for i in range(n) if i not in subset] for subset in chosen], dtype=int)
    count, size = kept.shape
    if size == 0:
        return arithmetic.rearrange(
            lambda v: np.broadcast_to(v, (*arithmetic.shape(x)[:-2], count, count)),
            arithmetic.integers(np.ones((1, 1), dtype=np.int64)),
        )
    step = max(1, MOST_ENTRIES // max(1, count * size * size))
    parts = []
    for start in range(0, count, step):
        rows = kept[start : start + step]
        taken = arithmetic.rearrange(
            lambda v, rows=rows: v[..., rows[:, None, :, None], kept[None, :, None, :]], x
        )
        parts.append(arithmetic.determinant(taken))
    return arithmetic.rearrange(lambda *vs: np.concatenate(vs, axis=-2), *parts)


# -- gradients of singular values and eigenvalues -------------------------------------------------------
def _numbers(values: Value) -> Any:
    """Return plain numbers: real parts, without radii."""
    plain: Any = getattr(values, "value", values)
    return np.real(plain) if np.iscomplexobj(plain) else plain


def _explain_tie(node: Apply, what: str, found: Any) -> EvaluationError:
    return EvaluationError(
        f"the derivative of {what} of {node.operands[0].label()} does not exist at this matrix: {found}. "
        "Pass nonsmooth='subgradient' where the derivative is taken for one subgradient."
    )


def _check_simple(node: Apply, arithmetic: Arithmetic, values: Any, k: int, what: str) -> None:
    """Check that the k-th of sorted values is apart from its neighbours.

    Raises:
        EvaluationError: it is not, so that its vectors are not determined.
    """
    scale = np.max(np.abs(values), axis=-1)
    room = 16 * values.shape[-1] * arithmetic.resolution * scale
    for other in (k - 1, k + 1):
        if 0 <= other < values.shape[-1] and np.any(np.abs(values[..., k] - values[..., other]) <= room):
            at = np.argwhere(np.abs(values[..., k] - values[..., other]) <= room)
            pair = sorted((k + 1, other + 1))
            family = f" (matrix {tuple(int(i) for i in at[0])})" if values.ndim > 1 else ""
            raise _explain_tie(node, what, f"values {pair[0]} and {pair[1]} coincide{family}")


def _dyad(node: Apply) -> Compute:
    which = node.param("k")
    k = None if which == "last" else compile_size(cast(sp.Expr, sp.sympify(which)))

    def compute(frame: Frame, x: Value) -> Value:
        arithmetic = frame.arithmetic
        values = _numbers(arithmetic.singular_values(arithmetic.rearrange(_real_part, x)))
        last = values.shape[-1] - 1
        at = last if k is None else k(frame.sizes) - 1
        if at > last:
            raise EvaluationError(
                f"singular value {at + 1} of {node.operands[0].label()}: there are {last + 1}."
            )
        if node.param("kink") == "raise":
            what = f"singular value {at + 1}"
            _check_simple(node, arithmetic, values, at, what)
            if np.any(values[..., at] <= 16 * (last + 1) * arithmetic.resolution * values[..., 0]):
                raise _explain_tie(node, what, "it is 0")
        return arithmetic.singular_dyad(x, at)

    return compute


def _projector(node: Apply) -> Compute:
    which = node.param("which")

    def compute(frame: Frame, x: Value) -> Value:
        arithmetic = frame.arithmetic
        values = _numbers(arithmetic.eigenvalues(arithmetic.rearrange(_real_part, x)))
        at = 0 if which == "min" else values.shape[-1] - 1
        if node.param("kink") == "raise":
            _check_simple(node, arithmetic, values, at, f"lambda_{which}")
        return arithmetic.eigen_projector(x, at)

    return compute


def _polar(node: Apply) -> Compute:
    def compute(frame: Frame, x: Value) -> Value:
        arithmetic = frame.arithmetic
        values = _numbers(arithmetic.singular_values(arithmetic.rearrange(_real_part, x)))
        if node.param("kink") == "raise":
            least = 16 * values.shape[-1] * arithmetic.resolution * values[..., 0]
            if np.any(values[..., -1] <= least):
                raise _explain_tie(node, "the nuclear norm", "it has not full rank")
        return arithmetic.polar_factor(x)

    return compute


def _real_part(v: Any) -> Any:
    return v.real if np.iscomplexobj(v) else v


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
    "solve": _solve,
    "pinv": _method("pseudo_inverse"),
    "matrix_power": _matrix_power,
    "power_derivative": _power_derivative,
    "cofactors": _cofactors,
    "singular_dyad": _dyad,
    "eigen_projector": _projector,
    "polar": _polar,
}
"""Each function with what compiles it."""
