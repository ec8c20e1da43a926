"""Sizes are inferred from arrays, or the contradiction is shown."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.interpret.frame import compile_size

N, n, k = lx.sizes("N n k")


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


def test_sums_and_products_of_sizes() -> None:
    a, b, c = lx.tensor("a", 2 * n + 1), lx.tensor("b", N * n, N), lx.tensor("c", n**2 + n)
    assert lx.evaluate(n * lx.sum(a), a=ones(7)) == 21.0
    assert lx.evaluate((N + 10 * n) * lx.sum(b), b=ones(6, 2)) == 12 * 32.0
    assert lx.evaluate(n * lx.sum(c), c=ones(12)) == 36.0


def test_sizes_used_before_they_are_known() -> None:
    a, b = lx.tensor("a", N * n * k), lx.tensor("b", n, k)
    assert lx.evaluate(N * lx.sum(a) * lx.sum(b), a=ones(24), b=ones(2, 3)) == 4 * 24 * 6.0


def test_contradiction_between_arrays() -> None:
    a, b = lx.tensor("a", n), lx.tensor("b", n, k)
    with pytest.raises(
        lx.ShapeError,
        match=r"axis 0 of array b \(n, k\) has length 4, but n = 3 because axis 0 of array a \(n\) has",
    ):
        lx.evaluate(a @ b, a=ones(3), b=ones(4, 2))


def test_contradiction_in_a_product() -> None:
    a, b = lx.tensor("a", N, n), lx.tensor("b", N * n)
    with pytest.raises(lx.ShapeError, match=r"length 5, but N = 2 because .*; n = 3 because .*, so N\*n = 6"):
        lx.evaluate(lx.sum(a) + lx.sum(b), a=ones(2, 3), b=ones(5))


def test_fixed_axis() -> None:
    with pytest.raises(lx.ShapeError, match="has length 3; it must have length 2"):
        lx.evaluate(lx.tensor("a", 2), a=ones(3))


def test_no_integer_fits() -> None:
    with pytest.raises(lx.ShapeError, match=r"length 4, which is 2\*n \+ 1 for no positive integer n"):
        lx.evaluate(lx.tensor("a", 2 * n + 1), a=ones(4))
    with pytest.raises(lx.ShapeError, match=r"for no positive integer n at N = 2"):
        lx.evaluate(lx.sum(lx.tensor("a", N)) * lx.sum(lx.tensor("b", N * n)), a=ones(2), b=ones(3))
    with pytest.raises(lx.ShapeError, match="no positive integer"):
        lx.evaluate(lx.tensor("a", n**2), a=ones(3))


def test_several_integers_fit() -> None:
    a = lx.tensor("a", (n - 3) ** 2 + 1)
    with pytest.raises(lx.ShapeError, match=r"fits n = 2 and 4: pass sizes=\{'n': \.\.\.\}"):
        lx.evaluate(n * lx.sum(a), a=ones(2))
    assert lx.evaluate(n * lx.sum(a), a=ones(2), sizes={n: 4}) == 8.0


def test_sizes_without_arrays() -> None:
    assert lx.evaluate(lx.trace(lx.eye(n)), sizes={n: 3}) == 3.0
    assert lx.evaluate(lx.trace(lx.eye(n)), sizes={"n": np.int64(3)}) == 3.0
    with pytest.raises(lx.EvaluationError, match=r"size n is not determined by the arrays; pass sizes=\{'n'"):
        lx.evaluate(lx.trace(lx.eye(n)))


def test_given_sizes_are_checked() -> None:
    a = lx.tensor("a", n)
    with pytest.raises(lx.ShapeError, match="has length 3, but n = 2 because it was given"):
        lx.evaluate(a, a=ones(3), sizes={n: 2})
    with pytest.raises(lx.InvalidArgument, match="sizes: k does not occur; the sizes are n"):
        lx.evaluate(a, a=ones(3), sizes={k: 2})
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(lx.InvalidArgument, match="expected a positive integer"):
            lx.evaluate(a, a=ones(3), sizes={n: wrong})


def test_broken_sizes_are_errors() -> None:
    a = lx.tensor("a", n, n)
    half = lx.sigma(a, n / 2) if (n / 2).is_integer else None
    assert half is None  # the builder refuses sizes that are not known to be integers
    with pytest.raises(lx.EvaluationError, match=r"the size n/2 is 3/2 at n = 3: expected an integer"):
        compile_size(n / 2)({n: 3})


def test_evaluator_follows_changing_sizes() -> None:
    from lemmax.interpret import Evaluator

    a, b = lx.tensor("a", n, k), lx.tensor("b", k)
    evaluator = Evaluator([lx.sum(a @ b) * n, lx.softmax(a)])
    for rows, columns in [(1, 1), (2, 3), (4, 1), (2, 3)]:
        total, soft = evaluator.run({"a": ones(rows, columns), "b": ones(columns)})
        assert total == rows * rows * columns
        np.testing.assert_allclose(soft, np.full((rows, columns), 1 / columns))
