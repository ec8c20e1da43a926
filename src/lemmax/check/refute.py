r"""Refutations of an equality: a point at which the enclosures of the two sides are disjoint.

Where a function has no enclosures (singular values, ranks, ...), the sides are evaluated with 50 and with 100
digits instead, and have to differ by far more than the two precisions differ from one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from lemmax.check.exact_points import ExactPoint
from lemmax.errors import EvaluationError, MissingRule
from lemmax.expr.functions import step
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.tensor import Tensor
from lemmax.interpret import Evaluator
from lemmax.interpret.enclosed import EnclosedArithmetic
from lemmax.interpret.enclosure import Enclosure
from lemmax.interpret.multiprecision import MpArithmetic
from lemmax.statement.verdict import Comparison, Witness

SHOWN = 20  # digits
_COARSE, _FINE = 50, 100
_MARGIN = 10**10  # the sides must differ by this many times what the two precisions differ
_SHARP = 10.0 ** (-_COARSE // 2)  # relative difference up to which sides agree
_BLURRED = 1e-12  # the same where constants are floats, that is rounded


@dataclass
class Refuter:
    """Compares two sides at points.

    Attributes:
        left: left side.
        right: right side.
        floats: whether constants of the sides are floats; then a small relative difference refutes nothing.
    """

    left: Tensor
    right: Tensor
    floats: bool = False

    def __post_init__(self) -> None:
        """Compile both sides."""
        self._evaluator = Evaluator([self.left, self.right])
        self._enclosed = True
        self._jumps = any(map(_jumps, topological_order(self.left, self.right)))

    def witness(self, point: ExactPoint) -> Witness | None:
        """Return the point as a witness if the sides differ there.

        Raises:
            EvaluationError: a side is undefined there, or not decided to be defined.
        """
        if self._enclosed:
            try:
                return self._with_enclosures(point)
            except MissingRule:
                self._enclosed = False
        if self._jumps:
            raise EvaluationError("a function that jumps, of numbers that are rounded")
        return self._with_digits(point)

    def _with_enclosures(self, point: ExactPoint) -> Witness | None:
        left, right = self._run(point, EnclosedArithmetic())
        for z in (*left.flat, *right.flat):
            if not z.is_defined:
                raise EvaluationError("a side is not finite")
        for at in np.ndindex(left.shape):
            x: Enclosure = left[at]
            y: Enclosure = right[at]
            if not (x.below(y) or y.below(x)):
                continue
            apart = abs(x.middle() - y.middle())
            if self.floats and apart <= Fraction(_BLURRED) * (abs(x.middle()) + abs(y.middle())):
                continue
            claim = "the sides" if x.is_exact and y.is_exact else "enclosures of the sides"
            return _witness(point, claim, *_apart(x, y), at)
        return None

    def _with_digits(self, point: ExactPoint) -> Witness | None:
        coarse = self._run(point, MpArithmetic(_COARSE))
        fine = self._run(point, MpArithmetic(_FINE))
        blur = _BLURRED if self.floats else _SHARP
        for z in (*fine[0].flat, *fine[1].flat):
            if z != z or abs(z) == float("inf"):
                raise EvaluationError("a side is not finite")
        for at in np.ndindex(fine[0].shape):
            a, b = fine[0][at], fine[1][at]
            slip = abs(coarse[0][at] - a) + abs(coarse[1][at] - b)
            if abs(a - b) > _MARGIN * slip and abs(a - b) > blur * (abs(a) + abs(b)):
                import mpmath

                texts = [str(mpmath.nstr(z, SHOWN)) for z in (a, b)]
                return _witness(point, f"the sides, to {_COARSE} digits", texts[0], texts[1], at)
        return None

    def _run(self, point: ExactPoint, arithmetic: Any) -> list[Any]:
        values = self._evaluator.run(point.arrays, sizes=point.sizes, arithmetic=arithmetic)
        return [np.asarray(v, dtype=object) for v in values]


def _jumps(node: Tensor) -> bool:
    """Is a value decided by a comparison, which rounding may turn?"""
    if isinstance(node, Apply):
        return node.function in ("rank", "pinv", "argmax_mask", "argmin_mask")
    kinds = (sp.Piecewise, sp.sign, step, sp.floor, sp.ceiling)
    return isinstance(node, Lambda) and any(term.expr.has(*kinds) for term in node.terms)


def _witness(point: ExactPoint, claim: str, left: str, right: str, at: tuple[int, ...]) -> Witness:
    return Witness(point.sizes, point.entries, (Comparison(claim, "==", left, right, at, _COARSE, False),))


def _apart(x: Enclosure, y: Enclosure) -> tuple[str, str]:
    """Return both numbers in as many digits as tell them apart."""
    for digits in (SHOWN, 2 * SHOWN, 3 * SHOWN):
        left, right = (_digits(z, digits) for z in (x, y))
        if left != right:
            break
    return left, right


def _digits(x: Enclosure, digits: int) -> str:
    import mpmath

    context = mpmath.MPContext()
    context.dps = 3 * SHOWN + 10
    value = x.middle()
    return str(context.nstr(context.mpf(value.numerator) / value.denominator, digits))
