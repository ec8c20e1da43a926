from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
import sympy as sp
from hypothesis import given

from lemmax.campaign.instance import tokens
from lemmax.campaign.instance.tokens import exact_rank, rank_in_fractions, read_tokens
from tests.repo.files import ROOT


def test_equal_and_blank_tokens_are_named() -> None:
    X = np.random.default_rng(0).normal(size=(3, 4, 5))
    X[1, 3] = X[1, 0]
    X[2, [0, 2]] = 0.0
    X[2, 2, 1] = -0.0
    X[0, 1] = X[1, 1]  # equal tokens of different samples are no obstacle
    X[:, :, 4] = 0.0
    found = read_tokens(X)
    assert found.equal == ((1, (0, 3)), (2, (0, 2)))
    assert found.samples_with_equal == (1, 2)
    assert found.blank == ((2, 0), (2, 2))
    assert found.blank_columns == (4,)
    assert (found.rank, found.exact) == (4, True)


def test_facts_of_the_shipped_data() -> None:
    rows = read_tokens(np.load(ROOT / "examples" / "digits.npz")["X"])
    assert rows.equal == ((1, (5, 6)),)
    assert (rows.blank, rows.blank_columns, rows.rank, rows.exact) == ((), (0,), 7, True)
    patches = read_tokens(np.load(ROOT / "examples" / "digits_patches.npz")["X"])
    assert (patches.equal, patches.rank, patches.exact) == ((), 16, True)


integers = st.integers(min_value=-3, max_value=3)


@given(st.integers(1, 5), st.integers(1, 5), st.data())
def test_rank_agrees_with_sympy(rows: int, columns: int, data: st.DataObject) -> None:
    entries = data.draw(st.lists(integers, min_size=rows * columns, max_size=rows * columns))
    powers = data.draw(st.lists(st.integers(-300, 300), min_size=rows, max_size=rows))
    matrix = np.ldexp(np.array(entries, dtype=float).reshape(rows, columns), np.array(powers)[:, None])
    exact = sp.Matrix(rows, columns, lambda i, j: sp.Rational(Fraction(matrix[i, j])))
    assert exact_rank(matrix) == (exact.rank(), True)


def test_rank_that_floating_point_cannot_tell() -> None:
    close = np.array([[1.0, 1.0], [1.0, 1.0 + 2**-52]]) * 2.0**-500
    assert exact_rank(close) == (2, True)
    dependent = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.7]])
    dependent = np.vstack([dependent, 4 * dependent[0] - 0.0, dependent[1] * 2.0])
    assert exact_rank(dependent) == (2, True)


def test_rank_zero_and_the_smallest_numbers() -> None:
    assert exact_rank(np.zeros((3, 2))) == (0, True)
    assert exact_rank(np.array([[5e-324, 0.0], [1.7e308, 5e-324]])) == (2, True)


def test_long_elimination_is_not_begun_and_said_to_be_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    base = np.random.default_rng(0).integers(-3, 4, size=(6, 4)).astype(float)
    matrix = np.hstack([base, base[:, :1] + base[:, 1:2]])
    assert exact_rank(matrix) == (4, True)
    monkeypatch.setattr(tokens, "EXACT_WORK", 1)
    assert exact_rank(matrix) == (4, False)
    assert rank_in_fractions(matrix) == 4
