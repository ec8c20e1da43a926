r"""Identities that look at one summand, as a table of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import sympy as sp

from lemmax.calculus.rewriting.fractions import cancel_fractions
from lemmax.calculus.rewriting.inverses import contract_inverses
from lemmax.calculus.terms import entry_tensor
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Input, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.engine import Engine, Ranges

Rule: TypeAlias = "Callable[[Engine, Term, Ranges], list[Term] | None]"


def diagonal_entries(engine: Engine, t: Tensor, at: tuple[sp.Expr, ...]) -> sp.Expr:
    """Return an entry of a tensor; of a diagonal matrix, as its diagonal entry times a delta."""
    if isinstance(t, Input) and "diagonal" in t.assumptions and at[-1] != at[-2]:
        engine.ledger.note("diagonal")
        return sp.KroneckerDelta(at[-2], at[-1]) * t.entry(*at[:-1], at[-2])
    return t.entry(*at)


def piece_of_concat(t: Tensor, at: tuple[sp.Expr, ...]) -> sp.Expr | None:
    """Return the entry of a piece at a number on the axis along which tensors were joined."""
    if not isinstance(t, Apply) or t.function != "concat":
        return None
    axis = t.param("axis")
    assert isinstance(axis, int)
    left = at[axis]
    for piece in t.operands:
        if not left.is_Integer or not piece.shape[axis].is_Integer:
            return None
        if left < piece.shape[axis]:
            return piece.entry(*at[:axis], left, *at[axis + 1 :])
        left -= piece.shape[axis]
    return None


def orthogonal_determinant(engine: Engine, term: Term, free: Ranges) -> list[Term] | None:
    """Use that the determinant of an orthogonal matrix is 1 or -1: its square is 1."""
    for f in sp.Mul.make_args(term.expr):
        base, exponent = f.as_base_exp()
        t = entry_tensor(base)
        if (
            isinstance(t, Apply)
            and t.function == "det"
            and _is_orthogonal(t.operands[0])
            and exponent.is_Integer
        ) and exponent not in (0, 1):
            engine.ledger.note("det of an orthogonal matrix")
            return [Term(term.bound, term.expr / f * base ** (int(exponent) % 2))]
    return None


def equate_free(engine: Engine, term: Term, free: Ranges) -> list[Term] | None:
    """Use a delta between indices that are not summed: the other factors see one of them."""
    if not term.expr.has(sp.KroneckerDelta):
        return None
    factors = list(sp.Mul.make_args(term.expr))
    for delta in factors:
        if not isinstance(delta, sp.KroneckerDelta):
            continue
        p, q = sorted(delta.args[:2], key=str)
        if p not in free or q not in free or not same_size(free[p], free[q]):
            continue
        rest = sp.Mul(*[f for f in factors if f is not delta])
        if q in rest.free_symbols:
            engine.ledger.note("delta")
            return [Term(term.bound, delta * rest.xreplace({q: p}))]
    return None


def contract_orthogonal(engine: Engine, term: Term, free: Ranges) -> list[Term] | None:
    r"""Contract :math:`\sum_k Q_{ki} Q_{kj} = \delta_{ij}`."""
    entries = [e for e in term.expr.atoms(sp.Indexed) if _is_orthogonal(e.base.label.tensor)]
    if not entries:
        return None
    factors = list(sp.Mul.make_args(term.expr))
    for k, size in term.bound:
        here = [f for f in factors if k in f.free_symbols]
        pair = [here[0].base] * 2 if len(here) == 1 and here[0].is_Pow and here[0].exp == 2 else here
        if len(pair) != 2 or any(e not in entries or e.indices.count(k) != 1 for e in pair):
            continue
        a, b = pair
        if entry_tensor(a) != entry_tensor(b) or a.indices.index(k) != b.indices.index(k):
            continue
        axis = a.indices.index(k)
        if not same_size(size, entry_tensor(a).shape[axis]):  # type: ignore[union-attr]
            continue  # a sum over some rows only
        engine.ledger.note("orthogonal")
        delta = sp.KroneckerDelta(a.indices[1 - axis], b.indices[1 - axis])
        rest = sp.Mul(*[f for f in factors if f not in here])
        return [Term(tuple((i, s) for i, s in term.bound if i != k), rest * delta)]
    return None


def _is_orthogonal(t: Tensor) -> bool:
    return isinstance(t, Input) and "orthogonal" in t.assumptions and t.ndim == 2


def square_of_sine(engine: Engine, term: Term, free: Ranges) -> list[Term] | None:
    r"""Write :math:`\sin^2 u` as :math:`1 - \cos^2 u`."""
    if not term.expr.has(sp.sin):
        return None
    for f in sp.Mul.make_args(term.expr):
        if f.is_Pow and isinstance(f.base, sp.sin) and f.exp.is_Integer and f.exp >= 2:
            engine.ledger.note("squared sine")
            rest = term.expr / f.base**2
            return [Term(term.bound, rest), Term(term.bound, -rest * sp.cos(f.base.args[0]) ** 2)]
    return None


def is_free(symbol: sp.Basic, term: Term) -> bool:
    """Is the symbol an index that is not summed in the term?"""
    return is_index(symbol) and symbol not in dict(term.bound)


RULES: tuple[Rule, ...] = (
    equate_free,
    contract_orthogonal,
    orthogonal_determinant,
    contract_inverses,
    square_of_sine,
    cancel_fractions,
)
"""Rules in the order in which they are tried."""
