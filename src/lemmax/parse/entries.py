r"""Which of the two is meant by ``\exp(A)`` of a square matrix: of its entries, or of the matrix?"""

from __future__ import annotations

from lemmax.expr.sizes import same_size
from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure
from lemmax.parse.forms import Form, is_scalar
from lemmax.parse.scripts import joined


def is_marked(part: r.Call) -> bool:
    r"""Is it said that a function acts entry by entry, as in ``\exp^{\circ}(A)``?"""
    head = part.head
    return head is not None and joined(head.sup) == r"\circ" and not head.primes


def refuse_function_of_matrix(ctx: Context, part: r.Call, form: Form) -> None:
    """Refuse the exponential or logarithm of a square matrix, which may be meant as one of matrices.

    Raises:
        Failure: it is one, and nothing says which is meant.
    """
    if part.function not in ("exp", "log") or ctx.entrywise:
        return
    rows, columns = ctx.unknowns.value(form.rows), ctx.unknowns.value(form.columns)
    if ctx.is_trivial(rows) or is_scalar(ctx, form) or not same_size(rows, columns):
        return
    if isinstance(part.arguments[0], r.Call) and part.arguments[0].function == "det":
        return
    head = rf"\{part.function}"
    argument = ctx.text(part.arguments[0])
    inside = argument if part.closed and argument.startswith("(") else f"({argument})"
    raise Failure(
        part.span,
        f"{ctx.text(part)}: of the entries of a square matrix, or of the matrix?",
        [
            rf"{head}^{{\circ}}{inside}, entry by entry (so are all, with entrywise=True)",
            rf"\operatorname{{{part.function}m}}{inside}, which lemmax does not have",
        ],
    )
