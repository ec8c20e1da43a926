r"""Matrices written by entries or blocks, with dots between the first and the last block or without."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.expr.indexing import concat
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import Form, lambda_of, misfit, scalar
from lemmax.parse.meaning import mean
from lemmax.parse.pairs import paired


def matrix(ctx: Context, part: r.Matrix) -> Form:
    """Return a matrix from its blocks.

    Raises:
        Failure: rows differ in length, or blocks do not fit.
    """
    flat = [p for row in part.rows for p in row]
    if any(isinstance(p, r.Constant) and p.kind == "dots" for p in flat):
        return _with_dots(ctx, part)
    if len({len(row) for row in part.rows}) != 1:
        raise Failure(
            part.span, f"the rows of the matrix have {', '.join(str(len(row)) for row in part.rows)} blocks."
        )
    return stacked(ctx, [[mean(ctx, p) for p in row] for row in part.rows], part.span)


def stacked(ctx: Context, rows: Sequence[Sequence[Form]], span: Span) -> Form:
    """Return blocks side by side and on top of each other; the number 0 is a block of zeros."""
    blocks = [[_opened(ctx, f) if f.is_zero else f for f in row] for row in rows]
    for row in blocks:
        for f in row[1:]:
            _fit(ctx, row[0], f, "rows")
    for other in blocks[1:]:
        for above, f in zip(blocks[0], other, strict=True):
            _fit(ctx, above, f, "columns")
    height = sp.Add(*[row[0].rows for row in blocks])
    width = sp.Add(*[f.columns for f in blocks[0]])
    made: list[tuple[tuple[sp.Symbol, ...], Tensor]] = []

    def entry(row: sp.Expr, column: sp.Expr) -> sp.Expr:
        if not made:
            made.append(_joined(ctx, blocks))
        letters, tensor = made[0]
        at = (row, column) if tensor.ndim == len(letters) + 2 else (row,)  # columns make a vector
        return tensor.entry(*letters, *at)

    return Form(span, sp.expand(height), sp.expand(width), entry)


def _opened(ctx: Context, zero: Form) -> Form:
    sizes = [
        ctx.unknowns.fresh(zero.span, f"the number of {which} of the block 0")
        for which in ("rows", "columns")
    ]
    return Form(zero.span, sizes[0], sizes[1], lambda row, column: sp.S.Zero)


def _fit(ctx: Context, a: Form, b: Form, which: str) -> None:
    first, second = (a.rows, b.rows) if which == "rows" else (a.columns, b.columns)
    ctx.unknowns.same(first, second, misfit(ctx, f"blocks with different numbers of {which}", a, b))


def _joined(ctx: Context, blocks: Sequence[Sequence[Form]]) -> tuple[tuple[sp.Symbol, ...], Tensor]:
    opened = [[_entry(ctx, f) for f in row] for row in blocks]
    found = {
        s for row in opened for (i, j), e, _ in row for s in e.free_symbols if is_index(s) and s not in (i, j)
    }
    letters = tuple(sorted(found, key=str))
    lead = tuple(ctx.unknowns.finish(ctx.ranges[s]) for s in letters)
    if all(len(row) == 1 and ctx.is_trivial(row[0][2][1]) for row in opened):
        parts = [lambda_of((*letters, i), (*lead, rows), e) for [((i, _), e, (rows, _))] in opened]
        return letters, concat(parts, axis=len(lead)) if len(parts) > 1 else parts[0]
    tensors = [[lambda_of((*letters, *at), (*lead, *sizes), e) for at, e, sizes in row] for row in opened]
    beside = [concat(row, axis=len(lead) + 1) if len(row) > 1 else row[0] for row in tensors]
    return letters, concat(beside, axis=len(lead)) if len(beside) > 1 else beside[0]


def _entry(ctx: Context, f: Form) -> tuple[tuple[sp.Symbol, sp.Symbol], sp.Expr, tuple[sp.Expr, sp.Expr]]:
    """Return a block with its own axes of rows and columns, also where there is only one."""
    row, column = fresh(2)
    sizes = ctx.unknowns.finish(f.rows), ctx.unknowns.finish(f.columns)
    at = [sp.S.Zero if ctx.is_trivial(s) else i for i, s in zip((row, column), sizes, strict=True)]
    return (row, column), f.entry(*at), sizes


def diagonal_blocks(ctx: Context, forms: Sequence[Form], span: Span) -> Form:
    """Return the block-diagonal matrix of several matrices."""
    zero = scalar(sp.S.Zero, span)
    if len(forms) == 1:
        return forms[0].at(span)
    grid = [[f if p == q else zero for q in range(len(forms))] for p, f in enumerate(forms)]
    sizes = [(f.rows, f.columns) for f in forms]

    def zeros(p: int, q: int) -> Form:
        return Form(forms[p].span, sizes[p][0], sizes[q][1], lambda row, column: sp.S.Zero)

    filled = [[f if p == q else zeros(p, q) for q, f in enumerate(row)] for p, row in enumerate(grid)]
    return stacked(ctx, filled, span)


# -- dots ----------------------------------------------------------------------------------------
def _with_dots(ctx: Context, part: r.Matrix) -> Form:
    r"""Return blocks from the first to the last one."""
    downward = len(part.rows) == 3 and all(len(row) == 1 for row in part.rows)
    across = len(part.rows) == 1 and len(part.rows[0]) == 3
    line = [row[0] for row in part.rows] if downward else list(part.rows[0])
    if not (downward or across) or not (isinstance(line[1], r.Constant) and line[1].kind == "dots"):
        raise Failure(
            part.span, "dots are read between the first and the last block of one row or one column."
        )
    from lemmax.parse.between import blocks_between

    letter, inner, body_part = blocks_between(ctx, line[0], line[2])
    body = mean(inner, body_part)
    size = ctx.ranges[letter.symbol]

    def entry(rows: Sequence[sp.Expr], columns: Sequence[sp.Expr]) -> sp.Expr:
        outer = rows[0] if downward else columns[0]
        return body.entry(rows[-1], columns[-1]).xreplace({letter.symbol: outer})

    if downward:
        return paired(ctx, (size, body.rows), (body.columns,), entry, part.span)
    return paired(ctx, (body.rows,), (size, body.columns), entry, part.span)
