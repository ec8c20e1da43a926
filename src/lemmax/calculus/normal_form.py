r"""The normal form: a sum of products with canonical dummies, all definitions written out.

Two expressions with the same normal form are equal for all sizes and all values.  The
converse does not hold: functions are atoms, known only through SymPy's own simplifications
(such as exp(a) exp(b) = exp(a + b)).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, groupby, permutations, product

import sympy as sp

from lemmax.calculus.canonical import collect
from lemmax.calculus.terms import (
    contract_deltas,
    entry_tensor,
    indices_of,
    open_lambda,
    serialise,
    split_factors,
)
from lemmax.expr.domains import without_domains
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import free_indices
from lemmax.expr.nodes import Apply, Derivative, Input, Lambda, Term
from lemmax.expr.tensor import Tensor
from lemmax.rules.definitions import DEFINITIONS

_MOST_TURNED = 60  # summands of an operand whose axes are brought into one order
MOST_TERMS = 4000
"""More summands than this are not written out."""


class TooLarge(Exception):
    """The normal form would have more than :data:`MOST_TERMS` summands; equality is then unknown."""


def normal_form(t: Tensor, decimals: bool = False) -> Tensor:
    """Return the normal form of ``t``, over unnamed tensors only.

    Floats become rationals, since sums of floats lose what is small: the binary number that a float is
    or, with ``decimals``, the decimal that it prints (0.1 is 1/10).

    Raises:
        TooLarge: it would have too many summands.
    """
    return _normalise([_without_floats(without_domains([t])[0], decimals)], {})[0]


def has_floats(t: Tensor) -> bool:
    """Is some constant a float, and no exact number?"""
    return any(isinstance(node, Lambda) and _floats_of(node) for node in topological_order(t))


def _floats_of(node: Lambda) -> set[sp.Float]:
    return {f for term in node.terms for f in term.expr.atoms(sp.Float)}


def _without_floats(t: Tensor, decimals: bool) -> Tensor:
    if not has_floats(t):
        return t
    known: dict[str, Tensor] = {}
    for node in topological_order(t):
        known[node.digest] = _exact(node, known, decimals)
    return known[t.digest]


def _exact(node: Tensor, known: dict[str, Tensor], decimals: bool) -> Tensor:
    if isinstance(node, Apply):
        return Apply(node.function, tuple(known[t.digest] for t in node.operands), node.shape, node.params)
    if not isinstance(node, Lambda):
        return node
    swap: dict[sp.Basic, sp.Basic] = {
        f: sp.Rational(repr(float(f)) if decimals else float(f)) for f in _floats_of(node)
    }
    for term in node.terms:
        for entry in term.expr.atoms(sp.Indexed, sp.Symbol):
            t = entry_tensor(entry)
            if t is not None and not (isinstance(entry, sp.Symbol) and t.ndim) and known[t.digest] != t:
                swap[entry] = known[t.digest].entry(*indices_of(entry))
    if not swap:
        return node
    return Lambda(node.shape, node.indices, tuple(Term(t.bound, t.expr.xreplace(swap)) for t in node.terms))


def is_zero(t: Tensor) -> bool:
    """Is the normal form the zero tensor?  ``False`` means only that this was not shown."""
    return isinstance(t, Lambda) and not t.terms


def _normalise(roots: list[Tensor], known: dict[str, Tensor]) -> list[Tensor]:
    for node in topological_order(*roots, stop=lambda x: x.digest in known):
        if node.digest not in known:
            known[node.digest] = _normal_node(node, known)
    return [known[root.digest] for root in roots]


def _normal_node(node: Tensor, known: dict[str, Tensor]) -> Tensor:
    if isinstance(node, Input | Derivative):
        return node
    if isinstance(node, Apply):
        bare = Apply(node.function, tuple(known[t.digest] for t in node.operands), node.shape, node.params)
        bare = _reduced_last(bare)
        define = DEFINITIONS.get(node.function)
        if define is None:
            return bare
        # operands are in normal form already; only what the definition adds is new
        settled = {t.digest: t for t in topological_order(*bare.operands)}
        return _normalise([define(bare)], settled)[0]
    assert isinstance(node, Lambda)
    free = dict(zip(node.indices, node.shape, strict=True))
    done: list[Term] = []
    todo = [Term(t.bound, _over_known(t.expr, known)) for t in node.terms]
    while todo:
        term = todo.pop()
        step = _unfold(term)
        if step is None:
            done.append(contract_deltas(term, free))
        else:
            todo.extend(step)
        if len(done) + len(todo) > MOST_TERMS:
            raise TooLarge
    terms = [Term(t.bound, sp.expand(t.expr)) for t in collect(done)]
    ordered = sorted(collect(p for t in terms for p in _split(t)), key=_text)
    return Lambda(node.shape, node.indices, tuple(ordered))


def _reduced_last(node: Apply) -> Apply:
    """Return a reduction of a lambda over its last axes: a product over rows is one over columns, turned."""
    (t, *others), params = node.operands, dict(node.params)
    axes, last = params.get("axes"), node.operands[0].ndim - 1
    if (
        others
        or not isinstance(t, Lambda)
        or not isinstance(axes, tuple)
        or params.get("keepdims") is not False
    ):
        return node
    if node.ndim != t.ndim - len(axes) or max(axes) - len(axes) == last - len(axes) == min(axes) - 1:
        return node
    kept = tuple(p for p in range(t.ndim) if p not in axes)
    params["axes"] = tuple(range(len(kept), t.ndim))
    return Apply(node.function, (_with_axes(t, (*kept, *sorted(axes))),), node.shape, params)


def _text(term: Term) -> str:
    return f"{serialise(term.expr, {})}|{term.bound}"


def _split(term: Term) -> list[Term]:
    return [Term(term.bound, part) for part in sp.Add.make_args(term.expr)]


def _over_known(expr: sp.Expr, known: dict[str, Tensor]) -> sp.Expr:
    """Replace operands by their normal forms."""
    swap: dict[sp.Basic, sp.Basic] = {}
    for entry in expr.atoms(sp.Indexed, sp.Symbol):
        t = entry_tensor(entry)
        if t is None or (isinstance(entry, sp.Symbol) and t.ndim):
            continue
        coefficient, new = _primitive(known[t.digest])
        order, turned = _turned(new)
        if turned != t or coefficient != 1:
            at = indices_of(entry)
            swap[entry] = coefficient * turned.entry(*(at[p] for p in order))
    return expr.xreplace(swap) if swap else expr


@lru_cache(maxsize=1024)
def _turned(t: Tensor) -> tuple[tuple[int, ...], Tensor]:
    """Return a normal form with its axes in an order that does not depend on how they stood, and this order.

    Sums inside a function are not written out: tanh of (X W)[i, j] and of (X W)^T[j, i] must be one atom.
    """
    same = tuple(range(t.ndim))
    if not isinstance(t, Lambda) or t.ndim < 2 or len(t.terms) > _MOST_TURNED:
        return same, t
    if all(not term.bound for term in t.terms):
        return same, t  # is written out inside functions, too
    by_size = sorted(same, key=lambda p: str(t.shape[p]))
    runs = [list(run) for _, run in groupby(by_size, key=lambda p: str(t.shape[p]))]
    orders = [tuple(chain(*parts)) for parts in product(*(permutations(run) for run in runs))]
    found = [(order, _with_axes(t, order)) for order in orders]
    return min(found, key=lambda f: [_text(term) for term in f[1].terms])


def _with_axes(t: Lambda, order: tuple[int, ...]) -> Lambda:
    if order == tuple(range(t.ndim)):
        return t
    indices = free_indices(t.ndim)
    moved = {t.indices[p]: indices[place] for place, p in enumerate(order)}
    terms = collect(Term(term.bound, term.expr.xreplace(moved)) for term in t.terms)
    return Lambda(tuple(t.shape[p] for p in order), indices, tuple(sorted(terms, key=_text)))


def _primitive(t: Tensor) -> tuple[sp.Expr, Tensor]:
    """Split a normal form into a coefficient and one that leads with 1, so that functions see the former."""
    if not isinstance(t, Lambda) or not t.terms:
        return sp.S.One, t
    split = [split_factors(term.expr) for term in t.terms]
    bare = [Term(term.bound, sp.Mul(*factors)) for term, (_, factors) in zip(t.terms, split, strict=True)]
    leading = min(range(len(bare)), key=lambda p: _text(bare[p]))
    coefficient = split[leading][0]
    if coefficient == 1:
        return coefficient, t
    scaled = [Term(term.bound, c / coefficient * term.expr) for term, (c, _) in zip(bare, split, strict=True)]
    return coefficient, Lambda(t.shape, t.indices, tuple(sorted(scaled, key=_text)))


def _unfold(term: Term) -> list[Term] | None:
    """Write out one sum or one operand; ``None`` if there is nothing left to write out."""
    expanded = term.expr.expand(
        deep=True, mul=True, multinomial=True, power_base=False, power_exp=False, log=False, basic=False
    )
    if isinstance(expanded, sp.Add):
        return [Term(term.bound, part) for part in expanded.args]
    for factor in split_factors(expanded)[1]:
        base, exponent = factor.as_base_exp()
        t = entry_tensor(base)
        if isinstance(t, Lambda) and exponent.is_Integer and exponent > 0:
            rest = sp.Mul(*[f for f in sp.Mul.make_args(expanded) if f != factor]) * base ** (exponent - 1)
            opened = open_lambda(t, indices_of(base))
            return [Term(term.bound + o.bound, rest * o.expr) for o in opened]
        inner = _unfold_inside(factor)
        if inner is not None:
            return [Term(term.bound, expanded.xreplace({factor: inner}))]
    return None if expanded == term.expr else [Term(term.bound, expanded)]


def _unfold_inside(factor: sp.Expr) -> sp.Expr | None:
    """Write out, inside a function or a power, operands that hold no sums over indices."""
    swap: dict[sp.Basic, sp.Basic] = {}
    for entry in factor.atoms(sp.Indexed, sp.Symbol):
        t = entry_tensor(entry)
        if not isinstance(t, Lambda) or (isinstance(entry, sp.Symbol) and t.ndim):
            continue
        if all(not term.bound for term in t.terms):
            swap[entry] = sp.Add(*[o.expr for o in open_lambda(t, indices_of(entry))])
    return factor.xreplace(swap) if swap else None
