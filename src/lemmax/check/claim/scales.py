r"""Factors and signs: each summand of a claim gets a formal factor, whose value is read off the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import sympy as sp

from lemmax.check.claim.edits import Edit
from lemmax.check.claim.places import Place
from lemmax.check.claim.source import Reader, Source
from lemmax.check.points import AGREE, Point, near, value_of
from lemmax.errors import LemmaxError
from lemmax.expr.notation import tensor
from lemmax.expr.tensor import Tensor, identifier
from lemmax.interpret import Evaluator
from lemmax.parse import records as r

_NAME = "scaleof"
_NUMBERS = [
    sp.Rational(*pq)
    for pq in ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (3, 1), (1, 3), (3, 2), (2, 3), (8, 1), (1, 8))
]
_POWERS = (
    sp.Rational(-1, 2),
    sp.Rational(1, 2),
    sp.Integer(-1),
    sp.Integer(1),
    sp.Integer(-2),
    sp.Integer(2),
)
_MOST_SUMMANDS = 24


def scale_edits(
    source: Source,
    found: Sequence[Place],
    reader: Reader,
    points: Sequence[Point],
    units: Sequence[sp.Symbol],
) -> Iterator[Edit]:
    """Yield changes of one factor or sign that make the claim agree at all points.

    Args:
        source: the claim.
        found: its places.
        reader: what reads it.
        points: where the right values are known.
        units: sizes and scalar inputs that may stand in a factor.
    """
    scalar = tensor(_NAME)
    names = reader.names.copy()
    names.add(_NAME, scalar)
    scaled = Reader(names, reader.like, reader.indices, reader.vec)
    chosen = [p for p in found if _is_scaled(p)][:_MOST_SUMMANDS]
    for place in chosen:
        text = place.replaced(rf"\mathrm{{{_NAME}}} ({place.words})")
        try:
            candidate = scaled.tensor(source.with_piece(place.piece, text))
        except LemmaxError:
            continue
        factor = _factor(candidate, points, units)
        if factor is not None:
            new = place.replaced(rf"({sp.latex(factor)}) ({place.words})")
            yield _edit(place, factor, source.with_piece(place.piece, new))


def scalar_unit(t: Tensor) -> sp.Symbol:
    """Return what stands for a scalar input in a factor."""
    return sp.Symbol(str(t.name), real=True)


def _is_scaled(place: Place) -> bool:
    part = place.part
    if isinstance(part, r.Group) and part.left == "LCURLY":
        return False
    return place.is_summand or (isinstance(part, r.Group) and isinstance(part.parts[0], r.Sum))


def _edit(place: Place, factor: sp.Expr, source: Source) -> Edit:
    what = "the claim" if place.is_whole else place.words
    if factor == -1:
        words = "multiply the claim by -1" if place.is_whole else f"change the sign of {what}"
        return Edit("sign", words, source)
    if factor == 0:
        return Edit("extra term", f"leave out {what}", source)
    return Edit("factor", f"multiply {what} by {factor}", source)


def _factor(candidate: Tensor, points: Sequence[Point], sizes: Sequence[sp.Symbol]) -> sp.Expr | None:
    """Return the value of the formal factor at which the candidate is right at all points."""
    evaluator = Evaluator([candidate])

    def at(point: Point, s: float) -> np.ndarray | None:
        return value_of(evaluator, {**point.arrays, _NAME: np.asarray(s)}, point.sizes)

    solved = [_solved(point, at) for point in points]
    if not solved or any(x is None for x in solved):
        return None
    if all(isinstance(x, float) for x in solved):
        values = [float(x) for x in solved if x is not None]
        for factor in _factors(sizes):
            shown = [_number(factor, p) for p in points]
            if all(abs(a - b) <= AGREE * max(1.0, abs(b)) for a, b in zip(shown, values, strict=True)):
                return factor
        return None
    for factor in _few(sizes):  # not linear in the factor: a few are tried
        tried = [at(p, _number(factor, p)) for p in points]
        if all(v is not None and near(v, p.value) for v, p in zip(tried, points, strict=True)):
            return factor
    return None


def _solved(point: Point, at: object) -> float | str | None:
    """Return the factor if the candidate is linear in it, a word if it is not, ``None`` if none fits."""
    assert callable(at)
    zero, one, two = (at(point, s) for s in (0.0, 1.0, 2.0))
    if one is None or two is None or one.shape != point.value.shape:
        return None
    if zero is None:
        return "curved"
    slope = one - zero
    size = float(np.max(np.abs(point.value), initial=0.0)) + float(np.max(np.abs(one), initial=0.0))
    if np.max(np.abs(two - one - slope), initial=0.0) > AGREE * max(size, 1e-30):
        return "curved"
    square = float(np.sum(slope * slope))
    if square == 0:
        return None
    s = float(np.sum(slope * (point.value - zero)) / square)
    fitted = zero + s * slope
    scale = max(size, float(np.max(np.abs(zero), initial=0.0)), 1e-30)
    return s if np.max(np.abs(fitted - point.value), initial=0.0) <= AGREE * scale else None


def _factors(sizes: Sequence[sp.Symbol]) -> Iterator[sp.Expr]:
    yield sp.S.NegativeOne
    yield sp.S.Zero
    powers = [s**p for p in _POWERS for s in sizes if s.is_integer or p.is_integer]
    units = [sp.S.One, *powers]
    units += [s / t for s in sizes for t in sizes if s != t]
    units += [1 / (s * t) for k, s in enumerate(sizes) for t in sizes[k + 1 :]]
    for unit in units:
        for number in _NUMBERS:
            for sign in (1, -1):
                factor = sign * number * unit
                if factor not in (1, -1):
                    yield factor


def _few(sizes: Sequence[sp.Symbol]) -> Iterator[sp.Expr]:
    yield from (sp.S.NegativeOne, sp.S.Zero, sp.Integer(2), sp.Rational(1, 2), sp.Integer(-2))
    for size in (s for s in sizes if s.is_integer):
        yield from (1 / sp.sqrt(size), sp.sqrt(size), 1 / size, size)


def _number(factor: sp.Expr, point: Point) -> float:
    values: dict[sp.Symbol, float] = {}
    for s in factor.free_symbols:
        own = point.sizes.get(str(s))
        values[s] = float(point.arrays[identifier(str(s))]) if own is None else own
    return float(factor.subs(values))
