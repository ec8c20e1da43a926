r"""Stage 1: tensors become definitions, each a sum of products or an applied function.

Input: the requested tensors.  Output: a :class:`Program`, whose definitions stand in an order in
which each uses only earlier ones.  On the way unnamed products are inlined
(``lemmax.calculus.flatten``), so that the next stage is free to group factors as is cheapest; the
form of softmax gradients is chosen; and the instance axis is added.  No arrays and no text yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sympy as sp

from lemmax.calculus.definedness import lost_conditions
from lemmax.calculus.flatten import flatten
from lemmax.calculus.terms import contract_deltas, entry_tensor, split_factors
from lemmax.codegen.batch import add_instance_axis, with_axis
from lemmax.codegen.cancellation import without_cancellation
from lemmax.codegen.forms import (
    Choice,
    SoftmaxGradient,
    choose_softmax_gradients,
    without_power_derivatives,
)
from lemmax.codegen.hoisting import hoist
from lemmax.codegen.log_domain import in_log_domain
from lemmax.errors import UnsupportedYet
from lemmax.expr.domains import Guard, collect_guards, without_domains
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Derivative, Input, Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Product:
    """One summand: ``coefficient * sum over bound of the product of factors``.

    Attributes:
        coefficient: a number or an expression in sizes.
        factors: SymPy expressions in entries and indices.
        bound: summed indices with their sizes; each occurs in a factor.
    """

    coefficient: sp.Expr
    factors: tuple[sp.Expr, ...]
    bound: tuple[tuple[sp.Symbol, Size], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """How one tensor is computed.

    Attributes:
        tensor: an index lambda or an applied function.
        products: its summands, if it is an index lambda.
    """

    tensor: Tensor
    products: tuple[Product, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be computed.

    Attributes:
        inputs: the variables, in the order of the arguments.
        definitions: operands first.
        outputs: the requested tensors.
        instance_axis: size of the instance axis, or ``None``.
        choices: decisions made so far, with their reasons.
        guards: what is checked before, see :mod:`lemmax.expr.domains`.
    """

    inputs: tuple[Input, ...]
    definitions: tuple[Definition, ...]
    outputs: tuple[Tensor, ...]
    instance_axis: sp.Symbol | None
    choices: tuple[Choice, ...]
    guards: tuple[Guard, ...] = ()


def lower(
    roots: Sequence[Tensor],
    batched: frozenset[str] = frozenset(),
    softmax_gradient: SoftmaxGradient = "auto",
    inputs: Sequence[Input] | None = None,
) -> Program:
    """Return the program that computes ``roots``.

    Args:
        roots: the requested tensors.
        batched: names of inputs that get a leading instance axis.
        softmax_gradient: form of softmax gradients, see :mod:`lemmax.codegen.forms`.
        inputs: the arguments; by default the inputs of ``roots``.

    Raises:
        UnsupportedYet: a derivative was not worked out.
        NameClash: two different inputs carry one name.
    """
    variables = inputs_of(*roots) if inputs is None else inputs
    for node in topological_order(*roots):
        if isinstance(node, Derivative):
            raise UnsupportedYet(
                f"code for the formal derivative {node.label()}: work it out first, with lx.gradient."
            )
    guards = collect_guards(roots)
    flat = _flat(roots, guards)
    lost = lost_conditions(without_domains(roots), flat)
    if lost:
        guards += lost
        flat = _flat(roots, guards)
    chosen, choices = choose_softmax_gradients(flat, softmax_gradient)
    chosen, averages = without_cancellation(chosen, softmax_gradient)
    chosen, apart = hoist(chosen)
    outputs, axis = add_instance_axis(chosen, batched) if batched else (chosen, None)
    choices = (*choices, *averages, *apart)
    definitions = tuple(define(t) for t in topological_order(*outputs) if not isinstance(t, Input))
    # an input that drops out because terms cancel stays an argument
    arguments = tuple(t if axis is None or t.name not in batched else with_axis(t, axis) for t in variables)
    count = len(roots)
    checked = tuple(replace(g, tensor=t) for g, t in zip(guards, outputs[count:], strict=True))
    return Program(arguments, definitions, tuple(outputs[:count]), axis, choices, checked)


def _flat(roots: Sequence[Tensor], guards: Sequence[Guard]) -> list[Tensor]:
    """Return expressions, and after them what is checked, with unnamed products inlined."""
    whole = [*without_domains(roots), *(g.tensor for g in guards)]
    flat = flatten(in_log_domain(without_power_derivatives(whole)))
    # denominators that stood apart have come together
    again = in_log_domain(flat)
    return flat if again == flat else flatten(again)


def define(t: Tensor) -> Definition:
    """Return the definition of one tensor."""
    if not isinstance(t, Lambda):
        return Definition(t, ())
    free = dict(zip(t.indices, t.shape, strict=True))
    return Definition(t, tuple(as_product(contract_deltas(term, free)) for term in t.terms))


def as_product(term: Term) -> Product:
    """Split a term into factors; a square in a contraction is two, an index in no factor is its size."""
    coefficient, factors = split_factors(term.expr)
    present = term.expr.atoms(sp.Symbol)
    coefficient *= sp.Mul(*[s for i, s in term.bound if i not in present])
    bound = tuple((i, s) for i, s in term.bound if i in present)
    summed = {i for i, _ in bound}
    split: list[sp.Expr] = []
    for factor in factors:
        base, exponent = factor.as_base_exp()
        entry = entry_tensor(base) is not None
        # a sum of all squares is a dot product; beside other factors a square may be contracted
        alone = len(factors) == 1 and not labels_of(base) <= summed
        square = exponent == 2 and entry and bool(labels_of(base) & summed) and not alone
        split += [base, base] if square else [factor]
    return Product(coefficient, tuple(split), bound)


def labels_of(expr: sp.Expr) -> set[sp.Symbol]:
    """Return the index symbols in a factor."""
    return {s for s in expr.atoms(sp.Symbol) if is_index(s)}
