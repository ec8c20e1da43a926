r"""The largest set of samples whose rows of B_0 are linearly independent.

A sample brings all its n rows or none, and its rows depend on no other sample.  A set of samples
has full row rank if each of its rows is independent of the others, so every part of it has too, and no
set can be larger than rank / n.  The greedy search adds, each time, the sample whose rows stay farthest from
the span of those chosen; if it reaches the bound it is exact.  If it does not, other beginnings are
tried, and then all sets of the next size, if these are few.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lemmax.campaign.instance.archive import Array

BEGINNINGS = 32  # other first samples tried when the greedy search falls short of the bound
SETS = 20_000  # sets of samples that an exhaustive search may go through


@dataclass(frozen=True, slots=True)
class Found:
    """What the search found.

    Attributes:
        samples: positions of the chosen samples, in the order in which they were chosen.
        bound: no set of full row rank has more samples than this.
        exhausted: were all sets with one more sample tried?
    """

    samples: tuple[int, ...]
    bound: int
    exhausted: bool = False

    @property
    def is_largest(self) -> bool:
        """Is it certain (as far as floating point goes) that no larger set exists?"""
        return self.exhausted or len(self.samples) >= self.bound


def largest_subsample(blocks: Array, candidates: Sequence[int], rank_bound: int) -> Found:
    """Return the largest set of samples of full row rank that was found.

    Args:
        blocks: rows of B_0 by sample (N, n, H D).
        candidates: samples that may be chosen; the others are deficient by themselves.
        rank_bound: an upper bound on the rank of all rows of the candidates.
    """
    tokens = blocks.shape[1]
    usable = [i for i in candidates if is_independent(blocks[[i]])]
    bound = min(len(usable), rank_bound // tokens)
    best = greedy(blocks, usable, bound)
    for first in usable[:BEGINNINGS]:
        if len(best) >= bound:
            break
        tried = greedy(blocks, usable, bound, (first,))
        best = tried if len(tried) > len(best) else best
    while len(best) < bound and math.comb(len(usable), len(best) + 1) <= SETS:
        larger = next(
            (s for s in itertools.combinations(usable, len(best) + 1) if is_independent(blocks[list(s)])),
            None,
        )
        if larger is None:
            return Found(best, bound, exhausted=True)
        best = larger
    return Found(best, bound)


def greedy(blocks: Array, usable: Sequence[int], bound: int, start: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return samples, each the one whose smallest singular value off the span of those before is largest."""
    chosen = list(start)
    left = [i for i in usable if i not in start]
    while left and len(chosen) < bound:
        residual = off_the_span(blocks[left], blocks[chosen])
        sizes = np.linalg.svd(residual, compute_uv=False)[:, -1]
        order = sorted(range(len(left)), key=lambda p: (-sizes[p], left[p]))
        best = next((p for p in order[:3] if is_independent(blocks[[*chosen, left[p]]])), None)
        if best is None:
            break
        chosen.append(left.pop(best))
    return tuple(chosen)


def off_the_span(blocks: Array, chosen: Array) -> Array:
    """Return rows minus their orthogonal projections on the span of the chosen rows."""
    if not len(chosen):
        return blocks
    basis = np.linalg.svd(chosen.reshape(-1, chosen.shape[-1]), full_matrices=False)[2]
    return np.asarray(blocks - (blocks @ basis.T) @ basis)


def is_independent(blocks: Array) -> bool:
    """Are all rows of some samples independent, beyond rounding (``max(m, n) eps sigma_1``)?"""
    rows = blocks.reshape(-1, blocks.shape[-1])
    if rows.shape[0] > rows.shape[1]:
        return False
    values = np.linalg.svd(rows, compute_uv=False)
    return bool(values[-1] > max(rows.shape) * np.finfo(float).eps * values[0])
