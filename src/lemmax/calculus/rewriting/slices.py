r"""Slices: of a sum of products they are sums of products of slices, :math:`(A B)_{s:t} = A_{s:t} B`."""

from __future__ import annotations

import sympy as sp

from lemmax.calculus.terms import entry_tensor
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor


def push_slice(node: Apply) -> Tensor | None:
    """Return a slice as slices of what is multiplied, or a slice of a slice as one, else ``None``."""
    t, starts = node.operands[0], node.param("starts")
    assert isinstance(starts, tuple)
    if isinstance(t, Apply) and t.function == "slice":
        inner = t.param("starts")
        assert isinstance(inner, tuple)
        both = tuple(sp.expand(a + b) for a, b in zip(starts, inner, strict=True))
        return Apply("slice", t.operands, node.shape, {"starts": both})
    if not isinstance(t, Lambda):
        return None
    cut = {
        i: (full, start, size)
        for i, full, start, size in zip(t.indices, t.shape, starts, node.shape, strict=True)
        if start != 0 or not same_size(full, size)
    }
    terms = []
    for term in t.terms:
        expr = _cut(term.expr, cut)
        if expr is None:
            return None
        terms.append(Term(term.bound, expr))
    return Lambda(node.shape, t.indices, tuple(terms))


def _cut(expr: sp.Expr, cut: dict[sp.Symbol, tuple[Size, sp.Expr, Size]]) -> sp.Expr | None:
    """Write entries at sliced indices as entries of slices; other places of these indices are not allowed."""
    swap: dict[sp.Basic, sp.Basic] = {}
    for e in expr.atoms(sp.Indexed):
        t = entry_tensor(e)
        if t is None or not any(i.has(*cut) for i in e.indices):
            continue
        starts, shape = [], []
        for i, size in zip(e.indices, t.shape, strict=True):
            full, start, new = cut.get(i, (size, sp.S.Zero, size))
            if not same_size(full, size) or (i not in cut and i.has(*cut)):
                return None
            starts.append(start)
            shape.append(new)
        swap[e] = Apply("slice", (t,), tuple(shape), {"starts": tuple(starts)}).entry(*e.indices)
    marks = {e: sp.Dummy() for e in swap}
    if expr.xreplace(marks).has(*cut):
        return None
    return expr.xreplace(swap)
