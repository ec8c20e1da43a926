r"""How steps must follow one another, what each establishes, and what all of them must lead to."""

from __future__ import annotations

from collections.abc import Container

from lemmax.derivation.builder import begin
from lemmax.derivation.forward_rules import FORWARD_RULES, STARTS, forward_rule_of
from lemmax.derivation.line_rules import LINE_RULES
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.rules import RULES, Context, rule_of
from lemmax.derivation.split_rules import SPLIT_OF_SCALARS, SPLIT_RULES, SPLIT_STARTS, claim_of
from lemmax.errors import ReplayError
from lemmax.expr.nodes import Apply, Derivative
from lemmax.expr.tensor import Tensor
from lemmax.rules.pushforwards import PUSHFORWARDS

DIFFERENTIATIONS = {name for name, rule in RULES.items() if rule is RULES["product_rule"]}
_FUNCTIONS = {rule.name for rule in PUSHFORWARDS.values()}
_PARTS: dict[str, set[str]] = {
    "outer": {"name_middle_tensor", "gauss_newton", "put_back_middle_tensor", "inline_block"},
    "functional": {"name_middle_tensor", "hold_slope", "insert_slope", "inline_block"},
    "total": set(),
}
"""The rules of each part of a Hessian that belong to parts only."""


def is_start(step: Step) -> bool:
    """Does the step begin something new, and not go on from the step before?"""
    if step.rule in LINE_RULES:
        return True
    if step.rule in SPLIT_RULES:
        return step.rule in SPLIT_STARTS
    return step.rule == "chain_rule" if step.along is None else step.rule in STARTS


def check_follows(
    number: int, step: Step, previous: Step | None, derivation: Derivation, context: Context
) -> None:
    """Check that a step may stand where it stands.

    Raises:
        ReplayError: it may not.
    """
    rules = RULES if step.along is None else FORWARD_RULES
    if step.rule not in rules and step.rule not in SPLIT_RULES and step.rule not in LINE_RULES:
        raise ReplayError(f"step {number}: there is no rule {step.rule!r}.")
    if step.rule in SPLIT_RULES and step.rule not in _PARTS[derivation.part]:
        raise ReplayError(f"step {number}: the rule {step.rule} does not belong to this derivation.")
    if step.rule in SPLIT_RULES and (step.along is None) != (step.rule in SPLIT_OF_SCALARS):
        raise ReplayError(f"step {number}: the rule {step.rule} is not about {step.where}.")
    if step.rule in LINE_RULES and (context.line is None or step.along != context.line.step):
        raise ReplayError(f"step {number}: the rule {step.rule} does not belong to this derivation.")
    if step.along is not None and not derivation.blocks and not derivation.directions:
        raise ReplayError(f"step {number}: a gradient needs no tangents.")
    if step.rule not in DIFFERENTIATIONS and step.focus is not None:
        raise ReplayError(f"step {number}: the rule {step.rule} acts on no part, but one is named.")
    if step.along is not None and step.rule in _FUNCTIONS and _function_rule(step.place) != step.rule:
        raise ReplayError(
            f"step {number}: {step.place.label()} is not differentiated by the rule {step.rule}."
        )
    if previous is None or context.loss is None:
        _check_beginning(number, step, previous, derivation, context)
        return
    if is_start(step):
        _check_start(number, step, previous, context)
    elif (step.place, step.along) != (previous.place, previous.along) or step.before != previous.after:
        raise ReplayError(
            f"step {number} ({step.rule} at {step.where}) does not start where the step before ended."
        )


def _function_rule(t: Tensor) -> str | None:
    return PUSHFORWARDS[t.function].name if isinstance(t, Apply) and t.function in PUSHFORWARDS else None


def _check_beginning(
    number: int, step: Step, previous: Step | None, derivation: Derivation, context: Context
) -> None:
    """Check the first step, which writes out the scalar; for a part of a Hessian the first two."""
    scalar, rule = derivation.f, "inline_definitions"
    if context.split is not None:
        scalar, rule = (scalar, "name_middle_tensor") if previous is None else (context.split.loss, rule)
    if not step.place == step.before == scalar or step.rule != rule or step.along is not None:
        raise ReplayError(
            f"step {number}: the first step must write out the given scalar."
            if context.split is None
            else f"step {number}: the first steps must name the middle tensor and write out the scalar."
        )


def _check_start(number: int, step: Step, previous: Step, context: Context) -> None:
    if is_unfinished(previous.after):
        raise ReplayError(f"step {number}: what was derived before it was left with a formal derivative.")
    if step.rule == "chain_rule" and step.place.digest in context.adjoints:
        raise ReplayError(f"step {number}: the adjoint of {step.place.label()} is derived twice.")
    if step.along is None or step.rule in SPLIT_RULES or step.rule in LINE_RULES:
        return
    key = (step.place.digest, step.along.digest)
    known: dict[str, Container[tuple[str, str]]]
    known = {"write_out_definitions": context.sweeps, "inline_definitions": context.finals}
    if key in known.get(step.rule, context.tangents):
        raise ReplayError(f"step {number}: the tangent of {step.where} is derived twice.")


