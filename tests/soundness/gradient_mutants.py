"""Slips in the rules of differentiation, one at a time.

A mutant is a name and a way to install it (pytest's ``monkeypatch``). ``RULE_MUTANTS`` breaks the rows of
the table of pullbacks, ``ENGINE_MUTANTS`` the engines that know no function. Each must be caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sympy as sp

import lemmax as lx
from lemmax.calculus import canonical, flatten, gradient, partials, terms
from lemmax.derivation import rules
from lemmax.expr import indexing, linalg, reductions
from lemmax.expr.indices import bound_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor
from lemmax.rules.pullbacks import PULLBACKS, restore_axes
from tests.soundness.matrix_mutants import MATRIX_SPECIAL

Install = Callable[[pytest.MonkeyPatch], None]
Pull = Callable[[Apply, Tensor, int], Tensor]


RIGHT: dict[str, Pull] = {function: row.apply for function, row in PULLBACKS.items()}


# -- slips that any rule can have ----------------------------------------------------------------
def transposed(t: Tensor) -> Tensor:
    if t.ndim < 2:
        return t[::1] * 2
    return t.mT if t.shape[-1] == t.shape[-2] else t * 3


SLIPS: dict[str, Callable[[Pull], Pull]] = {
    "factor 2": lambda pull: lambda node, bar, slot: 2 * pull(node, bar, slot),
    "sign": lambda pull: lambda node, bar, slot: -pull(node, bar, slot),
    "dropped": lambda pull: lambda node, bar, slot: 0 * pull(node, bar, slot),
    "transposed": lambda pull: lambda node, bar, slot: transposed(pull(node, bar, slot)),
    "adjoint of the value left out": lambda pull: (
        lambda node, bar, slot: pull(node, lx.ones(*bar.shape), slot)
    ),
    "adjoint doubled in places": lambda pull: (
        lambda node, bar, slot: pull(node, bar + lx.tanh(bar) / 50, slot)
    ),
}
SYMMETRIC = {"lambda_max", "lambda_min", "eigen_projector"}  # whose adjoints are their own transposes
ZERO = {"argmax_mask", "argmin_mask"}  # their derivative is zero: only a slip that makes it non-zero is one


# -- slips of one rule -----------------------------------------------------------------------------
def softmax_without_the_rank_one_term(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return node * bar


def softmax_along_the_other_axis(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return Apply("softmax_pullback", (node, bar), node.shape, {"axis": 1 - node.param("axis")})  # type: ignore[operator]


def softmax_at_the_logits(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return Apply("softmax_pullback", (node.operands[0], bar), node.shape, node.params)


def pullback_of_the_other_operand(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return RIGHT["softmax_pullback"](node, bar, 1 - slot)


def pullback_without_its_last_term(node: Apply, bar: Tensor, slot: int) -> Tensor:
    if slot == 1:
        return RIGHT["softmax_pullback"](node, bar, slot)
    s, g = node.operands
    return bar * g - bar * reductions.sum(s * g, axis=node.param("axis"), keepdims=True)  # type: ignore[arg-type]


def logsumexp_unweighted(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return 0 * node.operands[0] + restore_axes(node, bar)


def logsumexp_over_all(node: Apply, bar: Tensor, slot: int) -> Tensor:
    (t,) = node.operands
    weights = lx.exp(t - reductions.logsumexp(t))
    return weights * restore_axes(node, bar)


def extremum_of_the_other_side(node: Apply, bar: Tensor, slot: int) -> Tensor:
    (t,) = node.operands
    other = "argmin_mask" if node.function == "max" else "argmax_mask"
    return Apply(other, (t,), t.shape, {"axes": node.param("axes")}) * restore_axes(node, bar)


def extremum_over_all(node: Apply, bar: Tensor, slot: int) -> Tensor:
    (t,) = node.operands
    mask = Apply(f"arg{node.function}_mask", (t,), t.shape, {"axes": tuple(range(t.ndim))})
    return mask * restore_axes(node, bar)


def mask_like_the_identity(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return bar


def product_by_division_of_a_shift(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return restore_axes(node, bar * node) / (node.operands[0] + 1)


def product_of_all(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return restore_axes(node, bar * node) + 0 * node.operands[0]


def inverse_without_transposes(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return -(node @ bar @ node)


def inverse_once(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return -(node.mT @ bar)


def over_matrices(scalar: Tensor) -> Tensor:
    return indexing.getitem(scalar, (*(slice(None),) * scalar.ndim, None, None))  # type: ignore[return-value]


def determinant_without_transpose(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return over_matrices(bar * node) * linalg.inv(node.operands[0])


def determinant_like_its_logarithm(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return over_matrices(bar) * linalg.inv(node.operands[0]).mT


def log_determinant_without_transpose(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return over_matrices(bar) * linalg.inv(node.operands[0])


def log_determinant_like_the_determinant(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return over_matrices(bar * node) * linalg.inv(node.operands[0]).mT


def block_from_the_start(node: Apply, bar: Tensor, slot: int) -> Tensor:
    starts = (sp.S.Zero,) * node.ndim
    return Apply("slice", (bar,), node.operands[slot].shape, {"starts": starts})


def slice_put_at_the_start(node: Apply, bar: Tensor, slot: int) -> Tensor:
    starts = (sp.S.Zero,) * node.ndim
    return Apply("place", (bar,), node.operands[0].shape, {"starts": starts})


def placement_cut_at_the_start(node: Apply, bar: Tensor, slot: int) -> Tensor:
    starts = (sp.S.Zero,) * node.ndim
    return Apply("slice", (bar,), node.operands[0].shape, {"starts": starts})


def merge_in_column_order(node: Apply, bar: Tensor, slot: int) -> Tensor:
    split = Apply("split", (bar,), node.operands[0].shape, node.params)
    return linalg.permute(split, (1, 0, *range(2, split.ndim)))


def split_in_column_order(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return Apply("merge", (linalg.permute(bar, (1, 0)),), node.operands[0].shape, node.params)


SPECIAL: dict[str, list[Pull]] = {
    "softmax": [softmax_without_the_rank_one_term, softmax_along_the_other_axis, softmax_at_the_logits],
    "softmax_pullback": [pullback_of_the_other_operand, pullback_without_its_last_term],
    "logsumexp": [logsumexp_unweighted, logsumexp_over_all],
    "max": [extremum_of_the_other_side, extremum_over_all],
    "min": [extremum_of_the_other_side, extremum_over_all],
    "argmax_mask": [mask_like_the_identity],
    "argmin_mask": [mask_like_the_identity],
    "prod": [product_by_division_of_a_shift, product_of_all],
    "inv": [inverse_without_transposes, inverse_once],
    "det": [determinant_without_transpose, determinant_like_its_logarithm],
    "logdet": [log_determinant_without_transpose, log_determinant_like_the_determinant],
    **MATRIX_SPECIAL,
    "concat": [block_from_the_start],
    "slice": [slice_put_at_the_start],
    "place": [placement_cut_at_the_start],
    "merge": [merge_in_column_order],
    "split": [split_in_column_order],
}


def install_rule(function: str, pull: Pull) -> Install:
    def install(patch: pytest.MonkeyPatch) -> None:
        patch.setitem(PULLBACKS, function, replace(PULLBACKS[function], apply=pull))

    return install


def rule_mutants() -> dict[tuple[str, str], Install]:
    """Return all mutants of rules, by function and slip."""
    found: dict[tuple[str, str], Install] = {}
    for function, row in PULLBACKS.items():
        original = row.apply
        for slip, make in SLIPS.items():
            if function not in ZERO and not (slip == "transposed" and function in SYMMETRIC):
                found[function, slip] = install_rule(function, make(original))
        for pull in SPECIAL[function]:
            found[function, pull.__name__.replace("_", " ")] = install_rule(function, pull)
    return found


RULE_MUTANTS = rule_mutants()


# -- slips of the engines ---------------------------------------------------------------------------
def wrap(module: Any, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Install:
    """Replace a function of a module by one made from it."""

    def install(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module, name, change(getattr(module, name)))

    return install


def together(*installs: Install) -> Install:
    def install(patch: pytest.MonkeyPatch) -> None:
        for one in installs:
            one(patch)

    return install


def doubled(term: Term) -> Term:
    return Term(term.bound, 2 * term.expr)


def first_summand(expr: sp.Expr) -> sp.Expr:
    return expr.args[0] if isinstance(expr, sp.Add) else expr


def contract_without_renaming(term: Term, free: Any) -> Term:
    """Drop a delta and its sum, but leave the index of the free side at 0."""
    swap = {f: sp.S.One for f in sp.Mul.make_args(term.expr) if isinstance(f, sp.KroneckerDelta)}
    expr = term.expr.xreplace(swap)
    return Term(tuple(b for b in term.bound if b[0] in expr.free_symbols), expr)


def contract_any_range(delta: sp.KroneckerDelta, bound: Any, free: Any) -> Any:
    """Contract although the two indices run over different ranges."""
    p, q = delta.args
    for gone, by in ((p, q), (q, p)):
        if gone in bound and (by in bound or by in free):
            return gone, by
    return None


def capturing(node: Lambda, at: tuple[sp.Expr, ...]) -> list[Term]:
    """Open a lambda without renaming its summed indices apart."""
    swap = dict(zip(node.indices, at, strict=True))
    return [Term(t.bound, t.expr.xreplace(swap)) for t in node.terms]


def last_coefficient(collected: Any) -> tuple[Term, ...]:
    """Like terms replace one another instead of adding up."""
    total: dict[Any, Any] = {}
    for term in collected:
        new = canonical.canonical_term(term)
        coefficient, factors = terms.split_factors(new.expr)
        total[new.bound, sp.Mul(*factors)] = coefficient
    return tuple(Term(bound, c * expr) for (bound, expr), c in total.items())


def forget_absent_indices(term: Term) -> Term:
    """Drop a sum over an index that does not occur, instead of multiplying by its size."""
    present = term.expr.atoms(sp.Symbol)
    return Term(tuple(b for b in term.bound if b[0] in present), term.expr)


def exchange_sizes(term: Term) -> Term:
    """Give the summed indices one another's range."""
    sizes = [s for _, s in term.bound]
    return Term(tuple((i, s) for (i, _), s in zip(term.bound, reversed(sizes), strict=True)), term.expr)


