r"""Is a user's own gradient code right?  Which entry, which side, by how much."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lemmax.check.readings import Readers
from lemmax.errors import EvaluationError, InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor, identifier

Array = npt.NDArray[Any]

RELATIVE = 1e-9
"""Relative to the largest entry: right code in float64 errs by far less, wrong code by more."""

SLOPE_DIGITS = 50
SLOPE_STEPS = tuple(2.0**-k for k in range(6, 13))


@dataclass(frozen=True, slots=True)
class GradientReport:
    """The comparison of a user's gradient with the derived one.

    Attributes:
        agrees: are all entries equal, relative to the largest, up to the tolerance?
        index: the entry that differs most.
        yours: the user's number there.
        derived: the derived one there.
        error: their difference, relative to the largest entry of the derived gradient.
        wrong_entries: how many entries differ by more than the tolerance.
        entries: how many there are.
        hint: what a simple repair would be, if one was recognised.
    """

    agrees: bool
    index: tuple[int, ...]
    yours: float
    derived: float
    error: float
    wrong_entries: int
    entries: int
    hint: str = ""

    def __bool__(self) -> bool:
        """Does the user's gradient agree?"""
        return self.agrees

    def __str__(self) -> str:
        """Show the outcome and the entry that differs most."""
        if self.agrees:
            return f"agrees with the derived gradient: largest relative difference {self.error:.1e}"
        text = (
            f"differs from the derived gradient in {self.wrong_entries} of {self.entries} entries; "
            f"at {self.index}: yours {self.yours!r}, derived {self.derived!r} "
            f"(relative difference {self.error:.3g})"
        )
        return f"{text}; {self.hint}" if self.hint else text


def check_gradient(
    my_gradient: Callable[..., Any] | Any, gradient: Tensor, *, rtol: float = RELATIVE, **arrays: Any
) -> GradientReport:
    """Compare a user's gradient with a derived one.

    Args:
        my_gradient: a function of the arrays (by keyword; it gets those that it names), or its value.
        gradient: the derived gradient, as ``lx.gradient`` returns it.
        rtol: tolerance, relative to the largest entry.
        **arrays: inputs by code name.

    Raises:
        InvalidArgument: the user's gradient is no array of numbers, or has another shape.
        EvaluationError: arrays are missing, or the derived gradient is undefined on them.
    """
    if not isinstance(gradient, Tensor):
        raise InvalidArgument(
            "check_gradient: the second argument must be a derived gradient (lx.gradient(f, W)), "
            f"got {gradient!r}."
        )
    arrays = {name: np.array(value, dtype=float) for name, value in arrays.items()}
    derived = Readers().of([gradient]).floats(arrays, {}, batch=False)[gradient.digest]
    if not np.isfinite(derived).all():
        raise EvaluationError("check_gradient: the derived gradient is not finite on these arrays.")
    # last, and on copies: the function may work in place
    yours = _as_array(_call(my_gradient, arrays) if callable(my_gradient) else my_gradient)
    if yours.shape != derived.shape:
        hint = " It has the shape of the transpose." if yours.shape == derived.T.shape else ""
        raise InvalidArgument(
            f"check_gradient: your gradient has shape {yours.shape}, expected {derived.shape}, "
            f"the shape of the variable ({', '.join(map(str, gradient.shape))}).{hint}"
        )
    difference = np.abs(yours - derived)
    difference = np.where(np.isnan(difference), np.inf, difference)
    largest = float(np.abs(derived).max(initial=0.0))
    own = float(np.abs(yours).max(initial=0.0, where=np.isfinite(yours)))
    scale = largest or own or 1.0
    index = tuple(int(i) for i in np.unravel_index(int(difference.argmax()), difference.shape))
    wrong = int((difference > rtol * scale).sum())
    return GradientReport(
        agrees=wrong == 0,
        index=index,
        yours=float(yours[index]),
        derived=float(derived[index]),
        error=float(difference[index] / scale),
        wrong_entries=wrong,
        entries=int(derived.size),
        hint=_hint(yours, derived, rtol * scale) if wrong else "",
    )


