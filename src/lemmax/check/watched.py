r"""Multiprecision that watches its own numbers.

Two evaluations with p and with 2p digits may agree and still be wrong together: where 1 and e^-10000 are
added, the small number is lost in both.  This arithmetic records the largest and the smallest magnitude
that it met, so that a comparison can allow for what may have been lost, and it flags ranks that it could
only count as deficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lemmax.interpret.multiprecision import MpArithmetic

Array = npt.NDArray[Any]

FACTORS = 4  # what is lost may still be multiplied by this many numbers of the largest magnitude


@dataclass(frozen=True, slots=True)
class Watch:
    """What an evaluation met.

    Attributes:
        digits: decimal digits of the arithmetic.
        high: binary exponent of the largest finite number (0 if below 1).
        low: binary exponent of the smallest number that is not 0 (0 if above 1).
        deficient: was a rank counted as less than full?
    """

    digits: int
    high: int = 0
    low: int = 0
    deficient: bool = False

    @property
    def is_tame(self) -> bool:
        """Is nothing so small that adding it to something else could lose it?"""
        return bool(-self.low * 8 * np.log10(2.0) <= self.digits)

    def joined(self, other: Watch) -> Watch:
        """Return what two evaluations met together."""
        return Watch(
            min(self.digits, other.digits),
            max(self.high, other.high),
            min(self.low, other.low),
            self.deficient or other.deficient,
        )


class WatchedArithmetic(MpArithmetic):
    """Multiprecision that records magnitudes; a deficient rank is answered by the count or by full rank."""

    def __init__(self, digits: int, full_ranks: bool = False) -> None:
        """Start with nothing met; ``full_ranks`` answers full rank where rank may be deficient."""
        super().__init__(digits)
        self._full_ranks = full_ranks
        self.forget()

    def forget(self) -> None:
        """Start again with nothing met."""
        self._high = self._low = 0
        self._deficient = False

    @property
    def watch(self) -> Watch:
        """What was met so far."""
        return Watch(self.digits, self._high, self._low, self._deficient)

    def _see(self, x: Array) -> Array:
        for number in np.asarray(x, dtype=object).flat:
            _, mantissa, exponent, bits = self.context.convert(number)._mpf_
            if mantissa:  # neither 0 nor infinite
                top = exponent + bits
                if top > self._high:
                    self._high = top
                elif top < self._low:
                    self._low = top
        return x

    def array(self, numbers: Array) -> Array:
        """Take over real numbers."""
        return self._see(super().array(numbers))

    def add(self, x: Array, y: Array) -> Array:
        """Return ``x + y``."""
        return self._see(super().add(x, y))

    def multiply(self, x: Array, y: Array) -> Array:
        """Return ``x y``."""
        return self._see(super().multiply(x, y))

    def divide(self, x: Array, y: Array) -> Array:
        """Return ``x / y``."""
        return self._see(super().divide(x, y))

    def power(self, x: Array, exponent: Array) -> Array:
        """Return a real power."""
        return self._see(super().power(x, exponent))

    def function(self, name: str, x: Array) -> Array:
        """Apply an entrywise function."""
        return self._see(super().function(name, x))

    def contract(self, subscripts: str, xs: Sequence[Array], count: int) -> Array:
        """Sum products."""
        return self._see(super().contract(subscripts, xs, count))

    def singular_values(self, x: Array) -> Array:
        """Return singular values; those that are 0 but for rounding are no numbers of the problem."""
        values = super().singular_values(x)
        lost = self.context.mpf(10) ** -self.digits
        self._see(np.where(values > lost * values[..., :1], values, self.context.zero))
        return values

    def eigenvalues(self, x: Array) -> Array:
        """Return eigenvalues of the symmetric part."""
        values = super().eigenvalues(x)
        largest = np.max(np.abs(values), axis=-1, keepdims=True)
        lost = self.context.mpf(10) ** -self.digits
        self._see(np.where(np.abs(values) > lost * largest, values, self.context.zero))
        return values

    def inverse(self, x: Array) -> Array:
        """Return inverses, undefined for singular matrices."""
        return self._see(super().inverse(x))

    def determinant(self, x: Array) -> Array:
        """Return determinants."""
        return self._see(super().determinant(x))

    def rank(self, x: Array) -> Array:
        """Count singular values above ``10^(-digits/2)`` relative to the largest; flag deficient ranks."""
        counts = super().rank(x)
        full = min(x.shape[-2:])
        if not np.any(counts < full):
            return counts
        self._deficient = True
        return np.where(counts < full, self.context.mpf(full), counts) if self._full_ranks else counts
