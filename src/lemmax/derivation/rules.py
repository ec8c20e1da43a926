r"""The rules that a step may apply, each a function from what was to what is.

Replay calls the same function again and compares, so a rule must be deterministic and must
use nothing but the step and what earlier steps established (:class:`Context`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import sympy as sp

from lemmax.calculus.canonical import collect
from lemmax.calculus.flatten import flatten
from lemmax.calculus.gradient import adjoint_name, alias_of, contribution_terms, contributions, is_unit
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.terms import contract_deltas
from lemmax.derivation.record import local
from lemmax.errors import ReplayError
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import free_indices, fresh
from lemmax.expr.nodes import Apply, Derivative, Lambda, Term
from lemmax.expr.tensor import Tensor
from lemmax.rules.pullbacks import PULLBACKS


@dataclass(slots=True)
class Context:
    """What is known at a step.

    Attributes:
        variables: what is differentiated in.
        nonsmooth: the policy for kinks.
        loss: the flattened loss, once it was found.
        adjoints: adjoints that were established, by digest of the tensor.
        along: the variable in which tangents are taken, at a step of a second derivative.
        tangents: tangents that were established, by digests of the tensor and of the variable.
        sweeps: what is differentiated again: root and variable as the sweep sees them, by their digests.
        finals: derivatives of roots, written out, by digests of root and variable as the sweep sees them.
        split: what belongs to a part of a Hessian.
        line: what belongs to a Hessian-vector product.
    """

    variables: tuple[Tensor, ...]
    nonsmooth: Smoothness
    loss: Tensor | None = None
    adjoints: dict[str, Tensor] = field(default_factory=dict)
    along: Tensor | None = None
    tangents: dict[tuple[str, str], Tensor] = field(default_factory=dict)
    sweeps: dict[tuple[str, str], tuple[Tensor, Tensor]] = field(default_factory=dict)
    finals: dict[tuple[str, str], Tensor] = field(default_factory=dict)
    split: Split | None = None
    line: Line | None = None

    def users_of(self, place: Tensor) -> list[Tensor]:
        """Return the tensors inside the loss in whose definition ``place`` occurs, loss first."""
        assert self.loss is not None
        return [t for t in reversed(topological_order(self.loss)) if place in t.operands]

    def final(self, root: Tensor, variable: Tensor) -> Tensor | None:
        """Return the derivative of a root in a variable, if it was established."""
        swept = self.sweeps.get((root.digest, variable.digest))
        return None if swept is None else self.finals.get((swept[0].digest, swept[1].digest))


@dataclass(slots=True)
class Split:
    r"""What the derivation of a part of a Hessian knows: :math:`f = \ell(Z)`.

    Attributes:
        middle: Z.
        held: the input that stands for Z.
        loss: :math:`\ell` of that input.
        pairing: :math:`\langle C, Z \rangle`.
        cotangent: the input C, which stands for the slope.
        weights: the variables in which adjoints of the pairing are derived.
        slope: the adjoint of the input that stands for Z, once it was found.
        assembled: the parts, by digests of the two variables.
    """

    middle: Tensor
    held: Tensor
    loss: Tensor
    pairing: Tensor
    cotangent: Tensor
    weights: tuple[Tensor, ...]
    slope: Tensor | None = None
    assembled: dict[tuple[str, str], Tensor] = field(default_factory=dict)


@dataclass(slots=True)
class Line:
    r"""The line :math:`A + \epsilon U` along which a Hessian-vector product is a derivative.

    Attributes:
        step: the scalar input :math:`\epsilon`.
        moved: the point of the line by variable, a named tensor.
        roots: gradients at the point of the line, by digest of the variable, once they were written so.
        products: the products, by digest of the variable.
    """

    step: Tensor
    moved: dict[Tensor, Tensor]
    roots: dict[str, Tensor] = field(default_factory=dict)
    products: dict[str, Tensor] = field(default_factory=dict)


def inline_definitions(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Replace unnamed products and plain sums by their definitions."""
    if context.loss is not None and (has_deltas_to_contract(before) or alias_of(before) is not None):
        raise ReplayError(
            f"at {place.label()}: deltas and repeated tensors have rules of their own, which come first."
        )
    keep = context.variables if context.loss is None else ()
    (after,) = flatten([before], keep=keep)
    return after


