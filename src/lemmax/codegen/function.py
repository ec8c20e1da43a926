r"""The compiled function: generated source, and a call that takes arrays by name or position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lemmax.codegen.load import load
from lemmax.codegen.records import Plan
from lemmax.errors import InvalidArgument

# one type and one dtype stand for the common case, in which nothing has to be converted
_ARRAYS = frozenset({np.ndarray})
_DOUBLES = frozenset({np.dtype(np.float64)})


class CompiledFunction:
    """A function made from a tensor expression.

    Arrays are passed by keyword, under the names in :attr:`inputs`, or by position in that order.
    Lists are converted, integers become float64, float32 is kept if all arrays are float32, and
    complex arrays are taken (so that complex steps work) unless the expression holds a function
    that is not analytic.

    Attributes:
        source: text of a standalone file that needs NumPy only.
        inputs: names of the arguments.
        plan: what is computed in which order, with shapes and costs.
    """

    def __init__(self, source: str, plan: Plan, function: Callable[..., Any]) -> None:
        """Wrap a loaded function; use ``lx.compile``."""
        self.source = source
        self.plan = plan
        self.inputs = plan.arguments
        self._function = function
        self._arguments = frozenset(self.inputs)
        self._scalars = tuple(t.ndim == 0 for _, t in plan.outputs)
        self.__name__ = plan.name
        self.__doc__ = function.__doc__

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the source, so that other processes can use the function."""
        return _restored, (self.source, self.plan)

    def __repr__(self) -> str:
        """Show the signature."""
        return f"<CompiledFunction {self.__name__}({', '.join(self.inputs)})>"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Evaluate; scalars come back as Python numbers, a list of tensors as a tuple.

        Raises:
            InvalidArgument: an argument is missing, unknown, given twice, or no array of numbers.
            ValueError: shapes do not fit; the generated code says which.
        """
        given = self._bind(arrays, named)
        if {type(a) for a in given} != _ARRAYS or {a.dtype for a in given} != _DOUBLES:
            given = [_as_array(self.__name__, n, a) for n, a in zip(self.inputs, given, strict=True)]
        result = self._function(*given)
        if not self.plan.returns_tuple:
            return _as_number(result) if self._scalars[0] else result
        return tuple(
            [_as_number(r) if scalar else r for r, scalar in zip(result, self._scalars, strict=True)]
        )

    def _bind(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> Sequence[Any]:
        if not named and len(arrays) == len(self.inputs):
            return arrays
        if not arrays and named.keys() == self._arguments:
            return [named[name] for name in self.inputs]
        expected = f"{self.__name__} takes {', '.join(self.inputs) or 'no arrays'}"
        if len(arrays) > len(self.inputs):
            raise InvalidArgument(f"{expected}; {len(arrays)} arrays were given by position.")
        values = dict(zip(self.inputs, arrays, strict=False))
        for name, value in named.items():
            if name not in self.inputs:
                raise InvalidArgument(f"{expected}; there is no argument {name!r}.")
            if name in values:
                raise InvalidArgument(f"{expected}; {name!r} is given by position and by name.")
            values[name] = value
        missing = [name for name in self.inputs if name not in values]
        if missing:
            raise InvalidArgument(f"{expected}; missing: {', '.join(missing)}.")
        return [values[name] for name in self.inputs]


def _restored(source: str, plan: Plan) -> CompiledFunction:
    return CompiledFunction(source, plan, load(source, plan.name))


def _as_array(function: str, name: str, value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a numeric array.

    Raises:
        InvalidArgument: ``value`` holds something else than numbers, or rows of different lengths.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidArgument(
            f"{function}: {name} is no array: {error}. Expected a NumPy array, or nested lists of "
            "numbers of equal lengths."
        ) from None
    if array.dtype.kind not in "biufc":
        raise InvalidArgument(
            f"{function}: {name} is of type {type(value).__name__} with entries of type {array.dtype}"
            "; expected an array of numbers. Convert symbolic matrices first: np.array(M, dtype=float)."
        )
    return array


def _as_number(value: Any) -> Any:
    """Return a scalar as a Python number."""
    return value.item() if hasattr(value, "item") else value
