r"""Conditions: what a theorem supposes, and what it claims.

A :class:`~lemmax.expr.relation.Relation` is a condition on values.  :class:`Generic` is one on
how values arise: it stands for "almost every", which no comparison of numbers can express.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from lemmax.expr.nodes import Input
from lemmax.expr.relation import Relation
from lemmax.expr.tensor import Tensor
from lemmax.statement.convergence import Convergence
from lemmax.statement.kinds import as_inputs


@dataclass(frozen=True, slots=True)
class Generic:
    """The hypothesis that inputs lie outside some set of measure zero.

    A draw satisfies it if every entry of each input comes from a continuous distribution and
    nothing (a built-in structure, a duplicate, rounding, a zero) was done to it afterwards.

    Attributes:
        inputs: the inputs meant.
        name: the hypothesis in words.
    """

    inputs: tuple[Input, ...]
    name: str | None = None

    def __post_init__(self) -> None:
        """Check that inputs were given."""
        object.__setattr__(self, "inputs", as_inputs("Generic", self.inputs))

    def named(self, name: str) -> Generic:
        """Return the hypothesis under a name."""
        return replace(self, name=name)


Condition: TypeAlias = Relation | Generic
"""What may stand among the hypotheses."""

Claim: TypeAlias = Relation | Convergence
"""What may stand in the conclusion."""


def tensors_of(part: Condition | Claim) -> tuple[Tensor, ...]:
    """Return the tensors whose values a condition or claim speaks about."""
    if isinstance(part, Relation):
        return (part.lhs, part.rhs)
    if isinstance(part, Generic):
        return part.inputs
    return part.tensors
