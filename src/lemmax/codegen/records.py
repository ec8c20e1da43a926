r"""What the planning stage hands on: a list of statements with names, shapes and costs."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.memory import Memory
from lemmax.codegen.streaming import Chunks
from lemmax.codegen.values import Shape, Value
from lemmax.codegen.views import SHARING
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Statement:
    """One assignment of the generated function.

    Attributes:
        name: the variable.
        operation: name of the outermost operation, such as ``matmul`` or ``softmax``.
        operands: names of the variables that are used.
        shape: sizes by axis.
        flops: floating-point operations, as an expression in sizes (transcendental functions count as one).
        value: the expression; values that have a variable of their own are leaves in it.
        tensor: the tensor that this is, if it is one of the program's.
        guarded: whether invalid operations are to stay silent, because a ``where`` discards their results.
    """

    name: str
    operation: str
    operands: tuple[str, ...]
    shape: Shape
    flops: sp.Expr
    value: Value
    tensor: Tensor | None
    guarded: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A program ready to be written down in the language of a target.

    Attributes:
        name: name of the function.
        inputs: variables, in the order of the arguments.
        arguments: their names in code.
        sizes: name in code of each size symbol.
        statements: in order of execution.
        outputs: name of the variable or argument of each output, with its tensor.
        returns_tuple: whether a list was asked for.
        instance_axis: the size of the instance axis, if there is one.
        variables: variable (or argument) by number of its value.
        choices: decisions with their reasons.
        memory: where intermediate results lie, if they are written into kept buffers.
        chunks: how the function goes through an axis in parts, if it does.
    """

    name: str
    inputs: tuple[Input, ...]
    arguments: tuple[str, ...]
    sizes: dict[sp.Symbol, str]
    statements: tuple[Statement, ...]
    outputs: tuple[tuple[str, Tensor], ...]
    returns_tuple: bool
    instance_axis: sp.Symbol | None
    variables: dict[int, str]
    choices: tuple[Choice, ...]
    memory: Memory | None = None
    chunks: Chunks | None = None

    @property
    def flops(self) -> sp.Expr:
        """Floating-point operations of all statements."""
        return sp.Add(*[s.flops for s in self.statements])

    @property
    def bytes(self) -> sp.Expr:
        """Bytes that all statements write in double precision."""
        return sp.Add(*[self.bytes_of(s) for s in self.statements])

    def bytes_of(self, s: Statement) -> sp.Expr:
        """Bytes that a statement writes in double precision; 0 for a view."""
        return sp.S.Zero if self._made(s).op in SHARING else 8 * sp.Mul(*s.shape)

    def _made(self, s: Statement) -> Value:
        """Return what a statement computes, below the views that it returns of it."""
        v = s.value
        while v.op in SHARING and v.args[0].number not in self.variables:
            v = v.args[0]
        return v

    def memory_of(self, s: Statement) -> str:
        """Return where the result of a statement lies: ``view``, ``new``, a buffer or ``over`` an operand."""
        v = self._made(s)
        if v.op in SHARING:
            return "view"
        place = None if self.memory is None else self.memory.places.get(v.number)
        if place is None or self.memory is None:
            return "new"
        over = self.memory.takes_over.get(v.number)
        if over is None:
            return f"buffer {place.buffer + 1}"
        return f"over {self.variables[over]}" if over in self.variables else "in place"

    def __str__(self) -> str:
        """A table of the statements, then the choices."""
        rows = [("variable", "operation", "operands", "shape", "flops", "bytes", "memory")]
        for s in self.statements:
            shape = f"({', '.join(map(str, s.shape))})"
            cells = (s.name, s.operation, " ".join(s.operands), shape)
            rows.append((*cells, str(s.flops), str(self.bytes_of(s)), self.memory_of(s)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines += [f"{c.subject}: {c.chosen} ({c.reason})" for c in self.choices]
        return "\n".join(lines)
