r"""Positive parts: ``(t)_+``, ``[1 - y x]_+``, ``x_+``, entry by entry."""

from __future__ import annotations

from lemmax.expr.functions import relu
from lemmax.expr.sizes import same_size
from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import Form, is_scalar
from lemmax.parse.scripts import joined


def is_sign(tokens: r.Script) -> bool:
    """Is a subscript a sign and nothing else?"""
    return bool(tokens) and joined(tokens) in ("+", "-")


def positive_part(ctx: Context, form: Form, inner: str, tokens: r.Script, span: Span) -> Form:
    r"""Return :math:`\max(x, 0)` of each entry.

    Args:
        ctx: what is known.
        form: the value.
        inner: its text without brackets.
        tokens: the sign.
        span: place of the whole.

    Raises:
        Failure: the negative part, for which both signs are in use, or the part of a square matrix, which may
            be that of its eigenvalues.
    """
    if joined(tokens) == "-":
        opposite = f"-{inner}" if inner.isalnum() else f"-({inner})"
        raise Failure(
            span,
            f"{ctx.text(span)}: which sign has the negative part?",
            [rf"\operatorname{{relu}}({opposite}), which is not negative", rf"\min({inner}, 0)"],
        )
    rows, columns = (ctx.unknowns.value(s) for s in (form.rows, form.columns))
    if not is_scalar(ctx, form) and same_size(rows, columns):
        raise Failure(
            span,
            f"{ctx.text(span)} of a square matrix: of its entries or of its eigenvalues?",
            [rf"\operatorname{{relu}}({inner}), entry by entry", "its eigenvalues: not known to lemmax"],
        )
    return entrywise(ctx, relu, [form], span, "the positive part")
