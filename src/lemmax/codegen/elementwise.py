r"""Entrywise expressions: a SymPy body becomes operations on arrays that broadcast.

Dispatch is a table from SymPy classes to named functions; a class without a row is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy as sp
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from lemmax.calculus.kinks import is_squares
from lemmax.calculus.terms import entry_tensor
from lemmax.codegen.labels import Frame, Labelled, combine
from lemmax.codegen.values import Pool, Value
from lemmax.errors import UnsupportedYet
from lemmax.expr.functions import relu, sigmoid, softplus, step
from lemmax.expr.graph import inputs_of
from lemmax.expr.indices import is_index
from lemmax.expr.sizes import Size
from lemmax.expr.special import SPECIAL_CLASSES, key_of, special_of
from lemmax.expr.tensor import Tensor, TensorSymbol

Lookup = Callable[[Tensor], Value]
"""Return the array of a tensor that occurs in a body."""


class Reader:
    """Turns bodies into labelled values.

    Attributes:
        pool: where the values are made.
        frame: sizes and order of the index symbols.
        array: gives the array of a tensor.
    """

    def __init__(self, pool: Pool, frame: Frame, array: Lookup) -> None:
        """Read bodies over the labels of ``frame``."""
        self.pool = pool
        self.frame = frame
        self.array = array

    def read(self, expr: sp.Basic) -> Labelled:
        """Return the array of all values of ``expr`` as its indices run.

        Raises:
            UnsupportedYet: a function has no NumPy form here.
        """
        if isinstance(expr, sp.Expr) and not _has_variable(expr):
            return Labelled(self.pool.number(expr), ())
        for kind in type(expr).__mro__:
            if kind in _READERS:
                return _READERS[kind](self, expr)
        raise UnsupportedYet(
            f"code for {type(expr).__name__} in {expr}: no NumPy form is known; "
            "the table is in lemmax/codegen/elementwise.py."
        )

    def combined(self, expr: sp.Basic, make: Callable[[list[Value]], Value]) -> Labelled:
        """Read the arguments of ``expr``, line them up and put ``make`` on them."""
        values, labels = combine(self.pool, self.frame, [self.read(a) for a in expr.args])
        return Labelled(make(values), labels)


def _has_variable(expr: sp.Basic) -> bool:
    """Does the expression hold an entry of a tensor or an index (and not only numbers and sizes)?"""
    return any(isinstance(s, TensorSymbol) or is_index(s) for s in expr.atoms(sp.Symbol))


def read_entry(reader: Reader, expr: sp.Indexed) -> Labelled:
    """An entry: axes with an index symbol stay, fixed indices are taken, equal indices give a diagonal."""
    value = reader.array(expr.base.label.tensor)
    return entry(reader.pool, value, expr.indices, reader.frame.sizes, str(expr))


def entry(
    pool: Pool, value: Value, indices: tuple[sp.Expr, ...], sizes: Mapping[sp.Symbol, Size], text: str
) -> Labelled:
    """Return ``value[indices]`` with a label on each axis that is left."""
    fixed: list[tuple[int, sp.Expr]] = []
    labels: list[sp.Symbol] = []
    for axis, index in enumerate(indices):
        if is_index(index):
            labels.append(index)
        elif any(is_index(s) for s in index.free_symbols):
            raise UnsupportedYet(
                f"code for the entry {text}: the index {index} is neither an index symbol nor fixed; "
                "use slices (A[1:]) and lx.concat for shifted axes."
            )
        else:
            fixed.append((axis, index))
    value = pool.take(value, fixed)
    while len(set(labels)) < len(labels):
        first, second = next(
            (p, q) for p in range(len(labels)) for q in range(p + 1, len(labels)) if labels[p] == labels[q]
        )
        value = pool.diagonal(value, first, second)
        labels = [x for p, x in enumerate(labels) if p not in (first, second)] + [labels[first]]
    return Labelled(value, tuple(labels))


def read_symbol(reader: Reader, expr: sp.Symbol) -> Labelled:
    """A scalar tensor, or an index symbol as a number."""
    if isinstance(expr, TensorSymbol):
        return Labelled(reader.array(expr.tensor), ())
    return Labelled(reader.pool.arange(reader.frame.sizes[expr]), (expr,))


def read_sum(reader: Reader, expr: sp.Add) -> Labelled:
    """A sum of entrywise expressions."""
    return reader.combined(expr, reader.pool.add)


def read_product(reader: Reader, expr: sp.Mul) -> Labelled:
    """A product; factors with negative exponents become one divisor."""
    above, below = [], []
    for factor in expr.args:
        # exp(-x) is a function here, no quotient
        if isinstance(factor, sp.Pow) and _has_variable(factor) and factor.exp.could_extract_minus_sign():
            below.append(factor)
        else:
            above.append(factor)
    items = [reader.read(f) for f in above], [read_divisor(reader, f) for f in below]
    values, labels = combine(reader.pool, reader.frame, [*items[0], *items[1]])
    top = reader.pool.multiply(values[: len(above)]) if above else reader.pool.number(1)
    if not below:
        return Labelled(top, labels)
    return Labelled(reader.pool.divide(top, reader.pool.multiply(values[len(above) :])), labels)


def read_divisor(reader: Reader, expr: sp.Pow) -> Labelled:
    """The reciprocal of a power with a negative exponent; what was a norm must not be 0."""
    base, exponent = expr.base, -expr.exp
    inner = reader.read(sp.Pow(base, exponent))
    if exponent.is_Rational and exponent.q == 2 and is_squares(base):
        tensor = entry_tensor(base)
        label = "a norm" if tensor is None else f"the root of {_told(tensor)}"
        return Labelled(reader.pool.make("nonzero", (inner.value,), (label,)), inner.labels)
    return inner


def _told(t: Tensor) -> str:
    """Return what a sum of squares is made of, by names."""
    if t.name is not None:
        return str(t.name)
    names = sorted(str(p.name) for p in inputs_of(t))
    return f"a sum of squares in {', '.join(names)}"


def read_power(reader: Reader, expr: sp.Pow) -> Labelled:
    """A power: square root, quotient, or power with a fixed or varying exponent."""
    base, exponent = expr.base, expr.exp
    pool = reader.pool
    if _has_variable(exponent):
        return reader.combined(expr, lambda v: pool.make("power", v))
    if exponent.could_extract_minus_sign():
        inner = read_divisor(reader, expr)
        return Labelled(pool.divide(pool.number(1), inner.value), inner.labels)
    inner = reader.read(base)
    if exponent == 1:
        return inner
    if exponent == sp.S.Half:
        return Labelled(pool.make("call", (inner.value,), ("sqrt",)), inner.labels)
    return Labelled(pool.make("power", (inner.value, pool.number(exponent))), inner.labels)


def read_delta(reader: Reader, expr: sp.KroneckerDelta) -> Labelled:
    """A Kronecker delta: the identity matrix, or the mark of one position."""
    p, q = expr.args
    sizes = reader.frame.sizes
    if is_index(p) and is_index(q) and sizes[p] == sizes[q]:
        labels = reader.frame.sort([p, q])
        return Labelled(reader.pool.make("eye", (), (), (sizes[p], sizes[p])), labels)
    index, other = (p, q) if is_index(p) else (q, p)
    compared = reader.combined(
        sp.Eq(index, other, evaluate=False), lambda v: reader.pool.make("compare", v, ("==",))
    )
    return Labelled(reader.pool.make("indicator", (compared.value,)), compared.labels)


def read_piecewise(reader: Reader, expr: sp.Piecewise) -> Labelled:
    """A choice by conditions: nested ``np.where``; a branch that is not chosen has no influence."""
    pool = reader.pool
    pieces = [(reader.read(value), condition) for value, condition in expr.args]
    last, condition = pieces[-1]
    if condition not in (True, sp.true):
        last = Labelled(pool.number(sp.nan), ())
    else:
        pieces.pop()
    for value, condition in reversed(pieces):
        values, labels = combine(pool, reader.frame, [reader.read(condition), value, last])
        last = Labelled(pool.make("where", values), labels)
    return last


_COMPARISONS: dict[type[sp.Basic], str] = {
    sp.Eq: "==", sp.Ne: "!=", sp.Ge: ">=", sp.Le: "<=", sp.Gt: ">", sp.Lt: "<",
}  # fmt: skip


def read_comparison(reader: Reader, expr: sp.Rel) -> Labelled:
    """A comparison, entry by entry."""
    sign = _COMPARISONS[type(expr)]
    return reader.combined(expr, lambda v: reader.pool.make("compare", v, (sign,)))


def read_logic(reader: Reader, expr: sp.Basic) -> Labelled:
    """``and``, ``or``, ``not`` of conditions."""
    op = {sp.And: "and", sp.Or: "or", sp.Not: "not"}[type(expr)]
    return reader.combined(expr, lambda v: reader.pool.make(op, v))


def read_truth(reader: Reader, expr: sp.Basic) -> Labelled:
    """A condition that is decided."""
    return Labelled(reader.pool.make("truth", (), (expr is sp.true,), ()), ())


def read_extremum(reader: Reader, expr: sp.Basic) -> Labelled:
    """The largest or smallest of several values, entry by entry."""
    op = "maximum" if isinstance(expr, sp.Max) else "minimum"

    def make(values: list[Value]) -> Value:
        # numbers last, as in np.maximum(x, 0)
        ordered = sorted(values, key=lambda v: v.op == "number")
        result = ordered[0]
        for v in ordered[1:]:
            result = reader.pool.make(op, (result, v))
        return result

    return reader.combined(expr, make)


def read_angle(reader: Reader, expr: sp.atan2) -> Labelled:
    """The angle of a point."""
    return reader.combined(expr, lambda v: reader.pool.make("arctan2", v))


_CALLS: dict[type[sp.Basic], str] = {
    sp.exp: "exp", sp.log: "log", sp.Abs: "abs", sp.sign: "sign",
    sp.sin: "sin", sp.cos: "cos", sp.tan: "tan", sp.asin: "arcsin", sp.acos: "arccos", sp.atan: "arctan",
    sp.sinh: "sinh", sp.cosh: "cosh", sp.tanh: "tanh",
    sp.asinh: "arcsinh", sp.acosh: "arccosh", sp.atanh: "arctanh",
    sp.erf: "erf", softplus: "softplus", relu: "relu", step: "step",
    sp.floor: "floor", sp.ceiling: "ceil",
}  # fmt: skip
"""Functions of one argument: SymPy class to the name that the targets know."""


def read_call(reader: Reader, expr: sp.Function) -> Labelled:
    """A function of one argument."""
    name = _CALLS[type(expr)]
    inner = reader.read(expr.args[0])
    return Labelled(reader.pool.make("call", (inner.value,), (name,)), inner.labels)


def read_special(reader: Reader, expr: sp.Function) -> Labelled:
    """A special function, whose orders are numbers."""
    found = special_of(expr)
    if found is None:
        raise UnsupportedYet(f"code for {expr}: its orders must be numbers.")
    row, orders, argument = found
    inner = reader.read(argument)
    return Labelled(reader.pool.make("call", (inner.value,), (key_of(row, orders),)), inner.labels)


def read_sigmoid(reader: Reader, expr: sp.Function) -> Labelled:
    """The logistic function."""
    inner = reader.read(expr.args[0])
    return Labelled(reader.pool.make("sigmoid", (inner.value,)), inner.labels)


def read_heaviside(reader: Reader, expr: sp.Heaviside) -> Labelled:
    """The unit step with its value at 0."""
    inner = reader.read(expr.args[0])
    at_zero = expr.args[1] if len(expr.args) > 1 else sp.S.Half
    return Labelled(reader.pool.make("heaviside", (inner.value,), (at_zero,)), inner.labels)


_READERS: dict[type[sp.Basic], Callable[[Reader, sp.Basic], Labelled]] = {
    sp.Indexed: read_entry,
    sp.Symbol: read_symbol,
    sp.Add: read_sum,
    sp.Mul: read_product,
    sp.Pow: read_power,
    sp.KroneckerDelta: read_delta,
    sp.Piecewise: read_piecewise,
    sp.And: read_logic,
    sp.Or: read_logic,
    sp.Not: read_logic,
    BooleanTrue: read_truth,
    BooleanFalse: read_truth,
    sp.Max: read_extremum,
    sp.Min: read_extremum,
    sp.Heaviside: read_heaviside,
    sp.atan2: read_angle,
    **dict.fromkeys(_COMPARISONS, read_comparison),
    **dict.fromkeys(_CALLS, read_call),
    **dict.fromkeys(SPECIAL_CLASSES, read_special),
    sigmoid: read_sigmoid,
}
"""SymPy class to the function that reads it."""
