"""Matrices over pairs of indices: never wrong, in both orders of vec, and read back from their text."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmax as lx
from lemmax.expr.graph import inputs_of
from lemmax.typeset.latex import MatrixOf, read
from lemmax.typeset.letters import Letters
from lemmax.typeset.node import walk
from tests.thorough import THOROUGH
from tests.typeset.pair_terms import as_matrix, random_pairs
from tests.typeset.values import check_printed, interpreted, random_inputs, size_values

Order = Literal["row", "column"]
ORDERS: tuple[Order, ...] = ("row", "column")

m, n, p, q = lx.sizes("m n p q")
A, W, B = lx.tensor("A", m, n), lx.tensor("W", n, p), lx.tensor("B", p, q)
M, x, w = lx.tensor("M", n, n), lx.tensor("x", p), lx.tensor("w", n)
Y = lx.tensor("Y", m, p)


def check_read_back(t: lx.Tensor, vec: Order, rows: int) -> None:
    """Assert that the text of a matrix over pairs has the values of the tensor with merged axes."""
    formula = read(t, Letters(t), matrix=MatrixOf(rows, vec))
    text = formula.text
    want, letters = as_matrix(t, formula)
    back = lx.parse_latex(text, t, like=want, indices=letters, vec=vec)
    sizes = size_values(t)
    arrays = random_inputs(t, sizes)
    expected, got = (interpreted(side, arrays, sizes) for side in (want, back))
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8 * scale, err_msg=text)


def test_random_sums_of_products() -> None:
    seen: Counter[str] = Counter()
    for seed in range(120 if THOROUGH else 60):
        t, rows = random_pairs(seed, planar=bool(seed % 4), terms=1 + seed % 3)
        formula = check_printed(t, seed, matrix=MatrixOf(rows, ORDERS[seed // 2 % 2]))
        assert formula.layout is not None
        seen.update(node.op for node in walk(formula.tree))
    assert all(seen[op] for op in ("kron", "commutation", "call", "unit", "sum", "hadamard"))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3), st.sampled_from(ORDERS))
def test_random_sums_of_products_are_read_back(seed: int, planar: bool, terms: int, vec: Order) -> None:
    t, rows = random_pairs(seed, planar, terms)
    check_read_back(t, vec, rows)


JACOBIANS: list[tuple[lx.Tensor, lx.Tensor, str, str]] = [
    (A @ W @ B, W, r"A \otimes B^\top", r"B^\top \otimes A"),
    (W.T, W, "K_{np}", "K_{np}"),
    (W * W, W, *[r"2 \operatorname{Diag}(\operatorname{vec}(W))"] * 2),
    (W.T @ W, W, r"(I_p \otimes W^\top) K_{np} + W^\top \otimes I_p",
                 r"(W^\top \otimes I_p) K_{np} + I_p \otimes W^\top"),
    (lx.inv(M), M, r"-M^{-1} \otimes M^{-\top}", r"-M^{-\top} \otimes M^{-1}"),
    (W @ x, W, r"I_n \otimes x^\top", r"x^\top \otimes I_n"),
    (w[:, None] * x[None, :], w, r"I_n \otimes x", r"x \otimes I_n"),
    (lx.trace(M) * W, W, *[r"\operatorname{tr}(M) I_{n p}"] * 2),
    (lx.trace(M) * M, M,
     *[r"\operatorname{tr}(M) I_{n^{2}} + \operatorname{vec}(M) \operatorname{vec}(I_n)^\top"] * 2),
]  # fmt: skip


@pytest.mark.parametrize(("t", "wrt", "row", "column"), JACOBIANS, ids=[row for _, _, row, _ in JACOBIANS])
def test_jacobians(t: lx.Tensor, wrt: lx.Tensor, row: str, column: str) -> None:
    jacobian = lx.jacobian(t, wrt)
    assert [lx.latex(jacobian, rows=t.ndim, vec=vec) for vec in ORDERS] == [row, column]
    for vec in ORDERS:
        check_printed(jacobian, matrix=MatrixOf(t.ndim, vec))
        check_read_back(jacobian, vec, t.ndim)


HESSIANS: list[tuple[lx.Tensor, lx.Tensor, str]] = [
    (lx.sqnorm(A @ W - Y) / 2, W, r"A^\top A \otimes I_p"),
    (lx.logdet(M), M, r"-(M^{-\top} \otimes M^{-1}) K_{nn}"),
    (lx.trace(M @ M @ M), M, r"3 (M^\top \otimes I_n + I_n \otimes M) K_{nn}"),
    (lx.norm(W), W, r"\frac{1}{\|W\|_F} I_{n p} - \frac{1}{\|W\|_F^3}"
                    r" \operatorname{vec}(W) \operatorname{vec}(W)^\top"),
    (lx.dot(w, M @ w) ** 2 / 2, M, r"w w^\top \otimes w w^\top"),
    (lx.sqnorm(W @ W.T) / 4, W,
     r"I_n \otimes W^\top W + W W^\top \otimes I_p + (W \otimes W^\top) K_{np}"),
    (lx.sum(lx.exp(A @ W)), W, r"\sum_{j} a_j a_j^\top \otimes \operatorname{Diag}(\exp(W^\top a_j))"),
    (lx.sum(lx.logsumexp(A @ W, axis=1)), W,
     r"\sum_{j} a_j a_j^\top \otimes (\operatorname{Diag}(\operatorname{softmax}(W^\top a_j))"
     r" - \operatorname{softmax}(W^\top a_j) \operatorname{softmax}(W^\top a_j)^\top)"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "wrt", "text"), HESSIANS, ids=[text for _, _, text in HESSIANS])
def test_hessians(f: lx.Tensor, wrt: lx.Tensor, text: str) -> None:
    hessian = lx.hessian(f, wrt)
    assert lx.latex(hessian) == text
    for vec in ORDERS:
        check_read_back(hessian, vec, 2)


def test_products_of_equal_jacobians_are_squares() -> None:
    S = lx.softmax(A @ W, axis=1).named("S")
    text = lx.latex(lx.hessian(lx.sqnorm((S - Y).named("R")) / 2, W))
    jacobian = r"(\operatorname{Diag}(s_i) - s_i s_i^\top)"
    assert rf"a_i a_i^\top \otimes {jacobian}^2" in text


def test_a_sum_is_opened_rather_than_entries_taken_apart() -> None:
    S = lx.softmax(A @ W, axis=0).named("S")
    hessian = lx.hessian(lx.sum(S * Y), W)
    text = lx.latex(hessian)
    assert r"\otimes e_j e_j^\top" in text and r"\mathbf{1}^\top" not in text.replace(r"\mathbf{1})", "")
    for vec in ORDERS:
        check_printed(hessian, matrix=MatrixOf(2, vec))
        check_read_back(hessian, vec, 2)


def test_index_notation_keeps_four_indices() -> None:
    hessian = lx.hessian(lx.sqnorm(A @ W - Y) / 2, W)
    assert lx.latex(hessian, notation="index") == r"\delta_{k,q} \sum_{i=1}^{m} A_{ij} A_{il}"
    check_printed(hessian, by_entries=True, matrix=MatrixOf())


def test_named_tensors_keep_their_subscripts() -> None:
    S = lx.tensor("S", m, n, p, q)
    assert lx.latex(S) == "S"
    assert r"\otimes" not in lx.latex(S * S)  # leading axes of a tensor are families, not half of a pair


def test_an_axis_of_size_one_is_no_half_of_a_pair() -> None:
    column, U = lx.tensor("c", n, 1), lx.tensor("U", m, n)
    hessian = lx.hessian(lx.sqnorm(U @ column) / 2, column)
    assert hessian.shape == (n, 1, n, 1)
    check_printed(hessian, matrix=MatrixOf(2))
    assert r"\otimes" not in lx.latex(hessian)


def test_where_gives_definitions_in_the_same_order() -> None:
    S = lx.exp(A @ W).named("S")
    hessian = lx.hessian(lx.sqnorm(S), W)
    text = lx.latex(hessian, where=True, vec="column")
    assert text.endswith(r"S = \exp(A W)")
    assert {x.name for x in inputs_of(hessian)} == {"A", "W"}


@pytest.mark.parametrize("rows", [-1, 5, True, 1.0, "2"])
def test_a_wrong_number_of_rows_is_refused(rows: object) -> None:
    with pytest.raises(lx.InvalidArgument, match="axes"):
        lx.latex(lx.jacobian(A @ W, W), rows=rows)  # type: ignore[arg-type]


def test_a_wrong_order_is_refused() -> None:
    with pytest.raises(lx.InvalidArgument, match="'row' or 'column'"):
        lx.latex(A, vec="fortran")  # type: ignore[arg-type]


@pytest.mark.slow
def test_many_more() -> None:
    for seed in range(10_000, 10_100 if THOROUGH else 10_030):
        t, rows = random_pairs(seed, planar=seed % 3 > 0, terms=1 + seed % 3)
        assert check_printed(t, seed, matrix=MatrixOf(rows, ORDERS[seed % 2])).layout is not None


@pytest.mark.parametrize("start", [20_000])
def test_random_sums_with_merged_axes(start: int) -> None:
    opened = 0
    for seed in range(start, start + 40):
        t, rows = random_pairs(seed, planar=bool(seed % 3), terms=1 + seed % 2)
        formula = read(t, Letters(t), matrix=MatrixOf(rows, ORDERS[seed % 2]))
        merged, _ = as_matrix(t, formula)
        whole = check_printed(merged, seed)
        assert whole.layout is None
        opened += any(node.op == "blocks" for node in walk(whole.tree))
    assert opened < 20  # most need no blocks


def test_merged_axes_read_like_the_block() -> None:
    hessian = lx.hessian(lx.sqnorm(A @ W - Y) / 2, W)
    assert lx.latex(lx.merge(hessian, (0, 1), (2, 3))) == r"A^\top A \otimes I_p"
    assert lx.latex(lx.merge(lx.permute(hessian, (1, 0, 3, 2)), (0, 1), (2, 3))) == r"I_p \otimes A^\top A"
    assert lx.latex(lx.kron(A, B) @ lx.vec(lx.tensor("Z", n, q))) == r"(A \otimes B) \operatorname{vec}(Z)"


def test_a_sum_of_equal_terms_is_a_size() -> None:
    """In the Hessian of batch normalisation a summed index is left in no factor."""
    n, d = lx.sizes("n d")
    X, g = lx.tensor("X", n, d), lx.tensor("g", d)
    centred = X - lx.mean(X, axis=0)
    H = lx.hessian(lx.sum((centred / lx.sqrt(lx.mean(centred**2, axis=0) + 1) * g) ** 3), X)
    back = lx.parse_latex(lx.latex(H), [X, g])
    arrays = {"X": np.random.default_rng(0).normal(size=(4, 2)), "g": np.array([1.5, -0.5])}
    want = lx.evaluate(lx.merge(H, (0, 1), (2, 3)), arrays)
    np.testing.assert_allclose(lx.evaluate(back, arrays), want, rtol=1e-12, atol=1e-12)
