"""What is given where a tensor is expected: arrays and numbers get an error that says what to do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from lemmax.errors import InvalidArgument
from lemmax.expr.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def of_tensors(function: Callable[P, R]) -> Callable[P, R]:
    """Check that arguments annotated as tensors are some.

    Raises:
        InvalidArgument: (when called) one is not.
    """
    order = list(inspect.signature(function).parameters.values())
    wanted = [(place, p.name) for place, p in enumerate(order) if p.annotation in ("Tensor", Tensor)]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for place, name in wanted:
            value = args[place] if place < len(args) else kwargs.get(name)
            if not isinstance(value, Tensor) and (place < len(args) or name in kwargs):
                raise InvalidArgument(
                    f"{function.__name__}: expected a tensor, got {type(value).__name__} {_shown(value)}."
                    " Declare variables with lx.tensor; their arrays are given to lx.evaluate or to what"
                    " lx.compile returns."
                )
        return function(*args, **kwargs)

    return checked


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."
