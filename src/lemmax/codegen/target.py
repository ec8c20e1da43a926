r"""Targets: what a plan is written down in.

A target turns a plan into source text, and source text into something callable.  NumPy is the
first; others (array API, mpmath, compiled loops) take the same plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lemmax.codegen.load import load
from lemmax.codegen.numpy_source import numpy_source
from lemmax.codegen.records import Plan


class Target(Protocol):
    """What the driver asks of a target."""

    @property
    def name(self) -> str:
        """Name of the target."""

    def emit(self, plan: Plan) -> str:
        """Return the text of a standalone file."""

    def load(self, source: str, function: str) -> Callable[..., Any]:
        """Return the function of that file."""


class NumpyTarget:
    """Readable NumPy source."""

    name = "numpy"

    def emit(self, plan: Plan) -> str:
        """Return the text of a standalone file that needs NumPy only."""
        return numpy_source(plan)

    def load(self, source: str, function: str) -> Callable[..., Any]:
        """Return the function of that file."""
        return load(source, function)


NUMPY: Target = NumpyTarget()
