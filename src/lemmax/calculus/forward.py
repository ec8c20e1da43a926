r"""Jacobians, directional derivatives, Hessians and Hessian-vector products by a forward sweep.

The tangent of a tensor V is :math:`\dot V = \partial V / \partial \theta` in one direction, or in all
directions at once on extra axes.  The sweep visits tensors from the variables to the result and adds
up, over the operands V of U, :math:`\dot U_u = \sum_v \partial U_u / \partial V_v \, \dot V_v`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from lemmax.calculus.canonical import collect
from lemmax.calculus.domains import on_their_domains
from lemmax.calculus.flatten import flatten
from lemmax.calculus.gradient import as_variables, gradient
from lemmax.calculus.kinks import choose_subgradients
from lemmax.calculus.partials import Smoothness, check_policy, local_partial
from lemmax.calculus.structured import (
    Structured,
    check_second_order,
    check_structured,
    restrict,
    structure_of,
)
from lemmax.calculus.terms import contract_deltas, open_lambda
from lemmax.errors import InvalidArgument, MissingRule, NonSmooth, ShapeError
from lemmax.expr.graph import topological_order, transform
from lemmax.expr.indices import free_indices, fresh
from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor
from lemmax.rules.definitions import DEFINITIONS
from lemmax.rules.pushforwards import PUSHFORWARDS


def jacobian(
    t: Tensor, wrt: Tensor, nonsmooth: Smoothness = "raise", structured: Structured = "raise"
) -> Tensor:
    r"""Return the Jacobian of a tensor: shape of the tensor followed by that of the variable.

    Args:
        t: an expression of any shape.
        wrt: an input, or a named tensor inside ``t`` (held as independent).
        nonsmooth: ``raise`` refuses functions with kinks, ``subgradient`` takes one subgradient.
        structured: which derivatives are meant if the entries of ``wrt`` are not free; see
            :func:`lemmax.gradient`.

    Returns:
        ``J[i, ..., a, ...]`` is the derivative of ``t[i, ...]`` in ``wrt[a, ...]``.

    Raises:
        NonSmooth: a function with a kink is met and ``nonsmooth`` is ``raise``.
        MissingRule: a function has no rule of differentiation.
    """
    _check_tensor("jacobian", t, wrt)
    check_structured("jacobian", wrt, structured)
    (result,) = push([t], {wrt: identity_tangent(wrt)}, wrt.shape, nonsmooth)
    result = restricted(result, wrt, structured, t.ndim)
    return with_guards([result], t, [wrt], nonsmooth)[0]


def with_guards(
    derivatives: Sequence[Tensor], of: Tensor, variables: Sequence[Tensor], nonsmooth: Smoothness
) -> list[Tensor]:
    """Return derivatives of ``of`` that are undefined where it is not differentiable."""
    flat, *moving = flatten([of, *variables], keep=variables)
    return on_their_domains(derivatives, of, flat, moving, nonsmooth)


def restricted(t: Tensor, v: Tensor, structured: Structured, axis: int) -> Tensor:
    """Map derivatives in the entries of a variable, on the axes from ``axis`` on, to those that are meant."""
    return flatten([restrict(t, v, structured, axis)])[0] if structure_of(v) else t


def hessian_block(
    f: Tensor,
    a: Tensor,
    b: Tensor,
    nonsmooth: Smoothness = "raise",
    structured: Structured = "ignore",
) -> Tensor:
    """Return a block of the Hessian of a scalar; see :func:`lemmax.hessian`."""
    check_scalar("hessian", f, a, b)
    for v in (a, b):
        check_second_order("hessian", v, structured)
    first = gradient(f, a, nonsmooth, structured)
    assert isinstance(first, Tensor)
    return with_guards([jacobian(first, b, nonsmooth, structured)], f, [a, b], nonsmooth)[0]


def hvp(
    f: Tensor,
    wrt: Tensor | Sequence[Tensor],
    direction: Tensor | Sequence[Tensor],
    nonsmooth: Smoothness = "raise",
    structured: Structured = "raise",
) -> Tensor | tuple[Tensor, ...]:
    r"""Return the Hessian of a scalar applied to a direction, without forming the Hessian.

    ``hvp(f, (A, B), (dA, dB))`` is the pair :math:`(H_{AA} dA + H_{AB} dB, H_{BA} dA + H_{BB} dB)`.
    A direction in a symmetric, diagonal or triangular variable is projected onto such matrices first; the
    option ``structured`` says which gradient's change is meant (see :func:`lemmax.gradient`).

    Raises:
        ShapeError: a direction does not have the shape of its variable.
    """
    variables, directions = as_variables(wrt), as_variables(direction)
    if len(variables) != len(directions):
        raise InvalidArgument(f"hvp: {len(variables)} variables, but {len(directions)} directions.")
    for v, d in zip(variables, directions, strict=True):
        if v.ndim != d.ndim or not all(same_size(x, y) for x, y in zip(v.shape, d.shape, strict=True)):
            raise ShapeError(f"hvp: the direction {d.label()} does not have the shape of {v.label()}.")
        check_second_order("hvp", v, structured)
    grads = gradient(f, variables, nonsmooth, structured)
    assert isinstance(grads, tuple)
    directions = tuple(
        restricted(d, v, "ignore" if structured == "ignore" else "subspace", 0)
        for v, d in zip(variables, directions, strict=True)
    )
    moved = push(list(grads), dict(zip(variables, directions, strict=True)), (), nonsmooth)
    result = tuple(with_guards(moved, f, variables, nonsmooth))
    return result[0] if isinstance(wrt, Tensor) else result


def _check_tensor(what: str, t: Tensor, wrt: Tensor) -> None:
    for x in (t, wrt):
        if not isinstance(x, Tensor):
            raise InvalidArgument(f"{what}: expected tensors, got {x!r}.")


def check_scalar(what: str, f: Tensor, a: Tensor, b: Tensor) -> None:
    """Check that a Hessian of ``f`` can be taken.

    Raises:
        InvalidArgument: one of the three is no tensor, or ``f`` is no scalar.
    """
    for x in (f, a, b):
        if not isinstance(x, Tensor):
            raise InvalidArgument(f"{what}: expected tensors, got {x!r}.")
    if f.ndim:
        raise InvalidArgument(
            f"{what} of {f.label()}: expected a scalar. Reduce it (lx.sum, lx.sqnorm) or take one entry"
            " (f[0, 1]); all first derivatives of a tensor are lx.jacobian(f, a), all second ones"
            " lx.jacobian(lx.jacobian(f, a), b)."
        )


def identity_tangent(v: Tensor) -> Tensor:
    """The tangent of a variable in all its own directions: a product of deltas."""
    indices = free_indices(2 * v.ndim)
    deltas = [sp.KroneckerDelta(i, j) for i, j in zip(indices[: v.ndim], indices[v.ndim :], strict=True)]
    return Lambda(v.shape + v.shape, indices, (Term((), sp.Mul(*deltas)),))


def push(
    roots: Sequence[Tensor],
    seeds: Mapping[Tensor, Tensor],
    extra: tuple[Size, ...],
    nonsmooth: Smoothness = "raise",
) -> list[Tensor]:
    """Return the tangents of ``roots`` when the variables move as ``seeds`` say.

    Args:
        roots: what is differentiated.
        seeds: tangent of each variable, of the variable's shape followed by ``extra``.
        extra: sizes of the extra axes.
        nonsmooth: the policy for kinks.
    """
    check_policy(nonsmooth)
    flat, variables = written_out(roots, list(seeds))
    tangents: dict[str, Tensor] = {v.digest: s for v, s in zip(variables, seeds.values(), strict=True)}
    for node in topological_order(*flat):
        if node.digest in tangents or isinstance(node, Input):
            continue
        moving = [tangents.get(t.digest) for t in node.operands]
        if any(dot is not None for dot in moving):
            tangent = _tangent(node, moving, extra, nonsmooth)
            if not (isinstance(tangent, Lambda) and not tangent.terms):
                tangents[node.digest] = tangent
    still = [tangents.get(root.digest, zero(root.shape + extra)) for root in flat]
    return flatten(still)


def written_out(roots: Sequence[Tensor], variables: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Return roots and variables over the tensors that a sweep visits.

    Definitions are written out and unnamed products inlined.  A variable may be a tensor inside the roots,
    which both passes rebuild: all go together.
    """
    written = transform([*roots, *variables], _write_out)
    flat = flatten(written, keep=written[len(roots) :])
    return flat[: len(roots)], flat[len(roots) :]


