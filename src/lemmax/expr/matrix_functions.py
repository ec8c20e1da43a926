r"""Functions of matrices with a rule instead of a body: solves, pseudo-inverse, powers, cofactors.

All act on the last two axes; leading axes are families.
"""

from __future__ import annotations

import sympy as sp

from lemmax.errors import InvalidArgument, ShapeError
from lemmax.expr.arguments import of_tensors
from lemmax.expr.arithmetic import broadcast_shape
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.linalg import eye, inv, matmul, matrix_transpose, square_size
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor, TensorSymbol

MOST_FACTORS = 6
"""Powers up to this one are written as products, so that all rules for products apply to them."""


@of_tensors
def solve(a: Tensor, b: Tensor) -> Tensor:
    r"""Return the solution X of ``A X = B``, for invertible A; evaluated by elimination, not by an inverse.

    Args:
        a: square matrices, of shape (..., n, n).
        b: a vector of shape (n,), or matrices of shape (..., n, m).

    Raises:
        ShapeError: A is not square, or B does not fit.
    """
    n = square_size("solve", a)
    if b.ndim == 0 or not same_size(b.shape[-2 if b.ndim > 1 else -1], n):
        raise ShapeError(
            f"solve: {a.label()} and {b.label()} do not fit: B must have shape ({n},) or (..., {n}, m)."
        )
    if b.ndim == 1 and a.ndim > 2:
        raise ShapeError(f"solve: one vector {b.label()} for a family {a.label()}; give it axes: b[:, None].")
    if b.ndim > 1:
        lead = broadcast_shape("solve, leading axes", _lead(a), _lead(b))
        if a.shape[:-2] != lead or b.shape[:-2] != lead:
            a, b = _repeated(a, lead), _repeated(b, lead)
    return Apply("solve", (a, b), b.shape)


def _lead(t: Tensor) -> Tensor:
    return Lambda(t.shape[:-2], free_indices(t.ndim - 2), ())


def _repeated(t: Tensor, lead: tuple[sp.Expr, ...]) -> Tensor:
    """Return matrices repeated along leading axes."""
    indices = free_indices(len(lead) + 2)
    own = indices[len(lead) + 2 - t.ndim :]
    at = [
        sp.S.Zero if s == 1 and p < t.ndim - 2 else i
        for p, (s, i) in enumerate(zip(t.shape, own, strict=True))
    ]
    return Lambda(lead + t.shape[-2:], indices, (Term((), t.entry(*at)),))


@of_tensors
def pinv(a: Tensor) -> Tensor:
    r"""Return the Moore-Penrose inverse :math:`A^+` of matrices (..., m, n), of shape (..., n, m).

    Its derivative exists where the rank of A is constant around A, full rank in particular (Golub, Pereyra,
    SIAM J. Numer. Anal. 10 (1973)).
    """
    if a.ndim < 2:
        raise ShapeError(f"pinv needs matrices in the last two axes, got {a.label()}.")
    return Apply("pinv", (a,), (*a.shape[:-2], a.shape[-1], a.shape[-2]))


@of_tensors
def matrix_power(a: Tensor, k: int | sp.Expr) -> Tensor:
    r"""Return :math:`A^k` for an integer ``k`` (a number, or an expression in sizes); :math:`A^0` is I.

    A negative power is one of the inverse.

    Raises:
        ShapeError: A is not square.
        InvalidArgument: ``k`` is no integer.
    """
    n = square_size("matrix_power", a)
    exponent = sp.sympify(k) if isinstance(k, int | sp.Expr) and not isinstance(k, bool) else None
    if exponent is None or not exponent.is_integer or _has_entries(exponent):
        raise InvalidArgument(
            f"matrix_power: k={k!r}: expected an integer, or an expression in sizes (lx.size('k'))."
        )
    if exponent.is_Integer and abs(exponent) <= MOST_FACTORS:
        if exponent == 0:
            return _repeated(eye(n), a.shape[:-2])
        factor = a if exponent > 0 else inv(a)
        power = factor
        for _ in range(abs(int(exponent)) - 1):
            power = matmul(power, factor)
        return power
    return Apply("matrix_power", (a,), a.shape, {"k": exponent})


def _has_entries(expr: sp.Expr) -> bool:
    return any(isinstance(s, TensorSymbol) or is_index(s) for s in expr.atoms(sp.Symbol))


def cofactors(a: Tensor, order: int = 1) -> Tensor:
    r"""Return the derivative of the determinant of an order k, of shape (..., n, n, ..., n, n) with k pairs.

    Of order 1 it is the matrix of cofactors, :math:`\operatorname{adj}(A)^\top`, which is
    :math:`\det(A) A^{-\top}` where A is invertible; of any order k its entries are, up to sign, the minors of
    size n - k.  All are polynomials in the entries: nothing is divided, singular matrices are like others.
    """
    n = square_size("cofactors", a)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InvalidArgument(f"cofactors: order={order!r}: expected a positive integer.")
    return Apply("cofactors", (a,), a.shape[:-2] + (n, n) * order, {"order": order})


@of_tensors
def adjugate(a: Tensor) -> Tensor:
    r"""Return the adjugate, :math:`\det(A) A^{-1}` where A is invertible; it exists for every square A."""
    return matrix_transpose(cofactors(a))
