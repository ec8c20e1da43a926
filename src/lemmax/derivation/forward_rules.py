r"""The rules of second derivatives: tangents, found from the variables to the gradient.

The tangent of U along a variable B is :math:`\partial U / \partial B`, with the axes of U followed by
those of B.  As in ``rules``, each rule is a function from what was to what is that replay calls again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sympy as sp

from lemmax.calculus.flatten import flatten
from lemmax.calculus.forward import entry_of_tangent, identity_tangent, tangent_of_function, written_out, zero
from lemmax.calculus.partials import local_partial
from lemmax.derivation.record import local
from lemmax.derivation.rules import (
    STATEMENTS,
    Context,
    Rule,
    collect_terms,
    contract,
    has_deltas_to_contract,
)
from lemmax.errors import ReplayError
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import free_indices, fresh
from lemmax.expr.nodes import Apply, Derivative, Lambda, Term
from lemmax.expr.tensor import Tensor
from lemmax.rules.pushforwards import PUSHFORWARDS


def along(context: Context) -> Tensor:
    """Return the variable in which tangents are taken."""
    if context.along is None:
        raise ReplayError("a tangent needs the variable along which it is taken.")
    return context.along


def write_out(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Write what is to be differentiated over tensors that have forward rules; remember what moves."""
    known = [*context.adjoints.values(), *([context.split.middle] if context.split else [])]
    known += context.line.roots.values() if context.line else []
    if before != place or place not in known:
        raise ReplayError(f"{place.label()} was not derived before, so that it cannot be differentiated.")
    (after,), (variable,) = written_out([before], [along(context)])
    context.sweeps[place.digest, along(context).digest] = (after, variable)
    return after


def tangent_of(t: Tensor, context: Context) -> Tensor | None:
    """Return the tangent of a tensor, ``None`` if it is zero.

    Raises:
        ReplayError: it was not derived before.
    """
    variable = along(context)
    if t == variable:
        return identity_tangent(t)
    if not depends_on(t, variable):
        return None
    tangent = context.tangents.get((t.digest, variable.digest))
    if tangent is None:
        raise ReplayError(f"the tangent of {t.label()} along {variable.label()} was not derived before.")
    return None if isinstance(tangent, Lambda) and not tangent.terms else tangent


def _start(before: Tensor, place: Tensor, context: Context) -> Tensor:
    variable = along(context)
    if before != Derivative(place, variable):
        raise ReplayError(f"tangent of {place.label()}: it must start from the derivative.")
    if all(swept[1] != variable for swept in context.sweeps.values()):
        raise ReplayError(f"tangent of {place.label()}: nothing is differentiated in {variable.label()}.")
    return variable


