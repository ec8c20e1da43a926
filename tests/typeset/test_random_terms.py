"""Thousands of random sums of products: never wrong, and without indices where a reduction exists."""

from __future__ import annotations

import pytest

from lemmax.typeset.latex import Formula
from lemmax.typeset.node import walk
from tests.thorough import THOROUGH
from tests.typeset.random_terms import FAMILY, random_tensor
from tests.typeset.values import check_printed

BATCH = 50


def has_opened_index(formula: Formula) -> bool:
    """Is an index left that is no family: an explicit sum, a bracket, a row or a column?"""
    for x in walk(formula.tree):
        if x.op in ("blocks", "pick"):
            return True
        if x.op == "sum" and any(size != FAMILY for _, size in x.data):
            return True
    return False


@pytest.mark.parametrize("start", range(0, 300 if THOROUGH else 100, BATCH))
@pytest.mark.parametrize("terms", [1, 3])
def test_series_parallel_products_need_no_index(start: int, terms: int) -> None:
    for seed in range(start, start + BATCH):
        formula = check_printed(random_tensor(seed, planar=True, terms=terms), seed)
        assert not has_opened_index(formula), formula.text


@pytest.mark.parametrize("start", range(0, 100, BATCH))
@pytest.mark.parametrize("terms", [1, 2])
def test_arbitrary_products_are_never_wrong(start: int, terms: int) -> None:
    opened = 0
    for seed in range(start, start + BATCH):
        opened += has_opened_index(check_printed(random_tensor(seed, planar=False, terms=terms), seed))
    assert 0 < opened < BATCH  # both kinds occur, or the generator has lost its edge


def test_index_notation_of_random_products() -> None:
    for seed in range(24):  # few: every sum is a loop
        check_printed(random_tensor(seed, planar=bool(seed % 2), terms=1 + seed % 2), seed, by_entries=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 10_200 if THOROUGH else 10_080, 4 * BATCH))
def test_many_more(start: int) -> None:
    for seed in range(start, start + 4 * BATCH):
        check_printed(random_tensor(seed, planar=seed % 3 > 0, terms=1 + seed % 3), seed)
