r"""Sums multiplied out: :math:`P (I - S P)` and :math:`(I - P S) P` are one summand."""

from __future__ import annotations

import sympy as sp

from lemmax.typeset.algebra import chain, parts_of, product
from lemmax.typeset.node import ONE, Node

_MOST_PRODUCTS = 12


def merged(parts: list[tuple[sp.Expr, Node]]) -> list[tuple[sp.Expr, Node]]:
    """Join summands that are the same when they are multiplied out."""
    if sum(x.op == "product" and any(a.op == "linear" for a in x.args) for _, x in parts) < 2:
        return parts
    found: dict[frozenset[tuple[str, sp.Expr]], tuple[sp.Expr, Node]] = {}
    for c, x in parts:
        key = frozenset((y.key, k) for y, k in _multiplied_out(x).items())
        before, kept = found.get(key, (sp.S.Zero, x))
        found[key] = before + c, min(kept, x, key=lambda y: (y.transposes, y.weight))
    return [(c, x) for c, x in found.values() if c != 0]


def _multiplied_out(x: Node) -> dict[Node, sp.Expr]:
    """Return the products that a product of sums is, with their coefficients; itself if they are many."""
    whole: list[tuple[sp.Expr, tuple[Node, ...]]] = [(ONE, ())]
    for factor in chain(x):
        whole = [(c * k, (*row, a)) for c, row in whole for k, a in parts_of(factor)]
        if len(whole) > _MOST_PRODUCTS:
            return {x: ONE}
    total: dict[Node, sp.Expr] = {}
    for c, row in whole:
        k, y = ONE, product(*row)
        if y.op == "linear" and len(y.args) == 1:
            (k,), (y,) = y.data, y.args
        total[y] = total.get(y, sp.S.Zero) + c * k
    return {y: c for y, c in total.items() if c != 0}
