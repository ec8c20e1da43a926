r"""Derivations are built by applying the rules one by one, along the reverse sweep."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.calculus.gradient import alias_of, as_variables, reverse_sweep
from lemmax.calculus.partials import Smoothness
from lemmax.derivation.record import Derivation, Step, is_input
from lemmax.derivation.rules import RULES, Context, has_deltas_to_contract, rule_of
from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Derivative, Lambda, Term
from lemmax.expr.tensor import Tensor


def derive(f: Tensor, wrt: Tensor | Sequence[Tensor], nonsmooth: Smoothness = "raise") -> Derivation:
    r"""Return the derivation of the gradient of a scalar, step by step.

    Args:
        f: a scalar expression.
        wrt: a variable or several; see :func:`lemmax.gradient`.
        nonsmooth: ``raise`` or ``subgradient``; see :func:`lemmax.gradient`.

    Returns:
        A :class:`Derivation`; its ``result`` is what ``lx.gradient`` returns.

    Raises:
        InvalidArgument, NonSmooth, MissingRule: as ``lx.gradient`` does.
    """
    sweep = reverse_sweep(f, as_variables(wrt), nonsmooth)
    variables = sweep.variables
    missing = [v for v in variables if v.digest not in {t.digest for t in sweep.order}]
    if missing:
        raise InvalidArgument(
            f"derive: {missing[0].label()} does not occur in {f.label()}; there is nothing to derive."
        )
    builder = _Builder(Context(variables, nonsmooth))
    builder.apply("inline_definitions", f, None, f)
    loss = builder.steps[0].after
    builder.context.loss = loss
    builder.context.adjoints[loss.digest] = Lambda((), (), (Term((), sp.S.One),))
    inner = [t for t in sweep.order if t != loss]
    for place in sorted(inner, key=is_input):  # stable: variables come last
        if not is_input(place) or place in variables:
            builder.adjoint(place)
    results = tuple(builder.context.adjoints[v.digest] for v in variables)
    return Derivation(f, variables, nonsmooth, tuple(builder.steps), results)


class _Builder:
    """Applies rules and keeps the steps."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.steps: list[Step] = []

    def apply(self, rule: str, place: Tensor, focus: Tensor | None, before: Tensor) -> Tensor:
        after = RULES[rule](before, place, focus, self.context)
        self.steps.append(Step(rule, place, focus, before, after))
        return after

    def apply_if_it_changes(self, rule: str, place: Tensor, before: Tensor) -> Tensor:
        if RULES[rule](before, place, None, self.context) == before:
            return before
        return self.apply(rule, place, None, before)

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
        return current if alias_of(current) is None else self.apply("recognise_tensor", place, None, current)
