r"""Operations that write into a given array, as lines of NumPy: ``np.matmul(S, X_WV, out=F)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.codegen.blocks import masked_rows_lines
from lemmax.codegen.pytext import ATOM, number_text, tuple_text
from lemmax.codegen.render import Renderer
from lemmax.codegen.values import Value, constant

Writer = Callable[[Renderer, Value, str], list[str]]


def written(r: Renderer, v: Value, out: str, scratch: str | None, axis: int | None) -> list[str]:
    """Return the lines that compute ``v`` into the array called ``out``.

    Args:
        r: names of the operands.
        v: the value.
        out: name of its place.
        scratch: name of the place of reductions on the way.
        axis: the axis that is reduced, if the names stand for other views of the arrays.
    """
    if v.op in _REDUCING_WRITERS:
        assert scratch is not None
        rows = Rows(scratch, int(v.params[0]) if axis is None else axis, axis is None)
        return _REDUCING_WRITERS[v.op](r, v, out, rows)
    if axis is not None and v.op in _REDUCTIONS:
        return [_reduction(v.op, r.operand(v.args[0]).at(ATOM), (axis,), False, v.ndim + 1, out)]
    return _WRITERS[v.op](r, v, out)


@dataclass(frozen=True, slots=True)
class Rows:
    """How rows are reduced: the name of the result, the axis, and whether the axis is kept with size 1."""

    name: str
    axis: int
    keepdims: bool

    def reduce(self, op: str, x: str, ndim: int) -> str:
        """Return the line that reduces ``x``."""
        return _reduction(op, x, (self.axis,), self.keepdims, ndim, self.name)


def _matmul(r: Renderer, v: Value, out: str) -> list[str]:
    return [_call("matmul", [r.operand(a).text for a in v.args], out)]


def _copy(r: Renderer, v: Value, out: str) -> list[str]:
    return [f"{out}[...] = {r.operand(v.args[0]).text}"]


def _add(r: Renderer, v: Value, out: str) -> list[str]:
    first, *rest = [r.operand(a).text for a in v.args]
    lines = []
    for sign, text in zip(v.params[1:], rest, strict=True):
        lines.append(_call("add" if sign == 1 else "subtract", [first, text], out))
        first = out
    return lines


def _multiply(r: Renderer, v: Value, out: str) -> list[str]:
    first, *rest = [r.operand(a).text for a in v.args]
    lines = []
    for text in rest:
        lines.append(_call("multiply", [first, text], out))
        first = out
    return lines


def _divide(r: Renderer, v: Value, out: str) -> list[str]:
    return [_call("divide", [r.operand(a).text for a in v.args], out)]


def _scale(r: Renderer, v: Value, out: str) -> list[str]:
    coefficient, inner = constant(v), r.operand(v.args[0]).text
    if coefficient == -1:
        return [_call("negative", [inner], out)]
    top, bottom = sp.fraction(coefficient)
    if bottom != 1 and abs(top) == 1:
        return [_call("divide", [inner, number_text(top * bottom, r.sizes).text], out)]
    return [_call("multiply", [number_text(coefficient, r.sizes).text, inner], out)]


def _apply(r: Renderer, v: Value, out: str) -> list[str]:
    name, x = str(v.params[0]), r.operand(v.args[0]).text
    return [_call("maximum", [x, "0"], out) if name == "relu" else _call(name, [x], out)]


_REDUCTIONS = {"sum": "add", "max": "maximum", "min": "minimum"}


def _reduce(r: Renderer, v: Value, out: str) -> list[str]:
    axes, keepdims = v.params
    return [_reduction(v.op, r.operand(v.args[0]).at(ATOM), axes, bool(keepdims), v.args[0].ndim, out)]


def _reduction(op: str, x: str, axes: Sequence[int], keepdims: bool, ndim: int, out: str) -> str:
    numbers = [a - ndim if a == ndim - 1 else a for a in axes]
    axis = str(numbers[0]) if len(numbers) == 1 else tuple_text([str(a) for a in axes])
    kept = ", keepdims=True" if keepdims else ""
    return f"np.{_REDUCTIONS[op]}.reduce({x}, axis={axis}{kept}, out={out})"


def _softmax(r: Renderer, v: Value, out: str, rows: Rows) -> list[str]:
    masked = v.params[1]
    a = r.operand(v.args[0])
    return [
        rows.reduce("max", a.at(ATOM), v.ndim),
        *(masked_rows_lines(rows.name) if masked else []),
        _call("subtract", [a.text, rows.name], out),
        _call("exp", [out], out),
        rows.reduce("sum", out, v.ndim),
        _call("divide", [out, rows.name], out),
    ]


def _pullback(r: Renderer, v: Value, out: str, rows: Rows) -> list[str]:
    s, g = (r.operand(a).text for a in v.args)
    return [
        _call("multiply", [s, g], out),
        rows.reduce("sum", out, v.ndim),
        _call("subtract", [g, rows.name], out),
        _call("multiply", [s, out], out),
    ]


def _call(name: str, args: Sequence[str], out: str) -> str:
    return f"np.{name}({', '.join(args)}, out={out})"


_WRITERS: dict[str, Writer] = {
    "matmul": _matmul,
    "copy": _copy,
    "add": _add,
    "multiply": _multiply,
    "divide": _divide,
    "scale": _scale,
    "call": _apply,
    "sum": _reduce,
    "max": _reduce,
    "min": _reduce,
}

_REDUCING_WRITERS: dict[str, Callable[[Renderer, Value, str, Rows], list[str]]] = {
    "softmax": _softmax,
    "pullback_rowsum": _pullback,
}
