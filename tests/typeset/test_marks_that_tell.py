"""Marks without which a printed formula could be read in two ways."""

from __future__ import annotations

import pytest
import sympy as sp

import lemmax as lx
from lemmax.typeset import latex
from tests.typeset.test_read_back import check_read_back

n, m, H = lx.sizes("n m H")
A, B, K = lx.tensor("A", n, n), lx.tensor("B", n, m), lx.tensor("K", n, n, positive_definite=True)
x, y = lx.tensor("x", n), lx.tensor("y", m)
s, t = lx.tensor("s"), lx.tensor("t")
T = lx.tensor("T", H, n, n)

PRINTED = [
    (A[10], r"A_{11,:}"),
    (T[10], r"T_{11,:,:}"),
    (x[10], r"x_{11}"),
    (abs(A), r"\operatorname{abs}(A)"),
    (abs(s * (abs(t) + 1)), r"\lvert s (|t| + 1) \rvert"),
    (lx.norm(x * lx.norm(y) + A @ x), r"\lVert \|y\| x + A x \rVert"),
    (lx.logdet(K) ** 2, r"(\log\det(K))^2"),
    (lx.prod(lx.ones(n, m) * s, axis=0) + y, r"\prod_{1 \le j \le n} s \, \mathbf{1}_m + y"),
]


@pytest.mark.parametrize(("tensor", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_marks(tensor: lx.Tensor, text: str) -> None:
    assert latex(tensor) == text


@pytest.mark.parametrize("name", ["I", "e", "E", "delta"])
def test_constants_beside_tensors_of_their_name(name: str) -> None:
    v = lx.tensor(name, n, n)
    one = lx.tensor_from(lambda i, j: v[i, j] * sp.KroneckerDelta(j, 1) + sp.KroneckerDelta(i, j))
    for notation in ("matrix", "index"):
        check_read_back(one, latex(one, notation=notation))  # type: ignore[arg-type]
    eye = v @ v + lx.eye(n)
    check_read_back(eye, latex(eye))


def test_a_sum_over_an_index_that_nothing_has_is_a_factor() -> None:
    t = lx.sqnorm(B @ lx.ones(m, m))
    assert latex(t, notation="index") == r"m \sum_{i=1}^{n} \Bigl( \sum_{j=1}^{m} B_{ij} \Bigr)^2"


def test_a_coefficient_that_is_a_sum_has_brackets() -> None:
    t = (n + 1) * lx.logsumexp(lx.ones(n)) * lx.ones(m) - 2 * (n + 1) * lx.ones(m)
    assert latex(t, notation="index").endswith("- (2 n + 2)")


def test_blocks_of_zeros_have_brackets_around_sums() -> None:
    t = lx.gradient(lx.sqnorm(A[1:3]), A)
    assert r"0_{(n - 3) \times n}" in latex(t)


def test_ranges_of_matrices_in_brackets_have_one_subscript() -> None:
    t = lx.where(A.gt(0), A, 2 * A)[:, 1:]  # type: ignore[union-attr]
    assert "}_{ij}_{" not in latex(t) and "]_{ij}_{" not in latex(t)
    assert latex(t).endswith(r"_{:,2:n}")


def test_a_letter_is_no_size_of_a_coefficient() -> None:
    r = lx.size("r")
    v = lx.tensor("v", *lx.sizes("a b c"))
    t = r * lx.sum(v)
    assert "_{r}" not in latex(t, notation="index") and "r=1" not in latex(t, notation="index")
    check_read_back(t, latex(t, notation="index"))
