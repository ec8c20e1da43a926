"""Enclosures hold the exact number; what is undefined or not decided stays undefined."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.errors import MissingRule
from lemmax.expr.arithmetic import as_tensor
from lemmax.interpret import Evaluator
from lemmax.interpret.enclosed import EnclosedArithmetic
from lemmax.interpret.enclosure import FUNCTIONS, Enclosure

n, m = lx.sizes("n m")
A, X, x = lx.tensor("A", n, n), lx.tensor("X", n, m), lx.tensor("x", n)
EXACT = mpmath.MPContext()
EXACT.dps = 120


def enclosed(t: object, **arrays: object) -> np.ndarray:
    given = {k: np.asarray(a, dtype=object) for k, a in arrays.items()}
    (value,) = Evaluator([as_tensor(t)]).run(given, arithmetic=EnclosedArithmetic())
    return np.asarray(value, dtype=object)


def holds(e: Enclosure, number: object) -> bool:
    assert e.ends is not None
    low, high = (EXACT.make_mpf(end) for end in e.ends)
    return bool(low <= number <= high and high - low < EXACT.mpf(10) ** -40)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_against_120_digits(name: str) -> None:
    exact = {
        "sigmoid": lambda z: 1 / (1 + EXACT.exp(-z)),
        "softplus": lambda z: EXACT.log(1 + EXACT.exp(z)),
        "relu": lambda z: max(z, 0),
        "step": lambda z: int(z > 0),
        "abs": abs,
        "arctan": EXACT.atan,
    }.get(name) or getattr(EXACT, name)
    for p, q in ((1, 3), (22, 7), (1, 1000), (5, 2), (-1, 3), (-7, 2)):
        if p < 0 and name in ("log", "sqrt"):
            assert not Enclosure.of(Fraction(p, q)).apply(name).is_defined
            continue
        assert holds(Enclosure.of(Fraction(p, q)).apply(name), exact(EXACT.mpf(p) / q)), (p, q)


def test_a_corrupted_number_is_not_held() -> None:
    third = Enclosure.of(Fraction(1, 3))
    assert holds(third, EXACT.mpf(1) / 3)
    assert not holds(third, EXACT.mpf(1) / 3 + EXACT.mpf(10) ** -50)
    assert not third.below(Enclosure.of(Fraction(1, 3)))


def test_inverses_and_determinants_of_fractions() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 6):
        a = np.array([[Fraction(int(v), 7) for v in row] for row in rng.integers(-9, 10, (size, size))])
        inverse = enclosed(lx.inv(A), A=a)
        det = enclosed(lx.det(A), A=a)[()]
        eye = a @ np.vectorize(lambda e: e.middle(), otypes=[object])(inverse)
        assert np.max(np.abs(np.array(eye - np.eye(size, dtype=int), dtype=float))) < 1e-40
        exact = EXACT.det(EXACT.matrix([[EXACT.mpf(v.numerator) / v.denominator for v in r] for r in a]))
        assert holds(det, exact)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_ranks_of_exact_matrices_are_decided(rank: int) -> None:
    rng = np.random.default_rng(rank)
    a = rng.integers(-3, 4, (3, max(rank, 1))) @ rng.integers(1, 4, (max(rank, 1), 2)) * bool(rank)
    value = enclosed(lx.rank(X), X=a)[()]
    assert value.is_exact and value.middle() == np.linalg.matrix_rank(a.astype(float))


def test_what_is_not_decided_is_undefined() -> None:
    rounded = Enclosure.of(Fraction(1, 3)) - Enclosure.of(Fraction(1, 3))
    assert rounded.sign() is None and not rounded.is_exact
    for name in ("log", "sqrt", "sign", "step"):
        assert not rounded.apply(name).is_defined
    assert not (Enclosure.of(1) / rounded).is_defined
    assert not (0 * Enclosure(None)).is_defined
    with pytest.raises(lx.EvaluationError):
        enclosed(lx.where(lx.sum(x) > 1, 1, 0), x=[Fraction(1, 3)] * 3)
    with pytest.raises(lx.EvaluationError):
        enclosed(lx.inv(A), A=[[1, 2], [2, 4]])


def test_masks_of_minus_infinity_and_what_has_no_enclosure() -> None:
    weights = enclosed(lx.softmax(x), x=[0.0, float("-inf"), 0.0])
    assert [w.middle() for w in weights] == [Fraction(1, 2), 0, Fraction(1, 2)]
    with pytest.raises(MissingRule):
        enclosed(lx.sigma_min(X), X=[[1, 2], [3, 4]])


def test_pseudo_inverses_of_full_rank() -> None:
    a = [[1, 2], [3, 4], [5, 7]]
    value = enclosed(lx.pinv(X) @ X, X=a)
    assert all(holds(value[i, j], int(i == j)) for i in range(2) for j in range(2))
