r"""Factors that carry an axis alone are taken out of intermediate tensors.

In the derivative of logits in a weight, :math:`T_{iabpq} = X_{iap} (S_{iab} K_{ibq} - ...)`, the axis p
stands in one factor, which every summand has.  Then :math:`T = X_{iap} T'_{iabq}`, and what is computed from
T by products and sums carries the factor along: T itself, larger by the length of p, is never formed, and the
factor is contracted where the sum over a is.  A tensor whose summands have different such factors falls into
parts.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import entries_in, entry_tensor, indices_of
from lemmax.codegen.forms import Choice
from lemmax.codegen.order import representative
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor

LEAST_AXES = 5
"""Tensors with fewer axes stay whole: they are cheap, and their products are planned as they are."""
_MOST_PARTS = 3
_MOST_TERMS = 16


@dataclass(frozen=True, slots=True)
class Part:
    """A summand of a tensor: a factor, in the tensor's own indices, times a smaller tensor.

    Attributes:
        factor: an entry, or a product of entries and deltas.
        core: the smaller tensor.
        kept: the axes that it has.
    """

    factor: sp.Expr
    core: Lambda
    kept: tuple[int, ...]


def hoist(roots: Sequence[Tensor]) -> tuple[list[Tensor], tuple[Choice, ...]]:
    """Return the same tensors by smaller intermediate ones, and what was taken apart."""
    order = topological_order(*roots)
    whole = {root.digest for root in roots} | _used_otherwise(order)
    large = {
        t.digest
        for t in order
        if isinstance(t, Lambda) and t.name is None and t.ndim >= LEAST_AXES and t.digest not in whole
    }
    if not large:
        return list(roots), ()
    new: dict[str, Tensor] = {}
    parts: dict[str, tuple[Lambda, tuple[Part, ...]]] = {}
    choices: list[Choice] = []
    summed = _summed_axes(order)
    for t in order:
        if not isinstance(t, Lambda):
            new[t.digest] = t.rebuild(*[new[o.digest] for o in t.operands])
            continue
        terms = [new_term for term in t.terms for new_term in _replaced(term, new, parts)]
        rebuilt = Lambda(t.shape, t.indices, tuple(terms), t.name)
        if t.digest in large:
            found = _taken_apart(rebuilt, summed[t.digest])
            if found is not None:
                parts[t.digest] = rebuilt, found
                lost = sorted({str(t.shape[a]) for p in found for a in range(t.ndim) if a not in p.kept})
                said = f"factors with axes {', '.join(lost)} taken out"
                choices.append(Choice(t.label(), f"in {len(found)} parts", said))
                continue
        new[t.digest] = rebuilt
    return [new[root.digest] for root in roots], tuple(choices)


def _used_otherwise(order: Sequence[Tensor]) -> set[str]:
    """Return digests of tensors that are used elsewhere than as a factor of a summand."""
    found: set[str] = set()
    for t in order:
        if not isinstance(t, Lambda):
            found |= {o.digest for o in t.operands}
            continue
        factors = {f for term in t.terms for f in sp.Mul.make_args(term.expr)}
        found |= {_tensor(e).digest for f in factors for e in entries_in(f) if e != f}
    return found


def _summed_axes(order: Sequence[Tensor]) -> dict[str, Counter[int]]:
    """Return how often each axis of a tensor is summed where it is used: factors with it stay there."""
    found: dict[str, Counter[int]] = {t.digest: Counter() for t in order}
    for t in order:
        for term in t.terms if isinstance(t, Lambda) else ():
            bound = {s for s, _ in term.bound}
            for entry in entries_in(term.expr):
                found[_tensor(entry).digest].update(a for a, i in enumerate(indices_of(entry)) if i in bound)
    return found


def _tensor(entry: sp.Expr) -> Tensor:
    t = entry_tensor(entry)
    assert t is not None
    return t


def _replaced(
    term: Term, new: dict[str, Tensor], parts: dict[str, tuple[Lambda, tuple[Part, ...]]]
) -> list[Term]:
    """Return a summand over the new tensors, multiplied out where a tensor was taken apart."""
    swap: dict[sp.Expr, sp.Expr] = {}
    apart: list[tuple[sp.Expr, list[sp.Expr]]] = []
    for symbol in sorted(entries_in(term.expr), key=str):
        t, at = _tensor(symbol), indices_of(symbol)
        if t.digest in parts:
            old, found = parts[t.digest]
            here = dict(zip(old.indices, at, strict=True))
            apart.append(
                (symbol, [p.factor.xreplace(here) * p.core.entry(*[at[a] for a in p.kept]) for p in found])
            )
        elif new[t.digest] is not t:
            swap[symbol] = new[t.digest].entry(*at)
    if not swap and not apart:
        return [term]
    results = []
    for chosen in itertools.product(*[values for _, values in apart]):
        here = swap | {symbol: value for (symbol, _), value in zip(apart, chosen, strict=True)}
        results.append(Term(term.bound, term.expr.xreplace(here)))
    return results


# -- one tensor ------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Factor:
    """Factors that hold an axis, with all that sums tie to them: one way to write them in one summand.

    Attributes:
        key: the axis, and a text that is the same for the same product.
        expr: the product, without deltas.
        deltas: their product.
        bound: the indices that are summed in it.
        rest: what is left of the summand.
    """

    key: tuple[int, str]
    expr: sp.Expr
    deltas: sp.Expr
    bound: tuple[tuple[sp.Symbol, Size], ...]
    rest: Term


def _taken_apart(t: Lambda, summed: Counter[int]) -> tuple[Part, ...] | None:
    """Return a tensor as a sum of smaller parts, or ``None`` if one is as large as the whole."""
    if not t.terms or len(t.terms) > _MOST_TERMS:
        return None
    left = list(range(len(t.terms)))
    ways = [[f for a in range(t.ndim) for f in _factors(t, term, a)] for term in t.terms]
    found: list[Part] = []
    while left:
        count = Counter(key for p in left for key in {f.key for f in ways[p]})
        if not count or len(found) == _MOST_PARTS:
            return None
        best = min(count, key=lambda key: (-count[key], *_price(t, key, ways, summed)))
        group = [p for p in left if any(f.key == best for f in ways[p])]
        chosen = [next(f for f in ways[p] if f.key == best) for p in group]
        found.append(_in_one_more(_part(t, chosen)))
        left = [p for p in left if p not in group]
    return tuple(found)


def _price(
    t: Lambda, key: tuple[int, str], ways: Sequence[Sequence[_Factor]], summed: Counter[int]
) -> tuple[object, ...]:
    """Return what a way to take a factor out costs: sums over its axes, sizes of both, number of its axes."""
    found = [f for way in ways for f in way if f.key == key]
    own = [a for a, i in enumerate(t.indices) if found[0].expr.has(i)]
    rest = {a for f in found for a, i in enumerate(t.indices) if _apart([f.rest.expr])[0].has(i)}
    size = sum(math.prod(representative(t.shape[a], {}) for a in axes) for axes in (own, rest))
    return sum(summed[a] for a in own), size, len(own), key


def _in_one_more(part: Part) -> Part:
    """Return a part with another factor taken out of its core, if all summands of that have one."""
    inner = _taken_apart(part.core, Counter())
    if inner is None or len(inner) > 1:
        return part
    (p,) = inner
    own = free_indices(max(part.kept) + 1)
    there = dict(zip(part.core.indices, (own[a] for a in part.kept), strict=True))
    return Part(part.factor * p.factor.xreplace(there), p.core, tuple(part.kept[a] for a in p.kept))


def _factors(t: Lambda, term: Term, axis: int) -> list[_Factor]:
    """Return the ways to take out what holds an axis of a summand."""
    index = t.indices[axis]
    factors = list(sp.Mul.make_args(term.expr))
    sizes = dict(term.bound)
    held = {p for p, f in enumerate(factors) if f.has(index)}
    while True:
        tied = {s for p in held for s in factors[p].free_symbols if s in sizes}
        more = {p for p, f in enumerate(factors) if p not in held and f.free_symbols & tied}
        if not more:
            break
        held |= more
    inner, deltas = _apart([factors[p] for p in sorted(held)])
    rest = [f for p, f in enumerate(factors) if p not in held]
    if not held or not any(map(entries_in, rest)):
        return []
    if not all(i in (inner * deltas).free_symbols or any(f.has(i) for f in rest) for i in t.indices):
        return []  # an index in no factor repeats what is there
    bound = tuple((s, n) for s, n in term.bound if s in tied)
    left = Term(tuple((s, n) for s, n in term.bound if s not in tied), sp.Mul(*rest))
    found = []
    for expr in _by_deltas(inner, rest):
        own = [i for i in t.indices if expr.has(i)]
        if sum((expr * deltas).has(i) for i in t.indices) < t.ndim:
            key = f"{_named(t, own, expr, bound).digest} at {own}" if bound else str(expr)
            found.append(_Factor((axis, f"{key} {deltas}"), expr, deltas, bound, left))
    return found


def _apart(factors: Sequence[sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    """Return the product of the factors that are no deltas, and that of the deltas."""
    single = [f for factor in factors for f in sp.Mul.make_args(factor)]
    deltas = [f for f in single if isinstance(f, sp.KroneckerDelta)]
    return sp.Mul(*[f for f in single if f not in deltas]), sp.Mul(*deltas)


def _by_deltas(inner: sp.Expr, rest: Sequence[sp.Expr]) -> list[sp.Expr]:
    """Return a product, and the same with indices that a delta beside it makes equal."""
    ways = [inner]
    for f in rest:
        if isinstance(f, sp.KroneckerDelta) and all(is_index(i) for i in f.args):
            a, b = f.args
            ways += [w.xreplace({x: y}) for w in list(ways) for x, y in ((a, b), (b, a)) if w.has(x)]
    return list(dict.fromkeys(ways))


def _named(
    t: Lambda, own: Sequence[sp.Symbol], expr: sp.Expr, bound: tuple[tuple[sp.Symbol, Size], ...]
) -> Lambda:
    """Return a product with sums as a tensor over the indices that it has."""
    size = dict(zip(t.indices, t.shape, strict=True))
    indices = free_indices(len(own))
    return Lambda(
        tuple(size[i] for i in own),
        indices,
        (Term(bound, expr.xreplace(dict(zip(own, indices, strict=True)))),),
    )


def _part(t: Lambda, chosen: Sequence[_Factor]) -> Part:
    first = chosen[0]
    factor = first.expr
    if first.bound:
        own = [i for i in t.indices if factor.has(i)]
        factor = _named(t, own, factor, first.bound).entry(*own)
    factor *= first.deltas
    kept = tuple(a for a, i in enumerate(t.indices) if any(f.rest.expr.has(i) for f in chosen))
    indices = free_indices(len(kept))
    swap = dict(zip([t.indices[a] for a in kept], indices, strict=True))
    core = Lambda(
        tuple(t.shape[a] for a in kept),
        indices,
        tuple(Term(f.rest.bound, f.rest.expr.xreplace(swap)) for f in chosen),
    )
    return Part(factor, core, kept)
