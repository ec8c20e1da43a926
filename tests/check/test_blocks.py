"""Blocks of vectors and matrices: printed, read back, compared."""

from __future__ import annotations

import pytest

import lemmax as lx

n, m, k = lx.sizes("n m k")
x, A = lx.tensor("x", n), lx.tensor("A", n, m)
STACKED = lx.concat([x, 2 * x, x**2])


def test_blocks_of_columns_are_read_as_a_vector() -> None:
    read = lx.parse_latex(r"\begin{bmatrix} x \\ 2 x \\ x^{\circ 2} \end{bmatrix}", x)
    assert read == STACKED


@pytest.mark.parametrize(
    "loss",
    [
        lx.logsumexp(STACKED),
        lx.sum(lx.sqrt((x[1:] - x[:-1]) ** 2 + 1)),
        lx.sqnorm(lx.softmax(lx.concat([x, -x]))),
    ],
    ids=["log-sum-exp of blocks", "smoothed total variation", "softmax of blocks"],
)
def test_gradients_through_blocks_are_read_back(loss: lx.Tensor) -> None:
    g = lx.gradient(loss, x)
    assert lx.equal(lx.parse_latex(lx.latex(g), x, like=g), g).name == "proved"


def test_case_distinctions_over_blocks_are_compared_at_points() -> None:
    """A branch that is not chosen may read out of range; its value has no influence."""
    g = lx.gradient(lx.logsumexp(STACKED), x)
    by_entries = lx.parse_latex(lx.latex(g, notation="index"), x, like=g)
    assert lx.equal(by_entries, g).name != "refuted"
    assert lx.equal(by_entries, 2 * g).name == "refuted"


def test_blocks_of_zeros() -> None:
    top = lx.concat([A, lx.zeros(k, m)])
    assert lx.equal(top + top, lx.concat([2 * A, lx.zeros(k, m)])).name == "proved"
    assert lx.equal(top, lx.concat([2 * A, lx.zeros(k, m)])).name == "refuted"
    assert lx.equal(lx.concat([x, lx.zeros(n)]), lx.concat([lx.zeros(n), x])).name == "refuted"
