r"""What the planning stage hands on: a list of statements with names, shapes and costs."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.memory import Memory
from lemmax.codegen.values import Shape, Value
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

    @property
    def flops(self) -> sp.Expr:
        """Floating-point operations of all statements."""
        return sp.Add(*[s.flops for s in self.statements])

    def __str__(self) -> str:
        """A table of the statements, then the choices."""
        rows = [("variable", "operation", "operands", "shape", "flops")]
        for s in self.statements:
            shape = f"({', '.join(map(str, s.shape))})"
            rows.append((s.name, s.operation, " ".join(s.operands), shape, str(s.flops)))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines += [f"{c.subject}: {c.chosen} ({c.reason})" for c in self.choices]
        return "\n".join(lines)