def exponents_multiplied(product: sp.Mul) -> sp.Expr:
    found: dict[Any, Any] = {}
    for factor in product.args:
        base, exponent = factor.as_base_exp()
        found[base] = found.get(base, 1) * exponent
    return sp.Mul(*[sp.Pow(base, e) for base, e in found.items()])


def partial_with(change: Callable[[partials.LocalPartial], partials.LocalPartial]) -> Install:
    return wrap(gradient, "local_partial", lambda old: lambda *a, **k: change(old(*a, **k)))


def columns_exchanged(p: partials.LocalPartial) -> partials.LocalPartial:
    return replace(p, columns=tuple(reversed(p.columns)))


def rows_exchanged(p: partials.LocalPartial) -> partials.LocalPartial:
    return replace(p, rows=tuple(reversed(p.rows)))


def canonical_after(change: Callable[[Term], Term]) -> Install:
    return wrap(canonical, "canonical_term", lambda old: lambda term: old(change(term)))


def without_power(old: Callable[..., Any]) -> Callable[..., Any]:
    return lambda term, factor, inner, exponent: old(term, factor, inner, sp.S.One)


ENGINE_MUTANTS: dict[str, Install] = {
    "slope doubled": wrap(partials, "differentiate", lambda old: lambda *a: 2 * old(*a)),
    "slope negated": wrap(partials, "differentiate", lambda old: lambda *a: -old(*a)),
    "slope loses a summand": wrap(partials, "differentiate", lambda old: lambda *a: first_summand(old(*a))),
    "slope of a function is the function": wrap(
        partials, "differentiate", lambda old: lambda e, x, p: e if e.has(sp.tanh) else old(e, x, p)
    ),
    "only the first occurrence counts": wrap(partials, "entries_of", lambda old: lambda *a: old(*a)[:1]),
    "multiplying out loses a summand": wrap(partials, "expand_terms", lambda old: lambda t: old(t)[:1]),
    "powers joined by multiplying exponents": wrap(
        partials, "_join_powers", lambda old: exponents_multiplied
    ),
    "columns of a partial exchanged": partial_with(columns_exchanged),
    "rows of a partial exchanged": partial_with(rows_exchanged),
    "partial loses its last term": partial_with(lambda p: replace(p, terms=p.terms[:-1])),
    "only the first use counts": wrap(
        gradient, "adjoint_of", lambda old: lambda node, uses, *a, **k: old(node, uses[:1], *a, **k)
    ),
    "adjoint of the user left out": wrap(gradient, "is_unit", lambda old: lambda bar: True),
    "operand met twice counts once": wrap(
        gradient,
        "contributions",
        lambda old: lambda node, *a: old(node, *a)[:1] if isinstance(node, Apply) else old(node, *a),
    ),
    "delta dropped without its index": together(
        wrap(gradient, "contract_deltas", lambda old: contract_without_renaming),
        wrap(flatten, "contract_deltas", lambda old: contract_without_renaming),
    ),
    "deltas contracted whatever the ranges": wrap(terms, "solve_delta", lambda old: contract_any_range),
    "summed indices captured": wrap(flatten, "open_lambda", lambda old: capturing),
    "like terms replace one another": together(
        wrap(gradient, "collect", lambda old: last_coefficient),
        wrap(flatten, "collect", lambda old: last_coefficient),
    ),
    "sums over absent indices forgotten": wrap(
        canonical, "canonical_term", lambda old: lambda t: old(forget_absent_indices(t))
    ),
    "ranges of sums exchanged": wrap(
        canonical, "canonical_term", lambda old: lambda t: old(exchange_sizes(t))
    ),
    "summed indices all called alike": wrap(canonical, "bound_index", lambda old: lambda p: bound_index(0)),
    "inlining loses a power": wrap(
        flatten,
        "_replace",
        lambda old: lambda term, factor, inner, exponent: old(term, factor, inner, sp.S.One),
    ),
    "inlining loses a summand": wrap(flatten, "open_lambda", lambda old: lambda *a: old(*a)[:1]),
}


