"""Hessian blocks of the attention models in matrix notation: right, readable, short, and read back."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import lemmax as lx
from lemmax.typeset.latex import MatrixOf, read
from lemmax.typeset.letters import Letters
from tests.typeset.pair_terms import as_matrix
from tests.typeset.values import check_printed, interpreted, random_inputs, size_values

Order = Literal["row", "column"]
ORDERS: tuple[Order, ...] = ("row", "column")
PAGE = 2500  # characters of LaTeX, fewer than fit on a page
KERNELS: tuple[Literal["softmax", "gaussian"], ...] = ("softmax", "gaussian")
PAIRS = [(a, b) for a in ("WQ", "WK", "WV", "WO") for b in ("WQ", "WK", "WV", "WO")]
MODELS = {kernel: lx.models.attention(kernel=kernel) for kernel in KERNELS}


def check_block(hessian: lx.Tensor, vec: Order) -> str:
    """Assert that tree and text of a block are worth what the interpreter says; return the text."""
    formula = check_printed(hessian, 3, matrix=MatrixOf(None, vec))
    text = formula.text
    assert formula.layout is not None
    assert formula.layout.columns[-1 if vec == "row" else 0] == hessian.ndim - 1
    assert len(text) < PAGE
    want, letters = as_matrix(hessian, formula)
    back = lx.parse_latex(text, hessian, like=want, indices=letters, vec=vec)
    sizes = size_values(hessian)
    arrays = random_inputs(hessian, sizes, 1)
    expected, got = (interpreted(side, arrays, sizes) for side in (want, back))
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8 * scale, err_msg=text)
    return text


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_blocks_of_attention(kernel: Literal["softmax", "gaussian"], a: str, b: str) -> None:
    model = MODELS[kernel]
    hessian = lx.hessian(model.loss, getattr(model, a), getattr(model, b))
    vec: Order = "row" if kernel == "softmax" else "column"
    text = check_block(hessian, vec)
    assert r"\otimes" in text
    # no index of a weight is left, only samples, heads and tokens
    assert not any(mark in text for mark in (r"\begin", "e_", r"_{h,:,"))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_blocks_of_attention_in_the_other_order(
    kernel: Literal["softmax", "gaussian"], a: str, b: str
) -> None:
    model = MODELS[kernel]
    hessian = lx.hessian(model.loss, getattr(model, a), getattr(model, b))
    check_block(hessian, "column" if kernel == "softmax" else "row")


@pytest.mark.parametrize("weights", ["separate", "combined"])
def test_blocks_of_the_classifier(weights: Literal["separate", "combined"]) -> None:
    model = lx.models.attention_classifier(weights)
    for a in model.weights:
        for b in model.weights:
            for vec in ORDERS:
                check_block(lx.hessian(model.loss, a, b), vec)


@pytest.mark.parametrize("kernel", KERNELS)
def test_masked_attention(kernel: Literal["softmax", "gaussian"]) -> None:
    model = lx.models.attention(kernel=kernel, mask="causal")
    check_block(lx.hessian(model.loss, model.WQ, model.WV), "row")


# -- one head on one sample ---------------------------------------------------------------------
n, D, d, v = lx.sizes("n D d v")
X, Y = lx.tensor("X", n, D), lx.tensor("Y", n, v)
WQ, WK, WV = lx.tensor("W^Q", D, d), lx.tensor("W^K", D, d), lx.tensor("W^V", D, v)


def head(kernel: str) -> lx.Tensor:
    """Return the squared loss of one head without output weights."""
    queries, keys = X @ WQ, X @ WK
    if kernel == "softmax":
        S = lx.softmax(queries @ keys.T / lx.sqrt(d)).named("S")
    else:
        S = lx.exp(-((queries[:, None, :] - keys[None, :, :]) ** 2).sum(axis=-1) / lx.sqrt(d)).named("S")
    return lx.sqnorm((S @ X @ WV - Y).named("R")) / 2


BLOCKS = [(WV, WV), (WQ, WQ), (WV, WQ), (WV, WK), (WK, WK), (WQ, WK)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("a", "b"), BLOCKS, ids=[f"{a.name} {b.name}" for a, b in BLOCKS])
def test_printed_blocks_of_a_head_are_proved(kernel: str, a: lx.Tensor, b: lx.Tensor) -> None:
    hessian = lx.hessian(head(kernel), a, b)
    for vec in ORDERS:
        formula = read(hessian, Letters(hessian), matrix=MatrixOf(None, vec))
        want, letters = as_matrix(hessian, formula)
        back = lx.parse_latex(formula.text, hessian, like=want, indices=letters, vec=vec)
        assert lx.equal(back, want).name == "proved"


JACOBIAN = r"(\operatorname{Diag}(s_i) - s_i s_i^\top)"  # of a row of softmax


def test_parts_of_the_softmax_head() -> None:
    texts = {(a.name, b.name): lx.latex(lx.hessian(head("softmax"), a, b)) for a, b in BLOCKS}
    assert texts["W^V", "W^V"] == r"(X^\top S^\top S X) \otimes I_v"
    outer = rf"x_i x_i^\top \otimes (W^{{K\top}} X^\top {JACOBIAN} X W^V W^{{V\top}} X^\top {JACOBIAN} X W^K)"
    assert outer in texts["W^Q", "W^Q"]
    assert rf"(X^\top s_i x_i^\top) \otimes (W^{{V\top}} X^\top {JACOBIAN} X W^K)" in texts["W^V", "W^Q"]
    assert r"x_i \otimes (W^{K\top} X^\top (" in texts["W^Q", "W^K"]
    assert r" \otimes I_d" in texts["W^Q", "W^K"]


def test_parts_of_the_gaussian_head() -> None:
    u = r"(W^{K\top} x_j - W^{Q\top} x_i)"
    for a, b, rows in ((WQ, WQ, "x_i x_i"), (WK, WK, "x_j x_j"), (WQ, WK, "x_i x_j")):
        text = lx.latex(lx.hessian(head("gaussian"), a, b))
        assert rf"S_{{ij}} \bar{{S}}_{{ij}} ({rows}^\top \otimes ({u} {u}^\top))" in text
