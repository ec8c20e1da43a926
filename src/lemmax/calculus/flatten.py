r"""Flattening: unnamed products and plain sums are inlined into their users.

What is left are sums of products over named tensors, inputs, applications of functions and
unnamed tensors that are no products (entrywise functions, sums inside products).  Values do
not change.  ``X @ WQ @ (X @ WK).mT / sqrt(d)`` becomes one sum of products of four tensors,
which is how a paper writes it, and lets typesetting and code choose their own grouping.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations

import sympy as sp
from sympy.core.relational import Relational

from lemmax.calculus.canonical import collect
from lemmax.calculus.joins import KINKS, is_smooth_in
from lemmax.calculus.opening import open_merged_axes
from lemmax.calculus.terms import (
    contract_deltas,
    entries_in,
    entry_tensor,
    indices_of,
    is_monomial,
    open_lambda,
    split_factors,
)
from lemmax.expr.domains import without_domains
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Input, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor, TensorSymbol, distinct_name

_MOST_FACTORS = 12  # products of more factors are kept apart: repeated squaring would grow without bound
_MOST_TERMS = (
    12  # longer sums are kept apart: x + f(x), repeated, would have a summand for every layer in every layer
)
_DEEPEST_KINKS = 3  # maxima of minima of functions, as in the distance from an interval
_LARGEST_BRANCHES = 60  # operations in a case distinction up to which functions are inlined into its branches


def flatten(roots: Sequence[Tensor], keep: Collection[Tensor] = ()) -> list[Tensor]:
    """Return ``roots`` with unnamed products and plain sums inlined into their users.

    Sums over merged axes become sums over pairs where merges are saved by that.

    Args:
        roots: expressions; shared parts stay shared.
        keep: tensors that are not to be inlined although they have no name.
    """
    plain = without_domains([*roots, *keep])
    roots, keep = plain[: len(roots)], plain[len(roots) :]
    return open_merged_axes(inline(roots, keep), inline, keep)


def inline(roots: Sequence[Tensor], keep: Collection[Tensor] = ()) -> list[Tensor]:
    """Return ``roots`` with unnamed products and plain sums inlined; merged axes stay merged."""
    plain = without_domains([*roots, *keep])
    roots, keep = plain[: len(roots)], plain[len(roots) :]
    kept = {t.digest for t in keep}
    flat: dict[str, Tensor] = {}
    order = topological_order(*roots)
    names = _Names(order)
    for node in order:
        new = node
        if isinstance(node, Lambda) and any(_may_inline(t, kept) for t in node.operands):
            free = dict(zip(node.indices, node.shape, strict=True))
            terms = [contract_deltas(t, free) for term in node.terms for t in _inline_all(term, flat, kept)]
            new = Lambda(node.shape, node.indices, collect(_over_flat(terms, flat)), node.name)
        flat[node.digest] = names.apart(new.rebuild(*[flat.get(t.digest, t) for t in new.operands]))
        if kept & {node.digest, flat[node.digest].digest}:
            kept |= {node.digest, flat[node.digest].digest}
    return [flat[root.digest] for root in roots]


class _Names:
    """Gives different tensors different names: two losses may each have brought an adjoint of S."""

    def __init__(self, order: Sequence[Tensor]) -> None:
        self._owner = {str(t.name): t.digest for t in order if isinstance(t, Input)}
        self._renamed: dict[str, Tensor] = {}

    def apart(self, t: Tensor) -> Tensor:
        """Return ``t``, under a variant of its name if that belongs to another tensor."""
        if t.name is None or isinstance(t, Input) or self._owner.setdefault(t.name, t.digest) == t.digest:
            return t
        if t.digest not in self._renamed:
            new = t.named(distinct_name(t.name, self._owner))
            self._owner[str(new.name)] = new.digest
            self._renamed[t.digest] = new
        return self._renamed[t.digest]


def _may_inline(t: Tensor | None, kept: set[str]) -> bool:
    return isinstance(t, Lambda) and t.name is None and t.digest not in kept


def _inline_all(term: Term, flat: dict[str, Tensor], kept: set[str]) -> list[Term]:
    """Inline until nothing is left to inline."""
    done: list[Term] = []
    todo = [term]
    while todo:
        current = todo.pop()
        step = _inline_one(current, flat, kept)
        if step is None:
            done.append(current)
        else:
            todo.extend(reversed(step))
    return done


def _over_flat(terms: list[Term], flat: dict[str, Tensor]) -> list[Term]:
    """Replace operands by their flat forms, before those that came in flat meet those that did not."""
    swap: dict[sp.Basic, sp.Basic] = {}
    for term in terms:
        for symbol in term.expr.atoms(TensorSymbol):
            new = flat.get(symbol.tensor.digest, symbol.tensor)
            if new is not symbol.tensor:
                swap[symbol], swap[sp.IndexedBase(symbol)] = new.symbol, sp.IndexedBase(new.symbol)
    return [Term(term.bound, term.expr.xreplace(swap)) for term in terms] if swap else terms


def _inline_one(term: Term, flat: dict[str, Tensor], kept: set[str]) -> list[Term] | None:
    factors = split_factors(term.expr)[1]
    for factor in factors:
        base, exponent = factor.as_base_exp()
        t = entry_tensor(base)
        if t is None:
            if (inner := _inline_inside(factor, flat, kept)) is not None:
                return [Term(term.bound, term.expr.xreplace({factor: inner}))]
            continue
        if not _may_inline(t, kept):
            continue
        own = flat.get(t.digest, t)
        assert isinstance(own, Lambda)
        if exponent == 1 and len(factors) == 1 and not term.bound and len(own.terms) <= _MOST_TERMS:
            return _replace(term, factor, open_lambda(own, indices_of(base)), exponent)
        # the flat form is inlined if it is a product; if it became a sum, the form it came from may be one
        for form in (own, t):
            assert isinstance(form, Lambda)
            if _fits(form, exponent, len(factors)):
                return _replace(term, factor, open_lambda(form, indices_of(base)), exponent)
        tied = _split_tie(own)
        if tied is not None and exponent.is_Integer and exponent > 0:
            (p, q), block = tied
            at = indices_of(base)
            entry = block.entry(*at[:q], *at[q + 1 :]) ** exponent
            return _replace(term, factor, [Term((), sp.KroneckerDelta(at[p], at[q]) * entry)], sp.S.One)
    smooth = _inline_kinks(term.expr, flat, kept)
    return None if smooth is None else [Term(term.bound, smooth)]


@lru_cache(maxsize=4096)
def _split_tie(t: Lambda) -> tuple[tuple[int, int], Lambda] | None:
    """Write a block-diagonal tensor as a delta in two of its axes, p < q, times a tensor without axis q.

    A user can then contract the delta, which it could not inside a sum that is kept together.
    """
    for p, q in combinations(range(t.ndim), 2):
        delta = sp.KroneckerDelta(t.indices[p], t.indices[q])
        if not t.terms or not same_size(t.shape[p], t.shape[q]):
            continue
        if all(delta in sp.Mul.make_args(term.expr) for term in t.terms):
            at = (*t.indices[:q], *t.indices[q + 1 :])
            rest = [
                Term(term.bound, (term.expr / delta).xreplace({t.indices[q]: t.indices[p]}))
                for term in t.terms
            ]
            return (p, q), Lambda((*t.shape[:q], *t.shape[q + 1 :]), at, collect(rest))
    return None


def _fits(t: Lambda, exponent: sp.Expr, others: int) -> bool:
    if not t.terms:
        return True
    if t.ndim == 0 and len(t.terms) == 1 and not t.terms[0].bound:
        return True  # a scalar function of scalars, such as 1/sqrt(s)
    if _most_factors(t) + others - 1 > _MOST_FACTORS:
        return False
    if len(t.terms) > 1:
        return bool(exponent == 1) and is_broadcast_sum(t)
    return bool(exponent == 1 or (not t.terms[0].bound and exponent.is_Integer and exponent > 0))


@lru_cache(maxsize=4096)
def _most_factors(t: Lambda) -> int:
    """Return the number of factors of the longest summand; more than enough if one is no product."""
    if not all(is_monomial(term.expr) for term in t.terms):
        return _MOST_FACTORS + 1
    return max((len(split_factors(term.expr)[1]) for term in t.terms), default=0)


def is_broadcast_sum(t: Lambda) -> bool:
    """Is ``t`` a sum in which every summand lacks one of the indices, such as ``q[k] - k[j]``?

    Inside a product such a sum is multiplied out: it is no sum of matrices, so that grouping it
    would leave a formula in indices; ``X + Y`` stays together.
    """
    free = set(t.indices)
    return len(t.terms) > 1 and all(free - term.expr.atoms(sp.Symbol) for term in t.terms)


def _replace(term: Term, factor: sp.Expr, inner: list[Term], exponent: sp.Expr) -> list[Term]:
    rest = sp.Mul(*[f for f in sp.Mul.make_args(term.expr) if f != factor])
    return [Term(term.bound + t.bound, rest * t.expr**exponent) for t in inner]


def _inline_inside(factor: sp.Expr, flat: dict[str, Tensor], kept: set[str]) -> sp.Expr | None:
    """Inline, inside functions, what is a monomial without sums: transposes, broadcasts, scalings.

    Inside the branches of a case distinction functions are inlined too, while that stays short: a
    branch that is not chosen must have no influence, and a derivative of its own could be undefined there.
    """
    swap: dict[sp.Basic, sp.Basic] = {}
    branches = {
        e for p in factor.atoms(sp.Piecewise) for b in p.args for e in b.expr.atoms(sp.Indexed, sp.Symbol)
    }
    room = _LARGEST_BRANCHES - sp.count_ops(factor) if branches else 0
    entries = entries_in(factor)
    count = len(entries)
    for entry in sorted(entries, key=str):
        t = entry_tensor(entry)
        if t is None or not _may_inline(t, kept):
            continue
        t = flat.get(t.digest, t)
        assert isinstance(t, Lambda)
        if not t.terms or any(term.bound for term in t.terms):
            continue
        # a product may grow up to the limit; a scaling does not grow
        more = _most_factors(t) - 1
        product = len(t.terms) == 1 and (more <= 0 or count + more <= _MOST_FACTORS)
        if not product and entry not in branches:
            continue
        whole = sp.Add(*[term.expr for term in open_lambda(t, indices_of(entry))])
        size = sp.count_ops(whole) if entry in branches else 0
        if product or size <= room:
            swap[entry] = whole
            room -= size
            count += more
    return factor.xreplace(swap) if swap else None


def _inline_kinks(expr: sp.Expr, flat: dict[str, Tensor], kept: set[str]) -> sp.Expr | None:
    """Inline functions with kinks if that leaves none, as in ``relu(u)^2``, else ``None``."""
    found = False
    for _ in range(_DEEPEST_KINKS):
        conditions = {e for c in expr.atoms(Relational) for e in c.atoms(sp.Indexed, sp.Symbol)}
        swap: dict[sp.Basic, sp.Basic] = {}
        for entry in entries_in(expr):
            t = entry_tensor(entry)
            if t is None or not _may_inline(t, kept):
                continue
            own = flat.get(t.digest, t)
            if not isinstance(own, Lambda) or not own.terms or any(term.bound for term in own.terms):
                continue
            whole = sp.Add(*[term.expr for term in open_lambda(own, indices_of(entry))])
            if entry in conditions or whole.has(*KINKS, sp.Piecewise):
                swap[entry] = whole
        if not swap or (not found and not any(w.has(*KINKS) for w in swap.values())):
            return None
        found = True
        expr = expr.xreplace(swap)
        if sp.count_ops(expr) > _LARGEST_BRANCHES:
            return None
        if all(is_smooth_in(expr, entry) for entry in entries_in(expr)):
            return expr
    return None
