r"""Values as NumPy expressions.

One table, from operation to named function; each function returns the text of one operation
and leaves parentheses to :mod:`lemmax.codegen.pytext`.  Operations of more than one line are
in :mod:`lemmax.codegen.blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from lemmax.codegen.pytext import (
    AND,
    ATOM,
    COMPARISON,
    OR,
    POWER,
    PRODUCT,
    SUM,
    UNARY,
    Text,
    call,
    number_text,
    tuple_text,
)
from lemmax.codegen.render_matrices import MATRIX_RENDERERS
from lemmax.codegen.values import Value, constant
from lemmax.errors import UnsupportedYet
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.special import split_key


class Renderer:
    """Writes values down.

    Attributes:
        variables: name of each value that has one, by number.
        sizes: name of each size.
    """

    def __init__(self, variables: Mapping[int, str], sizes: Mapping[sp.Symbol, str]) -> None:
        """Write values over these names."""
        self.variables = variables
        self.sizes = sizes

    def operand(self, v: Value) -> Text:
        """Return the name of a value, or its expression if it has none."""
        if v.number in self.variables:
            return Text(self.variables[v.number])
        return self.expression(v)

    def expression(self, v: Value) -> Text:
        """Return the expression of a value, whether it has a name or not."""
        if v.op not in _RENDERERS:
            raise UnsupportedYet(f"code for the operation {v.op!r}: no NumPy text is known for it.")
        return _RENDERERS[v.op](self, v)

    def size(self, s: Size) -> str:
        """Return a size as text."""
        return number_text(s, self.sizes).text

    def shape(self, sizes: tuple[Size, ...]) -> str:
        """Return a shape as the text of a tuple."""
        return tuple_text([self.size(s) for s in sizes])

    def bounds(self, params: tuple[Any, ...], whole: tuple[Size, ...]) -> str:
        """Return the subscript of a slice of an array of shape ``whole``."""
        parts = []
        for p, size in zip(params, whole, strict=True):
            start = "" if p is None or p[0] == 0 else self.size(p[0])
            stop = "" if p is None or same_size(p[1], size) else self.size(p[1])
            parts.append(f"{start}:{stop}")
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        return ", ".join(parts)


def _input(r: Renderer, v: Value) -> Text:
    return Text(str(v.params[0]))


def _number(r: Renderer, v: Value) -> Text:
    return number_text(constant(v), r.sizes)


def _arange(r: Renderer, v: Value) -> Text:
    return call("np.arange", r.size(v.shape[0]), "dtype=dtype")


def _eye(r: Renderer, v: Value) -> Text:
    return call("np.eye", r.size(v.shape[0]), "dtype=dtype")


def _truth(r: Renderer, v: Value) -> Text:
    return Text(str(bool(v.params[0])))


def _transpose(r: Renderer, v: Value) -> Text:
    axes = v.params[0]
    base = r.operand(v.args[0]).at(ATOM)
    n = len(axes)
    if n == 2:
        return Text(f"{base}.T")
    moved = [p for p, a in enumerate(axes) if p != a]
    if moved == [n - 2, n - 1]:
        return Text(f"{base}.swapaxes(-1, -2)")
    if len(moved) == 2:
        return Text(f"{base}.swapaxes({moved[0]}, {moved[1]})")
    return Text(f"{base}.transpose({', '.join(map(str, axes))})")


def _pin(r: Renderer, v: Value) -> Text:
    return r.operand(v.args[0])


def _reshape(r: Renderer, v: Value) -> Text:
    base = r.operand(v.args[0]).at(ATOM)
    if v.ndim == 1:
        return Text(f"{base}.ravel()")
    return Text(f"{base}.reshape({', '.join(r.size(s) for s in v.shape)})")


def _expand(r: Renderer, v: Value) -> Text:
    positions = v.params[0]
    parts = ["None" if p in positions else ":" for p in range(v.ndim)]
    while parts[-1] == ":":
        parts.pop()
    return Text(f"{r.operand(v.args[0]).at(ATOM)}[{', '.join(parts)}]")


def _take(r: Renderer, v: Value) -> Text:
    at: dict[int, sp.Expr] = dict(v.params)
    parts = [r.size(at[p]) if p in at else ":" for p in range(v.args[0].ndim)]
    while parts[-1] == ":":
        parts.pop()
    return Text(f"{r.operand(v.args[0]).at(ATOM)}[{', '.join(parts)}]")


def _slice(r: Renderer, v: Value) -> Text:
    return Text(f"{r.operand(v.args[0]).at(ATOM)}[{r.bounds(v.params, v.args[0].shape)}]")


def _diagonal(r: Renderer, v: Value) -> Text:
    first, second = v.params
    base = r.operand(v.args[0]).at(ATOM)
    if v.args[0].ndim == 2:
        return Text(f"{base}.diagonal()")
    return Text(f"{base}.diagonal(axis1={first}, axis2={second})")


def _broadcast(r: Renderer, v: Value) -> Text:
    inner = v.args[0]
    if inner.op == "number":
        value = constant(inner)
        if value == 0:
            return call("np.zeros", r.shape(v.shape), "dtype=dtype")
        if value == 1:
            return call("np.ones", r.shape(v.shape), "dtype=dtype")
        return call("np.full", r.shape(v.shape), r.operand(inner).text, "dtype=dtype")
    return call("np.broadcast_to", r.operand(inner).text, r.shape(v.shape))


def _scale(r: Renderer, v: Value) -> Text:
    coefficient, inner = constant(v), r.operand(v.args[0])
    if coefficient == -1:
        return Text(f"-{inner.at(UNARY)}", UNARY)
    top, bottom = sp.fraction(coefficient)
    if bottom != 1 and abs(top) == 1:
        sign = "-" if top == -1 else ""
        divided = f"{inner.at(PRODUCT)} / {number_text(bottom, r.sizes).at(POWER)}"
        return Text(f"{sign}{divided}", PRODUCT if not sign else UNARY)
    return Text(f"{number_text(coefficient, r.sizes).at(UNARY)} * {inner.at(POWER)}", PRODUCT)


def _add(r: Renderer, v: Value) -> Text:
    text = ""
    for sign, a in zip(v.params, v.args, strict=True):
        part = r.operand(a)
        if not text:
            text = part.at(SUM)
        elif sign == 1:
            text += f" + {part.at(SUM) if not part.text.startswith('-') else f'({part.text})'}"
        else:
            text += f" - {part.at(PRODUCT)}"
    return Text(text, SUM)


def _multiply(r: Renderer, v: Value) -> Text:
    first, *rest = v.args
    # products on the left need no parentheses, those on the right do
    return Text(" * ".join([r.operand(first).at(PRODUCT), *[r.operand(a).at(UNARY) for a in rest]]), PRODUCT)


def _divide(r: Renderer, v: Value) -> Text:
    a, b = v.args
    return Text(f"{r.operand(a).at(PRODUCT)} / {r.operand(b).at(UNARY)}", PRODUCT)


def _matmul(r: Renderer, v: Value) -> Text:
    a, b = v.args
    return Text(f"{_matrix(r, a)} @ {r.operand(b).at(ATOM)}", PRODUCT)


def _matrix(r: Renderer, v: Value) -> str:
    """Return the left operand of a matrix product: only chains of such products need no parentheses."""
    text = r.operand(v)
    chained = v.number not in r.variables and v.op == "matmul"
    return text.text if chained else text.at(ATOM)


def _power(r: Renderer, v: Value) -> Text:
    base, exponent = v.args
    return Text(f"{r.operand(base).at(ATOM)} ** {r.operand(exponent).at(ATOM)}", POWER)


_NUMPY_CALLS = {
    name: f"np.{name}"
    for name in (
        "exp", "log", "sqrt", "abs", "sign", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
        "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "floor", "ceil",
    )
}  # fmt: skip


def _call(r: Renderer, v: Value) -> Text:
    name, x = str(v.params[0]), r.operand(v.args[0])
    if name in _NUMPY_CALLS:
        return call(_NUMPY_CALLS[name], x.text)
    special = split_key(name)
    if special is not None:
        row, orders = special
        return Text(row.code.format(x=x.text, k=", ".join(orders)))
    if name == "relu":
        return call("np.maximum", x.text, "0")
    if name == "step":
        return Text(f"({x.at(SUM)} > 0).astype(dtype)")
    if name == "erf":
        return Text(f"np.vectorize(math.erf, otypes=[float])({x.text}).astype(dtype)")
    if name == "softplus":  # log(1 + e^x), with the larger part taken out
        return Text(f"np.maximum({x.text}, 0) + np.log1p(np.exp(np.minimum({x.text}, -{x.at(UNARY)})))", SUM)
    raise UnsupportedYet(f"code for the function {name!r}: no NumPy text is known for it.")


def _heaviside(r: Renderer, v: Value) -> Text:
    at_zero = number_text(v.params[0], r.sizes).text
    return call("np.heaviside", r.operand(v.args[0]).text, at_zero)


def _compare(r: Renderer, v: Value) -> Text:
    a, b = (r.operand(x).at(SUM).replace(", dtype=dtype", "") for x in v.args)
    return Text(f"{a} {v.params[0]} {b}", COMPARISON)


def _and(r: Renderer, v: Value) -> Text:
    return Text(" & ".join(r.operand(a).at(SUM) for a in v.args), AND)


def _or(r: Renderer, v: Value) -> Text:
    return Text(" | ".join(r.operand(a).at(AND) for a in v.args), OR)


def _not(r: Renderer, v: Value) -> Text:
    return Text(f"~{r.operand(v.args[0]).at(ATOM)}", UNARY)


def _where(r: Renderer, v: Value) -> Text:
    text = call("np.where", *[r.operand(a).text for a in v.args])
    numbers = all(a.op == "number" for a in v.args[1:])
    return Text(f"{text.text}.astype(dtype)") if numbers else text


def _indicator(r: Renderer, v: Value) -> Text:
    return Text(f"({r.operand(v.args[0]).text}).astype(dtype)")


def _of_several(r: Renderer, v: Value) -> Text:
    return call(f"np.{v.op}", *[r.operand(a).text for a in v.args])


def _reduction(r: Renderer, v: Value) -> Text:
    axes, keepdims = v.params
    return Text(f"{r.operand(v.args[0]).at(ATOM)}.{v.op}({axis_text(axes, v.args[0].ndim, bool(keepdims))})")


def axis_text(axes: Any, ndim: int, keepdims: bool) -> str:
    """Return the arguments of a reduction."""
    parts = []
    if len(axes) < ndim or keepdims:
        one = -1 if axes == (ndim - 1,) and ndim > 1 else axes[0]
        parts.append(f"axis={one if len(axes) == 1 else tuple_text([str(a) for a in axes])}")
    if keepdims:
        parts.append("keepdims=True")
    return ", ".join(parts)


def _argextremum(r: Renderer, v: Value) -> Text:
    return Text(f"{r.operand(v.args[0]).at(ATOM)}.{v.op}(axis=-1, keepdims=True)")


def _pullback_rowsum(r: Renderer, v: Value) -> Text:
    s, g = (r.operand(a) for a in v.args)
    axis = axis_text((v.params[0],), v.ndim, True)
    return Text(f"{s.at(PRODUCT)} * ({g.at(SUM)} - ({s.at(PRODUCT)} * {g.at(UNARY)}).sum({axis}))", PRODUCT)


def _pullback_pairwise(r: Renderer, v: Value) -> Text:
    s, g = (r.operand(a).at(ATOM) for a in v.args)
    lead = ":, " * (v.ndim - 1)
    pairs = f"{s}[{lead}None, :] * ({g}[{lead}:, None] - {g}[{lead}None, :])"
    return Text(f"{s} * ({pairs}).sum(axis=-1)", PRODUCT)


def _concat(r: Renderer, v: Value) -> Text:
    return call("np.concatenate", tuple_text([r.operand(a).text for a in v.args]), f"axis={v.params[0]}")


def _copy(r: Renderer, v: Value) -> Text:
    return Text(f"{r.operand(v.args[0]).at(ATOM)}.copy()")


_RENDERERS: dict[str, Callable[[Renderer, Value], Text]] = {
    "input": _input,
    "number": _number,
    "arange": _arange,
    "eye": _eye,
    "truth": _truth,
    "transpose": _transpose,
    "pin": _pin,
    "reshape": _reshape,
    "expand": _expand,
    "take": _take,
    "slice": _slice,
    "diagonal": _diagonal,
    "broadcast": _broadcast,
    "scale": _scale,
    "add": _add,
    "multiply": _multiply,
    "divide": _divide,
    "matmul": _matmul,
    "power": _power,
    "call": _call,
    "heaviside": _heaviside,
    "compare": _compare,
    "and": _and,
    "or": _or,
    "not": _not,
    "where": _where,
    "indicator": _indicator,
    "maximum": _of_several,
    "minimum": _of_several,
    "arctan2": _of_several,
    **dict.fromkeys(("sum", "max", "min", "prod"), _reduction),
    "argmax": _argextremum,
    "argmin": _argextremum,
    "pullback_rowsum": _pullback_rowsum,
    "pullback_pairwise": _pullback_pairwise,
    "copy": _copy,
    **MATRIX_RENDERERS,
    "concat": _concat,
}
"""Operation to the function that writes it down."""
