r"""Functions of one variable in terms of few: exponentials, logarithms, absolute values.

Arguments come without sums over indices (see :mod:`lemmax.calculus.rewriting.atoms`).  A logarithm or a
root is taken of the absolute value, which is the same wherever it is defined; that is what makes
``log(a b) = log|a| + log|b|`` hold throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy as sp

from lemmax.calculus.rewriting.content import exponential, is_coefficient, primitive
from lemmax.calculus.rewriting.dummies import is_entry
from lemmax.calculus.rewriting.records import Ledger
from lemmax.calculus.rewriting.symmetry import is_nonnegative
from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.expr.functions import relu, sigmoid, softplus
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Input


class Domain:
    """What is known of signs, and what a function's being defined says about them.

    Attributes:
        positive: digests of tensors whose entries are positive wherever both sides are defined.
        found: those found to be so on the way.
        guarded: whether what is seen now is the branch of a case distinction, which says nothing.
    """

    def __init__(self, positive: frozenset[str], ledger: Ledger) -> None:
        """Start from what is known."""
        self.positive = positive
        self.found: set[str] = set()
        self.guarded = 0
        self.ledger = ledger

    def magnitude(self, f: sp.Expr) -> sp.Expr:
        """Return ``|f|``, or ``f`` if that is the same."""
        if is_nonnegative(f):
            return f
        if is_sign(f):
            self.ledger.note("det of an orthogonal matrix")
            return sp.S.One
        if is_nonnegative(f, self.positive):
            self.ledger.note("domain")
            return f
        return sp.Abs(f)

    def learn(self, f: sp.Expr) -> None:
        """Conclude from ``log f`` or a root of ``f`` that f is positive, if f is a general entry."""
        if self.guarded or not is_entry(f) or is_nonnegative(f):
            return
        at = indices_of(f)
        t = entry_tensor(f)
        if t is not None and all(map(is_index, at)) and len(set(at)) == len(at):
            self.found.add(t.digest)


def is_sign(f: sp.Expr) -> bool:
    """Is it the determinant of an orthogonal matrix, which is 1 or -1?"""
    t = entry_tensor(f)
    if not isinstance(t, Apply) or t.function != "det":
        return False
    m = t.operands[0]
    return isinstance(m, Input) and "orthogonal" in m.assumptions


def power(base: sp.Expr, exponent: sp.Expr, domain: Domain) -> sp.Expr:
    """Return ``base ** exponent``, the power of a product as a product of powers."""
    if base.is_number and exponent.is_number:
        return base**exponent
    if not exponent.is_number:
        return base**exponent
    whole = bool(exponent.is_Integer)
    if whole and exponent > 0:
        return base**exponent
    if isinstance(base, sp.exp):
        domain.ledger.note("exponential")
        return exponential(exponent * base.args[0])
    if isinstance(base, sp.Mul):
        domain.ledger.note("root" if not whole else "fraction")
        return sp.Mul(*[power(_size(f, whole, domain), exponent, domain) for f in base.args])
    if isinstance(base, sp.Pow) and base.exp.is_number:
        inner = base.base if whole or base.exp.is_Integer is False else _size(base.base, False, domain)
        return power(inner, base.exp * exponent, domain)
    if isinstance(base, sp.Add):
        content, rest = primitive(base, signed=whole)
        if content != 1:
            domain.ledger.note("root" if not whole else "fraction")
            return power(content, exponent, domain) * power(_size(rest, whole, domain), exponent, domain)
        if not whole:
            domain.learn(base)
        return base**exponent
    if whole:
        return base**exponent
    domain.learn(base)
    return _size(base, False, domain) ** exponent


def _size(f: sp.Expr, whole: bool, domain: Domain) -> sp.Expr:
    if whole or isinstance(f, sp.Add):
        return f
    if f.is_number:
        return sp.Abs(f)
    return domain.magnitude(f)


def logarithm(u: sp.Expr, domain: Domain) -> sp.Expr:
    """Return ``log u`` as a sum of logarithms of primitive factors."""
    if isinstance(u, sp.exp):
        domain.ledger.note("exponential")
        return u.args[0]
    if u.is_Rational and u > 0:
        return sp.Add(*[e * sp.log(p) for p, e in sp.factorrat(u).items()])
    if isinstance(u, sp.Mul):
        domain.ledger.note("logarithm")
        return sp.Add(*[logarithm(sp.Abs(f) if f.is_number else domain.magnitude(f), domain) for f in u.args])
    if isinstance(u, sp.Pow) and u.exp.is_number:
        domain.ledger.note("logarithm")
        return u.exp * logarithm(domain.magnitude(u.base), domain)
    if isinstance(u, sp.Abs) and isinstance(u.args[0], sp.Mul | sp.Pow):
        return logarithm(u.args[0], domain)
    if isinstance(u, sp.Add):
        above, below = sp.fraction(sp.together(u), exact=True)
        if below.has(sp.Add):  # log(1 - 1 / (1 + e)) = log e - log(1 + e)
            domain.ledger.note("logarithm")
            return logarithm(sp.Abs(sp.expand(above)), domain) - logarithm(sp.Abs(below), domain)
        content, rest = primitive(u, signed=False)
        if content != 1:
            domain.ledger.note("logarithm")
            return logarithm(content, domain) + logarithm(rest, domain)
        return sp.log(domain.magnitude(u))
    domain.learn(u)
    return sp.log(u if is_coefficient(u) else domain.magnitude(u))


def absolute(u: sp.Expr, domain: Domain) -> sp.Expr:
    """Return ``|u|``: of a product factor by factor, of a sum up to its leading coefficient."""
    if isinstance(u, sp.Mul):
        domain.ledger.note("absolute value")
        return sp.Mul(*[absolute(f, domain) for f in u.args])
    if isinstance(u, sp.Pow) and u.exp.is_Integer:
        return u if int(u.exp) % 2 == 0 else absolute(u.base, domain) ** u.exp
    if isinstance(u, sp.Add):
        content, rest = primitive(u, signed=True)
        if content != 1:
            domain.ledger.note("absolute value")
            return absolute(content, domain) * absolute(rest, domain)
    return sp.Abs(u) if u.is_number else domain.magnitude(u)


def _larger(args: tuple[sp.Expr, ...], sign: int, domain: Domain) -> sp.Expr:
    first, *others = args
    for other in others:
        domain.ledger.note("larger of two")
        first = (first + other + sign * absolute(sp.expand(first - other), domain)) / 2
    return first


def _logistic(u: sp.Expr, domain: Domain) -> sp.Expr:
    domain.ledger.note("hyperbolic")
    return 1 - power(1 + exponential(u), sp.Integer(-1), domain)


def _tanh(u: sp.Expr, domain: Domain) -> sp.Expr:
    domain.ledger.note("hyperbolic")
    return 1 - 2 * power(1 + exponential(2 * u), sp.Integer(-1), domain)


def _softplus(u: sp.Expr, domain: Domain) -> sp.Expr:
    domain.ledger.note("hyperbolic")
    return logarithm(1 + exponential(u), domain)


def _sum_of_exponentials(sign: int) -> Callable[[sp.Expr, Domain], sp.Expr]:
    def of(u: sp.Expr, domain: Domain) -> sp.Expr:
        domain.ledger.note("hyperbolic")
        return (exponential(u) + sign * exponential(-u)) / 2

    return of


def _tan(u: sp.Expr, domain: Domain) -> sp.Expr:
    domain.ledger.note("hyperbolic")
    return sp.sin(u) * power(sp.cos(u), sp.Integer(-1), domain)


def _relu(u: sp.Expr, domain: Domain) -> sp.Expr:
    domain.ledger.note("larger of two")
    return (u + absolute(u, domain)) / 2


_OF_ONE: Mapping[type, Callable[[sp.Expr, Domain], sp.Expr]] = {
    sp.log: logarithm,
    sp.Abs: absolute,
    sigmoid: _logistic,
    softplus: _softplus,
    relu: _relu,
    sp.tanh: _tanh,
    sp.sinh: _sum_of_exponentials(-1),
    sp.cosh: _sum_of_exponentials(1),
    sp.tan: _tan,
}


def rewrite_function(expr: sp.Expr, args: tuple[sp.Expr, ...], domain: Domain) -> sp.Expr:
    """Return the function ``expr`` of new arguments in terms of the basic ones."""
    if isinstance(expr, sp.Pow):
        return power(args[0], args[1], domain)
    if isinstance(expr, sp.exp):
        if isinstance(args[0], sp.Add):
            domain.ledger.note("exponential")
        return exponential(args[0])
    if isinstance(expr, sp.Max | sp.Min) and sp.oo not in args and -sp.oo not in args:
        return _larger(args, 1 if isinstance(expr, sp.Max) else -1, domain)
    rule = _OF_ONE.get(type(expr))
    if rule is not None and len(args) == 1:
        return rule(args[0], domain)
    return expr.func(*args)
