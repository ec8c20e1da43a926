r"""Relations between expressions: what hypotheses and conclusions are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lemmax.errors import InvalidArgument
from lemmax.expr.tensor import Scalar, Tensor

Op = Literal["==", ">=", "<=", ">", "<"]
OPS: tuple[Op, ...] = ("==", ">=", "<=", ">", "<")


@dataclass(frozen=True, slots=True)
class Relation:
    """``lhs op rhs``, read entry by entry and meant for all entries.

    Attributes:
        lhs: left side.
        op: one of ``==``, ``>=``, ``<=``, ``>``, ``<``.
        rhs: right side, of the shape of ``lhs`` or a scalar.
        name: what the relation says in words, if it was given a name.
    """

    lhs: Tensor
    op: Op
    rhs: Tensor
    name: str | None = None

    def named(self, name: str) -> Relation:
        """Return the relation under a name, as hypotheses carry it."""
        return replace(self, name=name)

    def __bool__(self) -> bool:
        """Refuse: whether a relation holds is found out by checking it."""
        raise InvalidArgument(
            f"a relation ({self.lhs.label()} {self.op} {self.rhs.label()}) has no truth value before it is"
            " checked; chained comparisons such as a <= b <= c must be written as two relations."
        )


def relation(lhs: Tensor, op: str, rhs: Tensor | Scalar) -> Relation:
    """Return ``lhs op rhs``.

    Raises:
        ShapeError: the shapes do not broadcast.
    """
    from lemmax.expr.arithmetic import as_tensor, broadcast_shape

    right = as_tensor(rhs)
    broadcast_shape(f"relation {op}", lhs, right)
    if op not in OPS:
        raise InvalidArgument(f"unknown relation {op!r}: expected one of {', '.join(OPS)}.")
    return Relation(lhs, op, right)
