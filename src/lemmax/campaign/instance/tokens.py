r"""What the tokens alone decide: equal tokens, blank rows and columns, the rank of the stacked X.

These limit the rank of B_0 whatever the weights are: equal tokens of one sample have equal rows in B_0,
and each head's block of B_0 lies in the row space of the stacked X, so rank B_0 <= H rank X.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from lemmax.campaign.instance.archive import Array

PRIME = (1 << 31) - 1
EXACT_WORK = 2_000_000  # multiplications of fractions that an exact elimination may take


@dataclass(frozen=True, slots=True)
class Tokens:
    """What was found in the tokens.

    Attributes:
        equal: groups of equal tokens of one sample: the sample and the positions of the tokens.
        blank: tokens that are 0: sample and position.
        blank_columns: coordinates that are 0 in all tokens.
        rank: rank of the stacked X (N n x D); a lower bound if it is not exact.
        exact: was the rank found in exact arithmetic?
    """

    equal: tuple[tuple[int, tuple[int, ...]], ...]
    blank: tuple[tuple[int, int], ...]
    blank_columns: tuple[int, ...]
    rank: int
    exact: bool

    @property
    def samples_with_equal(self) -> tuple[int, ...]:
        """Samples with equal tokens."""
        return tuple(sorted({sample for sample, _ in self.equal}))


def read_tokens(X: Array) -> Tokens:
    """Look at tokens X (N, n, D); samples are counted from 0."""
    equal: list[tuple[int, tuple[int, ...]]] = []
    for sample, rows in enumerate(X):
        groups: dict[bytes, list[int]] = {}
        for position, row in enumerate(rows):
            groups.setdefault((row + 0.0).tobytes(), []).append(position)  # + 0.0: -0 is 0
        equal += [(sample, tuple(group)) for group in groups.values() if len(group) > 1]
    blank = tuple((int(i), int(j)) for i, j in np.argwhere(~X.any(axis=-1)))
    columns = tuple(int(c) for c in np.flatnonzero(~X.any(axis=(0, 1))))
    rank, exact = exact_rank(X.reshape(-1, X.shape[-1]))
    return Tokens(tuple(equal), blank, columns, rank, exact)


def exact_rank(matrix: Array) -> tuple[int, bool]:
    """Return the rank of a matrix of floats, and whether it is certain (otherwise it is a lower bound).

    The entries are rational numbers.  Modulo a prime the rank can only fall, so a rank equal to the number
    of non-zero rows or columns is the rank; otherwise an elimination in fractions decides, unless it is long.
    """
    kept = np.unique(matrix, axis=0)
    kept = kept[kept.any(axis=1)][:, kept.any(axis=0)]
    if not kept.size:
        return 0, True
    lower = rank_modulo(integers_modulo(kept))
    if lower == min(kept.shape):
        return lower, True
    if kept.shape[0] * kept.shape[1] * (lower + 1) <= EXACT_WORK:
        return rank_in_fractions(kept), True
    return lower, False


def integers_modulo(matrix: Array) -> npt.NDArray[np.int64]:
    """Return floats, scaled to integers by a power of two, modulo :data:`PRIME`."""
    mantissa, exponent = np.frexp(matrix)
    whole = np.ldexp(mantissa, 53).astype(np.int64) % PRIME
    shift = exponent - (exponent[matrix != 0].min() if matrix.any() else 0)
    powers = {int(s): pow(2, int(s), PRIME) for s in np.unique(shift[matrix != 0])}
    factor = np.vectorize(lambda s: powers.get(int(s), 0), otypes=[np.int64])(shift)
    return np.asarray(whole * factor % PRIME)


def rank_modulo(matrix: npt.NDArray[np.int64]) -> int:
    """Return the rank modulo :data:`PRIME`; products of two residues fit into 64 bits."""
    work = matrix.copy()
    rank = 0
    for column in range(work.shape[1]):
        pivots = np.flatnonzero(work[rank:, column])
        if not len(pivots):
            continue
        pivot = rank + int(pivots[0])
        work[[rank, pivot]] = work[[pivot, rank]]
        work[rank] = work[rank] * pow(int(work[rank, column]), -1, PRIME) % PRIME
        factors = work[rank + 1 :, column][:, None]
        work[rank + 1 :] = (work[rank + 1 :] - factors * work[rank] % PRIME) % PRIME
        rank += 1
        if rank == len(work):
            break
    return rank


def rank_in_fractions(matrix: Array) -> int:
    """Return the rank by elimination in exact fractions."""
    rows = [[Fraction(float(entry)) for entry in row] for row in matrix]
    rank = 0
    for column in range(matrix.shape[1]):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        head = rows[rank]
        for r in range(rank + 1, len(rows)):
            if rows[r][column]:
                factor = rows[r][column] / head[column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], head, strict=True)]
        rank += 1
    return rank
