r"""Terms of index lambdas as products: coefficient, factors and summed indices.

Summed indices are renamed apart with symbols that are numbered in the order of the walk, so that
what is printed does not depend on what was computed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import contract_deltas, entry_tensor, indices_of, solve_delta, split_factors
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor, TensorSymbol

_MOST_COPIES = 4  # powers up to this one are written as repeated factors, to be joined again later
_MOST_FACTORS = 16  # a product that would get more factors keeps its operand whole


@dataclass(frozen=True, slots=True)
class Product:
    """A coefficient times factors, summed over indices.

    Attributes:
        coefficient: expression in sizes and numbers.
        factors: SymPy expressions, each with entries, deltas or indices.
        bound: summed indices.
    """

    coefficient: sp.Expr
    factors: tuple[sp.Expr, ...]
    bound: tuple[sp.Symbol, ...]


class Symbols:
    """A supply of index symbols, numbered in the order of the walk, with their sizes."""

    def __init__(self) -> None:
        """Start counting."""
        self.sizes: dict[sp.Symbol, Size] = {}

    def fresh(self, size: Size) -> sp.Symbol:
        """Return a new index symbol."""
        symbol = sp.Symbol(f"@{len(self.sizes):05d}", integer=True)
        self.sizes[symbol] = size
        return symbol


def open_terms(t: Lambda, at: tuple[sp.Expr, ...], symbols: Symbols) -> list[Term]:
    """Return the terms of ``t`` at indices ``at``, summed indices renamed apart."""
    opened = []
    for term in t.terms:
        bound = tuple((symbols.fresh(s), s) for _, s in term.bound)
        swap: dict[sp.Basic, sp.Basic] = dict(zip(t.indices, at, strict=True))
        swap.update({old: new for (old, _), (new, _) in zip(term.bound, bound, strict=True)})
        opened.append(Term(bound, term.expr.xreplace(swap)))
    return opened


def products_of(term: Term, symbols: Symbols, keep: Callable[[Tensor], bool]) -> list[Product]:
    """Return a term as products; unnamed operands with one term are put in place.

    Args:
        term: what to split.
        symbols: supply of index symbols.
        keep: tensors that stay whole.
    """
    done: list[Product] = []
    todo = [term]
    while todo:
        current = contract_deltas(todo.pop(), symbols.sizes)
        if isinstance(current.expr, sp.Add):
            todo.extend(Term(current.bound, part) for part in reversed(current.expr.args))
            continue
        coefficient, factors = split_factors(current.expr)
        opened = _open_one(current, coefficient, factors, symbols, keep)
        if opened is None:
            present = current.expr.free_symbols
            # a sum over an index that does not occur is a factor: its size
            absent = sp.Mul(*[s for i, s in current.bound if i not in present])
            copies = tuple(f for factor in factors for f in _copies(factor))
            bound = tuple(i for i, _ in current.bound if i in present)
            done.append(Product(coefficient * absent, copies, bound))
        else:
            todo.append(opened)
    return done


def _open_one(
    term: Term, coefficient: sp.Expr, factors: list[sp.Expr], symbols: Symbols, keep: Callable[[Tensor], bool]
) -> Term | None:
    """Put the definition of one unnamed operand with a single term in place of its entry.

    A power of an entry stays: the square of a sum is better read as a norm.
    """
    for position, factor in enumerate(factors):
        t = entry_tensor(factor)
        if not isinstance(t, Lambda) or keep(t) or len(t.terms) != 1:
            continue
        if len(factors) + len(split_factors(t.terms[0].expr)[1]) > _MOST_FACTORS:
            continue
        (new,) = open_terms(t, indices_of(factor), symbols)
        rest = [f for p, f in enumerate(factors) if p != position]
        return Term(term.bound + new.bound, sp.Mul(coefficient, *rest, new.expr))
    return None


def _copies(factor: sp.Expr) -> list[sp.Expr]:
    base, exponent = factor.as_base_exp()
    if isinstance(factor, sp.Pow) and exponent.is_Integer and 2 <= exponent <= _MOST_COPIES:
        return [base] * int(exponent)
    return [factor]


def distributed(
    product: Product, symbols: Symbols, keep: Callable[[Tensor], bool], wide: Callable[[sp.Expr], bool]
) -> list[Product]:
    """Multiply out the factors that are sums and that ``wide`` picks; one product per summand."""
    todo = [product]
    done: list[Product] = []
    while todo:
        p = todo.pop()
        picked = (position for position, factor in enumerate(p.factors) if wide(factor))
        parts = next(filter(None, (multiplied(p, position, symbols, keep) for position in picked)), None)
        if parts is None:
            done.append(p)
        else:
            todo.extend(reversed(parts))
    return done


def multiplied(
    p: Product, position: int, symbols: Symbols, keep: Callable[[Tensor], bool]
) -> list[Product] | None:
    """Multiply a product out at one factor, or return ``None`` if that factor is no sum."""
    factor = p.factors[position]
    rest = (*p.factors[:position], *p.factors[position + 1 :])
    if isinstance(factor, sp.exp) and isinstance(factor.args[0], sp.Add):
        # SymPy joins exp(a) exp(b) to exp(a + b); here they are wanted apart
        apart = tuple(sp.exp(part) for part in factor.args[0].args)
        return [Product(p.coefficient, (*rest, *apart), p.bound)]
    terms = _summands(factor, symbols, keep)
    if terms is None:
        return None
    return [
        Product(p.coefficient * q.coefficient, (*rest, *q.factors), p.bound + q.bound)
        for t in terms
        for q in products_of(t, symbols, keep)
    ]


def contracted(p: Product, symbols: Symbols) -> Product:
    """Contract the deltas of a product with all its summed indices."""
    if not any(isinstance(f, sp.KroneckerDelta) for f in p.factors):
        return p
    bound = {i: symbols.sizes[i] for i in p.bound}
    swap: dict[sp.Symbol, sp.Expr] = {}
    for factor in p.factors:
        if isinstance(factor, sp.KroneckerDelta):
            found = solve_delta(factor.xreplace(swap), bound, symbols.sizes)
            if found is not None:
                gone, by = found
                swap = {i: e.xreplace({gone: by}) for i, e in swap.items()} | {gone: by}
                del bound[gone]
    factors = [f.xreplace(swap) for f in p.factors]
    return Product(p.coefficient, tuple(f for f in factors if f != 1), tuple(bound))


def _summands(factor: sp.Expr, symbols: Symbols, keep: Callable[[Tensor], bool]) -> list[Term] | None:
    if isinstance(factor, sp.Add):
        return [Term((), part) for part in factor.args]
    t = entry_tensor(factor)
    if isinstance(t, Lambda) and not keep(t):
        return open_terms(t, indices_of(factor), symbols)
    return None


def loose_indices(expr: sp.Basic, top: bool = True) -> set[sp.Symbol]:
    """Return the index symbols that stand elsewhere than alone on an axis, in conditions or as numbers."""
    if isinstance(expr, sp.Indexed):
        return {
            s for e in expr.indices if not isinstance(e, sp.Symbol) for s in e.free_symbols if is_index(s)
        }
    if isinstance(expr, TensorSymbol):
        return set()
    if isinstance(expr, sp.Symbol):
        return {expr} if is_index(expr) else set()
    if top and isinstance(expr, sp.KroneckerDelta):
        return {s for e in expr.args if not isinstance(e, sp.Symbol) for s in e.free_symbols if is_index(s)}
    found: set[sp.Symbol] = set()
    for a in expr.args:
        found |= loose_indices(a, top=False)
    return found


def entries_in(expr: sp.Basic) -> list[sp.Indexed]:
    """Return the entries of tensors in an expression, in the order in which they stand."""
    found: list[sp.Indexed] = []
    todo: list[sp.Basic] = [expr]
    while todo:
        e = todo.pop()
        if isinstance(e, sp.Indexed):
            found.append(e)
        else:
            todo.extend(reversed(e.args))
    return found


def free_of(expr: sp.Basic, families: Iterable[sp.Symbol]) -> list[sp.Symbol]:
    """Return the index symbols of an expression that are no subscripts, in the order in which they stand."""
    families = set(families)
    found: list[sp.Symbol] = []
    candidates = [i for e in entries_in(expr) for i in e.indices]
    candidates += [i for d in sorted(expr.atoms(sp.KroneckerDelta), key=str) for i in d.args]
    for i in candidates:
        if isinstance(i, sp.Symbol) and is_index(i) and i not in families and i not in found:
            found.append(i)
    return found
