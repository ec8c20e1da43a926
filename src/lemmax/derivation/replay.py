r"""Replay: every step is checked by its rule, and numerically by the interpreter.

The two checks share nothing: the rule is applied again and must give the same expression;
the interpreter evaluates both sides on random arrays, formal derivatives by complex steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from lemmax.derivation.builder import rule_function
from lemmax.derivation.following import DIFFERENTIATIONS, check_focus, check_follows, check_results, establish
from lemmax.derivation.line_rules import line_of
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.rules import Context
from lemmax.derivation.split_rules import split_of
from lemmax.errors import EvaluationError, LemmaxError, ReplayError, ShapeError
from lemmax.expr.graph import inputs_of
from lemmax.expr.nodes import Derivative
from lemmax.expr.tensor import Tensor, identifier

_RTOL = 1e-9  # complex steps are exact to rounding; sums of a few hundred terms lose three digits
_CANCELLED = 1e-5  # sides below this part of the loss may be what is left of terms that cancel
_ATTEMPTS = 15


def replay(derivation: Derivation, seed: int = 0, instances: int = 2) -> None:
    """Check a derivation; see :meth:`Derivation.replay`."""
    replay_by_rules(derivation)
    replay_by_numbers(derivation, seed, instances)


def replay_by_rules(derivation: Derivation) -> None:
    """Apply every rule again; check that steps follow one another and lead to the results.

    Raises:
        ReplayError: a step does not follow, or its rule gives something else.
    """
    if not derivation.steps:
        raise ReplayError("the derivation has no steps.")
    context = _context(derivation)
    previous: Step | None = None
    for number, step in enumerate(derivation.steps, 1):
        check_follows(number, step, previous, derivation, context)
        context.along = step.along
        try:
            if step.rule in DIFFERENTIATIONS:
                check_focus(number, step, context)
            function = rule_function(step.rule, step.along)
            assert function is not None
            again = function(step.before, step.place, step.focus, context)
        except ReplayError:
            raise
        except (LemmaxError, AssertionError) as error:
            raise ReplayError(f"step {number} ({step.rule}) cannot be applied: {error}") from error
        if again != step.after:
            raise ReplayError(f"step {number} ({step.rule} at {step.where}): {_said(again, step)}.")
        establish(step, context)
        previous = step
    check_results(derivation, context)


def _context(derivation: Derivation) -> Context:
    if derivation.directions:
        try:
            line = line_of(derivation.f, derivation.variables, derivation.directions)
        except LemmaxError as error:
            raise ReplayError(f"there is no line in these directions: {error}") from error
        return Context(derivation.variables, derivation.nonsmooth, line=line)
    if derivation.middle is None:
        return Context(derivation.variables, derivation.nonsmooth)
    weights = [w for pair in derivation.blocks for w in pair]
    try:
        split = split_of(derivation.f, weights, derivation.variables, derivation.middle)
    except LemmaxError as error:
        raise ReplayError(f"the Hessian cannot be split: {error}") from error
    return Context((split.held,), derivation.nonsmooth, split=split)


def _said(again: Tensor, step: Step) -> str:
    """Say in what a step differs from what its rule gives."""
    gives, says = _shown(again), _shown(step.after)
    if gives == says:  # names in it stand for other tensors than those established before
        return f"the rule gives another expression than the step has, though both are printed {says}"
    return f"the rule gives {gives}, not {says}"


def _shown(t: Tensor) -> str:
    """Return the entries of a tensor as LaTeX, for a message."""
    from lemmax.typeset import latex

    try:
        return latex(t, notation="index")
    except LemmaxError:
        return repr(t)


def replay_by_numbers(derivation: Derivation, seed: int = 0, instances: int = 2) -> None:
    """Evaluate both sides of every step on random arrays, and what is claimed of a part of a Hessian.

    Raises:
        ReplayError: the two sides of a step differ by more than rounding; or a curvature that is claimed to
            be positive semidefinite has a negative eigenvalue, or what is claimed to be linear is not.
    """
    from lemmax.interpret import Evaluator

    rng = np.random.default_rng(seed)
    # all sides share one evaluation, so that inner tensors are computed once per instance
    sides = [side for step in derivation.steps for side in (step.before, step.after)]
    evaluator = Evaluator(sides)
    names = _Names(derivation)
    for _ in range(instances):
        values, arrays, sizes = _evaluate_somewhere(evaluator, sides, rng, names)
        for number, step in enumerate(derivation.steps, 1):
            left, right = (np.asarray(v, dtype=float) for v in values[2 * number - 2 : 2 * number])
            scale = max(
                float(np.max(np.abs(left), initial=0.0)),
                float(np.max(np.abs(right), initial=0.0)),
                _CANCELLED * float(np.max(np.abs(np.asarray(values[0], dtype=float)), initial=0.0)),
                1e-30,
            )
            if left.shape != right.shape or not np.allclose(left, right, rtol=0, atol=_RTOL * scale):
                raise ReplayError(
                    f"step {number} ({step.rule} at {step.where}): the two sides differ by "
                    f"{float(np.max(np.abs(left - right))):.3g} on random arrays (largest entry {scale:.3g})."
                )
        _check_claim(derivation, names, values, arrays, sizes)


class _Names:
    """The values of the names that a part of a Hessian brings: Z, and the slope C held fixed."""

    def __init__(self, derivation: Derivation) -> None:
        from lemmax.interpret import Evaluator

        context = _context(derivation)
        split, line = context.split, context.line
        self._step = None if line is None else identifier(str(line.step.name))
        self.roots: list[Tensor] = []
        self._evaluators: list[tuple[str, Any]] = []
        self.split = split
        if split is not None:
            slope = Derivative(split.loss, split.held)  # by complex steps, not by the calculus
            self.roots = [split.middle, slope]
            names = [identifier(str(t.name)) for t in (split.held, split.cotangent)]
            self._evaluators = [(name, Evaluator([t])) for name, t in zip(names, self.roots, strict=True)]

    @property
    def sizes(self) -> set[sp.Symbol]:
        """The sizes that are needed to evaluate them."""
        return {s for _, evaluator in self._evaluators for s in evaluator.sizes.values()}

    def add_to(self, arrays: dict[str, np.ndarray], sizes: Mapping[sp.Symbol, int]) -> None:
        """Evaluate the names at the drawn arrays; products are checked at the point where they are taken."""
        if self._step is not None:
            arrays[self._step] = np.zeros(())
        for name, evaluator in self._evaluators:
            (arrays[name],) = _run(evaluator, arrays, sizes)


def _check_claim(
    derivation: Derivation,
    names: _Names,
    values: list[Any],
    arrays: dict[str, np.ndarray],
    sizes: Mapping[sp.Symbol, int],
) -> None:
    """Check the sign of the curvature, and that blocks double with what stands for the slope, in numbers."""
    split = names.split
    if split is None:
        return
    for number, step in enumerate(derivation.steps, 1):
        if derivation.psd_reason and step.rule == "inline_definitions" and step.along == split.held:
            curvature = np.asarray(values[2 * number - 1], dtype=float)
            rows = int(np.prod(curvature.shape[: curvature.ndim // 2]))
            lowest = float(np.linalg.eigvalsh(curvature.reshape(rows, rows)).min())
            if lowest < -_RTOL * max(float(np.abs(curvature).max()), 1e-30):
                raise ReplayError(
                    f"the curvature is claimed to be positive semidefinite ({derivation.psd_reason}), but"
                    f" has the eigenvalue {lowest:.3g} on random arrays."
                )
        if step.rule == "insert_slope":
            key = identifier(str(split.cotangent.name))
            once, twice = (_value(step.before, {**arrays, key: c * arrays[key]}, sizes) for c in (1, 2))
            if not np.allclose(twice, 2 * once, rtol=0, atol=_RTOL * max(float(np.abs(once).max()), 1e-30)):
                raise ReplayError(f"step {number}: the block is not linear in what stands for the slope.")


def _value(t: Tensor, arrays: dict[str, np.ndarray], sizes: Mapping[sp.Symbol, int]) -> np.ndarray:
    from lemmax.interpret import Evaluator

    return np.asarray(_run(Evaluator([t]), arrays, sizes)[0], dtype=float)


def _run(evaluator: Any, arrays: Mapping[str, np.ndarray], sizes: Mapping[sp.Symbol, int]) -> list[Any]:
    used = {key: x for key, x in arrays.items() if key in evaluator.inputs}
    return list(evaluator.run(used, sizes={s: sizes[s] for s in evaluator.sizes.values()}))


def _evaluate_somewhere(
    evaluator: Any, sides: list[Tensor], rng: np.random.Generator, names: _Names
) -> tuple[list[Any], dict[str, np.ndarray], dict[sp.Symbol, int]]:
    error: Exception | None = None
    for attempt in range(_ATTEMPTS):
        wanted = dict.fromkeys((*evaluator.sizes.values(), *sorted(names.sizes, key=str)))
        sizes = {s: int(rng.integers(2, 4)) + attempt // 3 for s in wanted}
        arrays = draw_arrays([*sides, *names.roots], sizes, rng, attempt)
        try:
            with np.errstate(all="ignore"):
                names.add_to(arrays, sizes)
                values = _run(evaluator, arrays, sizes)
        except (EvaluationError, ShapeError, np.linalg.LinAlgError) as failed:
            error = failed
            continue
        if all(np.all(np.isfinite(np.asarray(v, dtype=float))) for v in values):
            return values, arrays, sizes
    raise ReplayError(f"no random point was found at which all steps can be evaluated ({error}).")


def draw_arrays(
    sides: list[Tensor], sizes: Mapping[sp.Symbol, int], rng: np.random.Generator, attempt: int
) -> dict[str, np.ndarray]:
    """Draw the inputs; later attempts move to where logarithms, inverses, arcsine or arccosh live."""
    arrays = {}
    for t in inputs_of(*sides):
        shape = tuple(int(s.subs(sizes)) for s in t.shape)
        x = rng.standard_normal(shape)
        where = attempt % 5
        if where == 2 and len(shape) >= 2 and shape[-1] == shape[-2]:
            x = 0.2 * x + np.eye(shape[-1])
        elif where == 3:
            x = np.tanh(x)
        elif where == 4:
            x = 1.1 + np.abs(x)
        if "positive" in t.assumptions or where == 1:
            x = np.abs(x) + 0.1
        arrays[identifier(str(t.name))] = x
    return arrays
