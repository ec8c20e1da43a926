r"""The records of rules of differentiation: one for the reverse sweep, one for the forward sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lemmax.expr.nodes import Apply
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Pullback:
    r"""How the adjoint of a function's value becomes the adjoint of an operand.

    Attributes:
        name: name of the rule, the justification in a derivation.
        function: the function it belongs to, a key of ``Apply``.
        apply: ``(node, bar, slot) -> contribution`` to the adjoint of operand ``slot``.
        statement: LaTeX of the rule.
        conditions: where it holds.
        reference: source (with its year), or a word on why the rule is evident.
        smooth: whether the function is differentiable everywhere in its domain; if not, the
            rule gives one subgradient and is used only where that was asked for.
    """

    name: str
    function: str
    apply: Callable[[Apply, Tensor, int], Tensor]
    statement: str
    conditions: str
    reference: str
    smooth: bool = True


Tangents = Sequence[Tensor | None]
"""The tangent of each operand; ``None`` where it does not depend on the variables."""


@dataclass(frozen=True, slots=True)
class Pushforward:
    r"""How the tangents of operands become the tangent of a function's value.

    Attributes:
        name: name of the rule.
        function: the function it belongs to, a key of ``Apply``.
        apply: ``(node, tangents, extra) -> tangent``, ``extra`` being the sizes of the extra axes.
        statement: LaTeX of the rule.
        smooth: whether the function is differentiable everywhere in its domain.
    """

    name: str
    function: str
    apply: Callable[[Apply, Tangents, tuple[Size, ...]], Tensor]
    statement: str
    smooth: bool = True
