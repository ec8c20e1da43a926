r"""Canonical names of summed indices, with symmetric matrices in mind.

Summed indices are coloured by how they occur and the colours refined until they are stable; a tie is
broken by singling out each tied index in turn and refining again, and the smallest text wins.  After
McKay and Piperno, "Practical graph isomorphism, II" (2014), without their pruning.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import sympy as sp

from lemmax.calculus.rewriting.symmetry import is_symmetric
from lemmax.calculus.terms import entry_tensor, split_factors
from lemmax.expr.indices import bound_index
from lemmax.expr.nodes import Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import TensorSymbol

_MOST_LEAVES = 48  # beyond it ties are broken by the given order: sound, but not canonical

Colour = dict[sp.Symbol, str]


def text_of(expr: sp.Basic, colour: Mapping[sp.Symbol, str]) -> str:
    """Return a text that does not depend on the names of coloured indices nor on SymPy's order."""
    if isinstance(expr, sp.Indexed):
        t = expr.base.label.tensor
        at = [text_of(i, colour) for i in expr.indices]
        if len(at) >= 2 and is_symmetric(t):
            at[-2:] = sorted(at[-2:])
        return f"{t.name or ''}@{t.digest[:12]}[{','.join(at)}]"
    if isinstance(expr, TensorSymbol):
        return f"{expr.tensor.name or ''}@{expr.tensor.digest[:12]}"
    if isinstance(expr, sp.Symbol):
        return colour.get(expr, expr.name)
    if not expr.args:
        return str(expr)
    parts = [text_of(a, colour) for a in expr.args]
    if isinstance(expr, sp.Add | sp.Mul | sp.KroneckerDelta | sp.Max | sp.Min):
        parts.sort()
    return f"{type(expr).__name__}({','.join(parts)})"


def canonical_term(term: Term) -> Term:
    """Return the term with its summed indices in canonical order and under canonical names."""
    if not term.bound:
        return Term((), oriented(term.expr))
    sizes = dict(term.bound)
    present = term.expr.atoms(sp.Symbol)
    # a sum over an index that does not occur is a factor: its size
    absent = sp.Mul(*[s for i, s in term.bound if i not in present])
    indices = [i for i, _ in term.bound if i in present]
    order = canonical_order(indices, term.expr, sizes)
    # a name that is free in the term, because the term stands inside another sum, is not taken
    free = present - {i for i, _ in term.bound}
    names = (k for p in itertools.count() if (k := bound_index(p)) not in free)
    swap = dict(zip(order, names, strict=False))
    return Term(tuple((swap[i], sizes[i]) for i in order), absent * oriented(term.expr.xreplace(swap)))


def oriented(expr: sp.Expr) -> sp.Expr:
    """Write entries of symmetric matrices with their indices in order."""
    swap = {}
    for e in expr.atoms(sp.Indexed):
        *lead, i, j = e.indices if len(e.indices) >= 2 else (0, 0)
        if len(e.indices) >= 2 and str(i) > str(j) and is_symmetric(e.base.label.tensor):
            swap[e] = e.base.label.tensor.entry(*lead, j, i)
    return expr.xreplace(swap) if swap else expr


def canonical_order(
    indices: list[sp.Symbol], expr: sp.Expr, sizes: Mapping[sp.Symbol, Size]
) -> list[sp.Symbol]:
    """Return the indices in an order that depends on the expression and not on their names."""
    if len(indices) < 2:
        return list(indices)
    inside = set(indices)
    factors = [(f, inside & f.atoms(sp.Symbol)) for f in sp.Mul.make_args(expr)]
    around = {i: [f for f, own in factors if i in own] for i in indices}
    leaves: list[list[sp.Symbol]] = []

    def refine(colour: Colour) -> Colour:
        while True:
            marks = {
                i: f"{colour[i]}|{'|'.join(sorted(text_of(f, {**colour, i: '*'}) for f in around[i]))}"
                for i in indices
            }
            rank = {mark: f"#{p:02d}" for p, mark in enumerate(sorted(set(marks.values())))}
            new = {i: rank[marks[i]] for i in indices}
            if len(rank) == len(set(colour.values())):
                return new
            colour = new

    def search(colour: Colour) -> None:
        colour = refine(colour)
        classes: dict[str, list[sp.Symbol]] = {}
        for i in indices:
            classes.setdefault(colour[i], []).append(i)
        tied = next((classes[c] for c in sorted(classes) if len(classes[c]) > 1), None)
        if tied is None:
            leaves.append(sorted(indices, key=lambda i: colour[i]))
            return
        for i in tied:
            if len(leaves) < _MOST_LEAVES:
                search({**colour, i: colour[i] + "'"})

    search({i: str(sizes[i]) for i in indices})
    if len(leaves) == 1:
        return leaves[0]
    return min(leaves, key=lambda order: text_of(expr, {i: f"#{p:02d}" for p, i in enumerate(order)}))


def collect(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return canonical terms, sorted, with like ones added up; terms that cancel are dropped."""
    total: dict[tuple[tuple[tuple[sp.Symbol, Size], ...], sp.Expr], sp.Expr] = {}
    for term in terms:
        new = canonical_term(term)
        coefficient, factors = split_factors(new.expr)
        key = (new.bound, sp.Mul(*factors))
        total[key] = total.get(key, sp.S.Zero) + coefficient
    kept = []
    for (bound, expr), c in total.items():
        c = sp.expand(c) if c.free_symbols else c
        if c != 0:
            kept.append((f"{text_of(expr, {})}|{bound}", Term(bound, c * expr)))
    return tuple(term for _, term in sorted(kept, key=lambda pair: pair[0]))


def is_entry(expr: sp.Basic) -> bool:
    """Is the expression an entry of a tensor, or a scalar tensor?"""
    t = entry_tensor(expr)
    return t is not None and not (isinstance(expr, sp.Symbol) and t.ndim)