def check_focus(number: int, step: Step, context: Context) -> None:
    """Check that a local derivative is taken by the right rule, of a tensor that is known.

    Raises:
        ReplayError: it is not.
    """
    if step.along is not None:
        if step.focus is None or step.focus not in step.place.operands:
            raise ReplayError(f"step {number} ({step.rule}): no operand is named.")
        if forward_rule_of(step.place, step.focus, context) != step.rule:
            raise ReplayError(
                f"step {number}: {step.place.label()} is not differentiated by the rule {step.rule}."
            )
        return
    if step.focus is None or step.focus.digest not in context.adjoints:
        user = "no user" if step.focus is None else step.focus.label()
        raise ReplayError(f"step {number} ({step.rule}): the adjoint of {user} was not derived before.")
    if rule_of(step.focus, step.place, context) != step.rule:
        raise ReplayError(
            f"step {number}: {step.focus.label()} is not differentiated by the rule {step.rule}."
        )


def establish(step: Step, context: Context) -> None:
    """Keep what a step has shown."""
    split = context.split
    if step.rule == "name_middle_tensor":
        return
    if context.loss is None:
        begin(context, step.after, context.variables)
    elif step.rule == "hold_slope":
        assert split is not None
        split.slope = context.adjoints[split.held.digest]
        begin(context, step.after, split.weights)
    elif step.along is None:
        context.adjoints[step.place.digest] = step.after
    elif step.rule in LINE_RULES:
        assert context.line is not None
        found = context.line.roots if step.rule == "move_along_direction" else context.line.products
        found[step.place.digest] = step.after
    elif step.rule in SPLIT_RULES:
        assert split is not None
        if step.rule == "inline_block":
            split.assembled[step.place.digest, step.along.digest] = step.after
    elif step.rule == "inline_definitions":
        context.finals[step.place.digest, step.along.digest] = step.after
    elif step.rule != "write_out_definitions":
        context.tangents[step.place.digest, step.along.digest] = step.after


def check_results(derivation: Derivation, context: Context) -> None:
    """Check that the steps lead to the results.

    Raises:
        ReplayError: they do not.
    """
    if (derivation.part == "total") != (derivation.middle is None) or (
        derivation.middle is not None and not derivation.blocks
    ):
        raise ReplayError("a part of a Hessian needs a middle tensor, and only such a part has one.")
    if derivation.directions and (derivation.blocks or derivation.part != "total"):
        raise ReplayError("a product with directions has no blocks and no parts.")
    if (derivation.psd_reason, derivation.linear_in) != claim_of(derivation.part, context):
        raise ReplayError(
            f"what is claimed of the {derivation.part} part does not follow from the steps:"
            f" positive semidefinite because {derivation.psd_reason}, linear in {derivation.linear_in!r}."
        )
    if derivation.blocks and derivation.variables != tuple(dict.fromkeys(a for a, _ in derivation.blocks)):
        raise ReplayError("the variables are not those of the blocks.")
    wanted = len(derivation.blocks) or len(derivation.variables)
    if len(derivation.results) != wanted:
        what = "blocks" if derivation.blocks else "variables"
        raise ReplayError(f"{len(derivation.results)} results are given for {wanted} {what}.")
    if derivation.steps and is_unfinished(derivation.steps[-1].after):
        raise ReplayError("the last step leaves a formal derivative.")
    if derivation.blocks:
        for (a, b), result in zip(derivation.blocks, derivation.results, strict=True):
            if _block(a, b, context) != result:
                raise ReplayError(f"the steps do not lead to the block given for {a.label()}, {b.label()}.")
        return
    for variable, result in zip(derivation.variables, derivation.results, strict=True):
        if context.line is not None:
            if context.line.products.get(variable.digest) != result:
                raise ReplayError(f"the steps do not lead to the product given for {variable.label()}.")
            continue
        if context.adjoints.get(variable.digest) != result or variable.digest not in context.adjoints:
            raise ReplayError(f"the steps do not lead to the result given for {variable.label()}.")


def _block(a: Tensor, b: Tensor, context: Context) -> Tensor | None:
    if context.split is not None:
        return context.split.assembled.get((a.digest, b.digest))
    adjoint = context.adjoints.get(a.digest)
    return None if adjoint is None else context.final(adjoint, b)


def is_unfinished(t: Tensor) -> bool:
    """Does a formal derivative occur in the tensor itself?"""
    return any(isinstance(x, Derivative) for x in t.operands) or isinstance(t, Derivative)
