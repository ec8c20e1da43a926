r"""The claim as a whole against the right formula: another layout, order of vec, heads stacked, symmetry.

Each relation says: the claim is this function of the right formula.  It is proved as an equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sympy import S

from lemmax.check.claim.target import Target
from lemmax.expr import reductions
from lemmax.expr.indexing import merge, split
from lemmax.expr.indices import free_indices
from lemmax.expr.linalg import permute
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size, is_one, same_size
from lemmax.expr.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Relation:
    """What the claim may be instead of the right formula.

    Attributes:
        kind: kind of mistake.
        text: the mistake in words, and what to do.
        claimed: what the claim is, if it is this mistake.
        mend: what makes the right formula of it.
    """

    kind: str
    text: str
    claimed: Tensor
    mend: Callable[[Tensor], Tensor]


def relations(target: Target, parts: tuple[tuple[Size, ...], tuple[Size, ...]]) -> Iterator[Relation]:
    """Yield relations.

    Args:
        target: the right formula.
        parts: sizes of the indices that rows and columns of a Hessian block stand for, in the order of vec.
    """
    right = target.tensor
    lead = target.families
    if right.ndim - lead == 2:
        yield from _layouts(target, lead)
        if target.second:
            yield from _orders(right, parts)
        if same_size(right.shape[-1], right.shape[-2]):
            yield from _symmetric(right)
    elif right.ndim - lead == 1:
        yield _as_row(right)
    yield from _stacked(target, lead)


def _as_row(right: Tensor) -> Relation:
    indices = free_indices(right.ndim + 1)
    row = (*indices[:-2], indices[-1])
    shape = (*right.shape[:-1], S.One, right.shape[-1])

    def column(t: Tensor) -> Tensor:
        return Lambda(right.shape, row, (Term((), t.entry(*indices[:-2], S.Zero, indices[-1])),))

    return Relation(
        "layout",
        "transpose the claim: the gradient in a vector is a column",
        Lambda(shape, indices, (Term((), right.entry(*row)),)),
        column,
    )


def _layouts(target: Target, lead: int) -> Iterator[Relation]:
    right = target.tensor
    text = "transpose the claim: a gradient has the shape of its variable"
    if target.second:
        text = "transpose the claim: rows belong to the first variable, columns to the second"
    yield Relation("layout", text, right.mT, lambda t: t.mT)
    if target.second and lead == 2:
        axes = (1, 0, 3, 2)
        yield Relation(
            "layout", "exchange the two variables: transpose the claim and its indices",
            permute(right, axes), lambda t: permute(t, axes),
        )  # fmt: skip


def _orders(right: Tensor, parts: tuple[tuple[Size, ...], tuple[Size, ...]]) -> Iterator[Relation]:
    turns = [len(p) == 2 and not any(is_one(s) for s in p) for p in parts]
    for rows, columns in ((True, True), (True, False), (False, True)):
        if (rows and not turns[0]) or (columns and not turns[1]):
            continue
        which = "rows and columns" if rows and columns else "rows" if rows else "columns"
        new = tuple(tuple(reversed(p)) if t else p for p, t in zip(parts, (rows, columns), strict=True))

        def there(t: Tensor, turn: tuple[bool, bool] = (rows, columns)) -> Tensor:
            return reordered(t, parts, turn)

        def back(
            t: Tensor, turn: tuple[bool, bool] = (rows, columns), new: tuple[tuple[Size, ...], ...] = new
        ) -> Tensor:
            return reordered(t, (new[0], new[1]), turn)

        yield Relation(
            "vec order",
            f"the {which} are in the other order of vec: exchange the factors of the Kronecker products, or"
            " multiply by commutation matrices",
            there(right),
            back,
        )


def reordered(t: Tensor, parts: tuple[tuple[Size, ...], tuple[Size, ...]], turn: tuple[bool, bool]) -> Tensor:
    """Return families of matrices with rows or columns, pairs of indices, in the other order of vec."""
    lead = t.ndim - 2
    sizes = [*t.shape[:lead], *parts[0], *parts[1]]
    count = iter(range(len(sizes)))
    groups: list[tuple[int, ...]] = [(next(count),) for _ in range(lead)]
    groups += [tuple(next(count) for _ in p) for p in parts]
    apart = split(t, tuple(groups), tuple(sizes))
    cores = [tuple(reversed(g)) if x else g for g, x in zip(groups[lead:], turn, strict=True)]
    moved = permute(apart, (*range(lead), *cores[0], *cores[1]))
    return merge(moved, *groups)


def _symmetric(right: Tensor) -> Iterator[Relation]:
    n = right.ndim
    indices = free_indices(n)
    from sympy import KroneckerDelta

    both = right + right.mT
    diagonal = Lambda(
        right.shape,
        indices,
        (Term((), right.entry(*indices[:-1], indices[-2]) * KroneckerDelta(indices[-1], indices[-2])),),
    )
    taken = "the claim takes the variable to be symmetric"
    for words, claimed in (
        ("the symmetric part of the gradient, (G + G^T)/2", both / 2),
        ("G + G^T", both),
        ("the gradient in its free entries, G + G^T - G o I", both - diagonal),
    ):
        yield Relation(
            "symmetry",
            f"{taken}: it is {words}; for a variable with free entries it is G alone",
            claimed,
            lambda t: right,
        )


def _stacked(target: Target, lead: int) -> Iterator[Relation]:
    right = target.tensor
    if target.second and lead == 2 and right.ndim == 4:
        apart = (*right.shape[:1], right.shape[2], right.shape[1], right.shape[3])
        yield Relation(
            "stacked",
            "the claim is one matrix for all members of the families, stacked; give the block of each pair",
            merge(permute(right, (0, 2, 1, 3)), (0, 1), (2, 3)),
            lambda t: permute(split(t, ((0, 1), (2, 3)), apart), (0, 2, 1, 3)),
        )
    for axis in range(lead):
        size = right.shape[axis]
        yield Relation(
            "stacked",
            f"the claim is summed over the axis of size {size}: it is not per member of the family;"
            " leave out the sum",
            reductions.sum(right, axis=axis),
            lambda t: right,
        )
    if lead == 1 and not target.second:
        yield from _stacked_matrix(right)


def _stacked_matrix(right: Tensor) -> Iterator[Relation]:
    words = "the claim stacks the {0} of all members of the family into one matrix; give each its own"
    if right.ndim == 3:
        h, rows, columns = right.shape
        yield Relation(
            "stacked", words.format("rows"),
            merge(right, (0, 1), (2,)), lambda t: split(t, ((0, 1), (2,)), (h, rows, columns)),
        )  # fmt: skip
        yield Relation(
            "stacked", words.format("columns"),
            merge(permute(right, (1, 0, 2)), (0,), (1, 2)),
            lambda t: permute(split(t, ((0,), (1, 2)), (rows, h, columns)), (1, 0, 2)),
        )  # fmt: skip
    elif right.ndim == 2:
        h, rows = right.shape
        yield Relation(
            "stacked", words.format("entries"),
            merge(right, (0, 1)), lambda t: split(t, ((0, 1),), (h, rows)),
        )  # fmt: skip


def dense_shape(target: Target) -> tuple[tuple[Size, ...], Callable[[Tensor], Tensor]] | None:
    """Return the shape of one dense matrix whose diagonal blocks are the members, and what takes them."""
    right = target.tensor
    if target.families != 1 or target.second or right.ndim != 3:
        return None
    h, rows, columns = right.shape

    def blocks(t: Tensor) -> Tensor:
        apart = split(t, ((0, 1), (2, 3)), (h, rows, h, columns))
        i, a, b = free_indices(3)
        return Lambda(right.shape, (i, a, b), (Term((), apart.entry(i, a, i, b)),))

    return (h * rows, h * columns), blocks
