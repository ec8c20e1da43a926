r"""The content of a sum: the factor that all summands share, and the primitive rest.

``2 x e^{-y} + 4 x`` is ``2 x e^{-y}`` times ``1 + 2 e^y``.  The rest leads with coefficient 1, and of
several ways to divide by an exponential the one with the smallest text is taken; sums that
are equal up to a factor have equal rests.
"""

from __future__ import annotations

import sympy as sp

from lemmax.calculus.rewriting.dummies import text_of
from lemmax.calculus.terms import split_factors


def is_coefficient(expr: sp.Expr) -> bool:
    """Is the expression made of numbers and sizes alone?"""
    return not split_factors(expr)[1]


def prime_powers(expr: sp.Expr) -> sp.Expr:
    """Write powers of numbers with symbolic exponents as powers of primes: ``4**n`` as ``2**(2*n)``."""
    swap = {
        e: sp.Mul(*[q ** (k * e.exp) for q, k in sp.factorrat(e.base).items()])
        for e in expr.atoms(sp.Pow)
        if e.base.is_Rational and e.base not in (-1, 0, 1) and not e.exp.is_number
    }
    return expr.xreplace(swap) if swap else expr


def exponential(u: sp.Expr) -> sp.Expr:
    """Return ``e^u``, of a sum as the product of exponentials (SymPy joins multiples of one thing)."""
    return sp.Mul(*[sp.exp(a) for a in sp.Add.make_args(sp.expand(u))])


def exponent_of(factors: list[sp.Expr]) -> tuple[sp.Expr, list[sp.Expr]]:
    """Return what stands in the exponential among the factors (0 if there is none), and the others."""
    total: sp.Expr = sp.S.Zero
    others = []
    for f in factors:
        base, e = f.as_base_exp()
        if isinstance(f, sp.exp):
            total += f.args[0]
        elif isinstance(base, sp.exp):
            total += e * base.args[0]
        else:
            others.append(f)
    return total, others


def primitive(total: sp.Expr, signed: bool) -> tuple[sp.Expr, sp.Expr]:
    """Return ``(content, rest)`` with ``total = content * rest``.

    Args:
        total: a sum.
        signed: whether the content may be negative or of unknown sign; if not, it is positive.
    """
    split = []
    for part in total.args:
        coefficient, factors = split_factors(part)
        exponent, others = exponent_of(factors)
        split.append((coefficient, exponent, dict(f.as_base_exp() for f in others)))
    shared: dict[sp.Expr, sp.Expr] = {}
    if signed:
        for base in sorted({b for _, _, powers in split for b in powers}, key=lambda b: text_of(b, {})):
            exponents = [powers.get(base, sp.S.Zero) for _, _, powers in split]
            if all(e.is_number and e.is_real for e in exponents) and min(exponents) != 0:
                shared[base] = min(exponents)
    candidates = []
    pivots = {e for _, e, _ in split}
    for pivot in sorted(pivots, key=lambda e: text_of(e, {}))[:8]:
        bare = [
            (
                c,
                exponential(e - pivot)
                * sp.Mul(*[b ** (p - shared.get(b, 0)) for b, p in _all(powers, shared)]),
            )
            for c, e, powers in split
        ]
        order = sorted(range(len(bare)), key=lambda p: text_of(bare[p][1], {}))
        candidates.append(("|".join(text_of(bare[p][1], {}) for p in order), pivot, bare, order[0]))
    _, pivot, bare, first = min(candidates, key=lambda c: c[0])
    lead = bare[first][0]
    if not signed:
        lead = (
            sp.Abs(lead)
            if lead.is_number
            else (lead if lead.is_positive else -lead if lead.is_negative else sp.S.One)
        )
    rest = sp.Add(*[c / lead * b for c, b in bare])
    content = lead * exponential(pivot) * sp.Mul(*[b**e for b, e in shared.items()])
    return content, sp.expand(rest) if shared else rest


def _all(powers: dict[sp.Expr, sp.Expr], shared: dict[sp.Expr, sp.Expr]) -> list[tuple[sp.Expr, sp.Expr]]:
    return [*powers.items(), *((b, sp.S.Zero) for b in shared if b not in powers)]
