r"""Run-time checks of what a caller passed, whatever the annotations promise."""

from __future__ import annotations

from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input


def is_a(value: object, *kinds: type) -> bool:
    """Is the value an instance of one of some classes?"""
    return isinstance(value, kinds)


def as_inputs(what: str, given: object) -> tuple[Input, ...]:
    """Return one input or a sequence of inputs as a tuple.

    Raises:
        InvalidArgument: something is no input, or there is none.
    """
    items = (given,) if isinstance(given, Input) else given
    if not isinstance(items, tuple | list) or not items or not all(isinstance(t, Input) for t in items):
        raise InvalidArgument(f"{what}: expected one or more inputs made by lx.tensor, got {given!r}.")
    return tuple(items)
