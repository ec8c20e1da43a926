"""Definitions after a formula."""

from __future__ import annotations

import pytest

import lemmax as lx
from tests.parse.inputs import A, B, H, W, assert_same, n, read, x


def test_definitions_are_put_in() -> None:
    assert_same(
        read(r"p^\top A p, \quad\text{where } p = B q,\; q = B^\top x"), (B @ B.T @ x) @ A @ (B @ B.T @ x)
    )


def test_indices_on_the_left_are_axes_in_their_order() -> None:
    want = lx.einsum("hab,cb->hac", W, B)
    assert_same(read(r"P_h, \text{where } P_h = W^Q_h B^\top", like=want), want)
    assert_same(read(r"P_{12}, \text{where } P_{ji} = A_{ij}"), A[1, 0])
    assert_same(
        read(r"\sum_h P_{hij}, \text{where } P_{hij} = \sum_k W^Q_{hik} B_{jk}", indices="ij"),
        want.sum(axis=0),
    )
    assert want.shape == (H, n, n)


def test_small_letters_define_rows() -> None:
    assert_same(read(r"P^\top x, \text{where } p_i = x_i x"), lx.outer(x, x).T @ x)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"p, \text{where } p = q, q = V x", "the name V is not known"),
        (r"p, \text{where } p = q, q = p", "the name p is not known"),
        (r"A, \text{where } A = x x^\top", "defined here and given as well"),
        (r"p, \text{where } p^\top = x", "expected a name|the name p is not known"),
        (r"p, \text{where } p x = x", "expected a name"),
        (r"p_i, \text{where } p_i = A_{ij}", "the index j is free"),
    ],
)
def test_definitions_that_do_not_define(text: str, message: str) -> None:
    with pytest.raises(lx.ParseError, match=message):
        read(text)


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_what_latex_prints_with_definitions_is_read_back(kernel: str) -> None:
    model = lx.models.attention(kernel=kernel)
    inputs = {str(v.name): v for v in (model.X, model.Y, *model.weights)}
    for weight in model.weights:
        gradient = lx.gradient(model.loss, weight)
        text = lx.latex(gradient, where=True)
        assert r"\text{where }" in text
        assert_same(lx.parse_latex(text, inputs, like=gradient), gradient, text)


CENTRED = r"C = I - \frac1n \mathbf{1} \mathbf{1}^\top"


def test_a_definition_takes_its_size_from_where_it_is_used() -> None:
    n, m = lx.sizes("n m")
    x, X, y = lx.tensor("x", n), lx.tensor("X", n, m), lx.tensor("y", m)
    C = lx.eye(n) - lx.ones(n, n) / n
    for text, meant in [
        (r"\|C x\|^2", lx.sqnorm(C @ x)),
        ("x^\\top C^2 x", x @ C @ C @ x),
        (r"\operatorname{tr}(X^\top C^{\top} X)", lx.trace(X.T @ C @ X)),
    ]:
        read = lx.parse_latex(rf"{text} \text{{ where }} {CENTRED}", [x, X, y])
        assert lx.equal(read, meant).name == "proved"
    both = lx.parse_latex(r"\|J X J\|_F^2 \text{ where } J = 2 D, D = 3 I", [X])
    assert lx.equal(both, 36**2 * lx.sqnorm(X)).name == "proved"
    for text, said in [
        (rf"C \text{{ where }} {CENTRED}", "does not follow"),
        (rf"C_{{ij}} x_j \text{{ where }} {CENTRED}", "write the size in the definition"),
        (r"\|C_i x\|^2 \text{ where } C_i = x_i I", "does not follow"),
    ]:
        with pytest.raises(lx.ParseError, match=said):
            lx.parse_latex(text, [x, X, y])