def scaled(rule: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def broken(before: Tensor, *rest: Any) -> Tensor:
        after = rule(before, *rest)
        if not isinstance(after, Lambda):
            i = tuple(sp.Symbol(f"_m{p}", integer=True) for p in range(after.ndim))
            after = Lambda(after.shape, i, (Term((), after.entry(*i)),))
        return Lambda(after.shape, after.indices, tuple(map(doubled, after.terms)), after.name)

    return broken


def shortened(rule: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def broken(before: Tensor, *rest: Any) -> Tensor:
        after = rule(before, *rest)
        if not isinstance(after, Lambda):
            return scaled(rule)(before, *rest)
        return Lambda(after.shape, after.indices, after.terms[:-1], after.name)

    return broken


def install_step(name: str, change: Callable[..., Any]) -> Install:
    return lambda patch: patch.setitem(rules.RULES, name, change(rules.RULES[name]))  # type: ignore[arg-type]


ZERO_RULES = {PULLBACKS[function].name for function in ZERO}  # twice nothing is nothing
STEP_MUTANTS: dict[tuple[str, str], Install] = {
    (name, slip): install_step(name, change)
    for name in rules.RULES
    if name not in ZERO_RULES
    for slip, change in (("factor 2", scaled), ("last term dropped", shortened))
}
"""Rules of derivation steps whose result is wrong; only the numbers can tell."""
