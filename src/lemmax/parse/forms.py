r"""Values of parts of a formula: matrices whose entries are SymPy expressions in index symbols.

A vector is a matrix with one column, a scalar has one row and one column.  Entries are made
only after the whole formula is understood, when all sizes are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import sympy as sp

from lemmax.expr.indices import fresh, is_index
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor, TensorSymbol
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.shifts import lambda_over

ONE: sp.Expr = sp.S.One
Entry: TypeAlias = Callable[[sp.Expr, sp.Expr], sp.Expr]
Indices: TypeAlias = tuple[sp.Expr, ...]
Deep: TypeAlias = Callable[[Indices, Indices], sp.Expr]


@dataclass(frozen=True, eq=False)
class Form:
    """The value of a part.

    Attributes:
        span: the place of the part.
        rows: number of rows; 1 for rows and scalars.
        columns: number of columns; 1 for columns and scalars.
        entry: the entry at a row and a column, counted from 0.
        is_zero: is it the number 0, which fits every shape?
        row_parts: sizes of the indices that a row stands for, if there are several (see ``pairs``).
        column_parts: the same for a column.
        deep: the entry at rows and columns taken apart, if there are parts.
    """

    span: Span
    rows: Size
    columns: Size
    entry: Entry
    is_zero: bool = False
    row_parts: tuple[Size, ...] = ()
    column_parts: tuple[Size, ...] = ()
    deep: Deep | None = None

    def at(self, span: Span) -> Form:
        """Return the same value as that of a larger part, such as one with brackets."""
        return replace(self, span=span)


@dataclass(frozen=True, eq=False)
class Whole:
    """A form made into a tensor: letters first, then rows and columns if there are several.

    Attributes:
        tensor: the tensor.
        letters: index symbols of its leading axes.
        has_rows: is there an axis of rows?
        has_columns: is there an axis of columns?
    """

    tensor: Tensor
    letters: tuple[sp.Symbol, ...]
    has_rows: bool
    has_columns: bool

    def core(self, row: sp.Expr, column: sp.Expr) -> tuple[sp.Expr, ...]:
        """Return the indices of the axes that there are."""
        return (*((row,) if self.has_rows else ()), *((column,) if self.has_columns else ()))


def scalar(value: sp.Expr, span: Span) -> Form:
    """Return a number."""
    return Form(span, ONE, ONE, lambda row, column: value, is_zero=value == 0)


def is_scalar(ctx: Context, form: Form) -> bool:
    """Is the form a scalar?"""
    return ctx.is_trivial(form.rows) and ctx.is_trivial(form.columns)


def is_column(ctx: Context, form: Form) -> bool:
    """Is the form a column with more than one entry?"""
    return ctx.is_trivial(form.columns) and not ctx.is_trivial(form.rows)


def is_row(ctx: Context, form: Form) -> bool:
    """Is the form a row with more than one entry?"""
    return ctx.is_trivial(form.rows) and not ctx.is_trivial(form.columns)


def described(ctx: Context, form: Form) -> str:
    """Return a part as written, with its shape, for messages."""
    text = ctx.text(form.span)
    text = text if len(text) <= 60 else f"{text[:57]}..."
    if is_scalar(ctx, form):
        return f"{text} (a scalar)"
    kind = "column, " if is_column(ctx, form) else "row, " if is_row(ctx, form) else ""
    return f"{text} ({kind}{ctx.shown(form.rows)} x {ctx.shown(form.columns)})"


def misfit(ctx: Context, what: str, *forms: Form, hint: str = "") -> Failure:
    """Return the failure of forms whose shapes do not fit."""
    span = min(f.span[0] for f in forms), max(f.span[1] for f in forms)
    shown = " and ".join(described(ctx, f) for f in forms)
    return Failure(
        span, f"{what}: the shapes of {shown} do not fit.{' ' + hint if hint else ''}", is_shape=True
    )


def same_shape(ctx: Context, a: Form, b: Form, what: str, hint: str = "") -> None:
    """Demand that two forms have the same shape.

    Raises:
        Failure: they do not; both are shown.
    """
    failure = misfit(ctx, what, a, b, hint=hint)
    ctx.fit(a.rows, b.rows, failure)
    ctx.fit(a.columns, b.columns, failure)


def demand_scalar(ctx: Context, form: Form, what: str, readings: tuple[str, ...] = ()) -> Form:
    """Return a form that must be a scalar.

    Raises:
        Failure: it is not.
    """
    if not is_scalar(ctx, form):
        raise Failure(
            form.span, f"{what} must be a scalar, not {described(ctx, form)}.", readings, is_shape=True
        )
    return form


def demand_square(ctx: Context, form: Form, what: str) -> Size:
    """Return the number of rows of a form that must be a square matrix (or a scalar).

    Raises:
        Failure: it is not.
    """
    ctx.fit(form.rows, form.columns, misfit(ctx, f"{what} needs a square matrix", form))
    return form.rows


# -- tensors -----------------------------------------------------------------------------------
def whole(ctx: Context, form: Form, letters: tuple[sp.Symbol, ...] | None = None) -> Whole:
    """Return a form as a tensor over the letters that occur in it (or over those given)."""
    rows, columns = ctx.unknowns.finish(form.rows), ctx.unknowns.finish(form.columns)
    row, column = fresh(2)
    kept = not ctx.is_trivial(rows), not ctx.is_trivial(columns)
    expr = form.entry(row if kept[0] else sp.S.Zero, column if kept[1] else sp.S.Zero)
    core = (*((row,) if kept[0] else ()), *((column,) if kept[1] else ()))
    found = {s for s in expr.free_symbols if is_index(s)} - set(core)
    own = tuple(sorted(found, key=str)) if letters is None else letters
    bare = _bare(expr, own, core) if letters is None else None
    if bare is not None:
        return Whole(bare[0], bare[1], *kept)
    sizes = [ctx.unknowns.finish(ctx.ranges[s]) for s in own]
    sizes += [s for s, k in zip((rows, columns), kept, strict=True) if k]
    return Whole(lambda_of((*own, *core), tuple(sizes), expr), own, *kept)


def lambda_of(indices: tuple[sp.Symbol, ...], sizes: tuple[Size, ...], expr: sp.Expr) -> Tensor:
    """Return the index lambda of an expression; a bare entry of a tensor is that tensor."""
    bare = _bare(expr, indices, ())
    if bare is not None and bare[1] == indices and bare[0].shape == sizes:
        return bare[0]
    return lambda_over(indices, sizes, expr)


def _bare(
    expr: sp.Expr, letters: tuple[sp.Symbol, ...], core: tuple[sp.Symbol, ...]
) -> tuple[Tensor, tuple[sp.Symbol, ...]] | None:
    """Return the tensor that an expression is a plain entry of, with the letters in its order."""
    if isinstance(expr, TensorSymbol) and not letters and not core:
        return expr.tensor, ()
    if not isinstance(expr, sp.Indexed) or not all(is_index(i) for i in expr.indices):
        return None
    indices = tuple(expr.indices)
    lead = len(indices) - len(core)
    if lead < 0 or indices[lead:] != core or set(indices[:lead]) != set(letters) or lead != len(letters):
        return None
    return expr.base.label.tensor, indices[:lead]


def applied(
    ctx: Context, operand: Form, make: Callable[[Whole], Tensor], rows: Size, columns: Size, span: Span
) -> Form:
    """Return a function of a whole matrix as a form; ``make`` gets the operand as a tensor, letters first."""

    @lru_cache(maxsize=1)
    def made() -> tuple[Whole, Tensor]:
        x = whole(ctx, operand)
        return x, make(x)

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        x, t = made()
        core = [row, column]
        if t.ndim < len(x.letters) + 2:
            core = [i for i, s in zip(core, (rows, columns), strict=True) if not ctx.is_trivial(s)]
        return t.entry(*x.letters, *core)

    return Form(span, rows, columns, entry)


def kept_whole(ctx: Context, form: Form) -> Form:
    """Return a form whose entries are those of a tensor of its own.

    SymPy pulls case distinctions out of sums, past the indices that they depend on.
    """
    return applied(ctx, form, lambda x: x.tensor, form.rows, form.columns, form.span)


def total(ctx: Context, body: Callable[..., sp.Expr], *sizes: Size) -> sp.Expr:
    """Return the sum of ``body`` over new indices of the given sizes; those of size 1 are put to 0."""
    known = [ctx.unknowns.finish(s) for s in sizes]
    indices = [sp.S.Zero if ctx.is_trivial(s) else fresh()[0] for s in known]
    limits = [(i, 0, s - 1) for i, s in zip(indices, known, strict=True) if i != 0]
    expr = body(*indices)
    return sp.Sum(expr, *limits) if limits else expr
