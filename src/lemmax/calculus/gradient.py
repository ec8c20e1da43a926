r"""Gradients by a reverse sweep over the graph of tensors.

The adjoint of a tensor V is :math:`\bar V = \partial f / \partial V`, of the shape of V.  The sweep
visits tensors from the loss to the variables and adds up, over the users U of V,
:math:`\bar V_v = \sum_u \bar U_u \, \partial U_u / \partial V_v`.  Adjoints of named tensors get names
(:math:`\bar S`), so that the result reads like the paper and runs like back-propagation.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import sympy as sp

from lemmax.calculus.canonical import collect
from lemmax.calculus.domains import on_their_domains
from lemmax.calculus.flatten import flatten
from lemmax.calculus.kinks import choose_subgradients
from lemmax.calculus.partials import LocalPartial, Smoothness, check_policy, local_partial
from lemmax.calculus.structured import Structured, check_structured, restrict, structure_of
from lemmax.calculus.terms import contract_deltas, entry_tensor, indices_of
from lemmax.errors import InvalidArgument, MissingRule, NonSmooth
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.tensor import Tensor, distinct_name
from lemmax.rules.pullbacks import PULLBACKS


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one use of V adds to its adjoint.

    Attributes:
        user: the tensor U that uses V.
        bar: adjoint of the user.
        partial: local partial derivative, if the user is an index lambda.
        pulled: the contribution as a tensor, if the user is an application of a function.
        slot: position of V among the operands of the application.
        rule: name of the rule.
    """

    user: Tensor
    bar: Tensor
    partial: LocalPartial | None
    pulled: Tensor | None
    slot: int
    rule: str


@dataclass(slots=True)
class Sweep:
    """A finished reverse sweep.

    Attributes:
        loss: the flattened loss.
        variables: the variables as they occur in the flattened loss.
        order: the tensors between variables and loss that were visited, loss first.
        adjoints: adjoint by digest of the flattened tensor.
        uses: contributions by digest of the flattened tensor.
    """

    loss: Tensor
    variables: tuple[Tensor, ...]
    order: list[Tensor] = field(default_factory=list)
    adjoints: dict[str, Tensor] = field(default_factory=dict)
    uses: dict[str, list[Contribution]] = field(default_factory=dict)


def gradient(
    f: Tensor,
    wrt: Tensor | Sequence[Tensor],
    nonsmooth: Smoothness = "raise",
    structured: Structured = "raise",
) -> Tensor | tuple[Tensor, ...]:
    r"""Return the gradient of a scalar: a tensor with the shape of the variable.

    Args:
        f: a scalar expression.
        wrt: an input, or a named tensor inside ``f`` (held as independent); or several of them.
        nonsmooth: ``raise`` refuses functions with kinks, ``subgradient`` takes one subgradient.
        structured: which gradient is meant in variables whose entries are not free (symmetric, diagonal,
            triangular, orthogonal), of the gradient G as if they were: ``subspace`` is its projection onto
            such matrices, :math:`(G + G^\top)/2` of a symmetric one; ``entries`` the table of derivatives in
            the free entries, :math:`G + G^\top - I \odot G`; ``ignore`` is G; ``raise`` refuses.

    Returns:
        :math:`\partial f / \partial W` with the shape of W; a tuple for several variables.

    Raises:
        InvalidArgument: ``f`` is no scalar, a variable is no tensor, or its entries are not free and
            ``structured`` is ``raise``.
        NonSmooth: a function with a kink is met and ``nonsmooth`` is ``raise``.
        MissingRule: a function has no rule of differentiation.

    >>> import lemmax as lx
    >>> n, D, k = lx.sizes("n D k")
    >>> X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
    >>> lx.latex(lx.gradient(lx.sqnorm(X @ W - Y) / 2, W))
    'X^\\top (X W - Y)'
    """
    variables = as_variables(wrt)
    sweep = reverse_sweep(f, variables, nonsmooth, structured)
    found = flatten([sweep.adjoints[v.digest] for v in sweep.variables])
    gradients = tuple(
        flatten([restrict(g, v, structured)])[0] if structure_of(v) else g
        for g, v in zip(
            (_shaped(g, v) for g, v in zip(found, variables, strict=True)), variables, strict=True
        )
    )
    guarded = on_their_domains(gradients, f, sweep.loss, sweep.variables, nonsmooth)
    return guarded[0] if isinstance(wrt, Tensor) else tuple(guarded)


