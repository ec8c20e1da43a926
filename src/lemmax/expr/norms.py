r"""Norms, called as NumPy calls them."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeAlias

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.arguments import of_tensors
from lemmax.expr.axes import Axis, some_axes
from lemmax.expr.functionals import nuclear_norm, spectral_norm
from lemmax.expr.functions import of_tensor
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.reductions import max as largest
from lemmax.expr.reductions import sqnorm, sum_of_squares
from lemmax.expr.reductions import sum as total
from lemmax.expr.tensor import Tensor

Order: TypeAlias = int | float | str | sp.Expr | None


@of_tensors
def norm(t: Tensor, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    r"""Return a norm; which one, ``ord`` says, as in ``numpy.linalg.norm``.

    * None: :math:`\sqrt{\sum x^2}` over ``axis``, by default all axes: the Euclidean norm of a vector, the
      Frobenius norm of a matrix.
    * Of a vector, or along one ``axis``: a number p >= 1 for :math:`(\sum |x|^p)^{1/p}`, infinity for the
      largest absolute value.
    * Of matrices in the last two axes: ``"fro"``; 2, the largest singular value; ``"nuc"``, their sum; 1 and
      infinity, the largest sum of absolute values in a column, in a row.  The sum of all absolute values is
      ``lx.sum(lx.abs(A))``.

    Not smooth at 0, those with absolute values or maxima also elsewhere.

    Raises:
        InvalidArgument: there is no such norm.
    """
    if ord is None:
        axes = some_axes("norm", t, axis)
        if len(axes) == t.ndim and not keepdims:
            return _root(sqnorm(t))
        return _root(sum_of_squares(t, axes, keepdims))
    axes = some_axes("norm", t, axis) if axis is not None or t.ndim == 1 else (t.ndim - 2, t.ndim - 1)
    if len(axes) == 1:
        return _of_vectors(t, ord, axes[0], keepdims)
    if t.ndim < 2 or axes != (t.ndim - 2, t.ndim - 1):
        raise InvalidArgument(
            f"norm of {t.label()} over axes {axes}: matrices stand in the last two axes; move them there with"
            " lx.permute, or give one axis for vectors."
        )
    return _of_matrices(t, ord, keepdims)


def _root(squared: Tensor) -> Tensor:
    if squared.ndim:
        return of_tensor("sqrt", squared)
    return Lambda((), (), (Term((), sp.sqrt(squared.symbol)),))


def _of_vectors(t: Tensor, ord: Order, axis: int, keepdims: bool) -> Tensor:
    if isinstance(ord, Real | sp.Expr) and not isinstance(ord, bool):
        p = sp.sympify(ord)
        if p == 2:
            return _root(sum_of_squares(t, (axis,), keepdims))
        if p == sp.oo:
            return largest(of_tensor("abs", t), axis=axis, keepdims=keepdims)
        if p == 1:
            return total(of_tensor("abs", t), axis=axis, keepdims=keepdims)
        if p.is_number and p.is_real and p > 1:
            if p.is_Float and float(p).is_integer():
                p = sp.Integer(int(p))
            # an even power has no kink at 0
            base = t if p.is_even else of_tensor("abs", t)
            powers = total(base**p, axis=axis, keepdims=keepdims)
            root: Tensor = powers ** (1 / p)
            return root
    raise InvalidArgument(f"norm: ord={ord!r}: expected for vectors a number from 1 on, or infinity.")


def _of_matrices(t: Tensor, ord: Order, keepdims: bool) -> Tensor:
    last = (t.ndim - 2, t.ndim - 1)
    if ord == "fro":
        return _root(sum_of_squares(t, last, keepdims))
    if ord in (1, math.inf, sp.oo):
        along = last[0] if ord == 1 else last[1]
        sums = total(of_tensor("abs", t), axis=along, keepdims=True)
        return largest(sums, axis=last, keepdims=keepdims)
    if ord in (2, "nuc"):
        value = spectral_norm(t) if ord == 2 else nuclear_norm(t)
        made = value[..., None, None] if keepdims else value
        assert isinstance(made, Tensor)
        return made
    raise InvalidArgument(f"norm: ord={ord!r}: expected for matrices 'fro', 'nuc', 1, 2 or infinity.")
