r"""Applies rules one by one along a reverse sweep and keeps the steps."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.calculus.gradient import alias_of
from lemmax.calculus.structured import structure_of
from lemmax.derivation.forward_rules import FORWARD_RULES
from lemmax.derivation.line_rules import LINE_RULES
from lemmax.derivation.record import Step, is_input
from lemmax.derivation.rules import RULES, Context, Rule, active, has_deltas_to_contract, rule_of
from lemmax.derivation.split_rules import SPLIT_RULES
from lemmax.errors import InvalidArgument
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Derivative, Input, Lambda, Term
from lemmax.expr.tensor import Tensor


def rule_function(rule: str, along: Tensor | None) -> Rule | None:
    """Return the function of a rule for adjoints, or for tangents along a variable."""
    for table in (SPLIT_RULES, LINE_RULES):
        if rule in table:
            return table[rule]
    return (RULES if along is None else FORWARD_RULES).get(rule)


class Builder:
    """Applies rules and keeps the steps."""

    def __init__(self, context: Context) -> None:
        """Start with no steps."""
        self.context = context
        self.steps: list[Step] = []

    def apply(
        self, rule: str, place: Tensor, focus: Tensor | None, before: Tensor, along: Tensor | None = None
    ) -> Tensor:
        """Apply one rule and keep the step."""
        function = rule_function(rule, along)
        assert function is not None
        after = function(before, place, focus, self.context)
        self.steps.append(Step(rule, place, focus, before, after, along))
        return after

    def apply_if_it_changes(
        self, rule: str, place: Tensor, before: Tensor, along: Tensor | None = None
    ) -> Tensor:
        """Apply one rule unless it does nothing."""
        function = rule_function(rule, along)
        assert function is not None
        if function(before, place, None, self.context) == before:
            return before
        return self.apply(rule, place, None, before, along)

    def reverse(self, f: Tensor) -> None:
        """Derive the adjoints of all tensors between a scalar and the variables."""
        loss = self.apply("inline_definitions", f, None, f)
        self.restart(loss, self.context.variables)

    def restart(self, loss: Tensor, variables: tuple[Tensor, ...]) -> None:
        """Derive the adjoints of all tensors between a flat scalar and the variables."""
        begin(self.context, loss, variables)
        between = active(self.context)
        inner = [t for t in reversed(topological_order(loss)) if t.digest in between and t != loss]
        for place in sorted(inner, key=is_input):  # stable: variables come last
            if not is_input(place) or place in variables:
                self.adjoint(place)
        if loss in variables:
            return
        for variable in variables:
            if variable.digest not in self.context.adjoints:
                self.adjoint(variable)

    def adjoint(self, place: Tensor) -> None:
        """Derive the adjoint of one tensor."""
        assert self.context.loss is not None
        current = self.apply("chain_rule", place, None, Derivative(self.context.loss, place))
        for user in self.context.users_of(place):
            if user.digest in self.context.adjoints:
                current = self.apply(rule_of(user, place, self.context), place, user, current)
        if has_deltas_to_contract(current):
            current = self.apply("contract_deltas", place, None, current)
        current = self.apply_if_it_changes("collect_like_terms", place, current)
        current = self.recognised(place, current)
        if place in self.context.variables:
            current = self.apply_if_it_changes("inline_definitions", place, current)
            current = self.recognised(place, current)
        elif place.name is not None and current.name is None and current.operands:
            current = self.apply("name_adjoint", place, None, current)
        self.context.adjoints[place.digest] = current

    def recognised(self, place: Tensor, current: Tensor) -> Tensor:
        """Recognise a tensor that is merely repeated."""
        return current if alias_of(current) is None else self.apply("recognise_tensor", place, None, current)


def begin(context: Context, loss: Tensor, variables: tuple[Tensor, ...]) -> None:
    """Let a context begin with the adjoints of a flat scalar."""
    context.loss = loss
    context.variables = variables
    context.adjoints = {loss.digest: Lambda((), (), (Term((), sp.S.One),))}


def check_variables(f: Tensor, variables: Sequence[Tensor], structured: str) -> None:
    """Check that there is something to derive, and that it is clear what.

    Raises:
        InvalidArgument: a variable does not occur in the scalar, or its entries are not free.
    """
    if structured not in ("raise", "ignore"):
        raise InvalidArgument(
            f"derive: structured={structured!r}: expected 'raise' or 'ignore'. The maps to symmetric,"
            " diagonal or triangular variables are applied by lx.gradient and lx.hessian."
        )
    inside = topological_order(f)
    for v in variables:
        if structured == "raise" and isinstance(v, Input) and structure_of(v) is not None:
            raise InvalidArgument(
                f"derive in {v.label()}, declared {', '.join(v.assumptions)}: its entries are not free. Pass"
                " structured='ignore' for the derivation as if they were; lx.gradient and lx.hessian with"
                " structured='subspace' or 'entries' apply the map to what is meant."
            )
        if v not in inside:
            raise InvalidArgument(
                f"derive: {v.label()} does not occur in {f.label()}; there is nothing to derive."
            )
