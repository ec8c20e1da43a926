r"""What a superscript says: a transpose, an inverse, a power of a matrix or of entries."""

from __future__ import annotations

import sympy as sp

from lemmax.parse import records as r
from lemmax.parse.algebra import (
    entrywise,
    inverse,
    matrix_power,
    number_power,
    pseudo_inverse,
    scalar_power,
    symbolic_matrix_power,
    transpose,
)
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import Form, demand_scalar, demand_square, described, is_column, is_row, is_scalar
from lemmax.parse.integers import whole_number
from lemmax.parse.reader import read_exponent


def raised(ctx: Context, base: Form, tokens: r.Script, sup_span: Span, primes: int, span: Span) -> Form:
    """Return a form with a superscript and primes.

    Raises:
        Failure: the superscript has no meaning for this form, or two.
    """
    form = base
    if (primes or [str(token) for token in tokens] in ([r"\top"], ["T"])) and _is_number(ctx, base):
        raise Failure(
            span,
            f"{ctx.text(span)}: the transpose of a number.",
            [r"\mathbf{1}^\top, of the vector of ones", ctx.text(base.span)],
        )
    if primes > 1:
        raise Failure(
            span,
            f"{ctx.text(span)}: {primes} primes: one prime is a transpose; write higher derivatives out.",
        )
    if primes:
        form = transpose(form, span)
    if not tokens:
        return form.at(span)
    if [str(token) for token in tokens] in (["+"], [r"\dagger"]):
        if primes:
            raise Failure(
                span, f"{ctx.text(span)}: a prime and a pseudo-inverse; write the transpose with \\top."
            )
        if is_scalar(ctx, form) or is_column(ctx, form) or is_row(ctx, form):
            raise Failure(
                span,
                f"{ctx.text(span)} of {described(ctx, form)}: a pseudo-inverse is read for matrices; say what"
                " is meant.",
                [rf"\operatorname{{relu}}({ctx.text(form.span)}), the positive part"],
                is_shape=True,
            )
        return pseudo_inverse(ctx, form, span)
    exponent = read_exponent(tokens, sup_span[1])
    kind, value = exponent.kind, exponent.value
    if kind == "power" and value is not None:
        sign = _letter_t(value)
        if sign:
            return _letter_t_power(ctx, form, value, sign, sup_span, span)
    if kind == "transposed":
        return transpose(form, span)
    if kind == "inverse_transposed":
        return transpose(inverse(ctx, form, span), span)
    assert value is not None
    from lemmax.parse.meaning import mean

    number = demand_scalar(ctx, mean(ctx, value), "an exponent")
    zero = sp.S.Zero
    if kind == "entrywise":
        return entrywise(
            ctx, lambda x: number_power(x, number.entry(zero, zero), span), [form], span, "entrywise power"
        )
    if is_scalar(ctx, form):
        return scalar_power(form, number, span)
    whole = whole_number(number.entry(zero, zero)) if not _is_open(value) else None
    if whole is None and _is_in_sizes(number.entry(zero, zero)):
        return symbolic_matrix_power(ctx, form, number.entry(zero, zero), span)
    if whole is None or whole == 0:
        raise _no_power(ctx, form, ctx.text(value), span)
    try:
        demand_square(ctx, form, "a power")  # sizes that are not known yet become one
    except Failure:
        raise _no_power(ctx, form, ctx.text(value), span) from None
    return matrix_power(ctx, form, whole, span)


def _is_number(ctx: Context, form: Form) -> bool:
    return ctx.text(form.span).strip().isdigit()


def raised_entries(ctx: Context, form: Form, part: r.Scripted) -> Form:
    """Return the power that a superscript says, entry by entry.

    Raises:
        Failure: the superscript is no power.
    """
    exponent = read_exponent(part.sup, part.sup_span[1])
    if exponent.value is None:
        raise Failure(part.span, f"{ctx.text(part)}: expected a power.")
    from lemmax.parse.meaning import mean

    number = demand_scalar(ctx, mean(ctx, exponent.value), "an exponent")
    zero = sp.S.Zero
    return entrywise(
        ctx, lambda x: number_power(x, number.entry(zero, zero), part.span), [form], part.span, "power"
    )


def _is_in_sizes(number: sp.Expr) -> bool:
    """Is an exponent an integer expression in sizes?"""
    symbols = number.atoms(sp.Symbol)
    return bool(number.is_integer and symbols and all(s.is_integer and s.is_positive for s in symbols))


def _no_power(ctx: Context, form: Form, text: str, span: Span) -> Failure:
    root = " A root of a matrix has no form here: give it a name, R with R R = A." if "/" in text else ""
    return Failure(
        span,
        f"the power {text} of {described(ctx, form)}: expected a scalar, or a square matrix and a whole"
        f" exponent.{root}",
        [rf"{ctx.text(form.span)}^{{\circ {text}}}, entry by entry"],
        is_shape=True,
    )


def _is_open(part: r.Part) -> bool:
    """Might the part hold sizes that are not known yet?  Then its value must wait."""
    return not isinstance(part, r.Number) and not (
        isinstance(part, r.Sum) and len(part.parts) == 1 and isinstance(part.parts[0], r.Number)
    )


def _letter_t(value: r.Part) -> int:
    """Return 1 if the exponent is the letter T, -1 for -T, else 0."""
    if isinstance(value, r.Sum) and len(value.parts) == 1:
        return value.signs[0] * _letter_t(value.parts[0])
    letters = ("T", r"\mathrm{T}", r"\text{T}")
    return 1 if isinstance(value, r.Symbol) and value.text.replace(" ", "") in letters else 0


def _letter_t_power(ctx: Context, form: Form, value: r.Part, sign: int, sup_span: Span, span: Span) -> Form:
    is_name = bool(ctx.names.by_base.get("T")) or ctx.names.size_called("T") is not None
    if is_name and is_scalar(ctx, form):
        text = ctx.text(form.span)
        raise Failure(
            span,
            f"{ctx.text(span)}: T is a name here, so this is a transpose or a power.",
            [
                rf"{text}^\top" if sign > 0 else rf"{text}^{{-\top}}",
                rf"{text}^{{({'-' if sign < 0 else ''}T)}}",
            ],
        )
    return transpose(form if sign > 0 else inverse(ctx, form, span), span)
