r"""Taking a common factor out of several products.

The gradient of a squared distance is a difference of two products that end in the same matrix
product: :math:`X^\top U - X^\top V`.  Taken out, :math:`X^\top (U - V)`, it is done once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.codegen.lower import Product
from lemmax.expr.indices import fresh
from lemmax.expr.sizes import Size


@dataclass(frozen=True, slots=True)
class Factored:
    """``sum over bound of factor * (sum of inner)``.

    Attributes:
        factor: the entry that was taken out.
        bound: the summed indices in it.
        inner: what is left of the products; the indices in ``bound`` are free in it.
    """

    factor: sp.Expr
    bound: tuple[tuple[sp.Symbol, Size], ...]
    inner: tuple[Product, ...]


def common_factors(products: Sequence[Product]) -> list[Factored]:
    """Return every way to take one entry out of all ``products``; summed indices are renamed to agree."""
    if len(products) < 2 or not all(p.bound for p in products):
        return []
    first = _renamed_apart(products[0])
    found = []
    for position, factor in enumerate(first.factors):
        if entry_tensor(factor) is None or not factor.atoms(sp.Symbol) & {i for i, _ in first.bound}:
            continue
        rests = [_without(first, position)]
        for other in products[1:]:
            rest = _match(_renamed_apart(other), factor, dict(first.bound))
            if rest is None:
                break
            rests.append(rest)
        else:
            bound = tuple((i, s) for i, s in first.bound if i in factor.atoms(sp.Symbol))
            own = {i for i, _ in bound}
            inner = tuple(
                Product(p.coefficient, p.factors, tuple((i, s) for i, s in p.bound if i not in own))
                for p in rests
            )
            if all(p.factors for p in inner):
                found.append(Factored(factor, bound, inner))
    return found


def _renamed_apart(product: Product) -> Product:
    new = fresh(len(product.bound))
    swap = {old: i for (old, _), i in zip(product.bound, new, strict=True)}
    bound = tuple((i, s) for i, (_, s) in zip(new, product.bound, strict=True))
    return Product(product.coefficient, tuple(f.xreplace(swap) for f in product.factors), bound)


def _without(product: Product, position: int) -> Product:
    factors = product.factors[:position] + product.factors[position + 1 :]
    return Product(product.coefficient, factors, product.bound)


def _match(product: Product, factor: sp.Expr, its_bound: dict[sp.Symbol, Size]) -> Product | None:
    """Return the product without ``factor``, its summed indices renamed to those of ``factor``."""
    bound = dict(product.bound)
    for position, candidate in enumerate(product.factors):
        if entry_tensor(candidate) != entry_tensor(factor):
            continue
        swap: dict[sp.Symbol, sp.Symbol] = {}
        for mine, wanted in zip(indices_of(candidate), indices_of(factor), strict=True):
            if mine in bound and wanted in its_bound:
                if swap.setdefault(mine, wanted) != wanted:
                    break
            elif mine != wanted:
                break
        else:
            if len(set(swap.values())) != len(swap):
                continue
            rest = _without(product, position)
            renamed = tuple(f.xreplace(swap) for f in rest.factors)
            return Product(rest.coefficient, renamed, tuple((swap.get(i, i), s) for i, s in rest.bound))
    return None
