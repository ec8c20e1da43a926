r"""Programs: graphs of tensors, compiled node by node and computed in order of dependence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import singledispatch

import numpy as np

from lemmax.errors import MissingRule
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Derivative, Input, Lambda
from lemmax.expr.tensor import Tensor
from lemmax.interpret.applications import compile_apply
from lemmax.interpret.bodies import compile_lambda
from lemmax.interpret.frame import Frame, Sizes
from lemmax.interpret.parts import Run
from lemmax.interpret.protocol import Arithmetic, Value


class Program:
    """Some tensors with everything that they are made of.

    Attributes:
        roots: the tensors.
        order: they and their operands, operands first.
    """

    def __init__(self, roots: Sequence[Tensor]) -> None:
        """Prepare ``roots``; bodies are compiled when they are first computed."""
        self.roots = tuple(roots)
        self.order = topological_order(*self.roots)
        self._compiled: dict[str, Run] = {}
        self._orders: dict[frozenset[str], list[Tensor]] = {frozenset(): self.order}

    def needed(self, held: Collection[str]) -> list[Tensor]:
        """Return the order without what lies below tensors whose value is given (by digest)."""
        key = frozenset(held)
        order = self._orders.get(key)
        if order is None:
            order = topological_order(*self.roots, stop=lambda t: t.digest in key)
            # a local derivative looks at the operands of a definition even if its value is held
            below = [
                operand
                for t in order
                if isinstance(t, Derivative) and t.scope == "local" and t.of.digest in key
                for operand in t.of.operands
            ]
            if below:
                order = topological_order(*below, *self.roots, stop=lambda t: t.digest in key)
            self._orders[key] = order
        return order

    def compute(
        self, given: Mapping[str, Value], held: frozenset[str], sizes: Sizes, arithmetic: Arithmetic
    ) -> Frame:
        """Compute the roots.

        Args:
            given: values of inputs and held tensors, by digest.
            held: digests of tensors that are not inputs and whose value is given.
            sizes: the integer of each size symbol.
            arithmetic: what computes.

        Returns:
            The frame with the values of all tensors that were needed.
        """
        values = dict(given)
        frame = Frame(arithmetic, sizes, values, held)
        with np.errstate(all="ignore"):  # undefined results are looked for where they matter
            for node in self.needed(held):
                if node.digest not in values:
                    values[node.digest] = self._compile(node)(frame)
        return frame

    def _compile(self, node: Tensor) -> Run:
        run = self._compiled.get(node.digest)
        if run is None:
            run = self._compiled[node.digest] = compile_node(node)
        return run


@singledispatch
def compile_node(node: Tensor) -> Run:
    """Return a function that computes a tensor from the values of its operands.

    Raises:
        MissingRule: the interpreter does not know this kind of tensor.
    """
    raise MissingRule(f"the interpreter does not know tensors of kind {type(node).__name__}.")


compile_node.register(Lambda)(compile_lambda)
compile_node.register(Apply)(compile_apply)


@compile_node.register(Derivative)
def _derivative(node: Derivative) -> Run:
    from lemmax.interpret.derivatives import compile_derivative  # a derivative is a program of its own

    return compile_derivative(node)


@compile_node.register(Input)
def _input(node: Input) -> Run:
    raise MissingRule(f"no value was given for the input {node.label()}.")
