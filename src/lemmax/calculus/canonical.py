r"""Canonical names of summed indices, and collecting like terms.

Summed indices are coloured by how they occur (size, factors, neighbours) and the colours
refined until they are stable; what is still tied is tried in all orders and the smallest
text wins.  Equal sums of products then get equal terms, whatever their dummies were called.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import sympy as sp

from lemmax.calculus.terms import contract_deltas, serialise, split_factors
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size

_MOST_ORDERS = 720  # beyond it the tie is broken by the given order: sound, but not canonical


def canonical_term(term: Term) -> Term:
    """Return the term with its summed indices in canonical order and under canonical names."""
    if not term.bound:
        return term
    sizes = dict(term.bound)
    present = term.expr.atoms(sp.Symbol)
    # a sum over an index that does not occur is a factor: its size
    absent = sp.Mul(*[s for i, s in term.bound if i not in present])
    indices = [i for i, _ in term.bound if i in present]
    factors = sp.Mul.make_args(term.expr)
    colour = {i: str(sizes[i]) for i in indices}
    while True:
        refined = {i: _signature(i, factors, colour, sizes) for i in indices}
        ranked = {text: f"#{rank}" for rank, text in enumerate(sorted(set(refined.values())))}
        new = {i: ranked[refined[i]] for i in indices}
        if len(set(new.values())) == len(set(colour.values())) and all(
            c.startswith("#") for c in colour.values()
        ):
            colour = new
            break
        colour = new
    order = _break_ties(indices, term.expr, colour)
    swap = {i: bound_index(p) for p, i in enumerate(order)}
    bound = tuple((swap[i], sizes[i]) for i in order)
    return Term(bound, absent * term.expr.xreplace(swap))


def _signature(
    index: sp.Symbol, factors: tuple[sp.Expr, ...], colour: dict[sp.Symbol, str], sizes: dict[sp.Symbol, Size]
) -> str:
    marked = {**colour, index: "*"}
    around = sorted(serialise(f, marked) for f in factors if index in f.atoms(sp.Symbol))
    return f"{sizes[index]}|{colour[index]}|{'|'.join(around)}"


def _break_ties(indices: list[sp.Symbol], expr: sp.Expr, colour: dict[sp.Symbol, str]) -> list[sp.Symbol]:
    classes = [
        list(group)
        for _, group in itertools.groupby(
            sorted(indices, key=lambda i: int(colour[i][1:])), key=lambda i: colour[i]
        )
    ]
    count = 1
    for group in classes:
        for p in range(2, len(group) + 1):
            count *= p
    if count == 1 or count > _MOST_ORDERS:
        return [i for group in classes for i in group]
    orders = (
        [i for group in choice for i in group]
        for choice in itertools.product(*[list(itertools.permutations(group)) for group in classes])
    )
    return min(orders, key=lambda order: serialise(expr, {i: f"#{p}" for p, i in enumerate(order)}))


def join_powers(expr: sp.Expr) -> sp.Expr:
    """Write ``x * x**(k - 1)`` as ``x**k`` where no exponent is negative; SymPy keeps them apart."""
    factors = [f.as_base_exp() for f in sp.Mul.make_args(expr)]
    if all(exponent.is_number for _, exponent in factors):
        return expr
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for base, exponent in factors:
        exponents.setdefault(base, []).append(exponent)
    joined = [
        (sp.Pow(base, sp.Add(*parts)),)
        if len(parts) > 1 and all(p.is_nonnegative for p in parts)
        else [sp.Pow(base, p) for p in parts]
        for base, parts in exponents.items()
    ]
    return sp.Mul(*[f for group in joined for f in group])


def collect(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return canonical terms with like ones added up; terms that cancel are dropped."""
    total: dict[tuple[tuple[tuple[sp.Symbol, Size], ...], sp.Expr], sp.Expr] = {}
    for term in terms:
        new = canonical_term(term)
        coefficient, factors = split_factors(join_powers(new.expr))
        key = (new.bound, sp.Mul(*factors))
        total[key] = total.get(key, sp.S.Zero) + coefficient
    return tuple(Term(bound, c * expr) for (bound, expr), c in total.items() if c != 0)


def expand_terms(term: Term) -> list[Term]:
    """Multiply out the top level of a term (never inside functions): one term per summand."""
    expr = term.expr.expand(
        deep=False, mul=True, multinomial=True, power_base=False, power_exp=False, log=False, basic=False
    )
    return [Term(term.bound, part) for part in sp.Add.make_args(expr)]


def tidy(node: Lambda) -> Lambda:
    """Return the lambda with deltas contracted and like terms collected."""
    free = dict(zip(free_indices(node.ndim), node.shape, strict=True))
    terms = collect(contract_deltas(t, free) for t in node.terms)
    return Lambda(node.shape, node.indices, terms, node.name)