def _write_out(node: Tensor) -> Tensor:
    if isinstance(node, Apply) and node.function in DEFINITIONS and node.function not in PUSHFORWARDS:
        return DEFINITIONS[node.function](node).named(node.name)
    return node


def zero(shape: tuple[Size, ...]) -> Tensor:
    """Return the zero tensor of a shape."""
    return Lambda(shape, free_indices(len(shape)), ())


def _tangent(
    node: Tensor, moving: Sequence[Tensor | None], extra: tuple[Size, ...], nonsmooth: Smoothness
) -> Tensor:
    if isinstance(node, Lambda):
        return _tangent_of_lambda(node, moving, extra, nonsmooth)
    return tangent_of_function(node, moving, extra, nonsmooth)


def tangent_of_function(
    node: Tensor, moving: Sequence[Tensor | None], extra: tuple[Size, ...], nonsmooth: Smoothness
) -> Tensor:
    """Return the tangent of an application of a function, by its rule.

    Raises:
        MissingRule: there is no rule.
        NonSmooth: the function has kinks and ``nonsmooth`` is ``raise``.
    """
    if not isinstance(node, Apply) or node.function not in PUSHFORWARDS:
        what = node.function if isinstance(node, Apply) else type(node).__name__
        raise MissingRule(
            f"no rule for the directional derivative of {what!r} (met in {node.label()}): add a row to the"
            " table PUSHFORWARDS in lemmax/rules/pushforwards.py, or a definition in rules/definitions.py."
        )
    rule = PUSHFORWARDS[node.function]
    if not rule.smooth and nonsmooth == "raise":
        raise NonSmooth(
            f"{node.function} in {node.label()} has kinks. Pass nonsmooth='subgradient' for the derivative"
            " away from them."
        )
    tangent = rule.apply(node, moving, extra)
    return choose_subgradients(tangent) if nonsmooth == "subgradient" else tangent


