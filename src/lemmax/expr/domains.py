r"""Tensors that have a value only where others are defined: derivatives whose formulas reach further.

The formula :math:`1/x` of the derivative of :math:`\log x` has values at x < 0, where there is no logarithm,
hence no derivative.  A derivative is therefore wrapped as ``on_domain(formula, guards)``: each guard is a
tensor with a condition on its values.  The interpreter and generated code check guards and name the one that
fails; all other readings take the formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lemmax.expr.graph import topological_order, transform
from lemmax.expr.nodes import Apply
from lemmax.expr.tensor import Tensor

ON_DOMAIN = "on_domain"

NOT_NEGATIVE, NOT_ZERO, DEFINED, FULL_RANK = "not_negative", "not_zero", "defined", "full_rank"
"""Conditions on a guard: no entry is below 0, or 0, or undefined, or it is a rank as large as can be."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which a derivative exists.

    Attributes:
        tensor: what the condition is about: an argument, a logarithm of a determinant, a rank.
        condition: ``not_negative``, ``defined`` or ``full_rank``.
        told: the condition in words, for messages.
    """

    tensor: Tensor
    condition: str
    told: str

    def __str__(self) -> str:
        """Say what must hold, in a few words."""
        sign = {NOT_NEGATIVE: ">= 0", NOT_ZERO: "!= 0"}.get(self.condition)
        return f"{self.tensor.name or self.tensor.describe()} {sign}" if sign else self.told


def on_domain(t: Tensor, guards: Sequence[Guard]) -> Tensor:
    """Return ``t``, to be undefined where a guard fails; its name, if any, stays."""
    if not guards:
        return t
    conditions = tuple((g.condition, g.told) for g in guards)
    operands = (t, *(g.tensor for g in guards))
    return Apply(ON_DOMAIN, operands, t.shape, {"conditions": conditions}, t.name)


def guards_of(node: Apply) -> list[Guard]:
    """Return the guards of one ``on_domain``."""
    conditions = node.param("conditions")
    assert isinstance(conditions, tuple)
    return [
        Guard(t, str(condition), str(told))
        for t, (condition, told) in zip(node.operands[1:], conditions, strict=True)
    ]


def collect_guards(roots: Iterable[Tensor]) -> list[Guard]:
    """Return all guards in expressions, each once."""
    found: dict[tuple[str, str], Guard] = {}
    for node in topological_order(*roots):
        if isinstance(node, Apply) and node.function == ON_DOMAIN:
            for guard in guards_of(node):
                found.setdefault((guard.tensor.digest, guard.condition), guard)
    return list(found.values())


def without_domain(node: Tensor) -> Tensor:
    """Return the formula that an ``on_domain`` wraps; any other tensor as it is."""
    if not (isinstance(node, Apply) and node.function == ON_DOMAIN):
        return node
    inner = node.operands[0]
    return inner if node.name is None or node.name == inner.name else inner.named(node.name)


def without_domains(roots: Sequence[Tensor]) -> list[Tensor]:
    """Return expressions without guards."""
    if not any(isinstance(t, Apply) and t.function == ON_DOMAIN for t in topological_order(*roots)):
        return list(roots)
    return transform(roots, without_domain)
