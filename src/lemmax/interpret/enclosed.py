r"""Arithmetic with enclosures: each value is an interval that holds the exact one.

Two values whose enclosures are disjoint differ, whatever the rounding.  Decompositions (singular values,
eigenvectors, ...) have no enclosures here and are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from lemmax.errors import MissingRule
from lemmax.interpret.arrays import Array, ArrayArithmetic, joined
from lemmax.interpret.enclosure import FUNCTIONS, Enclosure, extreme
from lemmax.interpret.protocol import Condition, IntArray

_LARGEST_EXPANSION = 5  # determinants up to this size are expanded: no pivot has to be decided
_OF = np.frompyfunc(Enclosure.of, 1, 1)
_DIVIDE = np.frompyfunc(lambda x, y: x / y, 2, 1)
_POWER = np.frompyfunc(lambda x, y: x.power(y), 2, 1)
_LARGER = np.frompyfunc(lambda x, y: extreme(x, y, 1), 2, 1)
_SMALLER = np.frompyfunc(lambda x, y: extreme(x, y, -1), 2, 1)
_UNDEFINED = np.frompyfunc(lambda x: x.ends is None, 1, 1)


class EnclosedArithmetic(ArrayArithmetic):
    """Real numbers as enclosures of about 60 digits."""

    name = "enclosures"

    # -- coming in and going out -------------------------------------------------------------------
    def array(self, numbers: Array) -> Array:
        """Take over real numbers exactly (fractions: to the last bit)."""
        return np.asarray(_OF(np.asarray(numbers, dtype=object)), dtype=object)

    def rational(self, numerator: int, denominator: int) -> Array:
        """Return a quotient of integers."""
        return np.asarray(Enclosure.of(Fraction(numerator, denominator)), dtype=object)

    def constant(self, name: str) -> Array:
        """Return a constant."""
        if name == "e":
            return np.asarray(Enclosure.of(1).apply("exp"), dtype=object)
        if name == "pi":
            return np.asarray(4 * Enclosure.of(1).apply("arctan"), dtype=object)
        return np.asarray(Enclosure.of(float(name)), dtype=object)

    def integers(self, numbers: IntArray) -> Array:
        """Take over integers."""
        return self.array(np.asarray(numbers))

    def one(self) -> Array:
        """Return the number 1."""
        return np.asarray(Enclosure.of(1), dtype=object)

    def has_nan(self, x: Array) -> bool:
        """Is an entry undefined or undecided?"""
        return bool(np.any(_UNDEFINED(x)))

    def outgoing(self, x: Array) -> Array:
        """Make an array of a number."""
        return np.asarray(x, dtype=object)

    def rearrange(self, move: Callable[..., Array], *xs: Array) -> Array:
        """Move entries; bare numbers among them, such as the zeros around a block, become enclosures."""
        return np.asarray(_OF(move(*[np.asarray(x, dtype=object) for x in xs])), dtype=object)

    # -- entrywise ------------------------------------------------------------------------------------
    def add(self, x: Array, y: Array) -> Array:
        """Return ``x + y``."""
        return np.asarray(np.add(x, y), dtype=object)

    def multiply(self, x: Array, y: Array) -> Array:
        """Return ``x y``."""
        return np.asarray(np.multiply(x, y), dtype=object)

    def divide(self, x: Array, y: Array) -> Array:
        """Return ``x / y``."""
        return np.asarray(_DIVIDE(x, y), dtype=object)

    def power(self, x: Array, exponent: Array) -> Array:
        """Return a real power."""
        return np.asarray(_POWER(x, exponent), dtype=object)

    def integer_power(self, x: Array, exponent: int) -> Array:
        """Return an integer power; the power of an interval is sharper than a product."""
        return self.power(x, self.integers(np.asarray(exponent)))

    def function(self, name: str, x: Array) -> Array:
        """Apply an entrywise function."""
        if name not in FUNCTIONS:
            raise MissingRule(f"the {self.name} arithmetic has no function {name!r}.")
        return np.asarray(np.frompyfunc(lambda e: e.apply(name), 1, 1)(x), dtype=object)

    def extreme_of_two(self, x: Array, y: Array, sign: int) -> Array:
        """Return the larger or smaller of two entries."""
        return np.asarray((_LARGER if sign > 0 else _SMALLER)(x, y), dtype=object)

    def compare(self, op: str, x: Array, y: Array) -> Condition:
        """Compare; entries that overlap are doubtful."""
        order = np.frompyfunc(_order, 2, 1)(x, y)
        doubtful = np.asarray(np.frompyfunc(lambda o: o is None, 1, 1)(order), dtype=bool)
        holds = np.asarray(np.frompyfunc(lambda o: o is not None and _OPS[op](o), 1, 1)(order), dtype=bool)
        return Condition(holds, doubtful)

    def select(self, condition: Condition, x: Array, y: Array) -> Array:
        """Choose entries; where the choice is doubtful, the result is undefined."""
        chosen = np.where(condition.holds, x, y)
        if condition.doubtful is None:
            return chosen
        return np.where(condition.doubtful, np.asarray(Enclosure(None), dtype=object), chosen)

    def contract(self, subscripts: str, xs: Sequence[Array], count: int) -> Array:
        """Sum products."""
        return np.asarray(np.einsum(subscripts, *[np.asarray(x, dtype=object) for x in xs]), dtype=object)

    # -- along axes -------------------------------------------------------------------------------------
    def softmax(self, x: Array, axis: int) -> Array:
        """Exponentiate and normalise (numbers here do not overflow)."""
        weights = self.function("exp", x)
        return self.divide(weights, np.sum(weights, axis=axis, keepdims=True))

    def logsumexp(self, x: Array, axes: tuple[int, ...]) -> Array:
        """Return ``log(sum exp(x))``."""
        return self.function("log", np.asarray(np.sum(self.function("exp", x), axis=axes, keepdims=True)))

    def extreme(self, x: Array, axes: tuple[int, ...], sign: int) -> Array:
        """Return the largest or smallest entry."""
        flat, keep = joined(x, axes)
        return np.asarray((_LARGER if sign > 0 else _SMALLER).reduce(flat, axis=-1), dtype=object).reshape(
            keep
        )

    def extreme_mask(self, x: Array, axes: tuple[int, ...], sign: int) -> NoReturn:
        """Refuse: ties are not decided."""
        self._refuse("masks of extreme entries")

    # -- matrices -----------------------------------------------------------------------------------------
    def _each(self, f: Callable[[list[list[Enclosure]]], Any], x: Array, shape: tuple[int, ...]) -> Array:
        lead = x.shape[:-2]
        out = np.full((*lead, *shape), Enclosure(None), dtype=object)
        for at in np.ndindex(lead):
            result = f(x[at].tolist())
            if result is not None:
                out[at] = np.array(result, dtype=object).reshape(shape) if shape else result
        return out

    def inverse(self, x: Array) -> Array:
        """Return inverses, undefined unless all pivots are decided not to be 0."""
        return self._each(_inverted, x, x.shape[-2:])

    def determinant(self, x: Array) -> Array:
        """Return determinants."""
        return self._each(_determinant, x, ())

    def log_determinant(self, x: Array) -> Array:
        """Return log det, undefined unless the determinant is positive."""
        return self.function("log", self.determinant(x))

    def solve(self, x: Array, y: Array) -> Array:
        """Return solutions."""
        return self.contract("...ij,...jk->...ik", [self.inverse(x), y], x.shape[-1])

    def _refuse(self, what: str) -> NoReturn:
        raise MissingRule(f"the {self.name} arithmetic has no {what}.")

    def singular_values(self, x: Array) -> NoReturn:
        """Refuse."""
        self._refuse("singular values")

    def eigenvalues(self, x: Array) -> NoReturn:
        """Refuse."""
        self._refuse("eigenvalues")

    def rank(self, x: Array) -> Array:
        """Return ranks, undefined unless each number met on the way is decided to be 0 or not."""
        return self._each(_rank, x, ())

    def pseudo_inverse(self, x: Array) -> Array:
        """Return pseudo-inverses of matrices of full rank, by the normal equations; of others, undefined."""
        t = np.swapaxes(x, -1, -2)
        product = "...ij,...jk->...ik"
        if x.shape[-2] >= x.shape[-1]:
            gram = self.contract(product, [t, x], x.shape[-2])
            return self.contract(product, [self.inverse(gram), t], x.shape[-1])
        gram = self.contract(product, [x, t], x.shape[-1])
        return self.contract(product, [t, self.inverse(gram)], x.shape[-2])

    def singular_dyad(self, x: Array, k: int) -> NoReturn:
        """Refuse."""
        self._refuse("singular vectors")

    def eigen_projector(self, x: Array, k: int) -> NoReturn:
        """Refuse."""
        self._refuse("eigenvectors")

    def polar_factor(self, x: Array) -> NoReturn:
        """Refuse."""
        self._refuse("polar factors")

    def hull_distance(self, points: Array, target: Array) -> NoReturn:
        """Refuse."""
        self._refuse("distances from hulls")


def _order(x: Enclosure, y: Enclosure) -> int | None:
    """Return -1, 0 or 1 as x is less than, equal to or greater than y, ``None`` if that is not decided."""
    if x.ends is None or y.ends is None:
        return None
    if x.below(y):
        return -1
    if y.below(x):
        return 1
    return 0 if x.ends == y.ends and x.ends[0] == x.ends[1] else None


_OPS: dict[str, Callable[[int], bool]] = {
    "<": lambda o: o < 0,
    "<=": lambda o: o <= 0,
    "==": lambda o: o == 0,
    "!=": lambda o: o != 0,
    ">": lambda o: o > 0,
    ">=": lambda o: o >= 0,
}

Rows = list[list[Enclosure]]


def _pivot(rows: Rows, column: int, start: int) -> int | None:
    """Return the row with the largest entry in a column among those decided not to be 0."""
    decided = [r for r in range(start, len(rows)) if rows[r][column].sign()]
    return max(decided, key=lambda r: abs(rows[r][column].middle())) if decided else None


def _inverted(rows: Rows) -> Rows | None:
    n = len(rows)
    if not all(e.is_defined for row in rows for e in row):
        return None
    work = [[*row, *(Enclosure.of(int(i == j)) for j in range(n))] for i, row in enumerate(rows)]
    for c in range(n):
        p = _pivot(work, c, c)
        if p is None:
            return None
        work[c], work[p] = work[p], work[c]
        lead = work[c][c]
        work[c] = [e / lead for e in work[c]]
        for r in range(n):
            if r != c:
                factor = work[r][c]
                work[r] = [a - factor * b for a, b in zip(work[r], work[c], strict=True)]
    return [row[n:] for row in work]


def _rank(rows: Rows) -> Enclosure | None:
    work = [list(row) for row in rows]
    rank = 0
    while work and work[0]:
        p = _pivot(work, 0, 0)
        if p is None:
            if not all(row[0].sign() == 0 for row in work):
                return None
            work = [row[1:] for row in work]
            continue
        lead = work.pop(p)
        work = [[lead[0] * a - row[0] * b for a, b in zip(row[1:], lead[1:], strict=True)] for row in work]
        rank += 1
    return Enclosure.of(rank)


def _determinant(rows: Rows) -> Enclosure | None:
    n = len(rows)
    if not all(e.is_defined for row in rows for e in row):
        return None
    if n <= _LARGEST_EXPANSION:
        total = Enclosure.of(0)
        for permutation in itertools.permutations(range(n)):
            sign = (-1) ** sum(permutation[i] > permutation[j] for j in range(n) for i in range(j))
            product = Enclosure.of(sign)
            for i, j in enumerate(permutation):
                product = product * rows[i][j]
            total = total + product
        return total
    work = [list(row) for row in rows]
    det = Enclosure.of(1)
    for c in range(n):
        p = _pivot(work, c, c)
        if p is None:
            return None
        if p != c:
            work[c], work[p] = work[p], work[c]
            det = -det
        det = det * work[c][c]
        for r in range(c + 1, n):
            factor = work[r][c] / work[c][c]
            work[r] = [a - factor * b for a, b in zip(work[r], work[c], strict=True)]
    return det
