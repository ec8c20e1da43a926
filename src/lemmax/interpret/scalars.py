r"""Scalar SymPy expressions, compiled to functions that fill the grid of their own indices.

A table from SymPy's classes to operations of the arithmetic, written out here; nothing is
turned into source text or handed to ``eval``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import sympy as sp

from lemmax.errors import MissingRule
from lemmax.expr.special import key_of, special_of
from lemmax.expr.tensor import TensorSymbol
from lemmax.interpret.entries import compile_entry, compile_index, read
from lemmax.interpret.frame import Frame
from lemmax.interpret.parts import (
    Part,
    Scope,
    add,
    aligned,
    alignment,
    combine,
    larger,
    multiply,
    smaller,
    union,
)
from lemmax.interpret.protocol import BoolArray, Condition
from lemmax.interpret.tables import COMPARISONS, CONSTANTS, FUNCTIONS


@singledispatch
def compile_scalar(expr: Any, scope: Scope) -> Part:
    """Compile a scalar expression in entries, indices and sizes.

    Raises:
        MissingRule: the interpreter has no operation for a part of it.
    """
    if expr in CONSTANTS:
        name = CONSTANTS[expr]
        return Part((), lambda frame: frame.arithmetic.constant(name))
    raise MissingRule(
        f"the interpreter cannot evaluate {type(expr).__name__} (in {expr}); "
        "its tables are FUNCTIONS and compile_scalar in lemmax.interpret.scalars."
    )


@compile_scalar.register(sp.Rational)
def _rational(expr: sp.Rational, scope: Scope) -> Part:
    return rational(expr)


def rational(expr: sp.Rational) -> Part:
    """Return the part that is a number."""
    p, q = int(expr.p), int(expr.q)
    return Part((), lambda frame: frame.arithmetic.rational(p, q))


@compile_scalar.register(sp.Float)
def _float(expr: sp.Float, scope: Scope) -> Part:
    # a Float is a binary fraction, exactly
    sign, mantissa, exponent, _ = expr._mpf_
    exact = (-1) ** int(sign) * sp.Integer(mantissa) * sp.Integer(2) ** exponent
    return rational(exact)


@compile_scalar.register(sp.Symbol)
def _symbol(expr: sp.Symbol, scope: Scope) -> Part:
    if isinstance(expr, TensorSymbol):
        return Part((), read(expr.tensor))
    return _integers(expr, scope)


def is_integer_arithmetic(expr: sp.Basic) -> bool:
    """Is the expression made of indices, sizes and integers by sums and products alone?"""
    if expr.is_Symbol:
        return not isinstance(expr, TensorSymbol)
    return bool(
        expr.is_Integer or ((expr.is_Add or expr.is_Mul) and all(map(is_integer_arithmetic, expr.args)))
    )


def _integers(expr: sp.Expr, scope: Scope) -> Part:
    """Compile integer arithmetic, which is exact in every arithmetic."""
    indices, grid = compile_index(expr, scope)
    return Part(indices, lambda frame: frame.arithmetic.integers(grid(frame)))


@compile_scalar.register(sp.Indexed)
def _indexed(expr: sp.Indexed, scope: Scope) -> Part:
    return compile_entry(expr, scope)


@compile_scalar.register(sp.Add)
def _add(expr: sp.Add, scope: Scope) -> Part:
    if is_integer_arithmetic(expr):
        return _integers(expr, scope)
    return combine([compile_scalar(a, scope) for a in expr.args], scope, add)


@compile_scalar.register(sp.Mul)
def _mul(expr: sp.Mul, scope: Scope) -> Part:
    if is_integer_arithmetic(expr):
        return _integers(expr, scope)
    deltas = [a for a in expr.args if isinstance(a, sp.KroneckerDelta)]
    rest = [compile_scalar(a, scope) for a in expr.args if not isinstance(a, sp.KroneckerDelta)]
    value = combine(rest, scope, multiply) if rest else rational(sp.S.One)
    for delta in deltas:  # a delta chooses entries: whatever stands where it is 0 has no influence
        value = choose(delta_condition(delta, scope), value, scope)
    return value


@compile_scalar.register(sp.Pow)
def _pow(expr: sp.Pow, scope: Scope) -> Part:
    base, exponent = expr.base, expr.exp
    part = compile_scalar(base, scope)
    if exponent.is_Integer:
        k = int(exponent)
        return Part(part.indices, lambda frame: frame.arithmetic.integer_power(part.run(frame), k))
    if exponent in (sp.S.Half, -sp.S.Half):
        root = _function_of(part, "sqrt")
        if exponent == sp.S.Half:
            return root
        return Part(part.indices, lambda frame: frame.arithmetic.integer_power(root.run(frame), -1))
    if base == sp.E:
        return _function_of(compile_scalar(exponent, scope), "exp")
    return combine([part, compile_scalar(exponent, scope)], scope, lambda a, x, y: a.power(x, y))


def _function_of(part: Part, name: str) -> Part:
    run = part.run
    return Part(part.indices, lambda frame: frame.arithmetic.function(name, run(frame)))


@compile_scalar.register(sp.Function)
def _function(expr: sp.Function, scope: Scope) -> Part:
    special = special_of(expr)
    if special is not None:
        row, orders, argument = special
        return _function_of(compile_scalar(argument, scope), key_of(row, orders))
    name = FUNCTIONS.get(type(expr))
    if name is None or len(expr.args) != 1:
        raise MissingRule(
            f"the interpreter has no function {type(expr).__name__} (in {expr}); "
            "it knows those in lemmax.interpret.scalars.FUNCTIONS."
        )
    return _function_of(compile_scalar(expr.args[0], scope), name)


@compile_scalar.register(sp.atan2)
def _angle(expr: sp.atan2, scope: Scope) -> Part:
    y, x = expr.args
    slope = sp.atan(y / x)
    behind = sp.Piecewise((slope + sp.pi, sp.Ge(y, 0)), (slope - sp.pi, True))
    beside = sp.Piecewise((sp.pi / 2, sp.Gt(y, 0)), (-sp.pi / 2, sp.Lt(y, 0)), (sp.S.Zero, True))
    whole = sp.Piecewise((slope, sp.Gt(x, 0)), (behind, sp.Lt(x, 0)), (beside, True), evaluate=False)
    return compile_scalar(whole, scope)


@compile_scalar.register(sp.Max)
def _max(expr: sp.Max, scope: Scope) -> Part:
    return combine([compile_scalar(a, scope) for a in _ordered(expr)], scope, larger)


@compile_scalar.register(sp.Min)
def _min(expr: sp.Min, scope: Scope) -> Part:
    return combine([compile_scalar(a, scope) for a in _ordered(expr)], scope, smaller)


def _ordered(expr: sp.Expr) -> list[sp.Expr]:
    # arguments of Max, Min, And and Or are sets
    return sorted(expr.args, key=sp.default_sort_key)


@compile_scalar.register(sp.KroneckerDelta)
def _delta(expr: sp.KroneckerDelta, scope: Scope) -> Part:
    return choose(delta_condition(expr, scope), rational(sp.S.One), scope)


@compile_scalar.register(sp.Piecewise)
def _piecewise(expr: sp.Piecewise, scope: Scope) -> Part:
    result = Part((), lambda frame: frame.arithmetic.constant("nan"))
    for value, condition in reversed(expr.args):
        branch = compile_scalar(value, scope)
        if condition == sp.true:
            result = branch
        else:
            result = choose(compile_condition(condition, scope), branch, scope, result)
    return result


# -- conditions: parts whose value is a Condition -------------------------------------------
def compile_condition(expr: sp.Basic, scope: Scope) -> Part:
    """Compile comparisons, ``And``, ``Or`` and ``Not``; the part's value is a :class:`Condition`.

    Raises:
        MissingRule: the condition is made of something else.
    """
    if expr in (sp.true, sp.false):
        constant = Condition(np.array(expr == sp.true))
        return Part((), lambda frame: constant)
    op = COMPARISONS.get(type(expr))
    if op is not None:
        left, right = (compile_scalar(a, scope) for a in expr.args)
        return combine([left, right], scope, lambda arithmetic, x, y: arithmetic.compare(op, x, y))
    if isinstance(expr, sp.Not):
        part = compile_condition(expr.args[0], scope)
        return Part(part.indices, lambda frame: _negate(part.run(frame)))
    if isinstance(expr, sp.And | sp.Or):
        parts = [compile_condition(a, scope) for a in _ordered(expr)]
        indices = union(parts, scope)
        runs = [aligned_condition(p, indices) for p in parts]
        join = np.logical_and if isinstance(expr, sp.And) else np.logical_or
        return Part(indices, lambda frame: _join(join, [run(frame) for run in runs]))
    raise MissingRule(
        f"the interpreter cannot evaluate the condition {expr}: expected comparisons, And, Or and Not."
    )


def delta_condition(expr: sp.KroneckerDelta, scope: Scope) -> Part:
    """Compile where a Kronecker delta is 1."""
    return compile_condition(sp.Eq(expr.args[0], expr.args[1], evaluate=False), scope)


def aligned_condition(part: Part, want: tuple[sp.Symbol, ...]) -> Callable[[Frame], Condition]:
    """Return a function that computes a condition with axes for all of ``want``."""
    if part.indices == want:
        return part.run
    key = alignment(part.indices, want)

    def run(frame: Frame) -> Condition:
        holds, doubtful = part.run(frame)
        return Condition(holds[key], None if doubtful is None else doubtful[key])

    return run


def choose(condition: Part, value: Part, scope: Scope, other: Part | None = None) -> Part:
    """Return ``value`` where a compiled condition holds, else ``other`` (0 if left out)."""
    if other is None:
        other = rational(sp.S.Zero)
    indices = union([condition, value, other], scope)
    where, yes, no = aligned_condition(condition, indices), aligned(value, indices), aligned(other, indices)
    return Part(indices, lambda frame: frame.arithmetic.select(where(frame), yes(frame), no(frame)))


def _negate(condition: Condition) -> Condition:
    return Condition(~condition.holds, condition.doubtful)


def _join(join: Callable[[BoolArray, BoolArray], BoolArray], conditions: list[Condition]) -> Condition:
    holds = conditions[0].holds
    doubtful = conditions[0].doubtful
    for other in conditions[1:]:
        holds = join(holds, other.holds)
        if other.doubtful is not None:
            doubtful = other.doubtful if doubtful is None else doubtful | other.doubtful
    return Condition(holds, doubtful)
