r"""One contraction of two labelled values, as a matrix product wherever it is one.

The labels of two operands fall into four groups: batch (in both, kept), rows (in the left only),
columns (in the right only) and inner (in both, summed).  With one inner label the product is a
batched matrix product on views, the remaining rows or columns broadcast: ``X @ WQ``.
With several inner labels, or families on both sides, the axes of each group are merged, so that one
matrix product sums over samples and tokens at once: ``X.reshape(N * n, D).T @ G.reshape(N * n, H * d)``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sympy as sp

from lemmax.codegen.labels import Frame, Label, Labelled, align, permute
from lemmax.codegen.values import Pool, Value
from lemmax.expr.sizes import product


def contract(pool: Pool, frame: Frame, a: Labelled, b: Labelled, keep: Collection[Label]) -> Labelled:
    """Return the sum of ``a * b`` over all labels that are not in ``keep``."""
    a = sum_out(pool, a, [x for x in a.labels if x not in b.labels and x not in keep])
    b = sum_out(pool, b, [x for x in b.labels if x not in a.labels and x not in keep])
    inner = [x for x in a.labels if x in b.labels and x not in keep]
    batch = [x for x in a.labels if x in b.labels and x in keep]
    rows = [x for x in a.labels if x not in b.labels]
    columns = [x for x in b.labels if x not in a.labels]
    if not inner:
        return hadamard(pool, a, b)
    if not rows and not columns:
        return _inner_product(pool, a, b, batch, inner)
    if not batch and not (rows and columns):
        return _matrix_vector(pool, frame, a, b, inner)
    if not rows or not columns:
        return _batched_matrix_vector(pool, frame, a, b, batch, inner)
    # families on both sides would mean very many small products: merge them into one large product
    crossed = len(rows) > 1 and len(columns) > 1
    if len(inner) == 1 and not crossed:
        return _broadcast_product(pool, a, b, batch, rows, columns, inner[0])
    return _merged_product(pool, frame, a, b, batch, rows, columns, inner)


def sum_out(pool: Pool, item: Labelled, gone: Collection[Label]) -> Labelled:
    """Sum a labelled value over some of its labels."""
    axes = [p for p, label in enumerate(item.labels) if label in gone]
    return Labelled(pool.reduce("sum", item.value, axes), tuple(x for x in item.labels if x not in gone))


def hadamard(pool: Pool, a: Labelled, b: Labelled) -> Labelled:
    """The entrywise product; axes stand as in the operand with more of them."""
    large, small = (a, b) if len(a.labels) >= len(b.labels) else (b, a)
    extra = [x for x in small.labels if x not in large.labels]
    labels = (*extra, *large.labels)
    return Labelled(pool.multiply([align(pool, large, labels), align(pool, small, labels)]), labels)


def _inner_product(
    pool: Pool, a: Labelled, b: Labelled, batch: Sequence[Label], inner: Sequence[Label]
) -> Labelled:
    """Sum of products of entries: a dot product of flat vectors, or a sum of Hadamard products per family."""
    if batch:
        return sum_out(pool, hadamard(pool, a, b), inner)
    left, right = (flat(pool, permute(pool, item, inner)) for item in (a, b))
    return Labelled(pool.matmul(left, right), ())


def _matrix_vector(pool: Pool, frame: Frame, a: Labelled, b: Labelled, inner: Sequence[Label]) -> Labelled:
    """A product with a vector: ``X @ v``, whatever the number of rows."""
    matrix, vector = (a, b) if len(a.labels) > len(b.labels) else (b, a)
    order = list(inner) if len(inner) == 1 else [x for x in matrix.labels if x in inner]
    kept = tuple(x for x in matrix.labels if x not in inner)
    left = permute(pool, matrix, [*kept, *order])
    right = permute(pool, vector, order)
    if len(order) > 1:
        left = pool.reshape(left, (*[frame.sizes[x] for x in kept], product(right.shape)))
        right = flat(pool, right)
    return Labelled(pool.matmul(left, right), kept)


def _batched_matrix_vector(
    pool: Pool, frame: Frame, a: Labelled, b: Labelled, batch: Sequence[Label], inner: Sequence[Label]
) -> Labelled:
    """A product with one vector per family: ``(X @ u[:, :, None])[:, :, 0]``."""
    matrix, vector = (a, b) if len(a.labels) > len(b.labels) else (b, a)
    kept = [x for x in matrix.labels if x not in inner and x not in batch]
    order = [x for x in matrix.labels if x in inner]
    rows = [frame.sizes[x] for x in kept]
    lead = [frame.sizes[x] for x in batch]
    left = permute(pool, matrix, [*batch, *kept, *order])
    right = permute(pool, vector, [*batch, *order])
    if len(kept) > 1 or len(order) > 1:
        left = pool.reshape(
            left, (*lead, product(tuple(rows)), product(tuple(frame.sizes[x] for x in order)))
        )
        right = pool.reshape(right, (*lead, left.shape[-1]))
    last = right.ndim
    column = pool.matmul(left, pool.expand(right, [last]))
    result = pool.take(column, [(last, sp.S.Zero)])
    return Labelled(pool.reshape(result, (*lead, *rows)), (*batch, *kept))


def _broadcast_product(
    pool: Pool,
    a: Labelled,
    b: Labelled,
    batch: Sequence[Label],
    rows: Sequence[Label],
    columns: Sequence[Label],
    inner: Label,
) -> Labelled:
    """A batched product over one inner label; all but the last row and column label are families."""
    family = [*batch, *rows[:-1], *columns[:-1]]
    # families stand in the order of the left operand, then of the right one
    family.sort(key=lambda x: ([*a.labels, *b.labels]).index(x))
    left = align(pool, a, [*family, rows[-1], inner])
    right = align(pool, b, [*family, inner, columns[-1]])
    return Labelled(pool.matmul(left, right), (*family, rows[-1], columns[-1]))


def _merged_product(
    pool: Pool,
    frame: Frame,
    a: Labelled,
    b: Labelled,
    batch: Sequence[Label],
    rows: Sequence[Label],
    columns: Sequence[Label],
    inner: Sequence[Label],
) -> Labelled:
    """One matrix product per family with the axes of each group merged."""

    def sizes(group: Sequence[Label]) -> tuple[sp.Expr, ...]:
        return tuple(frame.sizes[x] for x in group)

    lead = sizes(batch)
    left = _merged(pool, frame, a, batch, rows, inner)
    right = _merged(pool, frame, b, batch, inner, columns)
    result = pool.matmul(left, right)
    whole = Labelled(pool.reshape(result, (*lead, *sizes(rows), *sizes(columns))), (*batch, *rows, *columns))
    # families stand first, rows and columns last, as in the other forms
    order = (*batch, *rows[:-1], *columns[:-1], rows[-1], columns[-1])
    return Labelled(permute(pool, whole, order), order)


def _merged(
    pool: Pool,
    frame: Frame,
    item: Labelled,
    batch: Sequence[Label],
    first: Sequence[Label],
    second: Sequence[Label],
) -> Value:
    """Return a value as (batch..., merged first, merged second), by way of its stored order."""

    def sizes(group: Sequence[Label]) -> tuple[sp.Expr, ...]:
        return tuple(frame.sizes[x] for x in group)

    # the last axis stays last, and a transpose is a view: either way round uses the same merged array
    swap = bool(first and second) and item.labels[-1] in first
    head, tail = (second, first) if swap else (first, second)
    value = permute(pool, item, [*batch, *head, *tail])
    value = pool.reshape(value, (*sizes(batch), product(sizes(head)), product(sizes(tail))))
    n = len(batch)
    return pool.transpose(value, [*range(n), n + 1, n]) if swap else value


def flat(pool: Pool, v: Value) -> Value:
    """Return all entries as one vector."""
    return pool.reshape(v, (product(v.shape),)) if v.ndim != 1 else v
