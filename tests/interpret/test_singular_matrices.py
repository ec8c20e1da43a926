"""Determinants and inverses in multiprecision at and near singular matrices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx

k = lx.size("k")
A = lx.tensor("A", k, k)


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_determinants_of_integer_matrices_are_exact(n: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(-2, 3, size=(n, n))
    exact = int(sp.Matrix(matrix.tolist()).det())
    value = lx.evaluate(lx.det(A), A=matrix, arithmetic="mpmath", digits=50)
    assert abs(value - exact) < 1e-45


def test_a_tiny_determinant_is_not_zero() -> None:
    tiny = np.array([[1.0, 1.0], [1.0, np.nextafter(1.0, 2.0)]]) * 1e-120
    value = lx.evaluate(lx.det(A), A=tiny, arithmetic="mpmath", digits=50)
    exact = Fraction(tiny[0, 0]) * Fraction(tiny[1, 1]) - Fraction(tiny[0, 1]) * Fraction(tiny[1, 0])
    assert value != 0
    assert float(value / float(exact)) == pytest.approx(1)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.ones((3, 3)), np.array([[0.0, 1.0], [0.0, 2.0]])])
def test_the_inverse_of_a_singular_matrix_is_an_error_that_says_so(matrix: np.ndarray) -> None:
    with pytest.raises(lx.EvaluationError, match="inv"):
        lx.evaluate(lx.inv(A), A=matrix, arithmetic="mpmath", digits=50)
    assert lx.evaluate(lx.det(A), A=matrix, arithmetic="mpmath", digits=50) == 0