def forward_chain_rule(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    r"""Replace a derivative by the sum over operands of local derivative times tangent."""
    variable = _start(before, place, context)
    if place == variable:
        return identity_tangent(place)
    if isinstance(place, Apply) and any(tangent_of(t, context) is not None for t in place.operands):
        raise ReplayError(f"{place.function} is differentiated by a rule of its own.")
    rows, directions = free_indices(place.ndim), free_indices(place.ndim + variable.ndim)[place.ndim :]
    terms = []
    for operand in place.operands:
        tangent = tangent_of(operand, context)
        if tangent is not None:
            columns = fresh(operand.ndim)
            sums = tuple(zip(columns, operand.shape, strict=True))
            weight = entry_of_tangent(tangent, (*columns, *directions))
            terms.append(Term(sums, local(place, operand).entry(*rows, *columns) * weight))
    return Lambda(place.shape + variable.shape, (*rows, *directions), tuple(terms))


def differentiate_operand(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Replace the formal local derivative in one operand (``focus``) by its value."""
    if not isinstance(before, Lambda) or not isinstance(place, Lambda) or focus is None:
        raise ReplayError(f"local derivative of {place.label()}: no operand is named.")
    wanted = local(place, focus)
    tangent = tangent_of(focus, context)
    if tangent is None or wanted not in before.operands:
        raise ReplayError(f"local derivative of {place.label()}: {wanted.label()} does not occur.")
    partial = local_partial(place, focus, context.nonsmooth)
    swap = dict(zip(partial.rows, before.indices[: place.ndim], strict=True))
    weight = entry_of_tangent(tangent, (*partial.columns, *before.indices[place.ndim :]))
    sums = tuple(zip(partial.columns, focus.shape, strict=True))
    terms: list[Term] = []
    for term in before.terms:
        if wanted.symbol in term.expr.atoms(sp.Symbol):
            terms += [Term(sums + t.bound, t.expr.xreplace(swap) * weight) for t in partial.terms]
        else:
            terms.append(term)
    return Lambda(before.shape, before.indices, tuple(terms))


def push_function(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Replace the derivative of a function by what its forward rule gives."""
    variable = _start(before, place, context)
    if not isinstance(place, Apply):
        raise ReplayError(f"{place.label()} is no application of a function.")
    moving = [tangent_of(t, context) for t in place.operands]
    if all(tangent is None for tangent in moving):
        return zero(place.shape + variable.shape)
    return tangent_of_function(place, moving, variable.shape, context.nonsmooth)


def inline_result(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Replace unnamed products and plain sums by their definitions, once all tangents are found."""
    if has_deltas_to_contract(before) or before != context.tangents.get(
        (place.digest, along(context).digest)
    ):
        raise ReplayError(f"at {place.label()}: this is not the tangent that was derived.")
    return flatten([before])[0]


FORWARD_STATEMENTS: Mapping[str, tuple[str, str]] = {
    "write_out_definitions": (
        "Functions that are defined by others are written out, unnamed products too",
        "",
    ),
    "forward_chain_rule": (
        r"\partial U_u / \partial B_b = \sum_V \sum_v (\partial U_u / \partial V_v) \,"
        r" \partial V_v / \partial B_b",
        "over the tensors V in the definition of U",
    ),
    **{
        name: STATEMENTS[name]
        for name in (
            "linearity",
            "product_rule",
            "power_rule",
            "elementwise_derivative",
            "contract_deltas",
            "collect_like_terms",
            "inline_definitions",
        )
    },
}
"""What the rules for tangents say, and when; the rules of functions are in ``rules.pushforwards``."""

FORWARD_RULES: Mapping[str, Rule] = {
    "write_out_definitions": write_out,
    "forward_chain_rule": forward_chain_rule,
    **dict.fromkeys(
        ("linearity", "product_rule", "power_rule", "elementwise_derivative"), differentiate_operand
    ),
    **{rule.name: push_function for rule in PUSHFORWARDS.values()},
    "contract_deltas": contract,
    "collect_like_terms": collect_terms,
    "inline_definitions": inline_result,
}

STARTS = frozenset(
    {"write_out_definitions", "forward_chain_rule", "inline_definitions"}
    | {rule.name for rule in PUSHFORWARDS.values()}
)
"""Rules that do not go on from the step before."""


def forward_rule_of(place: Tensor, operand: Tensor | None, context: Context) -> str:
    """Return the name of the rule by which a tensor is differentiated (in one operand)."""
    if isinstance(place, Apply):
        moves = place != along(context) and any(tangent_of(t, context) is not None for t in place.operands)
        if moves:
            return PUSHFORWARDS[place.function].name if place.function in PUSHFORWARDS else place.function
        return "forward_chain_rule"
    if operand is None:
        return "forward_chain_rule"
    assert isinstance(place, Lambda)
    return local_partial(place, operand, context.nonsmooth).rule


def visited(root: Tensor, variable: Tensor) -> list[Tensor]:
    """Return the tensors whose tangents are needed for that of ``root``, in order."""
    moving = moving_in(root, variable)
    if root.digest not in moving:
        return [root]
    return [t for t in topological_order(root) if t.digest in moving and (t != variable or t == root)]


@lru_cache(maxsize=4096)
def depends_on(t: Tensor, variable: Tensor) -> bool:
    """Does a tensor depend on the variable, which is held as independent?"""
    return t.digest in moving_in(t, variable)


def moving_in(root: Tensor, variable: Tensor) -> set[str]:
    """Return the digests of the parts of ``root`` that depend on the variable."""
    found: set[str] = set()
    for node in topological_order(root):
        if node == variable or any(t.digest in found for t in node.operands):
            found.add(node.digest)
    return found
