"""Sizes: positive integers, symbolic or concrete."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.sizes import as_size, is_one, product, same_size

n, k = lx.sizes("n k")


def test_sizes_are_positive_integer_symbols() -> None:
    assert (str(n), str(k)) == ("n", "k")
    assert n.is_positive and n.is_integer
    assert lx.sizes("N, n  d_1") == (lx.size("N"), n, lx.size("d_1"))


@pytest.mark.parametrize("name", ["", "1n", "_n", "n m", "n-1", None, 3])
def test_a_size_needs_a_name(name: object) -> None:
    with pytest.raises(lx.InvalidArgument, match="a size needs a name that starts with a letter"):
        lx.size(name)


@pytest.mark.parametrize("names", ["", "  ", ",", None])
def test_sizes_need_names(names: object) -> None:
    with pytest.raises(lx.InvalidArgument, match="expected names separated by blanks"):
        lx.sizes(names)


@pytest.mark.parametrize("value", [3, np.int64(3), n, n * k, n + 1, n - 1, sp.Integer(3)])
def test_what_can_be_a_size(value: object) -> None:
    assert as_size(value) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "size 0 is not positive"),
        (-2, "size -2 is not positive"),
        (-n, "size -n is not positive"),
        (n - n, "size 0 is not positive"),
        (n / 2, "not known to be a positive integer"),
        (sp.Symbol("x"), "not known to be a positive integer"),
        (sp.Symbol("i", integer=True), "not known to be a positive integer"),
        (lx.tensor("s").symbol, "not known to be a positive integer"),
        (2.0, "is no size"),
        (True, "is no size"),
        ("n", "is no size"),
        (None, "is no size"),
    ],
)
def test_what_cannot_be_a_size(value: object, message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        lx.tensor("X", value)


def test_equality_of_sizes_is_algebraic() -> None:
    assert same_size(n * (k + 1), n * k + n)
    assert not same_size(n, k)
    assert not same_size(n, n + 1)
    assert is_one(sp.S.One) and not is_one(n)
    assert product(()) == 1 and product((n, k)) == n * k
