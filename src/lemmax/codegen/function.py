r"""The compiled function: generated source, and a call that takes arrays by name or position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lemmax.codegen.load import load
from lemmax.codegen.records import Plan
from lemmax.codegen.render import Renderer
from lemmax.codegen.replanning import Replanner
from lemmax.codegen.schedule import inline_values
from lemmax.errors import EvaluationError, InvalidArgument
from lemmax.expr.structure import MASKED, TRUTH_VALUES, check_assumptions

# one type and one dtype stand for the common case, in which nothing has to be converted
_ARRAYS = frozenset({np.ndarray})
_DOUBLES = frozenset({np.dtype(np.float64)})


class CompiledFunction:
    """A function made from a tensor expression.

    Arrays are passed by keyword, under the names in :attr:`inputs`, or by position in that order.
    Lists are converted, integers become float64, float32 is kept if all arrays are float32, and
    complex arrays are taken (so that complex steps work) unless the expression holds a function
    that is not analytic.

    The order of contractions may be chosen again at a call that shows new sizes (``replan`` of
    ``lx.compile``); :attr:`plan` and :attr:`source` then tell what the first call has run.

    Attributes:
        inputs: names of the arguments.
    """

    def __init__(
        self,
        source: str,
        plan: Plan,
        function: Callable[..., Any],
        check: bool = True,
        replanner: Replanner | None = None,
        loader: Callable[[str, str], Callable[..., Any]] = load,
    ) -> None:
        """Wrap a loaded function; use ``lx.compile``.

        Args:
            source: the text.
            plan: what it was made from.
            function: what was loaded from it.
            check: whether arrays are checked to have the structure that their variables were declared with.
            replanner: finds the function for the sizes of the arrays; without it ``function`` is for all.
            loader: makes the function of the text again, where a pickled one is restored.
        """
        self._source = source
        self._plan = plan
        self._replanner = replanner
        self._loader = loader
        self.inputs = plan.arguments
        self._function = function
        self._check = check
        declared = enumerate(plan.inputs) if check else ()
        self._structured = [(p, t) for p, t in declared if t.assumptions]
        self._arguments = frozenset(self.inputs)
        self._several = plan.returns_tuple
        self._scalars = tuple(t.ndim == 0 for _, t in plan.outputs)
        self.__name__ = plan.name
        self.__doc__ = function.__doc__

    @property
    def source(self) -> str:
        """Text of a standalone file that needs NumPy only."""
        return self._source if self._replanner is None else self._replanner.first[1]

    @property
    def plan(self) -> Plan:
        """What is computed in which order, with shapes and costs."""
        return self._plan if self._replanner is None else self._replanner.first[0]

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans in use, for arrays of different sizes; :attr:`plan` stands in front."""
        return (self._plan,) if self._replanner is None else self._replanner.plans

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the source, so that other processes can use the function; they plan no more."""
        return _restored, (self.source, self.plan, self._check, self._loader)

    def __repr__(self) -> str:
        """Show the signature."""
        return f"<CompiledFunction {self.__name__}({', '.join(self.inputs)})>"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Evaluate; scalars come back as Python numbers, a list of tensors as a tuple.

        Raises:
            InvalidArgument: an argument is missing, unknown, given twice, or no array of numbers.
            EvaluationError: shapes do not fit, a matrix has no inverse, or a derivative does not exist at
                this point; a :class:`ValueError`, or :class:`FloatingPointError` where a norm is 0.
        """
        given = self._bind(arrays, named)
        if {type(a) for a in given} != _ARRAYS or {a.dtype for a in given} != _DOUBLES:
            given = [_as_array(self.__name__, n, a) for n, a in zip(self.inputs, given, strict=True)]
        for position, variable in self._structured:
            what = f"{self.__name__}: {self.inputs[position]}"
            if np.ndim(given[position]) == variable.ndim:  # else the generated code says what it expects
                check_assumptions(what, variable, given[position])
        try:
            result = self._chosen(given)(*given)
        except (ValueError, FloatingPointError) as error:
            raise self._refusal(error) from error  # so that the generated line is shown
        if not self._several:
            return _as_number(result) if self._scalars[0] else result
        return tuple(
            [_as_number(r) if scalar else r for r, scalar in zip(result, self._scalars, strict=True)]
        )

    def _chosen(self, given: Sequence[Any]) -> Callable[..., Any]:
        """Return the function for the sizes of these arrays."""
        if self._replanner is None:
            return self._function
        shapes = [given[p].shape for p in self._replanner.telling]
        known, function = self._replanner.last  # read once: other threads may change it
        return function if shapes == known else self._replanner.function(tuple(shapes))

    def _refusal(self, error: ValueError | FloatingPointError) -> Exception:
        """Return what the generated code refused, as an error of lemmax."""
        if isinstance(error, FloatingPointError):
            return NotDifferentiable(str(error))
        if not isinstance(error, np.linalg.LinAlgError):
            return EvaluationError(str(error))
        renderer = Renderer(self.plan.variables, self.plan.sizes)
        inverted = [
            renderer.operand(v.args[0]).text
            for s in self.plan.statements
            for v in inline_values(s.value, self.plan.variables)
            if v.op in ("inv", "solve", "matrix_power")
        ]
        what = ", ".join(dict.fromkeys(inverted))
        told = f" A matrix without an inverse is inverted; inverted are: {what}." if what else ""
        return SingularMatrix(f"{self.__name__}: {error}.{told}")

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


class NotDifferentiable(EvaluationError, FloatingPointError):
    """A derivative does not exist at a point: the code divides by a norm that is 0."""


class SingularMatrix(EvaluationError, np.linalg.LinAlgError):
    """LAPACK gave up: a matrix has no inverse, or a decomposition did not converge."""


def _restored(
    source: str, plan: Plan, check: bool = True, loader: Callable[[str, str], Callable[..., Any]] = load
) -> CompiledFunction:
    return CompiledFunction(source, plan, loader(source, plan.name), check, loader=loader)


def _as_array(function: str, name: str, value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a numeric array.

    Raises:
        InvalidArgument: ``value`` holds something else than numbers, or rows of different lengths, or a mask.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgument(f"{function}: {name}: {MASKED}")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidArgument(
            f"{function}: {name} is no array: {error}. Expected a NumPy array, or nested lists of "
            "numbers of equal lengths."
        ) from None
    if array.dtype.kind == "b":
        raise InvalidArgument(f"{function}: {name} {TRUTH_VALUES}")
    if array.dtype.kind not in "iufc":
        raise InvalidArgument(
            f"{function}: {name} is of type {type(value).__name__} with entries of type {array.dtype}"
            "; expected an array of numbers. Convert symbolic matrices first: np.array(M, dtype=float)."
        )
    return array


def _as_number(value: Any) -> Any:
    """Return a scalar as a Python number."""
    return value.item() if hasattr(value, "item") else value
