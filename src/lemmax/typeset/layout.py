r"""Which axes of a tensor number the rows and the columns of a matrix: derivatives of matrices in matrices.

A Hessian block of shape ``A.shape + B.shape`` is a matrix: the last two axes of A together number its
rows, those of B its columns, and the axes before them are subscripts, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Derivative, Input
from lemmax.expr.sizes import is_one, same_size
from lemmax.expr.tensor import Tensor

if TYPE_CHECKING:
    from lemmax.typeset.reader import Reader

Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Axes of a tensor as a matrix over pairs of indices.

    Attributes:
        rows: the axes that number the rows, at most two; the others before them are subscripts.
        columns: the axes that number the columns.
    """

    rows: Axes
    columns: Axes

    @property
    def axes(self) -> Axes:
        """All axes of the matrix."""
        return self.rows + self.columns


def check_rows(t: Tensor, rows: int | None) -> None:
    """Check the number of axes that number rows.

    Raises:
        InvalidArgument: no number of axes, or more than there are.
    """
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= t.ndim):
        raise InvalidArgument(
            f"latex: rows={rows!r}: expected how many of the {t.ndim} axes of {t.label()} number rows, as"
            " many as A has for a Jacobian of A."
        )


def layout_of(t: Tensor, reader: Reader, rows: int | None) -> Layout | None:
    """Return the axes as rows and columns of one matrix, or ``None`` if they are no pairs.

    Args:
        t: the tensor, flat.
        reader: knows which axes are subscripts.
        rows: how many leading axes belong to the rows; if ``None``, it is found out: half of the axes
            or what else leaves exactly the subscripts in front of two pairs.
    """
    if isinstance(t, Input | Derivative):
        return None
    if rows is not None:
        found = split_at(t, rows)
        return found if max(len(found.rows), len(found.columns)) == 2 else None
    if t.ndim < 4:
        return None
    families = reader.family_axes(t)
    half = t.ndim // 2
    halves = t.ndim % 2 == 0 and all(
        same_size(a, b) for a, b in zip(t.shape[:half], t.shape[half:], strict=True)
    )
    for at in sorted(range(2, t.ndim - 1), key=lambda r: abs(2 * r - t.ndim)):
        lead = frozenset([*range(at - 2), *range(at, t.ndim - 2)])
        if families == lead or (families <= lead and 2 * at == t.ndim and (families or halves)):
            return split_at(t, at)
    return None


def split_at(t: Tensor, rows: int) -> Layout:
    """Return the last two axes before ``rows`` and the last two of all; axes of size 1 are left out."""
    groups = [
        tuple(p for p in group[-2:] if not is_one(t.shape[p])) for group in (range(rows), range(rows, t.ndim))
    ]
    return Layout(groups[0], groups[1])
