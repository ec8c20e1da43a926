r"""Arithmetic of forms: sums, matrix products, entrywise and Kronecker products, transposes, powers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import sympy as sp

from lemmax.expr.linalg import inv
from lemmax.expr.matrix_functions import matrix_power as lx_matrix_power
from lemmax.expr.matrix_functions import pinv
from lemmax.expr.sizes import same_size
from lemmax.parse import pairs
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import (
    ONE,
    Form,
    applied,
    demand_scalar,
    demand_square,
    described,
    is_column,
    is_row,
    is_scalar,
    misfit,
    same_shape,
    scalar,
)

_MOST_BITS = 20_000  # of a power of numbers
_HIGHEST_POWER = 64  # of a matrix


def spanning(forms: Sequence[Form]) -> Span:
    """Return the place that forms cover together."""
    return min(f.span[0] for f in forms), max(f.span[1] for f in forms)


def transpose(a: Form, span: Span) -> Form:
    """Return the transpose."""
    return pairs.transposed(a, span)


def add(ctx: Context, signs: Sequence[int], forms: Sequence[Form], span: Span) -> Form:
    """Return a sum; the number 0 fits every shape."""
    kept = [(s, f) for s, f in zip(signs, forms, strict=True) if not f.is_zero]
    if not kept:
        return forms[0].at(span)
    first = next((f for _, f in kept if not is_scalar(ctx, f)), kept[0][1])
    for _, form in kept:
        if form is first:
            continue
        if is_scalar(ctx, first) != is_scalar(ctx, form):
            _check_added(ctx, form, first)
        else:
            same_shape(ctx, first, form, "sum")

    def body(*entries: sp.Expr) -> sp.Expr:
        return sp.Add(*[s * e for (s, _), e in zip(kept, entries, strict=True)])

    return pairs.combined(ctx, [f for _, f in kept], body, first.rows, first.columns, span)


def _check_added(ctx: Context, number: Form, form: Form) -> None:
    r"""Check that a scalar beside a vector or a matrix is a number added to each entry: ``1 - p``.

    Beside what may be square a number may stand for a multiple of the identity, and a scalar that is no
    number is more often a slip.

    Raises:
        Failure: there are other readings.
    """
    entry = number.entry(sp.S.Zero, sp.S.Zero)
    sizes = [ctx.unknowns.value(s) for s in (form.rows, form.columns)]
    is_vector = any(ctx.is_trivial(s) for s in sizes)
    may_be_square = not is_vector and not (
        all(ctx.unknowns.is_known(s) for s in sizes) and not same_size(*sizes)
    )
    if isinstance(entry, sp.Number) and all(map(ctx.unknowns.is_known, sizes)) and not may_be_square:
        return
    text = ctx.text(number.span)
    ones = r"\mathbf{1} \mathbf{1}^\top"
    if is_vector:
        ones = r"\mathbf{1}" if ctx.is_trivial(sizes[1]) else r"\mathbf{1}^\top"
    readings = [f"{text} {ones}, added to each entry", *([f"{text} I"] if may_be_square else [])]
    raise Failure(
        spanning([number, form]),
        f"a sum of the scalar {text} and {described(ctx, form)}: say what is added to each entry.",
        readings,
        is_shape=not may_be_square,
    )


def scale(ctx: Context, factors: Sequence[Form], form: Form, span: Span) -> Form:
    """Return scalars times a form."""
    if not factors:
        return form.at(span)
    made = pairs.combined(ctx, [*factors, form], lambda *x: sp.Mul(*x), form.rows, form.columns, span)
    return replace(made, is_zero=any(f.is_zero for f in factors) or form.is_zero)


# -- matrix products -----------------------------------------------------------------------------
def multiply(ctx: Context, factors: Sequence[Form], span: Span) -> Form:
    r"""Return the product of factors side by side.

    Factors are joined where columns meet rows, as brackets match: there is one way at most, and
    a part that becomes a scalar, such as the second half of ``A x^\top y``, scales the others.
    """
    scalars: list[Form] = []
    stack: list[Form] = []
    for factor in factors:
        if is_scalar(ctx, factor):
            scalars.append(factor)
            continue
        stack.append(factor)
        while len(stack) > 1:
            left, right = stack[-2:]
            open_left, open_right = not ctx.is_trivial(left.columns), not ctx.is_trivial(right.rows)
            if open_left and not open_right:
                break  # a row after a matrix: what follows may close it
            if open_right and not open_left:
                raise misfit(ctx, "product", left, right, hint=_product_hint(ctx, left, right))
            if open_left:
                ctx.fit(
                    left.columns,
                    right.rows,
                    misfit(ctx, "product", left, right, hint=_transposing(ctx, left, right)),
                )
            stack[-2:] = [pairs.product(ctx, left, right, spanning([left, right]))]
            if is_scalar(ctx, stack[-1]):
                scalars.append(stack.pop())
    if len(stack) > 1:
        raise misfit(ctx, "product", *stack[-2:], hint=_product_hint(ctx, *stack[-2:]))
    body = stack[0] if stack else scalar(sp.S.One, span)
    return scale(ctx, scalars, body, span)


def _product_hint(ctx: Context, left: Form, right: Form) -> str:
    a, b = ctx.text(left.span), ctx.text(right.span)
    if is_column(ctx, left) and is_column(ctx, right):
        return rf"Two columns have no matrix product: is {a}^\top {b}, {a} {b}^\top or {a} \odot {b} meant?"
    if is_row(ctx, left) and is_row(ctx, right):
        return r"Two rows have no matrix product: is a transpose missing?"
    return "The columns of the left factor must be as many as the rows of the right one."


def _transposing(ctx: Context, left: Form, right: Form) -> str:
    """Return a hint at the transpose that would make the sizes fit."""
    a, b = ctx.text(left.span), ctx.text(right.span)
    if ctx.shown(left.rows) == ctx.shown(right.rows):
        return rf"With a transpose, {a}^\top {b}, they would."
    if ctx.shown(left.columns) == ctx.shown(right.columns):
        return rf"With a transpose, {a} {b}^\top, they would."
    return ""


# -- entrywise -----------------------------------------------------------------------------------
def entrywise(
    ctx: Context, body: Callable[..., sp.Expr], forms: Sequence[Form], span: Span, what: str
) -> Form:
    """Return a function of the entries of forms of one shape; scalars go with every entry."""
    shaped = [f for f in forms if not is_scalar(ctx, f)]
    for other in shaped[1:]:
        hint = ""
        if ctx.is_trivial(shaped[0].columns) != ctx.is_trivial(other.columns) or ctx.is_trivial(
            shaped[0].rows
        ) != ctx.is_trivial(other.rows):
            hint = r"Rows or columns are scaled by \operatorname{Diag}(v) A or A \operatorname{Diag}(v)."
        same_shape(ctx, shaped[0], other, what, hint=hint)
    rows, columns = (shaped[0].rows, shaped[0].columns) if shaped else (ONE, ONE)
    return pairs.combined(ctx, forms, body, rows, columns, span)


def kron(ctx: Context, a: Form, b: Form, span: Span) -> Form:
    """Return the Kronecker product."""
    if is_scalar(ctx, a) or is_scalar(ctx, b):
        return multiply(ctx, [a, b], span)
    return pairs.kron(ctx, a, b, span)


# -- powers --------------------------------------------------------------------------------------
def scalar_power(base: Form, exponent: Form, span: Span) -> Form:
    """Return a power of scalars.

    Raises:
        Failure: a number too large to be written out.
    """
    zero = sp.S.Zero

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        return number_power(base.entry(zero, zero), exponent.entry(zero, zero), span)

    return Form(span, ONE, ONE, entry)


def number_power(base: sp.Expr, exponent: sp.Expr, span: Span) -> sp.Expr:
    """Return ``base ** exponent``, refusing numbers with too many digits."""
    if base.is_Rational and exponent.is_Rational:
        bits = max(abs(base.p).bit_length(), base.q.bit_length()) * abs(exponent)
        if bits > _MOST_BITS:
            raise Failure(span, "a number with too many digits.")
        if base == 0 and exponent <= 0:
            raise Failure(span, "a division by zero.")
    return base**exponent


def matrix_power(ctx: Context, base: Form, exponent: int, span: Span) -> Form:
    """Return the power of a square matrix, of its inverse if the exponent is negative."""
    demand_square(ctx, base, f"the power {exponent}")
    if exponent < 0:
        return matrix_power(ctx, inverse(ctx, base, span), -exponent, span)
    if exponent == 0 or exponent > _HIGHEST_POWER:
        raise Failure(span, f"the matrix power {exponent}: expected an exponent from 1 to {_HIGHEST_POWER}.")
    if exponent == 1:
        return base.at(span)
    # a tensor of its own, so that the entries of the base are not written out again and again
    kept = applied(ctx, base, lambda x: x.tensor, base.rows, base.columns, base.span)
    half = matrix_power(ctx, kept, exponent // 2, span)
    square = multiply(ctx, [half, half], span)
    return multiply(ctx, [square, kept], span) if exponent % 2 else square


def symbolic_matrix_power(ctx: Context, base: Form, exponent: sp.Expr, span: Span) -> Form:
    """Return the power of a square matrix with an exponent in sizes."""
    size = demand_square(ctx, base, f"the power {exponent}")
    return applied(ctx, base, lambda x: lx_matrix_power(x.tensor, exponent), size, size, span)


def pseudo_inverse(ctx: Context, a: Form, span: Span) -> Form:
    """Return the Moore-Penrose inverse of a matrix."""
    return applied(ctx, a, lambda x: pinv(x.tensor), a.columns, a.rows, span)


def inverse(ctx: Context, a: Form, span: Span) -> Form:
    """Return the inverse of a square matrix, the reciprocal of a scalar."""
    if is_scalar(ctx, a):
        return scalar_power(a, scalar(sp.S.NegativeOne, span), span)
    size = demand_square(ctx, a, "an inverse")
    return applied(ctx, a, lambda x: inv(x.tensor), size, size, span)


def divide(ctx: Context, above: Form, below: Form, span: Span) -> Form:
    """Return a fraction with a scalar below the line."""
    a, b = ctx.text(above.span).strip("{}"), ctx.text(below.span).strip("{}")
    readings = (rf"{a} \oslash {b}", rf"{a} ({b})^{{-1}}", rf"({b})^{{-1}} {a}")
    demand_scalar(ctx, below, "a denominator", readings)
    if below.is_zero:
        raise Failure(span, "a division by zero.")
    return scale(ctx, [scalar_power(below, scalar(sp.S.NegativeOne, span), span)], above, span)
