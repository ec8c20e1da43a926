from __future__ import annotations

import itertools

import numpy as np
import pytest

from lemmax.campaign.instance import subsample
from lemmax.campaign.instance.subsample import is_independent, largest_subsample


def brute_force(blocks: np.ndarray) -> int:
    total = len(blocks)
    return max(
        (
            size
            for size in range(1, total + 1)
            for chosen in itertools.combinations(range(total), size)
            if is_independent(blocks[list(chosen)])
        ),
        default=0,
    )


@pytest.mark.parametrize("seed", range(12))
def test_finds_the_largest_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(3, 7))
    # few different rows, so that dependence is everywhere
    blocks = np.eye(columns)[rng.integers(columns, size=(7, 2))] * rng.integers(1, 4, size=(7, 2, 1))
    found = largest_subsample(blocks, range(7), columns)
    assert len(found.samples) == brute_force(blocks)
    assert not found.samples or is_independent(blocks[list(found.samples)])
    assert found.is_largest


def test_greedy_choice_that_is_no_maximum_is_mended() -> None:
    e = np.eye(4)
    # the first sample stays farthest from the others' span, but blocks both of them
    blocks = np.array([[10 * e[0], 10 * e[2]], [e[0], e[1]], [e[2], e[3]]])
    assert subsample.greedy(blocks, [0, 1, 2], 2) == (0,)
    assert sorted(largest_subsample(blocks, range(3), 4).samples) == [1, 2]


def test_search_that_ends_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    e = np.eye(4)
    blocks = np.array([[e[0], e[1]], [e[0], e[2]], [e[0], e[3]]])
    full = largest_subsample(blocks, range(3), 4)
    assert (len(full.samples), full.bound, full.exhausted, full.is_largest) == (1, 2, True, True)
    monkeypatch.setattr(subsample, "SETS", 0)
    cut = largest_subsample(blocks, range(3), 4)
    assert (len(cut.samples), cut.bound, cut.is_largest) == (1, 2, False)


def test_only_candidates_are_chosen_and_deficient_ones_never() -> None:
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(4, 2, 8))
    blocks[2, 1] = blocks[2, 0]
    assert sorted(largest_subsample(blocks, [0, 2, 3], 8).samples) == [0, 3]
    assert largest_subsample(blocks, [2], 8).samples == ()


def test_more_rows_than_columns_are_dependent() -> None:
    assert not is_independent(np.random.default_rng(0).normal(size=(1, 3, 2)))
