r"""Terms of index lambdas: factors, opening a lambda at given indices, contracting deltas, collecting."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor, TensorSymbol


def has_entries(expr: sp.Basic) -> bool:
    """Does the expression hold an entry of a tensor?"""
    return bool(expr.atoms(TensorSymbol))


def has_indices(expr: sp.Basic) -> bool:
    """Does the expression hold an index symbol?"""
    return any(is_index(s) for s in expr.atoms(sp.Symbol))


def split_factors(expr: sp.Expr) -> tuple[sp.Expr, list[sp.Expr]]:
    """Return ``(coefficient, factors)``: the coefficient holds neither entries nor indices."""
    coefficient: list[sp.Expr] = []
    factors: list[sp.Expr] = []
    for factor in sp.Mul.make_args(expr):
        (factors if has_entries(factor) or has_indices(factor) else coefficient).append(factor)
    return sp.Mul(*coefficient), factors


def entry_tensor(expr: sp.Basic) -> Tensor | None:
    """Return the tensor of which ``expr`` is an entry (a bare symbol for a scalar), else ``None``."""
    if isinstance(expr, sp.Indexed) and isinstance(expr.base.label, TensorSymbol):
        return expr.base.label.tensor
    return expr.tensor if isinstance(expr, TensorSymbol) else None


def entries_in(expr: sp.Expr) -> list[sp.Expr]:
    """Return the entries of tensors in an expression (not the labels inside them)."""
    found = [e for e in expr.atoms(sp.Indexed, sp.Symbol) if entry_tensor(e) is not None]
    return [e for e in found if not (isinstance(e, TensorSymbol) and e.tensor.ndim)]


def entries_of(expr: sp.Expr, tensor: Tensor) -> list[sp.Expr]:
    """Return the different entries of ``tensor`` in ``expr``, sorted by text."""
    if tensor.ndim == 0:
        return [tensor.symbol] if tensor.symbol in expr.atoms(TensorSymbol) else []
    return sorted((e for e in expr.atoms(sp.Indexed) if entry_tensor(e) == tensor), key=str)


def indices_of(entry: sp.Expr) -> tuple[sp.Expr, ...]:
    """Return the indices of an entry."""
    return tuple(entry.indices) if isinstance(entry, sp.Indexed) else ()


def open_lambda(node: Lambda, at: tuple[sp.Expr, ...]) -> list[Term]:
    """Return the terms of ``node`` at indices ``at``, summed indices renamed apart."""
    opened = []
    for term in node.terms:
        new = fresh(len(term.bound))
        swap: dict[sp.Basic, sp.Basic] = dict(zip(node.indices, at, strict=True))
        swap.update({old: i for (old, _), i in zip(term.bound, new, strict=True)})
        bound = tuple((i, s) for i, (_, s) in zip(new, term.bound, strict=True))
        opened.append(Term(bound, term.expr.xreplace(swap)))
    return opened


def contract_deltas(term: Term, free: Mapping[sp.Symbol, Size]) -> Term:
    r"""Sum over indices that a Kronecker delta fixes: ``sum_k delta(k, j) a(k)`` is ``a(j)``.

    Only deltas between indices of one range are contracted (else the sum may be 0 where
    ``a(j)`` is not), and deltas with a constant that lies inside the range for certain.
    """
    bound = dict(term.bound)
    expr = term.expr
    while True:
        for factor in sp.Mul.make_args(expr):
            if not isinstance(factor, sp.KroneckerDelta):
                continue
            swap = solve_delta(factor, bound, free)
            if swap is not None:
                gone, by = swap
                rest = sp.Mul(*[f for f in sp.Mul.make_args(expr) if f is not factor])
                expr = rest.xreplace({gone: by})
                del bound[gone]
                break
        else:
            return Term(tuple(bound.items()), expr)


def solve_delta(
    delta: sp.KroneckerDelta, bound: Mapping[sp.Symbol, Size], free: Mapping[sp.Symbol, Size]
) -> tuple[sp.Symbol, sp.Expr] | None:
    """Return the summed index that a delta fixes, and its value; ``None`` if there is none."""
    p, q = delta.args
    for gone, by in ((p, q), (q, p)):
        if gone not in bound:
            continue
        other = bound.get(by, free.get(by))
        if other is not None and same_size(other, bound[gone]):
            return gone, by
        if other is None and not has_indices(by) and by.is_nonnegative and (bound[gone] - by).is_positive:
            return gone, by
    return None


def serialise(expr: sp.Basic, colour: Mapping[sp.Symbol, str]) -> str:
    """Return a text that does not depend on the names of coloured indices nor on SymPy's order."""
    if isinstance(expr, TensorSymbol):
        return f"{expr.name}@{expr.tensor.digest[:12]}"
    if isinstance(expr, sp.Symbol):
        return colour.get(expr, expr.name)
    if not expr.args:
        return str(expr)
    parts = [serialise(a, colour) for a in expr.args]
    if isinstance(expr, sp.Add | sp.Mul | sp.KroneckerDelta):
        parts.sort()
    return f"{type(expr).__name__}({','.join(parts)})"


def is_monomial(expr: sp.Expr) -> bool:
    """Is the expression a product of a coefficient, entries, their positive integer powers, and deltas?"""
    for factor in split_factors(expr)[1]:
        base, exponent = factor.as_base_exp()
        if isinstance(factor, sp.KroneckerDelta):
            continue
        if entry_tensor(base) is None or not (exponent.is_Integer and exponent > 0):
            return False
    return True
