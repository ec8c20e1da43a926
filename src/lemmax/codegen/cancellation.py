r"""Differences from a softmax average, written so that they do not cancel.

Second derivatives through a softmax hold terms such as :math:`F_a (G_a - \sum_b S_b G_b)` with softmax
weights S.  Once S is close to a unit vector, :math:`G_a` and the average nearly agree and all digits of
small entries are lost.  Since the weights sum to 1, the same is

.. math:: F_a \sum_b S_b (G_a - G_b),

in which no term cancels that does not cancel exactly: the pairwise form of
:mod:`lemmax.codegen.forms`, found here in sums of products.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.calculus.canonical import collect
from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.codegen.forms import MOST_PAIRWISE_AXES, Choice, SoftmaxGradient
from lemmax.expr.graph import transform
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor


def without_cancellation(
    roots: Sequence[Tensor], form: SoftmaxGradient
) -> tuple[list[Tensor], tuple[Choice, ...]]:
    """Write differences from softmax averages as averages of differences, as the form allows."""
    if form == "rowsum":
        return list(roots), ()
    choices: dict[str, Choice] = {}

    def rewritten(node: Tensor) -> Tensor:
        if not isinstance(node, Lambda) or len(node.terms) < 2:
            return node
        new = _pairwise(node, form)
        if new is not node:
            what = "averages of differences instead of differences from a softmax average"
            reason = (
                "asked for" if form == "pairwise" else f"at most {MOST_PAIRWISE_AXES - 1} axes of weights"
            )
            choices[node.digest] = Choice(node.label(), what, reason)
        return new

    return transform(roots, rewritten), tuple(choices.values())


def _pairwise(node: Lambda, form: SoftmaxGradient) -> Tensor:
    free = dict(zip(node.indices, node.shape, strict=True))
    left, done = list(node.terms), []
    for term in node.terms:
        for b, weight in _averages(term, form):
            found = _whole_of(term, b, weight, left, free)
            if found is not None and term in left:
                whole, a = found
                left.remove(term)
                left.remove(whole)
                done.append(_of_differences(term, a, b, weight, free))
                break
    if not done:
        return node
    return Lambda(node.shape, node.indices, (*left, *done), node.name)


def _averages(term: Term, form: SoftmaxGradient) -> list[tuple[sp.Symbol, sp.Expr]]:
    """Return the summed indices over which softmax weights average, with the weights."""
    found = []
    summed = dict(term.bound)
    for factor in sp.Mul.make_args(term.expr):
        t = entry_tensor(factor)
        if not isinstance(t, Apply) or t.function != "softmax":
            continue
        if form == "auto" and t.ndim + 1 > MOST_PAIRWISE_AXES:
            continue
        axis = t.param("axis")
        assert isinstance(axis, int)
        at = indices_of(factor)
        b = at[axis]
        if b in summed and at.count(b) == 1 and same_size(summed[b], t.shape[axis]):
            found.append((b, factor))
    return found


def _whole_of(
    term: Term, b: sp.Symbol, weight: sp.Expr, others: Sequence[Term], free: dict[sp.Symbol, Size]
) -> tuple[Term, sp.Symbol] | None:
    """Return the term from which this one takes the average, and the index at which it stands there."""
    sizes = dict(term.bound)
    rest = term.expr / weight
    if not rest.has(b):
        return None
    bound = tuple((i, s) for i, s in term.bound if i != b)
    for a, size in free.items():
        if not same_size(size, sizes[b]):
            continue
        wanted = collect([Term(bound, -rest.xreplace({b: a}))])
        for other in others:
            if other is not term and collect([other]) == wanted:
                return other, a
    return None


def _of_differences(
    term: Term, a: sp.Symbol, b: sp.Symbol, weight: sp.Expr, free: dict[sp.Symbol, Size]
) -> Term:
    sizes = {**free, **dict(term.bound)}
    rest = [f for f in sp.Mul.make_args(term.expr / weight)]
    moving = [f for f in rest if f.has(b)]
    fixed = [f for f in rest if not f.has(b)]
    outside = {s for f in (*fixed, weight) for s in f.atoms(sp.Symbol)}
    # sums that only the moving factors have are inside the difference; so are no others
    inner = [i for i in dict(term.bound) if i != b and i not in outside and any(f.has(i) for f in moving)]
    shared = sorted(
        {s for f in moving for s in f.atoms(sp.Symbol) if is_index(s) and s in sizes} - {b, *inner}, key=str
    )
    outer = [b, *shared]
    own = free_indices(len(outer))
    body = sp.Mul(*moving).xreplace(dict(zip(outer, own, strict=True)))
    moved = Lambda(tuple(sizes[i] for i in outer), own, (Term(tuple((i, sizes[i]) for i in inner), body),))
    both = free_indices(len(outer) + 1)
    at, by, others = both[0], both[1], both[2:]
    difference = Lambda(
        (sizes[b], *moved.shape),
        both,
        (Term((), moved.entry(at, *others)), Term((), -moved.entry(by, *others))),
    )
    left = tuple((i, s) for i, s in term.bound if i not in inner)
    # the term itself is minus the average
    return Term(left, -sp.Mul(*fixed) * weight * difference.entry(a, b, *shared))
