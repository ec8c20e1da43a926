"""Everyday expressions: both notations are worth what the interpreter says."""

from __future__ import annotations

import pytest

from tests.typeset.everyday import everyday
from tests.typeset.values import check_printed

CASES = everyday()
LOOSE = {"hull": 1e-7}  # its two algorithms agree to the accuracy of least squares with a large weight


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("by_entries", [False, True], ids=["matrix", "index"])
def test_printed_value(name: str, by_entries: bool) -> None:
    check_printed(CASES[name], rtol=LOOSE.get(name, 1e-9), by_entries=by_entries, low=2)


@pytest.mark.parametrize("name", ["Kronecker", "blocks", "samples", "self-attention", "padded"])
def test_printed_value_where_sizes_are_one(name: str) -> None:
    for by_entries in (False, True):
        check_printed(CASES[name], by_entries=by_entries, low=1)
