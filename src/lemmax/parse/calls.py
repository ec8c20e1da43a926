r"""Functions of arguments: entry by entry, of whole matrices, along rows, over all entries."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from lemmax.expr import functionals, linalg, reductions
from lemmax.expr.functions import ELEMENTWISE, step
from lemmax.expr.nodes import Apply, Param
from lemmax.expr.special import SPECIAL, WRITTEN
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise
from lemmax.parse.context import Context
from lemmax.parse.entries import is_marked, refuse_function_of_matrix
from lemmax.parse.exponents import raised
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import (
    ONE,
    Form,
    Whole,
    applied,
    demand_square,
    described,
    is_column,
    is_row,
    is_scalar,
    total,
    whole,
)
from lemmax.parse.function_scripts import base_of, of_orders, slope
from lemmax.parse.integers import integer
from lemmax.parse.meaning import mean
from lemmax.parse.pairs import paired
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import joined
from lemmax.rules import spectra

_MOST_ARGUMENTS = 20


def call(ctx: Context, part: r.Call) -> Form:
    """Return a function of its arguments.

    Raises:
        Failure: the wrong number or shape of arguments, or a word that may be a product of letters.
    """
    if part.spelled and all(ctx.names.is_given(c) for c in part.spelled):
        raise Failure(
            part.span,
            f"{ctx.text(part)}: a function, or a product of the tensors {', '.join(part.spelled)}?",
            [rf"\operatorname{{{part.spelled}}}(...)", " ".join(part.spelled) + " (...)"],
        )
    rule = _RULES.get(part.function, _entrywise)
    inner = part.arguments[0]
    if (
        not part.closed
        and isinstance(inner, r.Scripted)
        and isinstance(inner.base, r.Call)
        and inner.base.closed
        # an entry of log S is the log of that entry
        and (rule is not _entrywise or inner.sup or inner.primes)
    ):
        head = ctx.source[part.span[0] : inner.span[0]]
        text, script = ctx.text(inner.base), ctx.source[inner.base.span[1] : inner.span[1]]
        raise Failure(
            part.span,
            f"{ctx.text(part)}: does {script.strip()} belong to the argument or to the result?",
            [f"({head}{text}){script}", f"{head}({text}{script})"],
        )
    form = rule(ctx, part)
    if part.function in _BODIES and is_marked(part):
        return form
    refuse_function_of_matrix(ctx, part, form)
    if part.head is None or (not part.head.sup and not part.head.primes):
        return form
    if part.head.primes and rule is _entrywise:
        return form
    if part.head.primes:
        raise Failure(
            part.span, f"{ctx.text(part)}: a prime on the function, which is read for functions of one entry."
        )
    if part.function not in ELEMENTWISE or joined(part.head.sup) in ("-1", "T", r"\top"):
        raise Failure(
            part.span, f"{ctx.text(part)}: a superscript on the function; put it behind the brackets."
        )
    return raised(ctx, form, part.head.sup, part.head.sup_span, part.head.primes, part.span)


def _arguments(ctx: Context, part: r.Call, least: int = 1, most: int = 1, sub: bool = False) -> list[Form]:
    if not least <= len(part.arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise Failure(part.span, f"{ctx.text(part)}: expected {wanted} argument{'s' if most > 1 else ''}.")
    if part.head is not None and part.head.sub and not sub:
        raise Failure(part.span, f"{ctx.text(part)}: the subscript of {part.function} has no meaning.")
    return [mean(ctx, a) for a in part.arguments]


# -- entry by entry ------------------------------------------------------------------------------
_BODIES: dict[str, Callable[..., sp.Expr]] = {
    **{name: row.function for name, row in SPECIAL.items()},
    **WRITTEN,
    **ELEMENTWISE,
    "step": step,
    "ceiling": sp.ceiling,
}


def _entrywise(ctx: Context, part: r.Call) -> Form:
    if part.function == "log" and not part.closed and isinstance(part.arguments[0], r.Call):
        inner = part.arguments[0]
        if inner.function == "det" and inner.head is None:
            return _functional(ctx, inner, linalg.logdet)
    if part.function in SPECIAL and SPECIAL[part.function].orders:
        (a,) = _arguments(ctx, part, sub=True)
        return entrywise(ctx, of_orders(ctx, part), [a], part.span, part.function)
    logarithm = part.function == "log" and part.head is not None and bool(part.head.sub)
    logarithm = logarithm and "ln" not in ctx.text(part)[:4]
    (a,) = _arguments(ctx, part, sub=logarithm)
    body = _BODIES[part.function]
    if logarithm:
        base = base_of(ctx, part)
        return entrywise(ctx, lambda x: sp.log(x) / sp.log(base), [a], part.span, part.function)
    if part.head is not None and part.head.primes:
        body = slope(ctx, part, body)
    return entrywise(ctx, body, [a], part.span, part.function)


def _pow(ctx: Context, part: r.Call) -> Form:
    a, b = _arguments(ctx, part, 2, 2)
    return entrywise(ctx, lambda x, y: x**y, [a, b], part.span, "pow")


def _angle(ctx: Context, part: r.Call) -> Form:
    y, x = _arguments(ctx, part, 2, 2)
    return entrywise(ctx, sp.atan2, [y, x], part.span, "atan2")


def _extreme(ctx: Context, part: r.Call) -> Form:
    forms = _arguments(ctx, part, 1, _MOST_ARGUMENTS)
    if len(forms) == 1:
        return of_all_entries(ctx, part.function, forms[0], part.span)
    body = sp.Max if part.function == "max" else sp.Min
    return entrywise(ctx, body, forms, part.span, part.function)


# -- over all entries, along rows ----------------------------------------------------------------
_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "max": reductions.max,
    "min": reductions.min,
    "prod": reductions.prod,
    "logsumexp": reductions.logsumexp,
}


def of_all_entries(ctx: Context, function: str, a: Form, span: Span) -> Form:
    """Return a reduction over all entries of a matrix or vector."""
    if is_scalar(ctx, a):
        return a.at(span)

    def make(x: Whole) -> Tensor:
        return _REDUCTIONS[function](x.tensor, axis=tuple(range(len(x.letters), x.tensor.ndim)))

    return applied(ctx, a, make, ONE, ONE, span)


def _reduction(ctx: Context, part: r.Call) -> Form:
    (a,) = _arguments(ctx, part)
    return of_all_entries(ctx, part.function, a, part.span)


def _softmax(ctx: Context, part: r.Call) -> Form:
    (a,) = _arguments(ctx, part, sub=True)
    along = joined(part.head.sub) if part.head is not None else ""
    if along not in ("", "row", "rows", "col", "cols", "column", "columns"):
        raise Failure(part.span, f"{ctx.text(part)}: expected softmax, softmax_row or softmax_col.")
    if is_scalar(ctx, a):
        raise Failure(part.span, f"{ctx.text(part)}: the softmax of a scalar; expected a vector or a matrix.")
    down = along.startswith("col") and not is_row(ctx, a)
    axis = -2 if down and not is_column(ctx, a) else -1
    return applied(ctx, a, lambda x: reductions.softmax(x.tensor, axis=axis), a.rows, a.columns, part.span)


def _onehot(ctx: Context, part: r.Call) -> Form:
    inside = part.arguments[0]
    if (
        len(part.arguments) != 1
        or not isinstance(inside, r.Big)
        or inside.operator not in ("argmax", "argmin")
    ):
        raise Failure(part.span, rf"{ctx.text(part)}: expected \operatorname{{onehot}}(\arg\max A).")
    a = mean(ctx, inside.body)
    jointly = part.head is not None and joined(part.head.sub) == "all"

    def make(x: Whole) -> Tensor:
        t = x.tensor
        axes = tuple(range(len(x.letters), t.ndim)) if jointly else (t.ndim - 1,)
        return Apply(f"{inside.operator}_mask", (t,), t.shape, {"axes": axes})

    return applied(ctx, a, make, a.rows, a.columns, part.span)


# -- of whole matrices ---------------------------------------------------------------------------
def _functional(ctx: Context, part: r.Call, function: Callable[[Tensor], Tensor]) -> Form:
    (a,) = _arguments(ctx, part)
    return functional(ctx, a, function, part.span)


def functional(ctx: Context, a: Form, function: Callable[[Tensor], Tensor], span: Span) -> Form:
    """Return a number of a matrix, such as its rank."""
    if function in (linalg.det, linalg.logdet):
        demand_square(ctx, a, ctx.text(span))
    if ctx.is_trivial(a.rows) or ctx.is_trivial(a.columns):
        raise Failure(span, f"{ctx.text(span)}: expected a matrix, not {described(ctx, a)}.", is_shape=True)
    return applied(ctx, a, lambda x: function(x.tensor), ONE, ONE, span)


def _of_matrix(function: Callable[[Tensor], Tensor]) -> Callable[[Context, r.Call], Form]:
    return lambda ctx, part: _functional(ctx, part, function)


def _of_spectrum(ctx: Context, part: r.Call) -> Form:
    r"""The slopes of singular values and eigenvalues: ``dyad_k``, ``dyad_\min``, ``proj_\max``, ``polar``."""
    (a,) = _arguments(ctx, part, sub=part.function != "polar")
    which = joined(part.head.sub) if part.head is not None else ""
    known = {"dyad": ("min",), "proj": ("min", "max"), "polar": ("",)}[part.function]
    if part.function == "proj":
        demand_square(ctx, a, ctx.text(part))
    if which in known:
        at: Param = "last" if part.function == "dyad" else which
    elif part.function == "dyad" and which:
        assert part.head is not None
        places = read_places(part.head.sub, part.head.sub_span[1]).places
        if len(places) != 1 or places[0].low is None:
            raise Failure(part.span, f"{ctx.text(part)}: expected the number of a singular value.")
        at = integer(ctx, places[0].low)
    else:
        raise Failure(
            part.span,
            rf"{ctx.text(part)}: expected dyad_k or dyad_{{\min}}, proj_{{\min}} or proj_{{\max}}, or polar.",
        )

    def make(x: Whole) -> Tensor:
        if part.function == "polar":
            return spectra.polar(x.tensor)
        if part.function == "proj":
            return spectra.eigen_projector(x.tensor, str(at))
        return spectra.singular_dyad(x.tensor, int(at) if isinstance(at, sp.Integer) else at)

    return applied(ctx, a, make, a.rows, a.columns, part.span)


def _trace(ctx: Context, part: r.Call) -> Form:
    (a,) = _arguments(ctx, part)
    size = demand_square(ctx, a, "a trace")
    return Form(part.span, ONE, ONE, lambda row, column: total(ctx, lambda k: a.entry(k, k), size))


def _diag(ctx: Context, part: r.Call) -> Form:
    """``diag`` of a vector is a matrix, of a matrix the vector of its diagonal; ``Diag`` is the former."""
    (a,) = _arguments(ctx, part)
    if is_scalar(ctx, a):
        return a.at(part.span)
    if is_column(ctx, a) or is_row(ctx, a):
        return diagonal_matrix(ctx, a, part.span)
    size = demand_square(ctx, a, "a diagonal")
    if part.function == "Diag":
        text = ctx.text(part.arguments[0])
        raise Failure(
            part.span,
            f"{ctx.text(part)}: Diag of the matrix {described(ctx, a)}.",
            [
                rf"\operatorname{{diag}}({text}), a vector",
                rf"\operatorname{{Diag}}(\operatorname{{diag}}({text})), a matrix",
            ],
        )
    return Form(part.span, size, ONE, lambda row, column: a.entry(row, row))


def diagonal_matrix(ctx: Context, a: Form, span: Span) -> Form:
    """Return the diagonal matrix of a vector."""
    column_wise = is_column(ctx, a)
    size = a.rows if column_wise else a.columns

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        at = (row, sp.S.Zero) if column_wise else (sp.S.Zero, row)
        return sp.KroneckerDelta(row, column) * a.entry(*at)

    return Form(span, size, size, entry)


def _vec(ctx: Context, part: r.Call) -> Form:
    (a,) = _arguments(ctx, part)
    if is_scalar(ctx, a) or is_column(ctx, a):
        return a.at(part.span)
    if ctx.column_major:
        return paired(ctx, (a.columns, a.rows), (), lambda at, _: a.entry(at[1], at[0]), part.span)
    return paired(ctx, (a.rows, a.columns), (), lambda at, _: a.entry(*at), part.span)


def _block_diagonal(ctx: Context, part: r.Call) -> Form:
    from lemmax.parse.bigs import bind_places, block_diagonal
    from lemmax.parse.blocks import diagonal_blocks

    if part.head is None or not part.head.sub:
        return diagonal_blocks(ctx, _arguments(ctx, part, 1, _MOST_ARGUMENTS), part.span)
    head = part.head
    inner, letters, held = bind_places(ctx, head.sub, head.sub_span, head.sup, head.sup_span, part)
    if held is not None or len(part.arguments) != 1:
        raise Failure(part.span, rf"{ctx.text(part)}: expected \operatorname{{blkdiag}}_k(A_k).")
    return block_diagonal(ctx, mean(inner, part.arguments[0]), letters, part.span)


def _distance(ctx: Context, part: r.Call) -> Form:
    r"""``dist(y, \sum_h conv(P_h))``: from a point to a sum of convex hulls of rows."""
    hull = part.arguments[-1]
    is_sum = isinstance(hull, r.Big) and hull.operator == "sum" and isinstance(hull.body, r.Call)
    if len(part.arguments) != 2 or not is_sum or hull.body.function != "conv":  # type: ignore[attr-defined]
        raise Failure(part.span, rf"{ctx.text(part)}: expected dist(y, \sum_h conv(P_h)).")
    from lemmax.parse.bigs import bind

    assert isinstance(hull, r.Big) and isinstance(hull.body, r.Call)
    point = mean(ctx, part.arguments[0])
    inner, letters, held = bind(ctx, hull)
    if held is not None or len(letters) != 1:
        raise Failure(hull.span, f"{ctx.text(hull)}: expected one index.")
    (points,) = _arguments(inner, hull.body)
    symbol = letters[0].symbol

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        found = {*whole(ctx, point).letters, *whole(ctx, points).letters} - {symbol}
        outer = tuple(sorted(found, key=str))
        y, p = whole(ctx, point, outer).tensor, whole(ctx, points, (*outer, symbol)).tensor
        return functionals.hull_distance(p, y).entry(*outer)

    return Form(part.span, ONE, ONE, entry)


def _convex_hull(ctx: Context, part: r.Call) -> Form:
    raise Failure(
        part.span, rf"{ctx.text(part)} is a set; it stands in \operatorname{{dist}}(y, \sum_h conv(P_h))."
    )


_RULES: dict[str, Callable[[Context, r.Call], Form]] = {
    "pow": _pow,
    "atan2": _angle,
    "max": _extreme,
    "min": _extreme,
    "prod": _reduction,
    "logsumexp": _reduction,
    "softmax": _softmax,
    "onehot": _onehot,
    "tr": _trace,
    "det": _of_matrix(linalg.det),
    "logdet": _of_matrix(linalg.logdet),
    "rank": _of_matrix(functionals.rank),
    "cond": _of_matrix(functionals.cond),
    "dyad": _of_spectrum,
    "proj": _of_spectrum,
    "polar": _of_spectrum,
    "diag": _diag,
    "Diag": _diag,
    "vec": _vec,
    "blkdiag": _block_diagonal,
    "dist": _distance,
    "conv": _convex_hull,
}
