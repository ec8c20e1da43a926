r"""The rules by which the outer and the functional part of a Hessian block are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lemmax.calculus.flatten import flatten
from lemmax.calculus.linearity import is_linear_in, multiple_of
from lemmax.calculus.middle import loss_of_middle
from lemmax.calculus.positivity import why_positive_semidefinite
from lemmax.calculus.split import Part, gauss_newton, pairing_with
from lemmax.derivation.forward_rules import along
from lemmax.derivation.rules import Context, Rule, Split
from lemmax.errors import ReplayError
from lemmax.expr.graph import substitute
from lemmax.expr.nodes import Derivative
from lemmax.expr.tensor import Tensor


def split_of(f: Tensor, weights: Sequence[Tensor], firsts: tuple[Tensor, ...], middle: Tensor) -> Split:
    """Return what is known of a split before its derivation begins.

    Raises:
        InvalidArgument: the scalar depends on the weights other than through the middle tensor.
    """
    loss, held = loss_of_middle(f, weights, middle)
    pairing, cotangent = pairing_with(middle)
    return Split(middle, held, loss, pairing, cotangent, firsts)


def _split(context: Context) -> Split:
    if context.split is None:
        raise ReplayError("the derivation is not that of a part of a Hessian.")
    return context.split


def slope_of(context: Context) -> Tensor:
    """Return the slope, in the input that stands for Z.

    Raises:
        ReplayError: it was not derived before.
    """
    split = _split(context)
    slope = split.slope if split.slope is not None else context.adjoints.get(split.held.digest)
    if slope is None:
        raise ReplayError("the slope was not derived before.")
    return slope


def curvature_of(context: Context) -> Tensor:
    """Return the curvature, in the input that stands for Z.

    Raises:
        ReplayError: it was not derived before.
    """
    curvature = context.final(slope_of(context), _split(context).held)
    if curvature is None:
        raise ReplayError("the curvature was not derived before.")
    return curvature


def claim_of(part: Part, context: Context) -> tuple[str | None, Tensor | None]:
    """Return what is known of a part: why it is positive semidefinite, or in what it is linear.

    Raises:
        ReplayError: what it depends on was not derived before.
    """
    if part == "total":
        return None, None
    if part == "outer":
        return why_positive_semidefinite(curvature_of(context)), None
    split = _split(context)
    return None, substitute(multiple_of(slope_of(context))[1], {split.held: split.middle})


def name_middle(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Write the scalar as a function of the middle tensor."""
    if before != place:
        raise ReplayError("the middle tensor is named in the given scalar.")
    return _split(context).loss


def formal_outer(a: Tensor, b: Tensor, context: Context) -> Tensor:
    """Return the outer part with derivatives that are not worked out."""
    split = _split(context)
    left, right = Derivative(split.middle, a), Derivative(split.middle, b)
    return gauss_newton(split.middle, left, Derivative(slope_of(context), split.held), right, a, b)


def outer(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Put Jacobians and curvature into the outer part."""
    split, b = _split(context), along(context)
    if before != formal_outer(place, b, context):
        raise ReplayError("the outer part is the curvature between two Jacobians.")
    parts = [
        context.final(split.middle, place),
        context.final(slope_of(context), split.held),
        context.final(split.middle, b),
    ]
    if any(part is None for part in parts):
        raise ReplayError("Jacobians and curvature were not all derived before.")
    left, curvature, right = (part for part in parts if part is not None)
    return gauss_newton(split.middle, left, curvature, right, place, b)


def hold_slope(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Pair the middle tensor with its slope, which is held fixed under a name."""
    split = _split(context)
    slope_of(context)
    if before != place or before != split.pairing:
        raise ReplayError("the slope is paired with the middle tensor.")
    return flatten([before], keep=split.weights)[0]


def insert_slope(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Put the slope where its name stood."""
    split, adjoint = _split(context), context.adjoints.get(place.digest)
    if adjoint is None or before != context.final(adjoint, along(context)):
        raise ReplayError("the Hessian block of the pairing was not derived before.")
    if not is_linear_in(before, split.cotangent):
        raise ReplayError("the Hessian block of the pairing is not linear in what stands for the slope.")
    slope = substitute(slope_of(context), {split.held: split.middle})
    return substitute(before, {split.cotangent: slope})


def put_back(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Put the middle tensor where its name stood."""
    split = _split(context)
    return substitute(before, {split.held: split.middle})


def inline_block(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Replace unnamed products and plain sums by their definitions."""
    return flatten([before])[0]


SPLIT_RULES: Mapping[str, Rule] = {
    "name_middle_tensor": name_middle,
    "gauss_newton": outer,
    "hold_slope": hold_slope,
    "insert_slope": insert_slope,
    "put_back_middle_tensor": put_back,
    "inline_block": inline_block,
}
SPLIT_OF_SCALARS = frozenset({"name_middle_tensor", "hold_slope"})
"""Rules that are about scalars, and not about the block of two variables."""
SPLIT_STARTS = frozenset({"name_middle_tensor", "gauss_newton", "hold_slope", "insert_slope"})

SPLIT_STATEMENTS: Mapping[str, tuple[str, str]] = {
    "name_middle_tensor": (r"f(\theta) = \ell(Z(\theta))", "all dependence goes through Z"),
    "gauss_newton": (
        r"H_o = \sum_{z, z'} (\partial Z_z / \partial A) \, (\partial^2 \ell / \partial Z_z \partial Z_{z'})"
        r" \, (\partial Z_{z'} / \partial B)",
        "by definition",
    ),
    "hold_slope": (
        r"H_f = \partial^2 \langle C, Z \rangle / \partial A \, \partial B",
        "the slope C, the derivative of the loss in Z, is held fixed",
    ),
    "insert_slope": (r"C = \partial \ell / \partial Z", "by definition"),
    "put_back_middle_tensor": ("The name Z is replaced by what it stands for", ""),
    "inline_block": ("Unnamed products and sums are written out", ""),
}
"""What these rules say, and when."""