def _tangent_of_lambda(
    node: Lambda, moving: Sequence[Tensor | None], extra: tuple[Size, ...], nonsmooth: Smoothness
) -> Tensor:
    shape = node.shape + extra
    outer = fresh(len(shape))
    free = dict(zip(outer, shape, strict=True))
    rows, directions = outer[: node.ndim], outer[node.ndim :]
    terms: list[Term] = []
    for operand, dot in zip(node.operands, moving, strict=True):
        if dot is None:
            continue
        partial = local_partial(node, operand, nonsmooth)
        swap = dict(zip(partial.rows, rows, strict=True))
        weight = entry_of_tangent(dot, (*partial.columns, *directions))
        columns = tuple(zip(partial.columns, operand.shape, strict=True))
        for term in partial.terms:
            bound = columns + term.bound
            terms.append(contract_deltas(Term(bound, term.expr.xreplace(swap) * weight), free))
    return Lambda(shape, outer, collect(terms))


def entry_of_tangent(dot: Tensor, at: tuple[sp.Symbol, ...]) -> sp.Expr:
    """Return an entry of a tangent; of the variable's own the deltas, which are contracted at once."""
    if isinstance(dot, Lambda) and dot.name is None and not dot.operands and len(dot.terms) == 1:
        (term,) = open_lambda(dot, at)
        if not term.bound:
            return term.expr
    return dot.entry(*at)