def chain_rule(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    r"""Replace a total derivative by the sum over users of adjoint times local derivative."""
    if context.loss is None or before != Derivative(context.loss, place):
        raise ReplayError(f"chain rule at {place.label()}: it must start from the derivative of the loss.")
    columns = free_indices(place.ndim)
    terms = []
    for user in context.users_of(place):
        if user.digest not in context.adjoints:
            if user.digest not in active(context):
                continue
            raise ReplayError(
                f"chain rule at {place.label()}: the adjoint of {user.label()} was not derived before."
            )
        bar = context.adjoints[user.digest]
        rows = fresh(user.ndim)
        weight = sp.S.One if is_unit(bar) else bar.entry(*rows)
        terms.append(
            Term(
                tuple(zip(rows, user.shape, strict=True)), weight * local(user, place).entry(*rows, *columns)
            )
        )
    return Lambda(place.shape, columns, tuple(terms))


def active(context: Context) -> set[str]:
    """Return the digests of the tensors on a path from a variable to the loss."""
    assert context.loss is not None
    targets = {v.digest for v in context.variables}
    active: set[str] = set()
    for node in topological_order(context.loss):
        if node.digest in targets or any(t.digest in active for t in node.operands):
            active.add(node.digest)
    return active


def differentiate_user(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Replace the formal local derivative of one user (``focus``) by its value."""
    if not isinstance(before, Lambda) or focus is None:
        raise ReplayError(f"local derivative at {place.label()}: no user is named.")
    wanted = local(focus, place)
    bar = context.adjoints.get(focus.digest)
    if bar is None or wanted not in before.operands:
        raise ReplayError(f"local derivative at {place.label()}: {wanted.label()} does not occur.")
    uses = contributions(focus, place, bar, context.nonsmooth)
    terms: list[Term] = []
    for term in before.terms:
        if wanted.symbol in term.expr.atoms(sp.Symbol):
            terms += [t for use in uses for t in contribution_terms(use, before.indices)]
        else:
            terms.append(term)
    return Lambda(before.shape, before.indices, tuple(terms))


def contract(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Sum over indices that a Kronecker delta fixes."""
    assert isinstance(before, Lambda)
    free = dict(zip(before.indices, before.shape, strict=True))
    return Lambda(
        before.shape, before.indices, tuple(contract_deltas(t, free) for t in before.terms), before.name
    )


def collect_terms(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Rename summed indices canonically and add up like terms."""
    assert isinstance(before, Lambda)
    return Lambda(before.shape, before.indices, collect(before.terms), before.name)


def recognise(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Recognise a tensor that is merely repeated."""
    alias = alias_of(before)
    if alias is None:
        raise ReplayError(f"at {place.label()}: nothing to recognise.")
    return alias


def name_adjoint(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    r"""Give the adjoint of a named tensor its name."""
    if place.name is None or before.name is not None:
        raise ReplayError(f"at {place.label()}: nothing to name.")
    assert context.loss is not None
    return before.named(adjoint_name(place.name, {t.name for t in topological_order(context.loss)}))


Rule = Callable[[Tensor, Tensor, Tensor | None, Context], Tensor]

STATEMENTS: Mapping[str, tuple[str, str]] = {
    "inline_definitions": ("Unnamed products and sums are written out", ""),
    "chain_rule": (
        r"\bar V_v = \sum_U \sum_u \bar U_u \, \partial U_u / \partial V_v",
        "over the tensors U in whose definition V occurs",
    ),
    "linearity": (r"\partial (c\, x) / \partial x = c", ""),
    "product_rule": (r"\partial (x y) = x \, \partial y + y \, \partial x", ""),
    "power_rule": (r"\partial x^p / \partial x = p \, x^{p-1}", ""),
    "elementwise_derivative": (r"\partial \varphi(x) / \partial x = \varphi'(x)", ""),
    "contract_deltas": (r"\sum_k \delta_{kj} a_k = a_j", ""),
    "collect_like_terms": ("Summed indices are renamed and like terms added", ""),
    "recognise_tensor": ("The tensor is one that has a name already", ""),
    "name_adjoint": (r"\bar V = \partial f / \partial V", "by definition"),
}
"""What each general rule says (LaTeX, or words) and when; the rules of functions are in ``rules``."""

RULES: Mapping[str, Rule] = {
    "inline_definitions": inline_definitions,
    "chain_rule": chain_rule,
    **dict.fromkeys(
        ("linearity", "product_rule", "power_rule", "elementwise_derivative"), differentiate_user
    ),
    **{rule.name: differentiate_user for rule in PULLBACKS.values()},
    "contract_deltas": contract,
    "collect_like_terms": collect_terms,
    "recognise_tensor": recognise,
    "name_adjoint": name_adjoint,
}


def rule_of(user: Tensor, place: Tensor, context: Context) -> str:
    """Return the name of the rule by which a user is differentiated."""
    if isinstance(user, Apply):
        return PULLBACKS[user.function].name if user.function in PULLBACKS else user.function
    uses = contributions(user, place, context.adjoints[user.digest], context.nonsmooth)
    return uses[0].rule


def has_deltas_to_contract(t: Tensor) -> bool:
    """Would :func:`contract` change the tensor?"""
    if not isinstance(t, Lambda):
        return False
    free = dict(zip(t.indices, t.shape, strict=True))
    return any(contract_deltas(term, free) != term for term in t.terms)
