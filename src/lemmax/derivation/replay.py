r"""Replay: every step is checked by its rule, and numerically by the interpreter.

The two checks share nothing: the rule is applied again and must give the same expression;
the interpreter evaluates both sides on random arrays, formal derivatives by complex steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.rules import RULES, Context, rule_of
from lemmax.errors import EvaluationError, LemmaxError, ReplayError, ShapeError
from lemmax.expr.graph import inputs_of
from lemmax.expr.nodes import Derivative, Lambda, Term
from lemmax.expr.tensor import Tensor, identifier

_RTOL = 1e-9  # complex steps are exact to rounding; sums of a few hundred terms lose three digits
_CANCELLED = 1e-5  # sides below this part of the loss may be what is left of terms that cancel
_ATTEMPTS = 15
_DIFFERENTIATIONS = {name for name, rule in RULES.items() if rule is RULES["product_rule"]}


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
    context = Context(derivation.variables, derivation.nonsmooth)
    place: Tensor | None = None
    current: Tensor | None = None
    for number, step in enumerate(derivation.steps, 1):
        _check_follows(number, step, derivation, context, place, current)
        try:
            if step.rule in _DIFFERENTIATIONS:
                _check_focus(number, step, context)
            again = RULES[step.rule](step.before, step.place, step.focus, context)
        except ReplayError:
            raise
        except (LemmaxError, AssertionError) as error:
            raise ReplayError(f"step {number} ({step.rule}) cannot be applied: {error}") from error
        if again != step.after:
            raise ReplayError(f"step {number} ({step.rule} at {step.place.label()}): {_said(again, step)}.")
        place, current = step.place, step.after
        if number == 1:
            context.loss = current
            context.adjoints[current.digest] = Lambda((), (), (Term((), sp.S.One),))
        else:
            context.adjoints[step.place.digest] = current
    if len(derivation.results) != len(derivation.variables):
        raise ReplayError(
            f"{len(derivation.results)} results are given for {len(derivation.variables)} variables."
        )
    for variable, result in zip(derivation.variables, derivation.results, strict=True):
        if context.adjoints.get(variable.digest) != result or variable.digest not in context.adjoints:
            raise ReplayError(f"the steps do not lead to the result given for {variable.label()}.")


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


def _check_follows(
    number: int,
    step: Step,
    derivation: Derivation,
    context: Context,
    place: Tensor | None,
    current: Tensor | None,
) -> None:
    if step.rule not in RULES:
        raise ReplayError(f"step {number}: there is no rule {step.rule!r}.")
    if step.rule not in _DIFFERENTIATIONS and step.focus is not None:
        raise ReplayError(f"step {number}: the rule {step.rule} acts on no part, but one is named.")
    if number == 1:
        if not step.place == step.before == derivation.f or step.rule != "inline_definitions":
            raise ReplayError("the first step must write out the given scalar.")
        return
    starts = step.rule == "chain_rule"
    if starts:
        if current is not None and _is_unfinished(current):
            raise ReplayError(f"step {number}: the adjoint before it was left with a formal derivative.")
        if step.place.digest in context.adjoints:
            raise ReplayError(f"step {number}: the adjoint of {step.place.label()} is derived twice.")
    elif step.place != place or step.before != current:
        raise ReplayError(
            f"step {number} ({step.rule} at {step.place.label()}) does not start where the step before ended."
        )


def _check_focus(number: int, step: Step, context: Context) -> None:
    if step.focus is None or step.focus.digest not in context.adjoints:
        user = "no user" if step.focus is None else step.focus.label()
        raise ReplayError(f"step {number} ({step.rule}): the adjoint of {user} was not derived before.")
    if rule_of(step.focus, step.place, context) != step.rule:
        raise ReplayError(
            f"step {number}: {step.focus.label()} is not differentiated by the rule {step.rule}."
        )


def _is_unfinished(t: Tensor) -> bool:
    return any(isinstance(x, Derivative) for x in t.operands) or isinstance(t, Derivative)


def replay_by_numbers(derivation: Derivation, seed: int = 0, instances: int = 2) -> None:
    """Evaluate both sides of every step on random arrays.

    Raises:
        ReplayError: the two sides of a step differ by more than rounding.
    """
    from lemmax.interpret import Evaluator

    rng = np.random.default_rng(seed)
    # all sides share one evaluation, so that inner tensors are computed once per instance
    sides = [side for step in derivation.steps for side in (step.before, step.after)]
    evaluator = Evaluator(sides)
    for _ in range(instances):
        values = _evaluate_somewhere(evaluator, sides, rng)
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
                    f"step {number} ({step.rule} at {step.place.label()}): the two sides differ by "
                    f"{float(np.max(np.abs(left - right))):.3g} on random arrays (largest entry {scale:.3g})."
                )


def _evaluate_somewhere(evaluator: Any, sides: list[Tensor], rng: np.random.Generator) -> list[Any]:
    error: Exception | None = None
    for attempt in range(_ATTEMPTS):
        sizes = {s: int(rng.integers(2, 4)) + attempt // 3 for s in evaluator.sizes.values()}
        arrays = draw_arrays(sides, sizes, rng, attempt)
        try:
            with np.errstate(all="ignore"):
                values = evaluator.run(arrays, sizes=sizes)
        except (EvaluationError, ShapeError, np.linalg.LinAlgError) as failed:
            error = failed
            continue
        if all(np.all(np.isfinite(np.asarray(v, dtype=float))) for v in values):
            return list(values)
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
