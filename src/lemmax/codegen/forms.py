r"""Forms of one and the same value that differ in rounding.

The gradient through a softmax, :math:`\bar A = S \odot G - S\, (S \odot G)\mathbf 1`, has two forms:

* row sums, :math:`S_a (G_a - \sum_b S_b G_b)`: cheap; loses all digits of the small entries once
  S is close to a unit vector, since then :math:`G_a` and the sum nearly cancel;
* pairwise, :math:`S_a \sum_b S_b (G_a - G_b)`: one axis more in between; exact to rounding at any
  margin, since no term cancels that does not cancel exactly.

Source for the numerics: the separation of :math:`S_b` is kept by its logarithm, as in Higham,
*Accuracy and Stability of Numerical Algorithms*, section 1.7 (cancellation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from lemmax.errors import InvalidArgument
from lemmax.expr.graph import transform
from lemmax.expr.nodes import Apply
from lemmax.expr.tensor import Tensor
from lemmax.rules.definitions import DEFINITIONS

SoftmaxGradient = Literal["auto", "pairwise", "rowsum"]

MOST_PAIRWISE_AXES = 3
"""By itself the pairwise form is chosen if its array has at most so many axes."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision of the planner.

    Attributes:
        subject: what it is about, such as the name of a tensor.
        chosen: what was chosen.
        reason: why.
    """

    subject: str
    chosen: str
    reason: str


def choose_softmax_gradients(
    roots: Sequence[Tensor], form: SoftmaxGradient
) -> tuple[list[Tensor], tuple[Choice, ...]]:
    """Mark each softmax gradient with its form, ``rowsum`` or ``pairwise``.

    Raises:
        InvalidArgument: unknown form.
    """
    if form not in get_args(SoftmaxGradient):
        raise InvalidArgument(
            f"softmax_gradient={form!r}: expected one of {', '.join(map(repr, get_args(SoftmaxGradient)))}."
        )
    choices: dict[str, Choice] = {}

    def mark(node: Tensor) -> Tensor:
        if not isinstance(node, Apply) or node.function != "softmax_pullback":
            return node
        axes = node.ndim + 1
        if form == "auto":
            chosen = "pairwise" if axes <= MOST_PAIRWISE_AXES else "rowsum"
            relation = "at most" if axes <= MOST_PAIRWISE_AXES else "more than"
            reason = f"the array of pairs has {axes} axes, {relation} {MOST_PAIRWISE_AXES}"
        else:
            chosen, reason = form, "asked for"
        choices.setdefault(
            node.digest, Choice(node.label(), f"{chosen} form of the softmax gradient", reason)
        )
        return Apply(node.function, node.operands, node.shape, (*node.params, ("form", chosen)), node.name)

    return transform(roots, mark), tuple(choices.values())


def without_power_derivatives(roots: Sequence[Tensor]) -> list[Tensor]:
    """Write derivatives of matrix powers as blocks of powers, which NumPy has."""

    def written(node: Tensor) -> Tensor:
        if isinstance(node, Apply) and node.function == "power_derivative":
            return DEFINITIONS[node.function](node).named(node.name)
        return node

    return transform(roots, written)
