r"""The two parts of a Hessian block: outer (Gauss-Newton) and functional.

For a loss :math:`f(\theta) = \ell(Z(\theta))` the chain rule gives, for all weights A and B,

.. math::

    \frac{\partial^2 f}{\partial A_a \, \partial B_b} =
    \sum_{z, z'} \frac{\partial Z_z}{\partial A_a} \, \frac{\partial^2 \ell}{\partial Z_z \, \partial Z_{z'}}
    \, \frac{\partial Z_{z'}}{\partial B_b}
    + \sum_z \frac{\partial \ell}{\partial Z_z} \, \frac{\partial^2 Z_z}{\partial A_a \, \partial B_b},

the outer part plus the functional part.

The outer part of all blocks together is positive semidefinite if the curvature
:math:`\partial^2 \ell / \partial Z^2` is; the functional part is linear in the slope
:math:`\partial \ell / \partial Z`, which for a squared loss is the residual.

Source: W. Ormaniec, F. Dangel, S. P. Singh, *What Does It Mean to Be a Transformer? Insights from a
Theoretical Hessian Analysis*, 2024, arXiv 2410.10986; N. N. Schraudolph, *Fast Curvature Matrix-Vector
Products for Second-Order Gradient Descent*, Neural Computation 14 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import sympy as sp

from lemmax.calculus.flatten import flatten
from lemmax.calculus.forward import check_scalar, hessian_block, jacobian, restricted
from lemmax.calculus.gradient import gradient
from lemmax.calculus.linearity import is_linear_in, multiple_of
from lemmax.calculus.middle import loss_of_middle, middle_tensor
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.positivity import why_positive_semidefinite
from lemmax.calculus.structured import Structured, check_second_order, check_structured
from lemmax.errors import InvalidArgument
from lemmax.expr.graph import substitute, topological_order
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Input, Lambda, Term
from lemmax.expr.tensor import Tensor, distinct_name

Part = Literal["total", "outer", "functional"]
"""The whole of a Hessian block, or one of its two parts."""


def check_part(what: str, part: str, through: object) -> None:
    """Check the name of a part.

    Raises:
        InvalidArgument: there is no such part, or a middle tensor is given for the whole block.
    """
    if part not in get_args(Part):
        raise InvalidArgument(f"{what}: part={part!r}: expected 'total', 'outer' or 'functional'.")
    if part == "total" and through is not None:
        raise InvalidArgument(f"{what}: through= belongs to a part; pass part='outer' or 'functional'.")


@dataclass(frozen=True)
class HessianSplit:
    r"""A block of the Hessian of :math:`f = \ell(Z)` and its two parts.

    Attributes:
        f: the scalar.
        a: weights of the first axes of the block.
        b: weights of the last axes.
        through: the tensor Z through which f depends on the weights.
        slope: :math:`\partial \ell / \partial Z`, of the shape of Z.
        curvature: :math:`\partial^2 \ell / \partial Z^2`, of the shape of Z twice.
        outer: the Gauss-Newton part, of shape ``a.shape + b.shape``.
        functional: the rest, of the same shape.
        psd_reason: why the curvature, and with it the outer part, is positive semidefinite;
            ``None`` if that was not shown (it may hold all the same).
        linear_in: the tensor in which the functional part is linear: the slope or, if that is a
            multiple of a tensor of the loss (the residual), that tensor.
        factor: the slope divided by ``linear_in``.
        nonsmooth: the policy for kinks.
        structured: which derivatives are meant in weights whose entries are not free.
    """

    f: Tensor
    a: Tensor
    b: Tensor
    through: Tensor
    slope: Tensor
    curvature: Tensor
    outer: Tensor
    functional: Tensor
    psd_reason: str | None
    linear_in: Tensor
    factor: sp.Expr
    nonsmooth: Smoothness
    structured: Structured

    @property
    def total(self) -> Tensor:
        """The block itself, as :func:`lemmax.hessian` derives it; its value is outer + functional."""
        return hessian_block(self.f, self.a, self.b, self.nonsmooth, self.structured)

    def __repr__(self) -> str:
        """Show block, middle tensor and what is known of the parts."""
        known = "outer part positive semidefinite" if self.psd_reason else "sign of the outer part not shown"
        linear = self.linear_in.label() if self.linear_in.name else "the slope"
        return (
            f"<HessianSplit of the block {self.a.label()}, {self.b.label()} through {self.through.label()}: "
            f"{known}; functional part linear in {linear}>"
        )


def hessian_split(
    f: Tensor,
    a: Tensor,
    b: Tensor | None = None,
    *,
    through: Tensor | str | None = None,
    nonsmooth: Smoothness = "raise",
    structured: Structured = "raise",
) -> HessianSplit:
    r"""Split a block of the Hessian of a scalar into its outer (Gauss-Newton) and its functional part.

    Args:
        f: a scalar that depends on the weights through one tensor Z only.
        a: weights of the first axes of the block.
        b: weights of the last axes; ``a`` by default.
        through: Z, as a tensor inside ``f`` or by its name.  By default the first tensor on the way from
            ``f`` to the weights that all dependence goes through and in which ``f`` is not linear (if
            possible one in which it is seen to be convex); a named one if only sums and scalings lie
            between.  For a squared loss it is the residual R, which differs from the output by a
            constant and gives the same split.
        nonsmooth: ``raise`` or ``subgradient``; see :func:`lemmax.gradient`.
        structured: which derivatives are meant if entries of the weights are not free; see
            :func:`lemmax.gradient`.

    Returns:
        A :class:`HessianSplit`: ``.outer`` and ``.functional`` of shape ``a.shape + b.shape`` with
        ``outer + functional`` the block, the reason ``.psd_reason`` for the curvature to be positive
        semidefinite (or ``None``), and ``.linear_in``.

    Raises:
        InvalidArgument: ``f`` is no scalar; there is no such tensor; ``f`` depends on the weights other
            than through it.
        NonSmooth, MissingRule: as :func:`lemmax.gradient` does.

    >>> import lemmax as lx
    >>> n, D, k = lx.sizes("n D k")
    >>> X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
    >>> split = lx.hessian_split(lx.sqnorm(lx.tanh(X @ W) - Y) / 2, W)
    >>> split.psd_reason
    'the curvature is the identity'
    """
    b = a if b is None else b
    check_scalar("hessian_split", f, a, b)
    for v in (a, b):
        check_structured("hessian_split", v, structured)
        check_second_order("hessian_split", v, structured)
    middle = middle_tensor(f, (a, b), through, nonsmooth)
    loss, held = loss_of_middle(f, (a, b), middle)
    slope, curvature = gradient(loss, held, nonsmooth), hessian_block(loss, held, held, nonsmooth)
    assert isinstance(slope, Tensor)
    reason = why_positive_semidefinite(curvature)
    factor, multiple = multiple_of(slope)
    slope, curvature, multiple = (substitute(t, {held: middle}) for t in (slope, curvature, multiple))
    return HessianSplit(
        f,
        a,
        b,
        middle,
        slope,
        curvature,
        _both_sides(outer_part(middle, curvature, a, b, nonsmooth), a, b, structured),
        _both_sides(functional_part(middle, slope, a, b, nonsmooth), a, b, structured),
        reason,
        multiple,
        factor,
        nonsmooth,
        structured,
    )


def _both_sides(block: Tensor, a: Tensor, b: Tensor, structured: Structured) -> Tensor:
    """Map a block in all entries to the one that is meant; the maps are linear, so parts add up as before."""
    return restricted(restricted(block, a, structured, 0), b, structured, a.ndim)


def outer_part(middle: Tensor, curvature: Tensor, a: Tensor, b: Tensor, nonsmooth: Smoothness) -> Tensor:
    r"""Return :math:`J_A^\top \, (\partial^2 \ell / \partial Z^2) \, J_B` with the Jacobians of Z."""
    left = jacobian(middle, a, nonsmooth, "ignore")
    right = left if a == b else jacobian(middle, b, nonsmooth, "ignore")
    return flatten([gauss_newton(middle, left, curvature, right, a, b)])[0]


def gauss_newton(
    middle: Tensor, left: Tensor, curvature: Tensor, right: Tensor, a: Tensor, b: Tensor
) -> Tensor:
    """Return the product of the two Jacobians with the curvature between them, as one sum."""
    indices = free_indices(a.ndim + b.ndim)
    count = middle.ndim
    z, w = (tuple(bound_index(p + q) for p in range(count)) for q in (0, count))
    sums = tuple((i, s) for i, s in zip((*z, *w), middle.shape * 2, strict=True))
    factors = (
        left.entry(*z, *indices[: a.ndim]),
        curvature.entry(*z, *w),
        right.entry(*w, *indices[a.ndim :]),
    )
    return Lambda(a.shape + b.shape, indices, (Term(sums, sp.Mul(*factors)),))


def functional_part(middle: Tensor, slope: Tensor, a: Tensor, b: Tensor, nonsmooth: Smoothness) -> Tensor:
    r"""Return :math:`\sum_z (\partial \ell / \partial Z_z) \, \partial^2 Z_z / \partial A \partial B`.

    It is the Hessian block of :math:`\langle C, Z \rangle` with the slope put in for C afterwards.
    """
    pairing, held = pairing_with(middle)
    block = hessian_block(pairing, a, b, nonsmooth)
    if not is_linear_in(block, held):
        raise AssertionError("the Hessian of a pairing is linear in what it is paired with")
    return flatten([substitute(block, {held: slope})])[0]


def pairing_with(middle: Tensor) -> tuple[Tensor, Input]:
    r"""Return :math:`\langle C, Z \rangle` and the input C, which stands for the slope held fixed."""
    taken = {t.name for t in topological_order(middle)}
    held = Input(distinct_name("C", taken), middle.shape)
    sums = tuple((bound_index(p), s) for p, s in enumerate(middle.shape))
    at = [i for i, _ in sums]
    return Lambda((), (), (Term(sums, held.entry(*at) * middle.entry(*at)),)), held