def _call(function: Callable[..., Any], arrays: dict[str, Array]) -> Any:
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return function(**arrays)
    missing = [p.name for p in parameters if p.name not in arrays and p.default is p.empty]
    if missing:
        raise InvalidArgument(
            f"check_gradient: your function takes {missing[0]!r}, which is not among the arrays "
            f"{', '.join(arrays) or '(none)'}."
        )
    return function(**{p.name: arrays[p.name] for p in parameters if p.name in arrays})


def _as_array(value: Any) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"check_gradient: your gradient is no array of real numbers: {error}."
        ) from None


def _hint(yours: Array, derived: Array, allowed: float) -> str:
    """Name a simple repair that would make the two agree."""
    if not np.isfinite(yours).all():
        return "yours is not finite"
    energy = float((yours * yours).sum())
    factor = float((yours * derived).sum()) / energy if energy else 0.0
    if energy and np.abs(factor * yours - derived).max() <= abs(factor) * allowed + allowed:
        return (
            "yours has the opposite sign"
            if abs(factor + 1) < RELATIVE
            else f"yours times {factor:.12g} agrees"
        )
    if yours.ndim >= 2 and yours.shape[-1] == yours.shape[-2]:
        turned = np.swapaxes(yours, -1, -2)
        if np.abs(turned - derived).max() <= allowed:
            return "yours is transposed"
    return ""


def taylor_slope(
    loss: Tensor, gradient: Tensor | Any, variable: Input, seed: int = 0, **arrays: Any
) -> float:
    r"""Return the order of the Taylor remainder :math:`f(W + tU) - f(W) - t \langle g, U \rangle` in t.

    It is 2 for a right gradient (more where the second derivative vanishes along U) and 1 for a wrong one.
    The loss is evaluated with 50 digits along a random direction.

    Args:
        loss: the loss.
        gradient: its gradient as a tensor, or the numbers that a user's code gives.
        variable: the input that it is the gradient in.
        seed: seed of the direction.
        **arrays: inputs by code name.
    """
    import mpmath

    readers = Readers()
    given = {name: np.asarray(value, dtype=float) for name, value in arrays.items()}
    name = identifier(str(variable.name))
    start = given[name].astype(object)
    direction = np.random.default_rng(seed).standard_normal(start.shape).astype(object)
    with mpmath.workdps(SLOPE_DIGITS):
        if isinstance(gradient, Tensor):
            slope = readers.of([gradient]).precise(given, {}, SLOPE_DIGITS)[0][gradient.digest]
        else:
            slope = np.asarray(gradient, dtype=float)
        linear = sum(
            (mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(slope.flat, direction.flat, strict=True)),
            mpmath.mpf(0),
        )

        def value(t: Any) -> Any:
            moved = [
                mpmath.mpf(w) + t * mpmath.mpf(u) for w, u in zip(start.flat, direction.flat, strict=True)
            ]
            entries = np.array(moved, dtype=object).reshape(start.shape)
            found, _ = readers.of([loss]).precise({**given, name: entries}, {}, SLOPE_DIGITS)
            return found[loss.digest].item()

        first = value(mpmath.mpf(0))
        remainders = [abs(value(mpmath.mpf(t)) - first - t * linear) for t in SLOPE_STEPS]
        nothing = mpmath.mpf(10) ** (10 - SLOPE_DIGITS) * (abs(first) + abs(linear))
        return _fitted_slope([float(mpmath.log(r, 2)) if r > nothing else -np.inf for r in remainders])


def _fitted_slope(logs: Sequence[float]) -> float:
    """Return the slope over halvings of t; the remainder of a function that is linear along U is 0."""
    if any(np.isinf(logs)):
        return float("inf")
    steps = [float(np.log2(t)) for t in SLOPE_STEPS]
    return float(np.polyfit(steps, logs, 1)[0])
