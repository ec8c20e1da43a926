r"""Kinks that are none: pieces that meet with equal values and slopes, as in :math:`\max(1 - u, 0)^2`.

A body in one entry x is examined along the argument t of its kinks.  If t is linear in x, x is written by it;
else the kinks move with t while x is held, which asks for more than is needed.  Between the points where an
argument of a kink is 0 the body is one smooth piece; at each such point the pieces beside it, the value there
and the slope that is computed there must agree.  Whatever cannot be decided counts as a kink.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import sympy as sp

from lemmax.expr.functions import relu, step
from lemmax.expr.tensor import TensorSymbol

KINKS = (sp.Abs, sp.sign, sp.Max, sp.Min, relu, step, sp.floor, sp.ceiling, sp.Heaviside)
"""Functions with kinks or jumps."""

_ONE_ARGUMENT = (sp.Abs, sp.sign, relu, step, sp.Heaviside)
_COMPARISONS = (sp.Lt, sp.Le, sp.Gt, sp.Ge)
_NEVER = (sp.floor, sp.ceiling, sp.Max, sp.Min, sp.Eq, sp.Ne)
_MOST_POINTS = 8


@lru_cache(maxsize=1024)  # flattening asks again and again
def is_smooth_in(body: sp.Expr, entry: sp.Expr) -> bool:
    """Has a body a continuous derivative in an entry of a tensor?"""
    x = sp.Dummy("x", **({"positive": True} if entry.is_positive else {"real": True}))
    held = body.xreplace({entry: x})
    return not has_kinks(held, x) or is_smooth(held, x)


def has_kinks(body: sp.Expr, x: sp.Symbol) -> bool:
    """Does a symbol occur in functions with kinks, or in what cases depend on?"""
    kinks = any(x in f.free_symbols for f in body.atoms(*KINKS))
    return kinks or any(x in c.free_symbols for f in body.atoms(sp.Piecewise) for _, c in f.args)


def is_smooth(body: sp.Expr, x: sp.Symbol) -> bool:
    """Has a body a continuous derivative in x, though functions with kinks occur in it?

    Args:
        body: a scalar expression.
        x: the symbol of an entry.
    """
    body = without_extremes(body)
    if any(x in f.free_symbols for f in body.atoms(*_NEVER)):
        return False
    arguments = [a for a in _arguments(body) if x in a.free_symbols]
    innermost = [a for a in arguments if not a.has(*_ONE_ARGUMENT, sp.Piecewise)]
    if not innermost:
        return False
    t = sp.Dummy("t", real=True)
    along = _along(body, sorted(innermost, key=sp.default_sort_key)[0], x, t)
    if along is None:
        return False
    points = _breakpoints(along, t)
    if points is None:
        return False
    slope = sp.diff(along, t).replace(sp.Heaviside, lambda z, *_: step(z))
    slope = slope.replace(sp.DiracDelta, lambda *_: sp.S.Zero)
    samples = _between(points)
    pieces = [_piece(along, t, s) for s in samples]
    return all(
        p is not None and q is not None and _meet(along, slope, (p, q), t, at)
        for at, p, q in zip(points, pieces, pieces[1:], strict=False)
    )


def without_extremes(expr: sp.Expr) -> sp.Expr:
    """Write ``max(a, b)`` as ``a + relu(b - a)``, and ``min`` alike, for the derivative.

    SymPy's derivatives of ``max(a, b)`` in a and in b are both 0 where a = b, which is no subgradient:
    the two must add up to 1.  Constants come first, so that the slope of ``max(x, 0)`` at 0 is that of relu.
    """
    return expr.replace(sp.Max, lambda *args: _fold(1, args)).replace(sp.Min, lambda *args: _fold(-1, args))


def _fold(sign: int, args: tuple[sp.Expr, ...]) -> sp.Expr:
    first, *others = sorted(args, key=lambda a: (bool(a.atoms(TensorSymbol)), str(a)))
    for other in others:
        first += sign * relu(sign * (other - first))
    return first


def _arguments(body: sp.Expr) -> Iterator[sp.Expr]:
    """Yield what is compared with 0: arguments of kinks, and the difference of the sides of comparisons."""
    for f in sorted(body.atoms(*_ONE_ARGUMENT), key=sp.default_sort_key):
        yield sp.expand(f.args[0])
    for c in sorted(body.atoms(*_COMPARISONS), key=sp.default_sort_key):
        yield sp.expand(c.lhs - c.rhs)


def _along(body: sp.Expr, argument: sp.Expr, x: sp.Symbol, t: sp.Symbol) -> sp.Expr | None:
    """Write the body by the argument of a kink; ``None`` if other kinks do not go along with it."""
    slope = sp.diff(argument, x)
    if x not in slope.free_symbols:
        body = body.xreplace({x: (t - argument.xreplace({x: sp.S.Zero})) / slope})
        body = body.replace(lambda e: isinstance(e, _ONE_ARGUMENT), lambda f: f.func(sp.expand(f.args[0])))
        body = body.replace(
            lambda e: isinstance(e, _COMPARISONS), lambda c: c.func(sp.expand(c.lhs - c.rhs), 0)
        )
    else:
        swap = {f: f.func(t) for f in body.atoms(*_ONE_ARGUMENT) if sp.expand(f.args[0] - argument) == 0}
        swap |= {
            c: c.func(t, 0) for c in body.atoms(*_COMPARISONS) if sp.expand(c.lhs - c.rhs - argument) == 0
        }
        body = body.xreplace(swap)
    moving = [a for a in _arguments(body) if a.free_symbols & {x, t}]
    return body if all(a.free_symbols == {t} for a in moving) else None


def _breakpoints(body: sp.Expr, t: sp.Symbol) -> list[sp.Expr] | None:
    """Return the numbers where arguments of kinks are 0, in order; ``None`` if one is not linear between."""
    points: list[sp.Expr] = []
    arguments = [a for a in _arguments(body) if t in a.free_symbols]
    while len(points) <= _MOST_POINTS:
        found: set[sp.Expr] = set()
        is_open = False
        edges = [-sp.oo, *points, sp.oo]
        for sample, low, high in zip(_between(points), edges, edges[1:], strict=False):
            for a in arguments:
                piece = _piece(a, t, sample)
                if piece is None:
                    is_open = True  # the sample is a breakpoint itself, perhaps
                    continue
                slope = sp.diff(piece, t)
                if not slope.is_number:
                    return None
                root = -piece.xreplace({t: sp.S.Zero}) / slope if slope != 0 else sp.nan
                if root.is_real and low < root < high:
                    found.add(root)
        if not found:
            return None if is_open else points
        points = sorted({*points, *found})
    return None


def _between(points: list[sp.Expr]) -> list[sp.Expr]:
    """Return a number in each interval that points bound."""
    if not points:
        return [sp.S.Zero]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(points)]
    return [points[0] - 1, *middles, points[-1] + 1]


def _piece(body: sp.Expr, t: sp.Symbol, at: sp.Expr) -> sp.Expr | None:
    """Return the smooth piece of a body around a number, or ``None`` if that is not decided."""
    pieces: dict[sp.Basic, sp.Expr] = {}
    for f in body.atoms(*_ONE_ARGUMENT, sp.Piecewise):
        if t not in f.free_symbols:
            continue
        piece = _branch(f, t, at)
        if piece is None:
            return None
        pieces[f] = piece
    # outer ones first: what is nested stands in their branches again
    for f in sorted(pieces, key=sp.count_ops, reverse=True):
        body = body.xreplace({f: pieces[f]})
    return body if not body.atoms(*_ONE_ARGUMENT, sp.Piecewise) & set(pieces) else _piece(body, t, at)


def _branch(f: sp.Expr, t: sp.Symbol, at: sp.Expr) -> sp.Expr | None:
    if isinstance(f, sp.Piecewise):
        for value, condition in f.args:
            known = condition.subs(t, at)
            if known == sp.true:
                branch: sp.Expr = value
                return branch
            if known != sp.false:
                return None
        return None
    (u, *_) = f.args
    value = u.subs(t, at)
    if not value.is_number or not (value.is_positive or value.is_negative):
        return None
    up, down = {
        sp.Abs: (u, -u),
        sp.sign: (sp.S.One, -sp.S.One),
        relu: (u, sp.S.Zero),
    }.get(f.func, (sp.S.One, sp.S.Zero))
    return up if value.is_positive else down


def _meet(body: sp.Expr, slope: sp.Expr, pieces: tuple[sp.Expr, sp.Expr], t: sp.Symbol, at: sp.Expr) -> bool:
    """Do the pieces beside a number have the value and the slope of the body there?"""
    value, tangent = body.subs(t, at), slope.subs(t, at)
    s = sp.Dummy("s", positive=True)  # the distance, of which SymPy knows the powers
    gaps = []
    for piece, sign in zip(pieces, (-1, 1), strict=True):
        beside = piece.subs(t, at + sign * s)
        gaps += [beside.subs(s, 0) - value, sign * sp.diff(beside, s).subs(s, 0) - tangent]
    return all(sp.expand(gap).is_zero is True for gap in gaps)
