r"""``lx.evaluate``: the value of an expression on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from lemmax.errors import EvaluationError, InvalidArgument
from lemmax.expr.arithmetic import as_tensor
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Input, Lambda
from lemmax.expr.relation import Relation
from lemmax.expr.structure import check_assumptions
from lemmax.expr.tensor import Tensor
from lemmax.interpret.arguments import as_numbers
from lemmax.interpret.complexes import COMPLEX
from lemmax.interpret.evaluator import Evaluator
from lemmax.interpret.floating import FLOAT
from lemmax.interpret.multiprecision import MpArithmetic
from lemmax.interpret.protocol import Arithmetic
from lemmax.interpret.rounded import Rounded
from lemmax.interpret.rounding import ROUNDING

MOST_ENTRIES = 100_000
"""Largest number of entries of the arrays for which a value is evaluated again in mpmath."""

SMOOTH = frozenset(
    {"softmax", "softmax_pullback", "logsumexp", "prod", "merge", "split", "slice", "place", "concat"}
)
"""Functions that one point of float64 and its neighbours agree on: at ties and jumps digits would decide."""


def evaluate(
    expression: Tensor | sp.Expr | float | Relation,
    arrays: Mapping[str, Any] | None = None,
    *,
    arithmetic: str | Arithmetic = "float",
    digits: int = 50,
    sizes: Mapping[Any, int] | None = None,
    override: Mapping[Tensor, Any] | None = None,
    batch: bool = False,
    **named_arrays: Any,
) -> Any:
    r"""Return the value of an expression, by an interpreter that shares no code with calculus or codegen.

    Args:
        expression: a tensor, or a number or expression in sizes.
        arrays: inputs by code name (``WQ`` for ``W^Q``); useful where a name clashes with an option.
        arithmetic: ``"float"`` (float64), ``"complex"``, ``"mpmath"`` (with ``digits`` digits) or
            ``"rounding"`` (float64 with a bound on the rounding error), or an arithmetic.
        digits: decimal digits for ``"mpmath"``.
        sizes: sizes that the arrays do not determine, by symbol or name.
        override: tensors to be held at a given value.
        batch: arrays may carry a leading axis of instances.
        **named_arrays: inputs by code name.

    Returns:
        An array, or a number if the expression is a scalar: float, complex or ``mpf`` (object arrays
        of ``mpf`` in general); a pair (value, radius) of them for ``"rounding"``.

    Raises:
        InvalidArgument: unknown names or options.
        ShapeError: arrays do not fit the shapes or one another.
        EvaluationError: an array is missing or holds no numbers, or the result is undefined.

    With ``"float"``, a value on whose way float64 overflows is evaluated again with ``digits`` digits.

    Example:
        >>> import lemmax as lx, numpy as np
        >>> n = lx.size("n")
        >>> x = lx.tensor("x", n)
        >>> lx.evaluate(lx.sqnorm(x), x=np.array([3.0, 4.0]))
        25.0
    """
    if isinstance(expression, Relation):
        raise InvalidArgument(
            "a relation has no value; evaluate its sides (relation.lhs, relation.rhs) or check it."
        )
    tensor = as_tensor(expression)
    given = {**(arrays or {}), **named_arrays}
    twice = sorted(set(arrays or {}) & set(named_arrays))
    if twice:
        raise InvalidArgument(f"{twice[0]} is given twice, in arrays and by keyword.")
    evaluator = Evaluator([tensor])
    unknown = sorted(set(given) - set(evaluator.inputs))
    if unknown:
        raise InvalidArgument(
            f"unknown array {unknown[0]!r}; the inputs of {tensor.label()} are "
            f"{', '.join(evaluator.inputs) or 'none'} (an option of lx.evaluate may be misspelt)."
        )
    chosen = find_arithmetic(arithmetic, digits)
    for name, node in evaluator.inputs.items():
        if node.assumptions and name in given:
            check_assumptions(f"array {name}", node, as_numbers(f"array {name}", given[name]))
    if arithmetic == "float" and not batch:
        return public(_beyond_range(evaluator, given, sizes, override, digits))
    (value,) = evaluator.run(given, sizes, chosen, override, batch)
    return public(value)


def _beyond_range(
    evaluator: Evaluator,
    given: Mapping[str, Any],
    sizes: Mapping[Any, int] | None,
    override: Mapping[Tensor, Any] | None,
    digits: int,
) -> Any:
    """Evaluate in float64, and where a value leaves its range, with the unbounded exponents of mpmath.

    ``log(sum(exp(x)))`` at x = 1000 is 1000 and some, though no float64 holds ``exp(1000)``.
    """
    failure: EvaluationError | None = None
    value: Any = None
    try:
        (value,) = evaluator.run(given, sizes, FLOAT, override)
        if np.isfinite(value).all():
            return value
    except EvaluationError as error:
        failure = error
    if _may_leave_range(evaluator) and _is_small(given):
        try:
            (precise,) = evaluator.run(given, sizes, MpArithmetic(digits), override)
            return np.array(precise, dtype=float)
        except EvaluationError:
            pass  # it is no matter of range
    if failure is not None:
        raise failure
    return value


def _may_leave_range(evaluator: Evaluator) -> bool:
    """Is the value made of nothing but entrywise functions and sums, some of them exponential?"""
    nodes = topological_order(*evaluator.roots)
    if not all(
        isinstance(t, Input | Lambda) or (isinstance(t, Apply) and t.function in SMOOTH) for t in nodes
    ):
        return False
    bodies = [term.expr for t in nodes if isinstance(t, Lambda) for term in t.terms]
    return any(body.has(sp.exp, sp.log, sp.sinh, sp.cosh, sp.Pow) for body in bodies)


def _is_small(given: Mapping[str, Any]) -> bool:
    try:
        return sum(np.size(a) for a in given.values()) <= MOST_ENTRIES
    except ValueError:  # a ragged list is no array
        return False


def find_arithmetic(arithmetic: str | Arithmetic, digits: int) -> Arithmetic:
    """Return an arithmetic by name.

    Raises:
        InvalidArgument: there is none of that name.
    """
    if not isinstance(arithmetic, str):
        return arithmetic
    if arithmetic == "float":
        return FLOAT
    if arithmetic == "complex":
        return COMPLEX
    if arithmetic == "mpmath":
        return MpArithmetic(digits)
    if arithmetic == "rounding":
        return ROUNDING
    raise InvalidArgument(f"arithmetic {arithmetic!r}: expected 'float', 'complex', 'mpmath' or 'rounding'.")


def public(value: Any) -> Any:
    """Return a value as users see it: fresh writable arrays, scalars as numbers."""
    if isinstance(value, Rounded):
        radius = np.broadcast_to(value.radius, np.shape(value.value))
        return Rounded(public(value.value), public(radius))
    array = np.array(value)
    return array.item() if array.ndim == 0 else array
