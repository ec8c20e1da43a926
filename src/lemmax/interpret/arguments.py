r"""Checks on the arrays that a user hands over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp

from lemmax.errors import EvaluationError, InvalidArgument, NameClash, ShapeError
from lemmax.expr.nodes import Input
from lemmax.expr.structure import MASKED, TRUTH_VALUES
from lemmax.expr.tensor import Tensor, identifier

Array: TypeAlias = npt.NDArray[Any]


def code_names(inputs: tuple[Input, ...]) -> dict[str, Input]:
    """Return inputs by the name that code uses.

    Raises:
        NameClash: two inputs have the same one.
    """
    names: dict[str, Input] = {}
    for node in inputs:
        name = identifier(str(node.name))
        if not name:
            raise NameClash(f"the input {node.label()} has no letters or digits in its name; rename it.")
        if name in names:
            raise NameClash(
                f"inputs {names[name].label()} and {node.label()} are both called {name} in code."
            )
        names[name] = node
    return names


def as_numbers(what: str, value: object) -> Array:
    """Return a user's value as an array of numbers.

    Raises:
        EvaluationError: it holds something else, or NaN, or has a mask.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise EvaluationError(f"{what}: {MASKED}")
    try:
        array = np.asarray(value)  # of a matrix too, whose products are others
    except (ValueError, TypeError) as error:
        raise EvaluationError(f"{what}: {error}; expected an array of numbers.") from None
    kind = array.dtype.kind
    if kind == "b":
        raise EvaluationError(f"{what} {TRUTH_VALUES}")
    if kind == "O":
        _check_objects(what, array)
    elif kind not in "iufc":
        raise EvaluationError(f"{what} has dtype {array.dtype}; expected numbers.")
    if kind in "fc" and np.isnan(array).any():
        at = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise EvaluationError(f"{what} holds NaN{f' at {at}' if at else ''}; expected numbers.")
    return array


def _check_objects(what: str, array: Array) -> None:
    for item in array.flat:
        number = (
            isinstance(item, int | float | complex) or hasattr(item, "_mpf_") or hasattr(item, "numerator")
        )
        if not number or isinstance(item, bool):
            raise EvaluationError(
                f"{what} holds {item!r} of type {type(item).__name__}; "
                "expected numbers (int, float, Fraction, mpf)."
            )
        if item != item:
            raise EvaluationError(f"{what} holds NaN; expected numbers.")


def check_ndim(what: str, node: Tensor, shape: tuple[int, ...], batch: bool) -> None:
    """Check the number of axes (one more is allowed in a batch).

    Raises:
        ShapeError: it differs; both shapes are shown.
    """
    ndim = len(shape)
    if ndim == node.ndim or (batch and ndim == node.ndim + 1):
        return
    wanted = f"shape ({', '.join(map(str, node.shape))})" if node.ndim else "a scalar"
    wanted += " with a leading instance axis" if batch else ""
    hint = " Stack instances along a leading axis and pass batch=True." if ndim == node.ndim + 1 else ""
    axes = f"{ndim} {'axis' if ndim == 1 else 'axes'}"
    raise ShapeError(f"{what} has {axes}, shape {shape}; expected {wanted}.{hint}")


def given_sizes(sizes: Mapping[Any, int] | None, known: Mapping[str, sp.Symbol]) -> dict[sp.Symbol, int]:
    """Return sizes fixed by the caller, by symbol; keys may be names.

    Raises:
        InvalidArgument: an unknown size, or a value that is no positive integer.
    """
    result: dict[sp.Symbol, int] = {}
    for key, value in (sizes or {}).items():
        symbol = known.get(str(key))
        if symbol is None:
            raise InvalidArgument(
                f"sizes: {key} does not occur; the sizes are {', '.join(sorted(known)) or 'none'}."
            )
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidArgument(f"sizes: {key} = {value!r}; expected a positive integer.")
        result[symbol] = int(value)
    return result
