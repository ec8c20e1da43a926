r"""Common factors of numerators and denominators, also where the denominator is a sum over an index.

``sum_j e^{x_ij} / Z_i`` with ``Z_i = sum_j e^{x_ij}`` is 1, and ``e^u / (1 + e^u)`` is ``1 - 1 / (1 + e^u)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from lemmax.calculus.rewriting.atoms import connected_parts, entry_of_part
from lemmax.calculus.rewriting.content import exponent_of
from lemmax.calculus.rewriting.dummies import is_entry, text_of
from lemmax.calculus.terms import entry_tensor, split_factors
from lemmax.expr.nodes import Lambda, Term

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.engine import Engine, Ranges


def cancel_fractions(engine: Engine, term: Term, free: Ranges) -> list[Term] | None:
    """Cancel what a summand has in its numerator and in a denominator."""
    factors = sp.Mul.make_args(term.expr)
    below = [
        f
        for f in factors
        if isinstance(f, sp.Pow)
        and f.exp.is_number
        and not (f.exp.is_Integer and f.exp > 0)
        and f.base != sp.E
    ]
    if not below:
        return None
    sums = {f.base for f in below if is_entry(f.base) and isinstance(entry_tensor(f.base), Lambda)}
    if sums and term.bound:
        folded = _folded(engine, term, free, sums)
        if folded is not None:
            return [folded]
    for f in sorted(below, key=lambda f: text_of(f, {})):
        if isinstance(f.base, sp.Add) and f.exp.is_Integer:
            step = _divided(engine, term, factors, f, free)
            if step is not None:
                return step
    return None


def _folded(engine: Engine, term: Term, free: Ranges, sums: set[sp.Expr]) -> Term | None:
    """Write a connected sum as an entry if a power of that entry stands beside it."""
    outside, parts = connected_parts(term)
    ranges = {**free, **dict(term.bound)}
    for part in parts:
        if any(e.has(*[i for i, _ in part[0]]) for e in sums):
            # the denominator hangs on this sum: its own sum may still be a part once the rest is taken apart
            inner = _inner_sum(engine, term, part, ranges, sums)
            if inner is not None:
                return inner
            continue
        entry = entry_of_part(part, ranges, engine.made)
        bare = split_factors(entry)[1]
        if any(b in sums for b in bare):
            engine.ledger.note("fraction")
            gone = {i for i, _ in part[0]}
            rest = sp.Mul(outside, *[p[1] for p in parts if p is not part])
            return Term(tuple((i, s) for i, s in term.bound if i not in gone), rest * entry)
    return None


def _inner_sum(
    engine: Engine,
    term: Term,
    part: tuple[tuple[tuple[sp.Symbol, sp.Expr], ...], sp.Expr],
    ranges: Ranges,
    sums: set[sp.Expr],
) -> Term | None:
    """Look for the sum inside a part: of all indices that the denominators do not depend on."""
    held = {s for e in sums for s in e.free_symbols}
    bound = tuple((i, s) for i, s in term.bound if i not in held)
    if not bound:
        return None
    outside, parts = connected_parts(Term(bound, term.expr))
    for inner in parts:
        entry = entry_of_part(inner, ranges, engine.made)
        if any(b in sums for b in split_factors(entry)[1]):
            engine.ledger.note("fraction")
            gone = {i for i, _ in inner[0]}
            rest = sp.Mul(outside, *[p[1] for p in parts if p is not inner])
            # sizes of sums that hang on nothing were counted by connected_parts already
            absent = {i for i, _ in bound if i not in term.expr.free_symbols}
            return Term(tuple((i, s) for i, s in term.bound if i not in gone | absent), rest * entry)
    return None


def _divided(
    engine: Engine, term: Term, factors: tuple[sp.Expr, ...], below: sp.Pow, free: Ranges
) -> list[Term] | None:
    """Divide by the leading summand of a denominator: ``p / (p + r) = 1 - r / (p + r)``."""
    total = below.base
    above = [f for f in factors if f != below]
    exponent, others = exponent_of(above)
    for pivot in sorted(total.args, key=lambda a: (-sp.count_ops(a), text_of(a, {}))):
        coefficient, own = split_factors(pivot)
        if not own:
            continue
        own_exponent, own_others = exponent_of(own)
        powers = dict(f.as_base_exp() for f in others)
        fits = all(
            b in powers and powers[b].is_number and e.is_number and powers[b] >= e > 0
            for b, e in (f.as_base_exp() for f in own_others)
        )
        times = _multiple(exponent, own_exponent) if own_exponent != 0 else None
        rest = sp.Add(*[a for a in total.args if a is not pivot])
        if fits and (own_exponent == 0 or (times is not None and times >= 1)):
            engine.ledger.note("fraction")
            quotient = sp.Mul(*above) / sp.Mul(*own) / coefficient
            return _spread(
                engine, term, free, (quotient * total ** (below.exp + 1), sp.S.One), (-quotient * below, rest)
            )
        if not own_others and times is not None and times <= -1 and not split_factors(rest)[1]:
            # e^{-u} / (r + c e^u) = (e^{-u} - c / (r + c e^u)) / r
            engine.ledger.note("fraction")
            top = sp.Mul(*above) / rest
            return _spread(
                engine,
                term,
                free,
                (top * total ** (below.exp + 1), sp.S.One),
                (-top * below, coefficient * sp.Mul(*own)),
            )
        break  # only the leading summand
    return None


def _spread(engine: Engine, term: Term, free: Ranges, *products: tuple[sp.Expr, sp.Expr]) -> list[Term]:
    ranges = {**free, **dict(term.bound)}
    result = []
    for factor, total in products:
        for part in sp.Add.make_args(total):
            for t in engine.expand(sp.expand_mul(factor * part), ranges, settled=True):
                result.append(Term(term.bound + t.bound, t.expr))
    return result


def _multiple(w: sp.Expr, u: sp.Expr) -> int | None:
    """Return how often the leading part of ``u`` goes into ``w``."""
    parts = {sp.Mul(*split_factors(a)[1]): split_factors(a)[0] for a in sp.Add.make_args(u)}
    lead = max(parts, key=lambda a: text_of(a, {}))
    found = {sp.Mul(*split_factors(a)[1]): split_factors(a)[0] for a in sp.Add.make_args(sp.expand(w))}
    if lead not in found or lead == 1:
        return 0
    ratio = sp.cancel(found[lead] / parts[lead])
    if not ratio.is_Rational:
        return None
    return int(sp.floor(ratio)) if ratio > 0 else int(sp.ceiling(ratio))
