r"""Targets: what a plan is written down in.

A target turns a plan into source text, and source text into something callable.  NumPy is the
first; others (array API, mpmath, compiled loops) take the same plan.  A target is given as an
object, or by its name if it is one of :data:`TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lemmax.codegen.load import load
from lemmax.codegen.numpy_source import numpy_source
from lemmax.codegen.records import Plan
from lemmax.errors import InvalidArgument


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

TARGETS: dict[str, Target] = {NUMPY.name: NUMPY}
"""Name to target."""


def as_target(target: Target | str) -> Target:
    """Return a target that is given by itself or by its name.

    Raises:
        InvalidArgument: no target has that name, or the object cannot emit and load.
    """
    if isinstance(target, str):
        if target not in TARGETS:
            known = ", ".join(repr(name) for name in TARGETS)
            raise InvalidArgument(f"target={target!r}: no target has that name; known are: {known}.")
        return TARGETS[target]
    if not all(callable(getattr(target, what, None)) for what in ("emit", "load")):
        raise InvalidArgument(f"target={target!r}: expected a name, or an object with emit and load.")
    return target
