r"""The rounding arithmetic: float64 with a running bound on the rounding error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from lemmax.errors import EvaluationError, MissingRule, UnsupportedYet
from lemmax.expr.special import split_key
from lemmax.interpret import rounded_matrices, rounded_reductions
from lemmax.interpret.arrays import COMPARE
from lemmax.interpret.floating import FLOAT
from lemmax.interpret.protocol import Condition, IntArray
from lemmax.interpret.rounded import (
    EPS,
    SUBNORMAL,
    Array,
    Rounded,
    add,
    divide,
    finish,
    is_exact,
    is_singular,
    multiply,
    power,
)
from lemmax.interpret.rounded_functions import FUNCTIONS, apply

_ONE = Rounded(np.float64(1.0), 0.0)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _rational(numerator: int, denominator: int) -> Rounded:
    value = np.float64(numerator / denominator)
    exact = Fraction(float(value)) == Fraction(numerator, denominator)
    return Rounded(value, 0.0 if exact else np.abs(value) * EPS)  # type: ignore[arg-type]


class RoundingArithmetic:
    """float64 values with radii such that, for practical purposes, ``|computed - exact| <= radius``.

    Inputs count as exact.  A comparison whose sides are closer than the sum of their radii is
    undecided and has to be repeated with more digits.  The radii are a first-order error analysis with
    generous constants, not a proof.
    """

    name = "rounding"
    resolution = EPS

    def array(self, numbers: Array) -> Rounded:
        """Take over real numbers; what float64 does not hold exactly gets a radius."""
        value = FLOAT.array(numbers)
        if numbers.dtype in (np.float64, np.float32, np.float16):
            return Rounded(value, 0.0)
        if numbers.dtype.kind in "iu" and np.abs(value).max(initial=0.0) < 2.0**53:
            return Rounded(value, 0.0)
        return Rounded(value, np.where(np.isinf(value), 0.0, np.abs(value) * EPS))

    def rational(self, numerator: int, denominator: int) -> Rounded:
        """Return the nearest float."""
        return _rational(numerator, denominator)

    def constant(self, name: str) -> Rounded:
        """Return a constant."""
        value = FLOAT.constant(name)
        return Rounded(value, 0.0 if not np.isfinite(value) else float(value) * EPS)

    def integers(self, numbers: IntArray) -> Rounded:
        """Return integers as floats."""
        return Rounded(FLOAT.integers(numbers), 0.0)

    def shape(self, x: Rounded) -> tuple[int, ...]:
        """Return the shape."""
        return np.shape(x.value)

    def has_nan(self, x: Rounded) -> bool:
        """Is an entry undefined, whatever the rounding?"""
        return bool(np.isnan(x.value).any())

    def outgoing(self, x: Rounded) -> Rounded:
        """Give every value a radius; one that could not be computed is infinite."""
        value = np.asarray(x.value)
        radius = np.where(np.isnan(x.radius), np.inf, x.radius)
        return Rounded(value, np.broadcast_to(radius, value.shape))

    def rearrange(self, move: Callable[..., Array], *xs: Rounded) -> Rounded:
        """Move entries and radii alike."""
        value = move(*[x.value for x in xs])
        if all(is_exact(x) for x in xs):
            return Rounded(value, 0.0)
        return Rounded(value, move(*[np.broadcast_to(x.radius, np.shape(x.value)) for x in xs]))

    # -- entrywise -------------------------------------------------------------------------------
    def add(self, x: Rounded, y: Rounded) -> Rounded:
        """Return ``x + y``."""
        return add(x, y)

    def multiply(self, x: Rounded, y: Rounded) -> Rounded:
        """Return ``x y``."""
        return multiply(x, y)

    def integer_power(self, x: Rounded, exponent: int) -> Rounded:
        """Return ``x`` to an integer power by repeated squaring."""
        if exponent < 0:
            return divide(_ONE, self.integer_power(x, -exponent))
        result = _ONE
        square = x
        while exponent:
            if exponent & 1:
                result = square if result is _ONE else multiply(result, square)
            exponent >>= 1
            if exponent:
                square = multiply(square, square)
        return result

    def power(self, x: Rounded, exponent: Rounded) -> Rounded:
        """Return a real power."""
        return power(x, exponent)

    def function(self, name: str, x: Rounded) -> Rounded:
        """Apply an entrywise function."""
        if split_key(name) is not None:
            raise UnsupportedYet(
                f"{name}: no bound on its rounding error is known; evaluate it with arithmetic='mpmath'."
            )
        if name not in FUNCTIONS:
            raise MissingRule(f"the {self.name} arithmetic has no function {name!r}.")
        return apply(FUNCTIONS[name], x)

    def extreme_of_two(self, x: Rounded, y: Rounded, sign: int) -> Rounded:
        """Return the larger or smaller of two entries; where they overlap, with the larger radius."""
        first = x.value >= y.value if sign > 0 else x.value <= y.value
        apart = np.abs(x.value - y.value) > x.radius + y.radius
        larger = np.maximum(x.radius, y.radius)
        radius = np.where(apart, np.where(first, x.radius, y.radius), larger)
        return Rounded(np.where(first, x.value, y.value), radius)

    def compare(self, op: str, x: Rounded, y: Rounded) -> Condition:
        """Compare values; entries closer than their radii are doubtful."""
        holds = np.asarray(COMPARE[op](x.value, y.value), dtype=bool)
        if is_exact(x) and is_exact(y):
            return Condition(holds)
        room = np.asarray(x.radius + y.radius)
        return Condition(holds, (room > 0) & ~(np.abs(x.value - y.value) > room * (1 + 4 * EPS)))

    def select(self, condition: Condition, x: Rounded, y: Rounded) -> Rounded:
        """Choose entries; where the choice is doubtful, the radius covers both."""
        holds, doubtful = condition
        value = np.where(holds, x.value, y.value)
        if doubtful is None or not doubtful.any():
            radius = 0.0 if is_exact(x) and is_exact(y) else np.where(holds, x.radius, y.radius)
            return Rounded(value, radius)
        other = np.where(holds, y.radius, x.radius) + np.abs(x.value - y.value)
        radius = np.where(holds, x.radius, y.radius)
        return finish(value, np.where(doubtful, np.maximum(radius, other), radius))

    # -- sums of products --------------------------------------------------------------------------
    def contract(self, subscripts: str, xs: Sequence[Rounded], count: int) -> Rounded:
        r"""Sum products.

        :math:`|fl(\sum a b) - \sum a'b'| \le \sum |a| r_b + r_a (|b| + r_b) + \gamma |a||b|` with
        :math:`\gamma = (K + 2) \epsilon` for K products in any order.
        """
        if len(xs) > 2:
            raise EvaluationError(f"contract: {len(xs)} factors at once; products are taken in pairs.")
        value = FLOAT.contract(subscripts, [x.value for x in xs], count)
        sizes = [np.abs(x.value) for x in xs]
        gamma = (count + 2) * EPS if count > 1 or len(xs) > 1 else 0.0
        last = sizes[-1] * gamma + xs[-1].radius
        radius = FLOAT.contract(subscripts, [*sizes[:-1], last], count)
        if len(xs) == 2 and not is_exact(xs[0]):
            spread = [np.broadcast_to(xs[0].radius, xs[0].value.shape), sizes[1] + xs[1].radius]
            radius = radius + FLOAT.contract(subscripts, spread, count)
        if radius.min(initial=np.inf) < SUBNORMAL and len(xs) == 2:
            touched = [((x.value != 0) | (np.asarray(x.radius) > 0)).astype(float) for x in xs]
            radius = radius + np.minimum(FLOAT.contract(subscripts, touched, count), 1e10) * SUBNORMAL * EPS
        marks = [is_singular(x) for x in xs]
        singular: Array | bool = False
        if any(mark.any() for mark in marks):
            whole = [np.broadcast_to(m, s.shape).astype(float) for m, s in zip(marks, sizes, strict=True)]
            ones = [np.ones(s.shape) for s in sizes]
            reached = [
                FLOAT.contract(subscripts, [*ones[:p], w, *ones[p + 1 :]], count) for p, w in enumerate(whole)
            ]
            singular = np.sum(reached, axis=0) > 0
        return finish(value, radius * (1 + 2.0**-30), singular)

    # -- along axes, matrices --------------------------------------------------------------------------
    softmax = staticmethod(rounded_reductions.softmax)
    logsumexp = staticmethod(rounded_reductions.logsumexp)
    extreme = staticmethod(rounded_reductions.extreme)
    extreme_mask = staticmethod(rounded_reductions.extreme_mask)
    product = staticmethod(rounded_reductions.product)
    inverse = staticmethod(rounded_matrices.inverse)
    determinant = staticmethod(rounded_matrices.determinant)
    log_determinant = staticmethod(rounded_matrices.log_determinant)
    singular_values = staticmethod(rounded_matrices.singular_values)
    eigenvalues = staticmethod(rounded_matrices.eigenvalues)
    rank = staticmethod(rounded_matrices.rank)
    solve = staticmethod(rounded_matrices.solve)
    pseudo_inverse = staticmethod(rounded_matrices.pseudo_inverse)
    singular_dyad = staticmethod(rounded_matrices.singular_dyad)
    eigen_projector = staticmethod(rounded_matrices.eigen_projector)
    polar_factor = staticmethod(rounded_matrices.polar_factor)
    hull_distance = staticmethod(rounded_matrices.hull_distance)


ROUNDING = RoundingArithmetic()
