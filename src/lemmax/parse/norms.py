r"""Norms, absolute values, inner products, whole parts, binomial coefficients."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import sympy as sp

from lemmax.expr import functionals, reductions
from lemmax.expr.special import WRITTEN
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise, multiply, transpose
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import (
    ONE,
    Form,
    Whole,
    applied,
    demand_scalar,
    described,
    is_column,
    is_scalar,
    same_shape,
    total,
)
from lemmax.parse.meaning import mean
from lemmax.parse.reader import read_exponent
from lemmax.parse.scripts import joined

_FROBENIUS = frozenset(["F", "HS", "Fro", "fro", "Frob"])
_SPECTRAL = frozenset(["2", "op", "spec", r"2\to2", r"2\rightarrow2"])
_NUCLEAR = frozenset(["*", r"\ast", "nuc", "S_1", "tr"])
_MAXIMUM = frozenset([r"\infty", "max"])
_MOST_WRITTEN_OUT = 6  # factors of a binomial coefficient
_OF_NUMBERS: dict[str, Callable[..., sp.Expr]] = {
    "floor": sp.floor,
    "ceiling": sp.ceiling,
    "binomial": lambda x, k: _binomial(x, k),
    "factorial": lambda x: sp.gamma(x + 1),
}


def fenced(ctx: Context, part: r.Fence, around: r.Scripted | None) -> Form:
    """Return what stands between marks; ``around`` carries the subscript of a norm."""
    sub = joined(around.sub) if around is not None else ""
    part = _double_bars(part)
    if part.kind != "norm" and sub and not (part.kind == "inner" and sub in _FROBENIUS):
        raise Failure(part.span, f"{ctx.text(part)} with the subscript {sub} has no meaning.")
    span = (
        part.span
        if around is None or not around.sub
        else (part.span[0], max(part.span[1], around.sub_span[1]))
    )
    if part.kind == "inner":
        return _inner(ctx, mean(ctx, part.parts[0]), mean(ctx, part.parts[1]), span)
    if part.kind in _OF_NUMBERS:
        numbers = [mean(ctx, p) for p in part.parts]
        if part.kind not in ("floor", "ceiling"):  # vectors and matrices are rounded entry by entry
            for number in numbers:
                demand_scalar(ctx, number, part.kind)
        return entrywise(ctx, _OF_NUMBERS[part.kind], numbers, span, part.kind)
    inside = mean(ctx, part.parts[0])
    text = ctx.text(part.parts[0])
    if part.kind == "absolute":
        readings = (rf"\operatorname{{abs}}({text}), entry by entry", rf"\|{text}\|", rf"\det({text})")
        demand_scalar(ctx, inside, "an absolute value", readings)
        return entrywise(ctx, sp.Abs, [inside], span, "absolute value")
    weight = _weight(ctx, inside, around) if around is not None else None
    return norm(ctx, inside, sub, span) if weight is None else _weighted(ctx, inside, weight, span)


def _weight(ctx: Context, inside: Form, around: r.Scripted) -> Form | None:
    r"""Return the matrix in the subscript of a vector norm, as in :math:`\|x\|_{A^{-1}}`."""
    sub = joined(around.sub)
    vector = ctx.is_trivial(inside.rows) or ctx.is_trivial(inside.columns)
    if not sub or not vector or sub in _FROBENIUS | _SPECTRAL | _MAXIMUM | {"1", "1,1", r"\ell_1"}:
        return None
    try:
        value = read_exponent(around.sub, around.sub_span[1]).value
        found = None if value is None else mean(ctx, value)
    except Failure:
        return None
    return None if found is None or is_scalar(ctx, found) else found


def _weighted(ctx: Context, a: Form, weight: Form, span: Span) -> Form:
    column = a if is_column(ctx, a) else transpose(a, a.span)
    square = multiply(ctx, [transpose(column, a.span), weight, column], span)
    return entrywise(ctx, sp.sqrt, [square], span, "norm")


def _binomial(x: sp.Expr, k: sp.Expr) -> sp.Expr:
    if k.is_Integer and 0 <= k <= _MOST_WRITTEN_OUT:
        return sp.Mul(*[x - p for p in range(int(k))]) / sp.factorial(k)
    return WRITTEN["binom"](x, k)


def _double_bars(part: r.Fence) -> r.Fence:
    """Read ``||A||``, bars side by side, as a norm."""
    inner = part.parts[0]
    if not (isinstance(inner, r.Fence) and part.kind == inner.kind == "absolute"):
        return part
    is_double = inner.span == (part.span[0] + 1, part.span[1] - 1)
    return replace(part, kind="norm", parts=inner.parts) if is_double else part


def norm(ctx: Context, inside: Form, kind: str, span: Span) -> Form:
    """Return a norm; its subscript says which.

    Raises:
        Failure: the subscript is not known, or several norms are called so.
    """
    text = ctx.text(inside.span)
    vector = ctx.is_trivial(inside.rows) or ctx.is_trivial(inside.columns)
    if kind in _FROBENIUS or (vector and kind in ("", "2")):
        return _euclidean(ctx, inside, span)
    if not vector and kind in _SPECTRAL:
        return _of_matrix(ctx, inside, functionals.spectral_norm, span)
    if kind in _NUCLEAR and not vector:
        return _of_matrix(ctx, inside, functionals.nuclear_norm, span)
    if kind == "max" or (vector and kind in _MAXIMUM):
        return _largest(ctx, inside, span)
    if kind in ("1,1", r"\ell_1") or (vector and kind == "1"):
        return _sum_of(ctx, inside, span)
    if vector and re.fullmatch(r"\d+(\.\d+)?", kind) and float(kind) > 1:
        return _power_norm(ctx, inside, sp.Rational(kind), span)
    readings = {
        "2,1": [rf"\sum_j \|{text}_{{:,j}}\|, of the columns", rf"\sum_i \|{text}_{{i,:}}\|, of the rows"],
        "": [rf"\|{text}\|_F, the Frobenius norm", rf"\|{text}\|_2, the largest singular value"],
        "1": [
            rf"\|{text}\|_{{1,1}}, the sum of absolute entries",
            "the largest column sum, which lemmax does not have",
        ],
        r"\infty": [
            rf"\|{text}\|_{{\max}}, the largest absolute entry",
            "the largest row sum, which lemmax does not have",
        ],
    }.get(kind, [])
    what = f"the norm {kind or 'without a subscript'} of {described(ctx, inside)}"
    known = r"F, 2, *, 1, \infty, \max; of vectors also numbers above 1, and weights such as A"
    raise Failure(
        span, f"{what} is not clear." if readings else f"{what} is not known; known: {known}.", readings
    )


def _euclidean(ctx: Context, a: Form, span: Span) -> Form:
    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return sp.sqrt(total(ctx, lambda i, j: a.entry(i, j) ** 2, a.rows, a.columns))

    return Form(span, ONE, ONE, entry)


def _sum_of(ctx: Context, a: Form, span: Span) -> Form:
    return Form(
        span, ONE, ONE, lambda row, column: total(ctx, lambda i, j: sp.Abs(a.entry(i, j)), a.rows, a.columns)
    )


def _power_norm(ctx: Context, a: Form, p: sp.Rational, span: Span) -> Form:
    def power(x: sp.Expr) -> sp.Expr:
        return x**p if p.is_even else sp.Abs(x) ** p

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return total(ctx, lambda i, j: power(a.entry(i, j)), a.rows, a.columns) ** (1 / p)

    return Form(span, ONE, ONE, entry)


def _largest(ctx: Context, a: Form, span: Span) -> Form:
    if is_scalar(ctx, a):
        return entrywise(ctx, sp.Abs, [a], span, "norm")

    def make(x: Whole) -> Tensor:
        return reductions.max(x.tensor, axis=tuple(range(len(x.letters), x.tensor.ndim)))

    return applied(ctx, entrywise(ctx, sp.Abs, [a], span, "norm"), make, ONE, ONE, span)


def _of_matrix(ctx: Context, a: Form, function: Callable[[Tensor], Tensor], span: Span) -> Form:
    return applied(ctx, a, lambda x: function(x.tensor), ONE, ONE, span)


def _inner(ctx: Context, a: Form, b: Form, span: Span) -> Form:
    same_shape(ctx, a, b, "inner product")

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return total(ctx, lambda i, j: a.entry(i, j) * b.entry(i, j), a.rows, a.columns)

    return Form(span, ONE, ONE, entry)
