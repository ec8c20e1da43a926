r"""Matrices whose row or column stands for several indices: Kronecker products, vec, blocks.

They are kept apart as long as they can be: in ``(I \otimes X^\top) J (X \otimes X)`` sums run over pairs
of indices, and axes are merged (row-major) only where the whole matrix is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import sympy as sp

from lemmax.expr.indexing import merge
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor
from lemmax.parse.context import Context
from lemmax.parse.failure import Span
from lemmax.parse.forms import Deep, Form, Indices, is_scalar, lambda_of, total

Sizes = tuple[Size, ...]


def paired(ctx: Context, rows: Sizes, columns: Sizes, deep: Deep, span: Span) -> Form:
    """Return the form with entries ``deep(rows, columns)`` at indices taken apart."""
    kept = [[not ctx.is_trivial(s) for s in group] for group in (rows, columns)]
    parts = [
        tuple(s for s, k in zip(g, ks, strict=True) if k) for g, ks in zip((rows, columns), kept, strict=True)
    ]

    def shorter(row: Indices, column: Indices) -> sp.Expr:
        filled = []
        for given, ks in zip((row, column), kept, strict=True):
            rest = iter(given)
            filled.append(tuple(next(rest) if k else sp.S.Zero for k in ks))
        return deep(filled[0], filled[1])

    made = lru_cache(maxsize=1)(lambda: _merged(ctx, parts[0], parts[1], shorter))

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        if len(parts[0]) < 2 and len(parts[1]) < 2:
            return shorter((row,)[: len(parts[0])], (column,)[: len(parts[1])])
        letters, tensor, has = made()
        return tensor.entry(*letters, *(i for i, k in zip((row, column), has, strict=True) if k))

    totals = [sp.expand(sp.Mul(*group)) for group in parts]
    if len(parts[0]) < 2 and len(parts[1]) < 2:
        return Form(span, totals[0], totals[1], entry)
    return Form(span, totals[0], totals[1], entry, False, parts[0], parts[1], shorter)


def _merged(
    ctx: Context, rows: Sizes, columns: Sizes, deep: Deep
) -> tuple[tuple[sp.Symbol, ...], Tensor, tuple[bool, bool]]:
    """Return the tensor with merged axes, its letters, and whether it has rows and columns."""
    groups = [tuple(ctx.unknowns.finish(s) for s in group) for group in (rows, columns)]
    at = [fresh(len(g)) if g else () for g in groups]
    expr = deep(at[0], at[1])
    found = {s for s in expr.free_symbols if is_index(s)} - {*at[0], *at[1]}
    letters = tuple(sorted(found, key=str))
    lead = tuple(ctx.unknowns.finish(ctx.ranges[s]) for s in letters)
    tensor = lambda_of((*letters, *at[0], *at[1]), (*lead, *groups[0], *groups[1]), expr)
    counts = iter(range(tensor.ndim))
    merged = [(next(counts),) for _ in letters] + [tuple(next(counts) for _ in g) for g in groups if g]
    return letters, merge(tensor, *merged), (bool(groups[0]), bool(groups[1]))


def entry_at(ctx: Context, form: Form, row: Indices, rows: Sizes, column: Indices, columns: Sizes) -> sp.Expr:
    """Return the entry of a form at rows and columns that are taken apart into parts of the given sizes."""
    if form.deep is not None and _same(ctx, form.row_parts, rows) and _same(ctx, form.column_parts, columns):
        return form.deep(row, column)
    return form.entry(_joined(ctx, row, rows), _joined(ctx, column, columns))


def _same(ctx: Context, own: Sizes, wanted: Sizes) -> bool:
    pairs = zip(own, wanted, strict=False)
    return len(own) == len(wanted) and all(
        same_size(ctx.unknowns.value(a), ctx.unknowns.value(b)) for a, b in pairs
    )


def _joined(ctx: Context, at: Indices, sizes: Sizes) -> sp.Expr:
    value: sp.Expr = sp.S.Zero
    for i, size in zip(at, sizes, strict=True):
        value = value * ctx.unknowns.finish(size) + i
    return sp.expand(value) if len(at) > 1 else value


# -- operations ----------------------------------------------------------------------------------
def transposed(form: Form, span: Span) -> Form:
    """Return the transpose."""
    deep = form.deep
    turned = None if deep is None else (lambda row, column: deep(column, row))
    return Form(
        span,
        form.columns,
        form.rows,
        lambda row, column: form.entry(column, row),
        form.is_zero,
        form.column_parts,
        form.row_parts,
        turned,
    )


def combined(
    ctx: Context, forms: Sequence[Form], body: Callable[..., sp.Expr], rows: Size, columns: Size, span: Span
) -> Form:
    """Return a function of the entries of forms of one shape; scalars go with every entry."""
    zero = sp.S.Zero
    scalars = [is_scalar(ctx, f) for f in forms]
    first = next((f for f in forms if f.deep is not None), None)
    if first is None:
        return Form(
            span,
            rows,
            columns,
            lambda row, column: body(
                *[
                    f.entry(zero, zero) if s else f.entry(row, column)
                    for f, s in zip(forms, scalars, strict=True)
                ]
            ),
        )
    up, across = first.row_parts, first.column_parts

    def deep(row: Indices, column: Indices) -> sp.Expr:
        return body(
            *[
                f.entry(zero, zero) if s else entry_at(ctx, f, row, up, column, across)
                for f, s in zip(forms, scalars, strict=True)
            ]
        )

    return paired(ctx, up, across, deep, span)


def product(ctx: Context, left: Form, right: Form, span: Span) -> Form:
    """Return the matrix product of two forms whose sizes fit."""
    if left.deep is None and right.deep is None:

        def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
            return total(ctx, lambda k: left.entry(row, k) * right.entry(k, column), left.columns)

        return Form(span, left.rows, right.columns, entry)
    inner = left.column_parts if len(left.column_parts) > 1 else right.row_parts
    inner = inner or tuple(s for s in (left.columns,) if not ctx.is_trivial(s))
    up, across = (
        _shown_parts(ctx, left.row_parts, left.rows),
        _shown_parts(ctx, right.column_parts, right.columns),
    )

    def deep(row: Indices, column: Indices) -> sp.Expr:
        def summand(*k: sp.Expr) -> sp.Expr:
            return entry_at(ctx, left, row, up, k, inner) * entry_at(ctx, right, k, inner, column, across)

        return total(ctx, summand, *inner)

    return paired(ctx, up, across, deep, span)


def _shown_parts(ctx: Context, parts: Sizes, size: Size) -> Sizes:
    return parts or tuple(s for s in (size,) if not ctx.is_trivial(s))


def kron(ctx: Context, a: Form, b: Form, span: Span) -> Form:
    """Return the Kronecker product of two forms."""
    up = [_shown_parts(ctx, f.row_parts, f.rows) for f in (a, b)]
    across = [_shown_parts(ctx, f.column_parts, f.columns) for f in (a, b)]

    def deep(row: Indices, column: Indices) -> sp.Expr:
        r, c = len(up[0]), len(across[0])
        first = entry_at(ctx, a, row[:r], up[0], column[:c], across[0])
        return first * entry_at(ctx, b, row[r:], up[1], column[c:], across[1])

    return paired(ctx, (*up[0], *up[1]), (*across[0], *across[1]), deep, span)
