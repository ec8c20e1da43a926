r"""Applied functions: what each means in terms of an arithmetic.

Axes are turned into negative ones when a node is compiled, because values may carry extra
leading axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lemmax.errors import EvaluationError, MissingRule
from lemmax.expr.domains import DEFINED, NOT_NEGATIVE, NOT_ZERO, Guard, guards_of
from lemmax.expr.nodes import Apply
from lemmax.interpret import matrices
from lemmax.interpret.frame import Frame, compile_size
from lemmax.interpret.parts import Run
from lemmax.interpret.protocol import Condition, Value

Array: TypeAlias = npt.NDArray[Any]
Compile: TypeAlias = Callable[[Apply], Callable[..., Value]]


def compile_apply(node: Apply) -> Run:
    """Return a function that computes an applied function from the values of its operands.

    Raises:
        MissingRule: the interpreter does not know the function.
    """
    compiler = APPLICATIONS.get(node.function)
    if compiler is None:
        raise MissingRule(
            f"the interpreter does not know the function {node.function!r}; its table is "
            "APPLICATIONS in lemmax.interpret.applications."
        )
    compute = compiler(node)
    digests = [t.digest for t in node.operands]
    return lambda frame: compute(frame, *[frame.values[d] for d in digests])


def _axis(node: Apply) -> int:
    return cast(int, node.param("axis")) - node.operands[0].ndim


def _axes(node: Apply) -> tuple[int, ...]:
    ndim = node.operands[0].ndim
    return tuple(axis - ndim for axis in cast(tuple[int, ...], node.param("axes")))


# -- softmax -------------------------------------------------------------------------------
def _softmax(node: Apply) -> Callable[..., Value]:
    axis = _axis(node)

    def compute(frame: Frame, x: Value) -> Value:
        result = frame.arithmetic.softmax(x, axis)
        if frame.arithmetic.has_nan(result):
            _explain_softmax(node, frame, x, axis)
        return result

    return compute


def _explain_softmax(node: Apply, frame: Frame, x: Value, axis: int) -> None:
    """Say which row of a softmax has no finite entry."""
    arithmetic = frame.arithmetic
    below = arithmetic.compare("==", x, arithmetic.constant("-inf")).holds
    rows = np.argwhere(np.all(below, axis=axis))
    if len(rows):
        row = tuple(int(i) for i in rows[0])
        raise EvaluationError(
            f"softmax of {node.operands[0].label()} along axis {node.param('axis')}: "
            f"{f'the row at {row}' if row else 'the only row'} is -inf throughout; "
            "a mask must keep at least one entry of each row, and the logits must not overflow."
        )


def _softmax_pullback(node: Apply) -> Callable[..., Value]:
    """Compile ``S * G - S * sum(S * G)``.

    If S is a softmax its rows sum to 1, and ``S_j sum_l S_l (G_j - G_l)`` is the same without the
    cancellation that ruins saturated rows.
    """
    axis = _axis(node)
    first = node.operands[0]
    ndim = first.ndim
    same_axis = (
        isinstance(first, Apply) and first.function == "softmax" and first.param("axis") == node.param("axis")
    )
    if ndim + 1 > 24:
        raise EvaluationError(f"softmax_pullback: {first.label()} has too many axes.")
    letters = "abcdefghijklmnopqrstuvwx"[:ndim]
    j = letters[axis]
    other = letters.replace(j, "z")
    weigh = f"...{other},...{letters}z->...{letters}"

    def compute(frame: Frame, s: Value, g: Value) -> Value:
        arithmetic = frame.arithmetic
        count = arithmetic.shape(s)[axis]
        if same_axis and first.digest not in frame.held:
            plus = arithmetic.rearrange(lambda x: x[..., None], g)
            minus = arithmetic.rearrange(lambda x: np.expand_dims(np.moveaxis(x, axis, -1), axis - 1), g)
            difference = arithmetic.add(plus, arithmetic.multiply(arithmetic.rational(-1, 1), minus))
            itself = np.eye(count, dtype=bool).reshape(count, *(1,) * (-axis - 1), count)
            difference = arithmetic.select(Condition(itself), arithmetic.rational(0, 1), difference)
            inner = arithmetic.contract(weigh, [s, difference], count)
            return arithmetic.multiply(s, inner)
        weighted = arithmetic.multiply(s, g)
        total = arithmetic.contract(f"...{letters}->...{letters.replace(j, '')}", [weighted], count)
        total = arithmetic.rearrange(lambda x: np.expand_dims(x, axis), total)
        correction = arithmetic.multiply(arithmetic.rational(-1, 1), arithmetic.multiply(s, total))
        return arithmetic.add(weighted, correction)

    return compute


# -- reductions ------------------------------------------------------------------------------
def _reduction(method: str, *args: int) -> Compile:
    def compiler(node: Apply) -> Callable[..., Value]:
        axes = _axes(node)
        keepdims = bool(node.param("keepdims"))

        def compute(frame: Frame, x: Value) -> Value:
            kept = getattr(frame.arithmetic, method)(x, axes, *args)
            return kept if keepdims else frame.arithmetic.rearrange(lambda v: np.squeeze(v, axis=axes), kept)

        return compute

    return compiler


def _mask(sign: int) -> Compile:
    def compiler(node: Apply) -> Callable[..., Value]:
        axes = _axes(node)
        return lambda frame, x: frame.arithmetic.extreme_mask(x, axes, sign)

    return compiler


# -- moving entries ------------------------------------------------------------------------------
def _concat(node: Apply) -> Callable[..., Value]:
    axis = cast(int, node.param("axis")) - node.ndim
    ndim = node.ndim

    def join(*xs: Array) -> Array:
        lead = np.broadcast_shapes(*[x.shape[: x.ndim - ndim] for x in xs])
        return np.concatenate([np.broadcast_to(x, lead + x.shape[x.ndim - ndim :]) for x in xs], axis=axis)

    return lambda frame, *xs: frame.arithmetic.rearrange(join, *xs)


def _window(node: Apply, lengths: tuple[Any, ...]) -> Callable[[Frame], tuple[Any, ...]]:
    """Return a function that computes the key of a block: starts from the parameters, lengths given."""
    starts = [compile_size(s) for s in cast(tuple[Any, ...], node.param("starts"))]
    sizes = [compile_size(s) for s in lengths]

    def key(frame: Frame) -> tuple[Any, ...]:
        at = [(s(frame.sizes), n(frame.sizes)) for s, n in zip(starts, sizes, strict=True)]
        return (..., *[slice(s, s + n) for s, n in at])

    return key


def _slice(node: Apply) -> Callable[..., Value]:
    window = _window(node, node.shape)
    operand = node.operands[0]

    def compute(frame: Frame, x: Value) -> Value:
        key = window(frame)
        have = frame.arithmetic.shape(x)[-operand.ndim :]
        for axis, (part, length) in enumerate(zip(key[1:], have, strict=True)):
            if part.start < 0 or part.stop > length or part.stop <= part.start:
                raise EvaluationError(
                    f"the slice {part.start}:{part.stop} on axis {axis} of {operand.label()} "
                    f"does not fit its size {length}."
                )
        return frame.arithmetic.rearrange(lambda v: v[key], x)

    return compute


def _place(node: Apply) -> Callable[..., Value]:
    window = _window(node, node.operands[0].shape)
    shape = [compile_size(s) for s in node.shape]
    ndim = node.ndim

    def compute(frame: Frame, x: Value) -> Value:
        key = window(frame)
        full = tuple(size(frame.sizes) for size in shape)

        def put(v: Array) -> Array:
            out = np.zeros(v.shape[: v.ndim - ndim] + full, dtype=v.dtype)
            out[key] = v
            return out

        return frame.arithmetic.rearrange(put, x)

    return compute


def _reshape(node: Apply) -> Callable[..., Value]:
    shape = [compile_size(s) for s in node.shape]
    ndim = node.operands[0].ndim

    def compute(frame: Frame, x: Value) -> Value:
        full = tuple(size(frame.sizes) for size in shape)
        return frame.arithmetic.rearrange(lambda v: v.reshape(v.shape[: v.ndim - ndim] + full), x)

    return compute


# -- domains of derivatives ------------------------------------------------------------------------
def _on_domain(node: Apply) -> Callable[..., Value]:
    """Compile a formula that is undefined where a guard fails; an instance of a batch for itself."""
    guards = guards_of(node)
    ndim = node.ndim

    def compute(frame: Frame, x: Value, *values: Value) -> Value:
        arithmetic = frame.arithmetic
        for guard, value in zip(guards, values, strict=True):
            fails = failing(guard, value, frame)
            if not fails.any():
                continue
            lead = fails.shape[: fails.ndim - guard.tensor.ndim]
            whole = fails.reshape((*lead, -1)).any(axis=-1).reshape((*lead, *(1,) * ndim))
            x = arithmetic.select(Condition(whole), arithmetic.constant("nan"), x)
        return x

    return compute


def failing(guard: Guard, value: Value, frame: Frame) -> npt.NDArray[np.bool_]:
    """Return where the condition of a guard fails, an array of the guard's shape (and a batch's)."""
    arithmetic = frame.arithmetic
    if guard.condition == NOT_NEGATIVE:
        found = arithmetic.compare("<", value, arithmetic.rational(0, 1)).holds
    elif guard.condition == NOT_ZERO:
        found = arithmetic.compare("==", value, arithmetic.rational(0, 1)).holds
    elif guard.condition == DEFINED:
        found = arithmetic.compare("!=", value, value).holds
    else:
        (matrix,) = guard.tensor.operands
        full = min(compile_size(s)(frame.sizes) for s in matrix.shape[-2:])
        found = arithmetic.compare("<", value, arithmetic.rational(full, 1)).holds
    return np.asarray(found).reshape(arithmetic.shape(value))


APPLICATIONS: dict[str, Compile] = {
    "on_domain": _on_domain,
    "softmax": _softmax,
    "softmax_pullback": _softmax_pullback,
    "logsumexp": _reduction("logsumexp"),
    "max": _reduction("extreme", 1),
    "min": _reduction("extreme", -1),
    "prod": _reduction("product"),
    "argmax_mask": _mask(1),
    "argmin_mask": _mask(-1),
    "concat": _concat,
    "slice": _slice,
    "place": _place,
    "merge": _reshape,
    "split": _reshape,
    **matrices.APPLICATIONS,
}
"""Each function with what compiles it."""
