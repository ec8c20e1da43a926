r"""Merged axes: an index of a merged axis is a pair (triple, ...) of indices.

A sum over a merged axis becomes a sum over the pairs; a tensor with a merged axis becomes the merge of a
tensor with more axes.  That decides vec, Kronecker products and mixed products, in either order.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from lemmax.calculus.rewriting.dummies import is_entry
from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, product, same_size
from lemmax.expr.tensor import Tensor

Groups = tuple[tuple[int, ...], ...]


def groups_of(node: Apply) -> Groups:
    """Return the groups of axes of a merge or split."""
    groups = node.param("groups")
    assert isinstance(groups, tuple)
    return groups


def open_merged(node: Lambda, normal: Callable[[Tensor], Tensor]) -> Tensor | None:
    """Return ``node`` over pairs of indices: a lambda, or the merge of one; ``None`` if no axis is merged.

    Args:
        node: an index lambda.
        normal: what turns its operands into normal forms.
    """
    free = dict(zip(node.indices, node.shape, strict=True))
    opened = False
    pairs: dict[sp.Symbol, tuple[Size, ...]] = {}  # how free indices are opened: the same in every term
    terms = []
    for term in node.terms:
        expr = _over(term.expr, normal)
        wanted = _wanted(expr, {**free, **dict(term.bound)})
        for i in wanted.keys() & free.keys():
            if pairs.setdefault(i, wanted[i]) != wanted[i]:
                return None
        terms.append((Term(term.bound, expr), wanted))
        opened = opened or bool(wanted)
    if not opened:
        return None
    axes = {i: fresh(len(sizes)) for i, sizes in pairs.items()}
    done = []
    for term, wanted in terms:
        bound: list[tuple[sp.Symbol, Size]] = []
        swap = {i: (axes[i], pairs[i]) for i in pairs}
        for i, size in term.bound:
            if i in wanted:
                swap[i] = (fresh(len(wanted[i])), wanted[i])
                bound += zip(*swap[i], strict=True)
            else:
                bound.append((i, size))
        done.append(Term(tuple(bound), _opened(term.expr, swap)))
    indices: list[sp.Symbol] = []
    shape: list[Size] = []
    groups: list[tuple[int, ...]] = []
    for i, size in free.items():
        own = axes.get(i, (i,))
        groups.append(tuple(range(len(indices), len(indices) + len(own))))
        indices += own
        shape += pairs.get(i, (size,))
    inner = Lambda(tuple(shape), tuple(indices), tuple(done))
    return Apply("merge", (inner,), node.shape, {"groups": tuple(groups)}) if pairs else inner


def _over(expr: sp.Expr, normal: Callable[[Tensor], Tensor]) -> sp.Expr:
    swap = {}
    for e in expr.atoms(sp.Indexed, sp.Symbol):
        if is_entry(e):
            t = entry_tensor(e)
            assert t is not None
            new = normal(t)
            if new is not t and isinstance(new, Apply) and new.function in ("merge", "split"):
                swap[e] = new.entry(*indices_of(e))
    return expr.xreplace(swap) if swap else expr


def _wanted(expr: sp.Expr, ranges: dict[sp.Symbol, Size]) -> dict[sp.Symbol, tuple[Size, ...]]:
    """Return how indices of merged axes are to be opened; those used in two ways are left alone."""
    wanted: dict[sp.Symbol, tuple[Size, ...]] = {}
    spoilt: set[sp.Symbol] = set()
    for e in sorted(expr.atoms(sp.Indexed), key=str):
        t = entry_tensor(e)
        if not isinstance(t, Apply) or t.function != "merge":
            continue
        inner = t.operands[0].shape
        for i, group in zip(e.indices, groups_of(t), strict=True):
            if len(group) > 1 and is_index(i):
                sizes = tuple(inner[a] for a in group)
                if wanted.setdefault(i, sizes) != sizes:
                    spoilt.add(i)
    if wanted:
        deltas = [d for d in expr.atoms(sp.KroneckerDelta) if all(map(is_index, d.args[:2]))]
        for _ in deltas:
            for p, q in (pair for d in deltas for pair in (d.args[:2], d.args[1::-1])):
                if p in wanted and wanted.setdefault(q, wanted[p]) != wanted[p]:
                    spoilt |= {p, q}
                if p in spoilt or q in spoilt:
                    spoilt |= {p, q}
    return {
        i: sizes for i, sizes in wanted.items() if i not in spoilt and same_size(product(sizes), ranges[i])
    }


Opening = dict[sp.Symbol, tuple[tuple[sp.Symbol, ...], tuple[Size, ...]]]


def _opened(expr: sp.Expr, swap: Opening) -> sp.Expr:
    """Replace indices by pairs in entries and deltas; elsewhere by the number of the pair."""
    new: dict[sp.Basic, sp.Basic] = {}
    for e in expr.atoms(sp.Indexed):
        if any(i in swap for i in e.indices):
            new[e] = _opened_entry(e, swap)
    for d in expr.atoms(sp.KroneckerDelta):
        p, q = d.args[:2]
        if p in swap and q in swap:
            pairs = zip(swap[p][0], swap[q][0], strict=True)
            new[d] = sp.Mul(*[sp.KroneckerDelta(a, b) for a, b in pairs])
    expr = expr.xreplace(new)
    rest: dict[sp.Basic, sp.Basic] = {}
    for i, (parts, sizes) in swap.items():
        number: sp.Expr = sp.S.Zero
        for part, size in zip(parts, sizes, strict=True):
            number = number * size + part
        rest[i] = number
    return expr.xreplace(rest)


def _opened_entry(e: sp.Indexed, swap: Opening) -> sp.Expr:
    """Return the entry at pairs: of the tensor that was merged, or of a split of the tensor."""
    t = e.base.label.tensor
    merge = isinstance(t, Apply) and t.function == "merge"
    groups = groups_of(t) if merge else tuple((a,) for a in range(t.ndim))
    inner = t.operands[0] if merge else t
    at: list[sp.Expr] = []
    shape: list[Size] = []
    cut: list[tuple[int, ...]] = []
    kept: list[tuple[int, ...]] = []  # groups that stay merged
    split_needed = still_merged = False
    for i, group in zip(e.indices, groups, strict=True):
        sizes = tuple(inner.shape[a] for a in group)
        if i in swap and (len(group) == 1 or swap[i][1] == sizes):
            parts, own = swap[i]
            split_needed = split_needed or len(group) == 1
            kept += [(a,) for a in group]
            cut.append(tuple(range(len(at), len(at) + len(parts))))
            if len(group) > 1:
                cut[-1:] = [(len(at) + p,) for p in range(len(parts))]
            at += parts
            shape += own
        else:
            still_merged = still_merged or len(group) > 1
            kept.append(group)
            cut.append((len(at),))
            at.append(i)
            shape.append(product(sizes))
    base: Tensor = inner
    if still_merged:
        base = Apply(
            "merge",
            (inner,),
            tuple(product(tuple(inner.shape[a] for a in g)) for g in kept),
            {"groups": tuple(kept)},
        )
    if split_needed:
        base = Apply("split", (base,), tuple(shape), {"groups": tuple(cut)})
    return base.entry(*at)
