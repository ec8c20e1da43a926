r"""Summands with a Kronecker delta of two axes: only their diagonal is computed, and added in place.

In a block of the Hessian between the weights of heads h and l, :math:`\\delta_{hl} M_{hpq} + B_{hplq}`, the
first summand is H times smaller than the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.codegen.labels import Label
from lemmax.codegen.lower import Product
from lemmax.expr.sizes import Size, same_size

LEAST_AXES = 4
"""In results with fewer axes zeros cost nothing worth a statement."""


@dataclass(frozen=True, slots=True)
class OnDiagonal:
    """A summand that is zero away from a diagonal.

    Attributes:
        pairs: positions of the axes that run together, the first of which is kept.
        product: the summand on the diagonal.
        free: the axes that are left, with their sizes.
    """

    pairs: tuple[tuple[int, int], ...]
    product: Product
    free: tuple[tuple[Label, Size], ...]


def on_diagonal(product: Product, free: Sequence[tuple[Label, Size]]) -> OnDiagonal | None:
    """Return a summand by its diagonal, or ``None`` if it has no delta of two axes."""
    sizes, place = dict(free), {i: p for p, (i, _) in enumerate(free)}
    factors = list(product.factors)
    pairs: list[tuple[int, int]] = []
    while True:
        delta = next((f for f in factors if _joins(f, sizes)), None)
        if delta is None:
            break
        kept, gone = sorted(delta.args, key=lambda i: place[i])
        pairs.append((place[kept], place[gone]))
        del sizes[gone]
        factors.remove(delta)
        factors = [f.xreplace({gone: kept}) for f in factors]
    if not pairs:
        return None
    left = Product(product.coefficient, tuple(factors), product.bound)
    return OnDiagonal(tuple(pairs), left, tuple(sizes.items()))


def _joins(factor: sp.Expr, sizes: dict[Label, Size]) -> bool:
    if not isinstance(factor, sp.KroneckerDelta) or not all(i in sizes for i in factor.args):
        return False
    a, b = factor.args
    return same_size(sizes[a], sizes[b])


def subscripts(pairs: Sequence[tuple[int, int]], ndim: int) -> str:
    """Return what ``np.einsum`` takes to look at a diagonal: ``abad->abd``."""
    letters = [chr(ord("a") + p) for p in range(ndim)]
    gone = set()
    for kept, other in pairs:
        letters[other] = letters[kept]
        gone.add(other)
    return f"{''.join(letters)}->{''.join(x for p, x in enumerate(letters) if p not in gone)}"
