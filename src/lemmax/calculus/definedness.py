r"""Where an expression has a value: the conditions that its functions put on their arguments.

:math:`\log u` needs u not to be negative (at 0 it is :math:`-\infty`), :math:`1/u` needs u not to be 0.
Simplification may lose such a condition: :math:`x \cdot x / x` is x, and has a value at 0 then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import sympy as sp

from lemmax.calculus.signs import has_positive_determinant, is_not_negative, is_positive, learn_signs
from lemmax.calculus.terms import entry_tensor
from lemmax.expr.domains import DEFINED, NOT_NEGATIVE, NOT_ZERO, ON_DOMAIN, Guard, guards_of
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.special import SPECIAL_CLASSES
from lemmax.expr.tensor import Tensor, TensorSymbol

Need = tuple[str, str, sp.Expr]
"""The name of a function, a condition, and what it is about."""
Needs = Callable[[sp.Expr], list[Need]]


def ends_of_domain(expr: sp.Expr) -> list[Need]:
    """Return what a function needs whose derivative has values beyond its domain."""
    if isinstance(expr, sp.log):
        return [("log", NOT_NEGATIVE, expr.args[0])]
    if isinstance(expr, sp.atanh):
        return [("arctanh", NOT_NEGATIVE, 1 - expr.args[0] ** 2)]
    row = SPECIAL_CLASSES.get(type(expr))
    if row is None or row.low == float("-inf"):
        return []
    low = sp.Integer(int(row.low)) if row.low == int(row.low) else sp.Float(row.low)
    return [(row.name, NOT_NEGATIVE, expr.args[-1] - low)]


def all_needs(expr: sp.Expr) -> list[Need]:
    """Return all that a function of entries needs to have a value."""
    if isinstance(expr, sp.asin | sp.acos):
        return [(str(expr.func), NOT_NEGATIVE, 1 - expr.args[0] ** 2)]
    if isinstance(expr, sp.acosh):
        return [("arccosh", NOT_NEGATIVE, expr.args[0] - 1)]
    if not isinstance(expr, sp.Pow):
        return ends_of_domain(expr)
    base, exponent = expr.args
    found: list[Need] = []
    if exponent.could_extract_minus_sign():
        found.append(("a quotient", NOT_ZERO, base))
    if exponent.is_integer is not True:
        found.append(("a power", NOT_NEGATIVE, base))
    return found


def needs_of_body(expr: sp.Expr, needs: Needs) -> list[Need]:
    """Return what the functions in a body need, but for what is seen to hold."""
    if isinstance(expr, sp.Piecewise):
        return _in_branches(expr, needs)
    if isinstance(expr, sp.Indexed):
        return []
    found = [need for part in expr.args for need in needs_of_body(part, needs)]
    return found + [need for need in needs(expr) if not _is_seen(need)]


def _is_seen(need: Need) -> bool:
    _, condition, argument = need
    if not argument.atoms(TensorSymbol):
        return True  # sizes and indices
    return is_not_negative(argument) if condition == NOT_NEGATIVE else is_positive(argument)


def _in_branches(expr: sp.Piecewise, needs: Needs) -> list[Need]:
    """Return the needs of the branches of a case distinction, each where its branch is chosen."""
    found = []
    for place, (value, chosen) in enumerate(expr.args):
        for name, condition, argument in needs_of_body(value, needs):
            if chosen in (argument > 0, argument >= 0, sp.Ne(argument, 0)):
                continue
            cases = [(argument if p == place else sp.S.One, c) for p, (_, c) in enumerate(expr.args)]
            found.append((name, condition, sp.Piecewise(*cases)))
    return found


def always_used(*roots: Tensor) -> list[Tensor]:
    """Return the tensors that expressions are made of, without those that only branches of cases use.

    A branch that is not chosen has no influence, whether it has a value or not.
    """
    order = topological_order(*roots)
    used = {root.digest for root in roots}
    for node in reversed(order):
        if node.digest in used:
            if isinstance(node, Lambda):
                used |= {t.digest for term in node.terms for t in _outside_branches(term.expr)}
            else:
                used |= {t.digest for t in node.operands}
    return [node for node in order if node.digest in used]


def _outside_branches(expr: sp.Basic) -> Iterator[Tensor]:
    if isinstance(expr, sp.Piecewise):
        for _, chosen in expr.args:
            yield from _outside_branches(chosen)
        return
    t = entry_tensor(expr)
    if t is not None:
        yield t
    if not isinstance(expr, TensorSymbol):
        for part in expr.args:
            yield from _outside_branches(part)


def guard_of(need: Need, sizes: Mapping[sp.Symbol, sp.Expr]) -> Guard:
    """Return a need as a condition on a tensor: its argument at all values of its indices."""
    name, condition, argument = need
    own = sorted((s for s in argument.free_symbols if is_index(s)), key=str)
    swap = dict(zip(own, free_indices(len(own)), strict=True))
    shape = tuple(sizes[i] for i in own)
    tensor = Lambda(shape, tuple(swap.values()), (Term((), argument.xreplace(swap)),))
    names = ", ".join(dict.fromkeys(short(t) for t in entries_in(argument)))
    told = f"{name} of {names} is not defined there"
    if condition == NOT_ZERO:
        told = f"{names or 'a divisor'} divides, and is 0"
    return Guard(tensor, condition, told)


def entries_in(expr: sp.Expr) -> list[Tensor]:
    """Return the tensors of which entries occur, sorted by name."""
    found = {t.digest: t for e in expr.atoms(sp.Indexed, TensorSymbol) if (t := entry_tensor(e)) is not None}
    return sorted(found.values(), key=lambda t: (short(t), t.digest))


def short(t: Tensor) -> str:
    """Return a name, or what stands for it."""
    return t.name or t.describe()


def conditions_of(roots: Sequence[Tensor]) -> list[Guard]:
    """Return the conditions under which expressions have values, but for those that are seen to hold."""
    return list(_conditions(roots))


def _conditions(roots: Sequence[Tensor]) -> Iterator[Guard]:
    order = always_used(*roots)
    learn_signs(topological_order(*roots))
    for node in order:
        if isinstance(node, Lambda):
            for term in node.terms:
                sizes = {**dict(zip(node.indices, node.shape, strict=True)), **dict(term.bound)}
                for need in needs_of_body(term.expr, all_needs):
                    yield guard_of(need, sizes)
        elif isinstance(node, Apply) and node.function == ON_DOMAIN:
            yield from guards_of(node)
        elif isinstance(node, Apply) and node.function in ("inv", "solve", "logdet"):
            (a, *_) = node.operands
            if not has_positive_determinant(a):
                positive = node.function == "logdet"
                told = f"det of {short(a)} positive" if positive else f"{short(a)} invertible"
                yield Guard(node.named(None), DEFINED, told)


def lost_conditions(before: Sequence[Tensor], after: Sequence[Tensor]) -> list[Guard]:
    """Return conditions that nothing is left of: of ``x * x / x``, which became x, that x is not 0.

    A condition is looked for by the inputs in it: it is kept if they all occur in conditions still.
    """
    needed = [g for g in conditions_of(before) if g.condition != DEFINED]
    if not needed:
        return []
    kept = {t for g in conditions_of(after) for t in inputs_of(g.tensor)}
    lost = [g for g in needed if not set(inputs_of(g.tensor)) <= kept]
    return list({(g.tensor.digest, g.condition): g for g in lost}.values())
