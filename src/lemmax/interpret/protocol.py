r"""What the interpreter asks of an arithmetic.

The interpreter walks a graph of tensors and calls these operations; it never looks inside a
value.  Four arithmetics answer: floating point, complex floating point (for the complex step),
multiprecision, and floating point with a bound on the rounding error.

Values may carry extra *leading* axes (a batch of instances, or the entries in which a
derivative is taken).  Every operation therefore counts axes from the end and broadcasts the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Value: TypeAlias = Any
"""A value of an arithmetic: an array of numbers, or a record of arrays."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]


class Condition(NamedTuple):
    """Where a condition holds, and where rounding leaves that open (``None``: nowhere)."""

    holds: BoolArray
    doubtful: BoolArray | None = None


class Arithmetic(Protocol):
    """The operations of an arithmetic on its values."""

    @property
    def name(self) -> str:
        """Name under which ``lx.evaluate`` knows it."""

    @property
    def resolution(self) -> Any:
        """Relative distance below which two computed numbers count as equal, in matrix decompositions."""

    # -- coming in and going out -----------------------------------------------------------
    def array(self, numbers: npt.NDArray[Any]) -> Value:
        """Take over an array given by the user."""

    def rational(self, numerator: int, denominator: int) -> Value:
        """Return a rational number (scalar)."""

    def constant(self, name: str) -> Value:
        """Return one of ``pi``, ``e``, ``inf``, ``-inf``, ``nan`` (scalar)."""

    def integers(self, numbers: IntArray) -> Value:
        """Take over exact integers: sizes and index grids."""

    def shape(self, x: Value) -> tuple[int, ...]:
        """Return the shape of a value."""

    def has_nan(self, x: Value) -> bool:
        """Is an entry undefined?"""

    def outgoing(self, x: Value) -> Value:
        """Bring a result into the form in which it is given out."""

    # -- moving entries ----------------------------------------------------------------------
    def rearrange(self, move: Callable[..., npt.NDArray[Any]], *xs: Value) -> Value:
        """Apply a function that only moves, repeats or drops entries."""

    # -- entrywise ---------------------------------------------------------------------------
    def add(self, x: Value, y: Value) -> Value:
        """Return ``x + y``."""

    def multiply(self, x: Value, y: Value) -> Value:
        """Return ``x y``."""

    def integer_power(self, x: Value, exponent: int) -> Value:
        """Return ``x`` to an integer power."""

    def power(self, x: Value, exponent: Value) -> Value:
        """Return ``x`` to a real power."""

    def function(self, name: str, x: Value) -> Value:
        """Return an entrywise function by its name in ``lx``."""

    def extreme_of_two(self, x: Value, y: Value, sign: int) -> Value:
        """Return the larger (sign 1) or smaller (sign -1) of two entries."""

    def compare(self, op: str, x: Value, y: Value) -> Condition:
        """Compare by ``<``, ``<=``, ``==``, ``!=``, ``>`` or ``>=`` (on real parts)."""

    def select(self, condition: Condition, x: Value, y: Value) -> Value:
        """Return ``x`` where the condition holds, else ``y``; the other entry has no influence."""

    # -- sums and reductions -------------------------------------------------------------------
    def contract(self, subscripts: str, xs: Sequence[Value], count: int) -> Value:
        """Return NumPy's ``einsum``; each entry is a sum of ``count`` products."""

    def softmax(self, x: Value, axis: int) -> Value:
        """Return the softmax along an axis (negative); rows hold at least one finite entry."""

    def logsumexp(self, x: Value, axes: tuple[int, ...]) -> Value:
        """Return log-sum-exp over axes (negative), axes kept."""

    def extreme(self, x: Value, axes: tuple[int, ...], sign: int) -> Value:
        """Return maximum (sign 1) or minimum (sign -1) over axes (negative), axes kept."""

    def extreme_mask(self, x: Value, axes: tuple[int, ...], sign: int) -> Value:
        """Return 1 at the first extreme entry over axes jointly, else 0."""

    def product(self, x: Value, axes: tuple[int, ...]) -> Value:
        """Return the product over axes (negative), axes kept."""

    # -- matrices in the last two axes -------------------------------------------------------------
    def inverse(self, x: Value) -> Value:
        """Return inverses."""

    def determinant(self, x: Value) -> Value:
        """Return determinants."""

    def log_determinant(self, x: Value) -> Value:
        """Return logarithms of determinants, undefined where these are not positive."""

    def singular_values(self, x: Value) -> Value:
        """Return singular values along a last axis, largest first."""

    def eigenvalues(self, x: Value) -> Value:
        """Return eigenvalues of the symmetric parts along a last axis, smallest first."""

    def rank(self, x: Value) -> Value:
        """Return ranks."""

    def solve(self, x: Value, y: Value) -> Value:
        """Return solutions of ``x z = y`` for matrices ``y``."""

    def pseudo_inverse(self, x: Value) -> Value:
        """Return Moore-Penrose inverses."""

    def singular_dyad(self, x: Value, k: int) -> Value:
        """Return outer products of the k-th (from 0) left and right singular vectors."""

    def eigen_projector(self, x: Value, k: int) -> Value:
        """Return outer squares of the k-th (from 0) eigenvectors of symmetric parts, smallest first."""

    def polar_factor(self, x: Value) -> Value:
        """Return the product of left and right singular vectors, of singular values that are not 0."""

    def hull_distance(self, points: Value, target: Value) -> Value:
        """Return distances of (..., m) from Minkowski sums of hulls of (..., H, n, m)."""