def as_variables(wrt: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return one or several variables as a tuple.

    Raises:
        InvalidArgument: neither a tensor nor a sequence of them was given.
    """
    if isinstance(wrt, Tensor):
        return (wrt,)
    if not isinstance(wrt, Sequence) or isinstance(wrt, str):
        raise InvalidArgument(
            f"derivative in {wrt!r}: expected an input or a named tensor, or several of them."
        )
    return tuple(wrt)


def _shaped(g: Tensor, variable: Tensor) -> Tensor:
    alias = alias_of(g)
    if alias is not None:
        return alias
    return Lambda(variable.shape, g.indices, g.terms, g.name) if isinstance(g, Lambda) else g


def reverse_sweep(
    f: Tensor,
    variables: Sequence[Tensor],
    nonsmooth: Smoothness = "raise",
    structured: Structured = "raise",
) -> Sweep:
    """Return adjoints of ``variables``, as if all entries were free, and of all between them and ``f``."""
    check_policy(nonsmooth)
    _check_call(f, variables, structured)
    # a variable may be a tensor inside f, which flattening rebuilds: both are flattened together
    loss, *flat = flatten([f, *variables], keep=variables)
    sweep = Sweep(loss, tuple(flat))
    order = topological_order(loss)
    taken = {t.name for t in order}
    targets = {v.digest for v in flat}
    active: set[str] = set()  # tensors on a path from a variable to the loss
    for node in order:
        if node.digest in targets or any(t.digest in active for t in node.operands):
            active.add(node.digest)
    sweep.adjoints[loss.digest] = Lambda((), (), (Term((), sp.S.One),))
    for node in reversed(order):
        if node.digest not in active:
            continue
        if node is not loss:
            uses = sweep.uses.get(node.digest, [])
            sweep.adjoints[node.digest] = adjoint_of(node, uses, node.digest not in targets, taken)
        sweep.order.append(node)
        if isinstance(node, Input):
            continue
        for slot, operand in enumerate(node.operands):
            if operand.digest in active and operand not in node.operands[:slot]:
                for use in contributions(node, operand, sweep.adjoints[node.digest], nonsmooth):
                    sweep.uses.setdefault(operand.digest, []).append(use)
    for v in flat:
        if v.digest not in sweep.adjoints:
            sweep.adjoints[v.digest] = Lambda(
                v.shape, tuple(sp.Symbol(f"_z{p}", integer=True) for p in range(v.ndim)), ()
            )
    return sweep


def _check_call(f: Tensor, variables: Sequence[Tensor], structured: Structured) -> None:
    if not isinstance(f, Tensor):
        raise InvalidArgument(f"gradient of {f!r}: expected a tensor expression.")
    if f.ndim:
        raise InvalidArgument(
            f"gradient of {f.label()}: expected a scalar. Reduce it (lx.sum, lx.sqnorm), or differentiate one"
            " entry, f[0]."
        )
    if not variables:
        raise InvalidArgument("gradient: no variable was given.")
    for v in variables:
        if not isinstance(v, Tensor):
            raise InvalidArgument(
                f"gradient in {v!r}: expected an input or a named tensor of the expression."
            )
        check_structured("gradient", v, structured)


def contributions(node: Tensor, operand: Tensor, bar: Tensor, nonsmooth: Smoothness) -> list[Contribution]:
    """Return what the uses of ``operand`` in the definition of ``node`` add to its adjoint.

    Raises:
        MissingRule: the function applied in ``node`` has no pullback.
    """
    if isinstance(node, Lambda):
        partial = local_partial(node, operand, nonsmooth)
        return [Contribution(node, bar, partial, None, 0, partial.rule)]
    if not isinstance(node, Apply) or node.function not in PULLBACKS:
        what = node.function if isinstance(node, Apply) else type(node).__name__
        raise MissingRule(
            f"no rule for the derivative of {what!r} (met in {node.label()}): add a row to the table"
            " PULLBACKS in lemmax/rules/pullbacks.py; functionals such as rank and singular values are not"
            " differentiable everywhere."
        )
    rule = PULLBACKS[node.function]
    if not rule.smooth and nonsmooth == "raise":
        raise NonSmooth(
            f"{node.function} in {node.label()} has kinks ({rule.conditions}). Pass nonsmooth='subgradient'"
            " for one subgradient."
        )
    slots = [p for p, t in enumerate(node.operands) if t == operand]
    pulled = [rule.apply(node, bar, p) for p in slots]
    if nonsmooth == "subgradient":
        pulled = [choose_subgradients(t) for t in pulled]
    return [Contribution(node, bar, None, t, p, rule.name) for p, t in zip(slots, pulled, strict=True)]


def contribution_terms(use: Contribution, columns: tuple[sp.Symbol, ...]) -> list[Term]:
    r"""Return :math:`\sum_u \bar U_u \partial U_u/\partial V_v` at v = ``columns``, deltas not contracted."""
    if use.partial is None:
        assert use.pulled is not None
        return [Term((), use.pulled.entry(*columns))]
    swap = dict(zip(use.partial.columns, columns, strict=True))
    rows = tuple(zip(use.partial.rows, use.user.shape, strict=True))
    weight = sp.S.One if is_unit(use.bar) else use.bar.entry(*use.partial.rows)
    return [Term(rows + t.bound, weight * t.expr.xreplace(swap)) for t in use.partial.terms]


def is_unit(bar: Tensor) -> bool:
    """Is the adjoint the number 1, that of the loss itself?"""
    return isinstance(bar, Lambda) and bar.ndim == 0 and bar.terms == (Term((), sp.S.One),)


def adjoint_of(
    node: Tensor, uses: Sequence[Contribution], named: bool, taken: Container[str | None] = ()
) -> Tensor:
    """Add up the contributions of all uses to the adjoint of ``node``; name it if the node is named."""
    columns = tuple(sp.Symbol(f"_v{p}", integer=True) for p in range(node.ndim))
    free = dict(zip(columns, node.shape, strict=True))
    terms = [contract_deltas(t, free) for use in uses for t in contribution_terms(use, columns)]
    total: Tensor = Lambda(node.shape, columns, collect(terms))
    alias = alias_of(total)
    if alias is not None:
        total = alias
    if named and node.name is not None and total.name is None and isinstance(total, Lambda | Apply):
        return (
            total.named(adjoint_name(node.name, taken))
            if not (isinstance(total, Lambda) and not total.operands)
            else total
        )
    return total


def alias_of(t: Tensor) -> Tensor | None:
    """Return the tensor that ``t`` merely repeats, if there is one."""
    if not isinstance(t, Lambda) or len(t.terms) != 1 or t.terms[0].bound:
        return None
    inner = entry_tensor(t.terms[0].expr)
    if inner is not None and inner.shape == t.shape and indices_of(t.terms[0].expr) == t.indices:
        return inner
    return None


def adjoint_name(name: str, taken: Container[str | None] = ()) -> str:
    r"""Return the name of an adjoint: ``S`` has ``\bar{S}``, or a variant of it if that is taken."""
    return distinct_name(rf"\bar{{{name}}}", taken)
