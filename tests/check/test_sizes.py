"""Sizes satisfy their constraints by construction."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.check.sizes import size_table

N, n, D, H, v, m = lx.sizes("N n D H v m")


def test_all_rows_and_only_those_satisfy_the_constraints() -> None:
    table = size_table((N, n, D, H), [N * n <= H * D, n < D], {D: (2, 4)})
    rows = {tuple(map(int, row)) for row in table.rows}
    grid = np.ndindex(3, 3, 3, 3)
    expected = {(a + 1, b + 1, c + 2, d + 1) for a, b, c, d in grid}
    assert rows == {r for r in expected if r[0] * r[1] <= r[3] * r[2] and r[2] > r[1]}


def test_equalities_maxima_and_powers_are_understood() -> None:
    table = size_table((n, D), [sp.Eq(D, n**2), sp.Max(n, 2) <= D], {D: (1, 9)})
    assert table.rows.tolist() == [[2, 4], [3, 9]]


def test_family_sizes_are_at_least_two_where_they_can_be() -> None:
    table = size_table((N, n, H, v), [sp.Eq(H, 1)], {})
    chosen = table.rows[table.is_family]
    assert (chosen[:, :2] >= 2).all()
    assert (chosen[:, 2] == 1).all() and set(chosen[:, 3]) == {1, 2, 3}
    assert table.family_of({"N": 2, "n": 3, "H": 1, "v": 1})
    assert not table.family_of({"N": 1, "n": 3, "H": 1, "v": 1})


def test_a_dropped_constraint_is_violated() -> None:
    table = size_table((v, m), [], {}, violated=[v >= m])
    assert (table.rows[:, 0] < table.rows[:, 1]).all() and len(table.rows) == 3


@pytest.mark.parametrize(
    ("constraints", "ranges", "message"),
    [([n > 5], {}, "no sizes with n in 1..3"), ([], {n: (1, 10**7)}, "more than 1000000")],
)
def test_impossible_and_endless_tables_are_refused(
    constraints: list[sp.Rel], ranges: dict[sp.Symbol, tuple[int, int]], message: str
) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        size_table((n,), constraints, ranges)


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(lx.UnsupportedYet, match="expected sums, products"):
        size_table((n,), [sp.Le(sp.log(n), 1)], {})
