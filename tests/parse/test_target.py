"""The shape of the result: order of free indices, rows and columns, axes of size 1."""

from __future__ import annotations

import pytest

import lemmax as lx
from tests.parse.inputs import A, B, H, N, W, X, assert_same, m, n, read, x, y, z


def test_free_indices_are_alphabetical_without_a_shape() -> None:
    assert read("X_{bac}").shape == (n, N, m)
    assert read("x_j y_i").shape == (n, n)
    assert_same(read("x_j y_i"), lx.outer(y, x))


def test_families_lead_and_follow_the_shape() -> None:
    want = lx.einsum("iab,hcb->ihac", X, W)
    text = r"X_i W^{Q\top}_h"
    assert read(text).shape == (H, N, n, n)  # h before i
    assert_same(read(text, like=want), want)
    assert_same(read(text, shape=(N, H, n, n)), want)
    assert_same(read(text, indices="ih"), want)
    assert_same(read(text, indices=["i", "h"]), want)


def test_listed_indices_decide_where_sizes_do_not() -> None:
    assert_same(read("A_{ij}", indices="ji"), A.T)
    assert_same(read("A_{ji}", indices="ji"), A)
    assert_same(read("x_i", indices="ij", shape=(n, m)), lx.outer(x, lx.ones(m)))


def test_colons_say_where_rows_and_columns_stand() -> None:
    assert_same(read(r"x_i z", indices="i:"), lx.outer(x, z))
    assert_same(read(r"x_i z", indices=":i"), lx.outer(z, x))
    assert_same(read(r"x_i A", indices=":i:"), lx.einsum("i,ab->aib", x, A))


def test_axes_of_size_one() -> None:
    column, row = lx.tensor("c", n, 1), lx.tensor("r", 1, n)
    names = {"c": column, "r": row, "A": A}
    assert_same(lx.parse_latex("A c", names), (A @ column)[:, 0])
    assert_same(lx.parse_latex("A c", names, like=column), A @ column)
    assert_same(lx.parse_latex("r A", names), row @ A)
    assert_same(lx.parse_latex("r c", names), (row @ column)[0, 0])
    assert_same(lx.parse_latex(r"\sum_i c_i r_i", names), (row @ column)[0, 0])
    assert_same(lx.parse_latex("c_i", names, like=column), column)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("A x", (n, n)),
        ("A", (n,)),
        ("A", (n, m)),
        (r"x^\top A", (n,)),
        ("A x", (1, n)),
        ("x_i", ()),
        ("x_i z_j", (n,)),
        (r"x^\top x", (n,)),
        ("X_i", (m, n)),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(text: str, shape: tuple[object, ...]) -> None:
    with pytest.raises(lx.ShapeError, match="does not fit the shape"):
        read(text, shape=shape)


def test_indices_must_be_listed_all() -> None:
    with pytest.raises(lx.ParseError, match="the index j is free"):
        read("A_{ij}", indices="i")
    with pytest.raises(lx.ParseError, match="lists an index twice"):
        read("A_{ij}", indices="iij")
    with pytest.raises(lx.ShapeError, match="3 indices for the shape"):
        read("A_{ij}", indices="ijk", shape=(n, n))


def test_a_range_may_follow_from_the_shape() -> None:
    assert_same(read(r"\delta_{1,i}", shape=(n,)), lx.eye(n)[0])
    with pytest.raises(lx.ParseError, match="the range of the index i does not follow"):
        read(r"\delta_{1,i}")
    with pytest.raises(lx.ParseError, match="which axis the index"):
        read(r"\delta_{1,i} \delta_{1,j}", shape=(n, m))


def test_ones_take_their_size_from_the_shape() -> None:
    assert_same(read(r"\mathbf{1}", shape=(n,)), lx.ones(n))
    assert_same(read(r"\mathbf{1} z^\top", like=B), lx.outer(lx.ones(n), z))
    assert_same(read("I", like=A), lx.eye(n))
