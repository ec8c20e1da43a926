r"""Derivatives in variables whose entries are not free: symmetric, diagonal, triangular, orthogonal.

Let G be the gradient as if all entries were free.  Two things are called the gradient in such a variable:

* ``"subspace"``: the gradient in the space of such matrices with the Frobenius inner product, the orthogonal
  projection of G onto it: :math:`(G + G^\top)/2`, :math:`I \odot G`, the lower triangle of G.  Along the
  orthogonal matrices the space is the tangent space at Q: :math:`G - Q (Q^\top G + G^\top Q)/2`.
* ``"entries"``: the table of derivatives in the free entries (of a symmetric matrix those of one triangle,
  each of which stands in two places): :math:`G + G^\top - I \odot G`, :math:`I \odot G`, the lower triangle.

Both maps are linear and fixed but for orthogonal matrices; second derivatives apply them on both sides.

Sources: J. R. Magnus, H. Neudecker, Matrix Differential Calculus (2019), chapter 3 (duplication matrix);
A. Edelman, T. Arias, S. Smith, SIAM J. Matrix Anal. Appl. 20 (1998), section 2.2 (orthogonal matrices).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import sympy as sp

from lemmax.errors import InvalidArgument, UnsupportedYet
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Input, Lambda, Term
from lemmax.expr.tensor import Tensor

Structured = Literal["raise", "subspace", "entries", "ignore"]
Body = Callable[[sp.Expr, sp.Expr, sp.Expr, sp.Symbol, sp.Symbol], sp.Expr]
"""From the entry at i and j, that at j and i, the one at i and i times a delta, i and j."""


def _symmetric_part(x: sp.Expr, swapped: sp.Expr, tied: sp.Expr, i: sp.Symbol, j: sp.Symbol) -> sp.Expr:
    return (x + swapped) / 2


def _symmetric_entries(x: sp.Expr, swapped: sp.Expr, tied: sp.Expr, i: sp.Symbol, j: sp.Symbol) -> sp.Expr:
    return x + swapped - tied


def _diagonal(x: sp.Expr, swapped: sp.Expr, tied: sp.Expr, i: sp.Symbol, j: sp.Symbol) -> sp.Expr:
    return tied


def _lower_triangle(x: sp.Expr, swapped: sp.Expr, tied: sp.Expr, i: sp.Symbol, j: sp.Symbol) -> sp.Expr:
    return sp.Piecewise((x, sp.Ge(i, j)), (sp.S.Zero, True))


_MAPS: dict[tuple[str, str], Body] = {
    ("symmetric", "subspace"): _symmetric_part,
    ("symmetric", "entries"): _symmetric_entries,
    ("diagonal", "subspace"): _diagonal,
    ("diagonal", "entries"): _diagonal,
    ("lower_triangular", "subspace"): _lower_triangle,
    ("lower_triangular", "entries"): _lower_triangle,
}
"""What becomes of an entry, by structure and by which gradient is meant."""


def structure_of(v: Tensor) -> str | None:
    """Return the structure of a variable: symmetric, diagonal, lower_triangular, orthogonal, or none.

    Raises:
        UnsupportedYet: orthogonal together with another structure.
    """
    held = set(v.assumptions) - {"positive"} if isinstance(v, Input) else set()
    symmetric = bool(held & {"symmetric", "positive_definite"})
    if "orthogonal" in held:
        if held != {"orthogonal"}:
            raise UnsupportedYet(
                f"a derivative in {v.label()}, declared {', '.join(sorted(held))}: orthogonal matrices with"
                " another structure are no linear space and mostly isolated points."
            )
        return "orthogonal"
    if "diagonal" in held or (symmetric and "lower_triangular" in held):
        return "diagonal"
    if "lower_triangular" in held:
        return "lower_triangular"
    return "symmetric" if symmetric else None


def check_structured(what: str, v: Tensor, structured: str) -> None:
    """Check that it is said which derivative in a structured variable is meant.

    Raises:
        InvalidArgument: it is not said, or the option is unknown or has no meaning for the structure.
        UnsupportedYet: orthogonal together with another structure.
    """
    if structured not in ("raise", "subspace", "entries", "ignore"):
        raise InvalidArgument(
            f"structured={structured!r}: expected 'raise', 'subspace', 'entries' or 'ignore'."
        )
    structure = structure_of(v)
    if structure is None or structured == "ignore":
        return
    assert isinstance(v, Input)
    declared = f"{what} in {v.label()}, declared {', '.join(v.assumptions)}"
    if structured == "raise":
        raise InvalidArgument(
            f"{declared}: its entries are not free, say which derivative is meant. Pass"
            " structured='subspace' (projected onto such matrices: (G + G^T)/2 of a symmetric one), 'entries'"
            " (in the free entries: G + G^T - diag G) or 'ignore' (as if all entries were free: G)."
        )
    if structure == "orthogonal" and structured == "entries":
        raise InvalidArgument(
            f"{declared}: an orthogonal matrix has no free entries; pass structured='subspace' for the"
            " projection onto the tangent space, or 'ignore'."
        )


def check_second_order(what: str, v: Tensor, structured: str) -> None:
    """Check that second derivatives in the variable are linear maps of those in free entries.

    Raises:
        UnsupportedYet: the variable is orthogonal, where a second derivative has a curvature term.
    """
    if structured != "ignore" and structure_of(v) == "orthogonal":
        raise UnsupportedYet(
            f"{what} in {v.label()}, declared orthogonal: second derivatives along orthogonal matrices have a"
            " curvature term, which is not worked out. Pass structured='ignore' for that of free entries."
        )


def restrict(t: Tensor, v: Tensor, structured: str, axis: int = 0) -> Tensor:
    """Map derivatives in the entries of ``v`` to those that are meant.

    Args:
        t: derivatives in all entries of ``v``, which stand on the axes from ``axis`` on.
        v: the variable.
        structured: which derivatives are meant.
        axis: where the axes of the variable begin.
    """
    structure = structure_of(v)
    if structure is None or structured in ("ignore", "raise"):
        return t
    at = axis + v.ndim - 2
    if structure == "orthogonal":
        return _tangent_part(t, v, axis)
    indices = free_indices(t.ndim)
    i, j = indices[at], indices[at + 1]
    swapped = (*indices[:at], j, i, *indices[at + 2 :])
    make = _MAPS[structure, structured]
    tied = (*indices[:at], i, i, *indices[at + 2 :])
    delta = sp.KroneckerDelta(i, j)
    body = make(t.entry(*indices), t.entry(*swapped), delta * t.entry(*tied), i, j)
    return Lambda(t.shape, indices, tuple(Term((), part) for part in sp.Add.make_args(sp.expand(body))))


def _tangent_part(t: Tensor, v: Tensor, axis: int) -> Tensor:
    r"""Return :math:`G - Q (Q^\top G + G^\top Q)/2` for the matrices G on the axes of the variable."""
    n = v.shape[-1]
    at = axis + v.ndim - 2
    indices = free_indices(t.ndim)
    family, (i, j) = indices[axis:at], indices[at : at + 2]
    k, m = bound_index(0), bound_index(1)

    def g(row: sp.Symbol, column: sp.Symbol) -> sp.Expr:
        return t.entry(*indices[:at], row, column, *indices[at + 2 :])

    def q(row: sp.Symbol, column: sp.Symbol) -> sp.Expr:
        return v.entry(*family, row, column)

    bound = ((k, n), (m, n))
    return Lambda(
        t.shape,
        indices,
        (
            Term((), g(i, j)),
            Term(bound, -q(i, k) * q(m, k) * g(m, j) / 2),
            Term(bound, -q(i, k) * g(m, k) * q(m, j) / 2),
        ),
    )
