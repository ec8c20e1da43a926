r"""Arrays of the generated program: a value is one NumPy operation on other values.

Values are interned: building the same operation twice gives the same object, so that common
subexpressions are shared by construction, across all outputs.  The constructors here also do
the rewriting that concerns single operations: a transpose of a transpose is one transpose, a
reshape to the same shape is nothing, a sum with a negated summand is a difference.

A value knows its shape in symbolic sizes and its place in the order of creation; nothing here
knows tensors, index symbols or Python text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from lemmax.expr.sizes import Size, same_size

Shape = tuple[Size, ...]
Extent = Callable[[sp.Expr], float]
"""The representative value of a size."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One operation on arrays; two values are equal exactly if they are the same object.

    Attributes:
        op: name of the operation, a key into the tables of the targets.
        args: the operands.
        params: what else the operation needs (axes, exponents, names).
        shape: sizes by axis.
        number: position in the order of creation.
    """

    op: str
    args: tuple[Value, ...]
    params: tuple[Any, ...]
    shape: Shape
    number: int

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        """Show operation and shape."""
        return f"<{self.number}: {self.op}{self.params or ''} {self.shape}>"


class Pool:
    """All values of one program; every constructor returns a value that was there before if there is one.

    Numbers move outwards: a view of a scaled array is the scaled view.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._known: dict[tuple[Hashable, ...], Value] = {}

    def make(
        self, op: str, args: Sequence[Value], params: tuple[Hashable, ...] = (), shape: Shape | None = None
    ) -> Value:
        """Return the value ``op(*args)``; its shape is that of the operands broadcast if none is given."""
        if shape is None:
            shape = broadcast_shape([a.shape for a in args])
        key = (op, tuple(a.number for a in args), params, shape)
        if key not in self._known:
            self._known[key] = Value(op, tuple(args), params, shape, len(self._known))
        return self._known[key]

    # -- leaves --------------------------------------------------------------------------
    def number(self, value: sp.Expr | int) -> Value:
        """A number, or an expression in sizes."""
        return self.make("number", (), (sp.sympify(value),), ())

    def arange(self, size: Size) -> Value:
        """The numbers 0, 1, ..., size - 1."""
        return self.make("arange", (), (), (size,))

    # -- views ---------------------------------------------------------------------------
    def transpose(self, v: Value, axes: Sequence[int]) -> Value:
        """Axes in another order, as in NumPy."""
        order = tuple(axes)
        if order == tuple(range(v.ndim)):
            return v
        if v.op == "scale":
            return self.scale(constant(v), self.transpose(v.args[0], order))
        if v.op == "transpose":
            return self.transpose(v.args[0], [v.params[0][a] for a in order])
        return self.make("transpose", (v,), (order,), tuple(v.shape[a] for a in order))

    def reshape(self, v: Value, shape: Sequence[Size]) -> Value:
        """Row-major reshape."""
        new = tuple(shape)
        if len(new) == v.ndim and all(same_size(a, b) for a, b in zip(new, v.shape, strict=True)):
            return v
        if v.op == "scale":
            return self.scale(constant(v), self.reshape(v.args[0], new))
        if v.op == "reshape":
            return self.reshape(v.args[0], new)
        return self.make("reshape", (v,), (), new)

    def expand(self, v: Value, positions: Sequence[int]) -> Value:
        """New axes of size 1 at ``positions`` of the result."""
        if not positions:
            return v
        if v.op == "number":
            return v
        if v.op == "scale":
            return self.scale(constant(v), self.expand(v.args[0], positions))
        if v.op == "take" and _restores(v, positions):
            return v.args[0]
        rest = iter(v.shape)
        total = v.ndim + len(positions)
        shape = tuple(sp.S.One if p in positions else next(rest) for p in range(total))
        return self.make("expand", (v,), (tuple(sorted(positions)),), shape)

    def take(self, v: Value, at: Sequence[tuple[int, sp.Expr]]) -> Value:
        """Single positions along some axes, which disappear."""
        if not at:
            return v
        if v.op == "scale":
            return self.scale(constant(v), self.take(v.args[0], at))
        gone = {axis for axis, _ in at}
        in_order: list[tuple[int, sp.Expr]] = sorted(at, key=_axis_of)
        shape = tuple(s for p, s in enumerate(v.shape) if p not in gone)
        return self.make("take", (v,), tuple(in_order), shape)

    def pin(self, v: Value) -> Value:
        """The same array, as a place where views of views start anew: what is behind it may be named."""
        return self.make("pin", (v,), (), v.shape) if v.op == "transpose" else v

    def diagonal(self, v: Value, first: int, second: int) -> Value:
        """Entries with equal indices on two axes; their common axis becomes the last."""
        shape = (*[s for p, s in enumerate(v.shape) if p not in (first, second)], v.shape[first])
        return self.make("diagonal", (v,), (first, second), shape)

    def broadcast(self, v: Value, shape: Shape) -> Value:
        """The same numbers repeated along axes of size 1 and new leading axes."""
        if len(shape) == v.ndim and all(same_size(a, b) for a, b in zip(shape, v.shape, strict=True)):
            return v
        return self.make("broadcast", (v,), (), shape)

    # -- arithmetic ----------------------------------------------------------------------
    def scale(self, coefficient: sp.Expr, v: Value) -> Value:
        """A number times an array."""
        if v.op == "number":
            return self.number(coefficient * constant(v))
        if v.op == "scale":
            return self.scale(coefficient * constant(v), v.args[0])
        if _is_one(coefficient):
            return v
        return self.make("scale", (v,), (coefficient,))

    def add(self, parts: Sequence[Value]) -> Value:
        """The sum of values, broadcast; a common factor is taken out, negated summands are subtracted."""
        if len(parts) == 1:
            return parts[0]
        one = self.number(1)
        split = [(constant(p), one) if p.op == "number" else _coefficient(p) for p in parts]
        magnitudes = {_magnitude(c) for c, p in split if p.op != "number"}
        if (
            len(magnitudes) == 1
            and not _is_one(common := magnitudes.pop())
            and all(p.op != "number" for _, p in split)
        ):
            # signs, not quotients: 0.1 / 0.1 of floats is no integer 1, and x * (1 / x) may not be 1 at all
            signed = [self.scale(sp.S.NegativeOne if _is_negative(c) else sp.S.One, p) for c, p in split]
            return self.scale(common, self.add(signed))
        signs, args = [], []
        for c, p in sorted(split, key=lambda pair: _is_negative(pair[0])):  # stable: positive summands first
            negative = _is_negative(c)
            signs.append(-1 if negative else 1)
            args.append(self.scale(-c if negative else c, p))
        if signs[0] < 0:  # all are negative
            return self.scale(sp.S.NegativeOne, self.add(args))
        return self.make("add", args, tuple(signs))

    def multiply(self, parts: Sequence[Value]) -> Value:
        """The product of values, broadcast; numbers are collected in front, reciprocals become a divisor."""
        coefficient: sp.Expr = sp.S.One
        rest: list[Value] = []
        below: list[Value] = []
        for part in parts:
            c, inner = _coefficient(part)
            coefficient *= c
            if inner.op == "number":
                coefficient *= constant(inner)
            elif inner.op == "divide" and inner.args[0].op == "number":
                coefficient *= constant(inner.args[0])
                below.append(inner.args[1])
            else:
                rest.append(inner)
        if rest and below:
            return self.scale(coefficient, self.divide(self.multiply(rest), self.multiply(below)))
        rest += [self.divide(self.number(1), b) for b in below]
        if not rest:
            return self.number(coefficient)
        product = rest[0] if len(rest) == 1 else self.make("multiply", rest)
        return self.scale(coefficient, product)

    def divide(self, a: Value, b: Value) -> Value:
        """The quotient of two values, broadcast."""
        if b.op == "number":
            return self.scale(1 / constant(b), a)
        c, inner = _coefficient(a)
        return self.scale(c, self.make("divide", (inner, b)))

    # -- reductions and products -----------------------------------------------------------
    def reduce(self, op: str, v: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        """``sum``, ``max``, ``min`` or ``prod`` over axes."""
        if not axes:
            return v
        gone = tuple(sorted(axes))
        if keepdims:
            shape = tuple(sp.S.One if p in gone else s for p, s in enumerate(v.shape))
        else:
            shape = tuple(s for p, s in enumerate(v.shape) if p not in gone)
        return self.make(op, (v,), (gone, keepdims), shape)

    def matmul(self, a: Value, b: Value) -> Value:
        """NumPy's ``a @ b``."""
        rows, cols = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
        lead = broadcast_shape([a.shape[:-2], b.shape[:-2]])
        return self.make("matmul", (a, b), (), lead + rows + cols)


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the common shape under NumPy's rules; sizes of 1 give way."""
    ndim = max((len(s) for s in shapes), default=0)
    result: list[Size] = []
    for back in range(ndim, 0, -1):
        sizes = [s[-back] for s in shapes if len(s) >= back and s[-back] != 1]
        result.append(sizes[0] if sizes else sp.S.One)
    return tuple(result)


def constant(v: Value) -> sp.Expr:
    """Return the SymPy expression of a number, or the coefficient of a scaled value."""
    value: sp.Expr = v.params[0]
    return value


def _axis_of(pair: tuple[int, sp.Expr]) -> int:
    return pair[0]


def _restores(v: Value, positions: Sequence[int]) -> bool:
    """Do new axes at ``positions`` bring back axes of size 1 that ``v`` has dropped?"""
    axes = tuple(axis for axis, _ in v.params)
    return axes == tuple(sorted(positions)) and all(v.args[0].shape[axis] == 1 for axis in axes)


def _coefficient(v: Value) -> tuple[sp.Expr, Value]:
    return (constant(v), v.args[0]) if v.op == "scale" else (sp.S.One, v)


def _is_negative(c: sp.Expr) -> bool:
    return bool(c.could_extract_minus_sign()) if not c.is_number else bool(c < 0)


def _is_one(c: sp.Expr) -> bool:
    return bool(c == 1 or (c.is_Float and c == 1.0))


def _magnitude(c: sp.Expr) -> sp.Expr:
    return -c if _is_negative(c) else c
