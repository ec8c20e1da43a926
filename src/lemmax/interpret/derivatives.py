r"""Derivatives that are not worked out, evaluated by the complex step."""

from __future__ import annotations

from lemmax.errors import UnsupportedYet
from lemmax.expr.nodes import Derivative
from lemmax.interpret.frame import Frame
from lemmax.interpret.parts import Run
from lemmax.interpret.protocol import Value


def compile_derivative(node: Derivative) -> Run:
    """Return a function that computes a formal derivative."""

    def run(frame: Frame) -> Value:
        raise UnsupportedYet(f"{node.label()}: formal derivatives cannot be evaluated yet.")

    return run
