"""What a mathematician would write: expected formulas, letter by letter."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.typeset import definitions, latex, latex_relation, notation_table
from tests.typeset.values import check_printed

N, n, D, k = lx.sizes("N n D k")
X, W, Y, V = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k), lx.tensor("V", k, k)


def test_least_squares_as_promised() -> None:
    f = lx.sqnorm(X @ W - Y) / 2
    assert latex(f) == r"\frac{1}{2} \|X W - Y\|_F^2"
    assert latex(lx.gradient(f, W)) == r"X^\top (X W - Y)"  # type: ignore[arg-type]


def test_two_layers() -> None:
    f = lx.sqnorm(lx.relu(X @ W) @ V - Y) / 2
    g = lx.gradient(f, (W, V), nonsmooth="subgradient")
    assert latex(g[0]) == (r"X^\top (\mathbf{1}[X W > 0] \odot ((\operatorname{relu}(X W) V - Y) V^\top))")
    assert latex(g[1]) == r"\operatorname{relu}(X W)^\top (\operatorname{relu}(X W) V - Y)"


SOFTMAX = {
    "W^Q": r"\frac{1}{\sqrt{d}} \sum_{i} X_i^\top \bar{A}_{ih} X_i W^K_h",
    "W^K": r"\frac{1}{\sqrt{d}} \sum_{i} X_i^\top \bar{A}_{ih}^\top X_i W^Q_h",
    "W^V": r"\sum_{i} X_i^\top S_{ih}^\top R_i W^{O\top}_h",
    "W^O": r"\sum_{i} (S_{ih} X_i W^V_h)^\top R_i",
}
GAUSSIAN = {
    "W^Q": r"\frac{2}{\sqrt{d}} \sum_{i} X_i^\top "
    r"(\bar{A}_{ih} X_i W^K_h - \operatorname{Diag}(\bar{A}_{ih} \mathbf{1}) X_i W^Q_h)",
    "W^K": r"\frac{2}{\sqrt{d}} \sum_{i} X_i^\top "
    r"(\bar{A}_{ih}^\top X_i W^Q_h - \operatorname{Diag}(\bar{A}_{ih}^\top \mathbf{1}) X_i W^K_h)",
    "W^V": SOFTMAX["W^V"],
    "W^O": SOFTMAX["W^O"],
}
DEFINITIONS = {
    "softmax": [
        ("A_{ih}", r"\frac{1}{\sqrt{d}} X_i W^Q_h W^{K\top}_h X_i^\top"),
        ("S_{ih}", r"\operatorname{softmax}(A_{ih})"),
        ("R_i", r"\sum_{h} S_{ih} X_i W^V_h W^O_h - Y_i"),
        (r"\bar{S}_{ih}", r"R_i W^{O\top}_h W^{V\top}_h X_i^\top"),
        (
            r"\bar{A}_{ih}",
            r"S_{ih} \odot \bar{S}_{ih} - \operatorname{Diag}((S_{ih} \odot \bar{S}_{ih}) \mathbf{1}) S_{ih}",
        ),
    ],
    "gaussian": [
        ("A_{ihjk}", r"-\frac{1}{\sqrt{d}} \|W^{Q\top}_h x_{ij} - W^{K\top}_h x_{ik}\|^2"),
        ("S_{ih}", r"\exp^{\circ}(A_{ih})"),
        ("R_i", r"\sum_{h} S_{ih} X_i W^V_h W^O_h - Y_i"),
        (r"\bar{S}_{ih}", r"R_i W^{O\top}_h W^{V\top}_h X_i^\top"),
        (r"\bar{A}_{ih}", r"S_{ih} \odot \bar{S}_{ih}"),
    ],
}


@pytest.mark.parametrize(("kernel", "expected"), [("softmax", SOFTMAX), ("gaussian", GAUSSIAN)])
def test_gradients_of_attention(kernel: str, expected: dict[str, str]) -> None:
    model = lx.models.attention(kernel=kernel)
    found = dict(zip([w.name for w in model.weights], lx.gradient(model.loss, model.weights), strict=True))
    assert {name: latex(g) for name, g in found.items()} == expected
    assert definitions(found["W^Q"]) == DEFINITIONS[kernel]
    for g in found.values():
        check_printed(g)
    assert latex(model.loss) == r"\frac{1}{2} \sum_{i} \|R_i\|_F^2"
    assert latex(model.B) == r"[S_{ih} X_i]_{i \le N,\, h \le H}"


def test_gradients_of_the_classifier() -> None:
    model = lx.models.attention_classifier()
    g = lx.gradient(model.loss, model.weights)
    assert [latex(t) for t in g] == [
        r"\sum_{n} X_n^\top \bar{a}_n z_n^\top Q",
        r"\sum_{n} z_n \bar{a}_n^\top X_n K",
    ]
    assert dict(definitions(g[0]))["a_n"] == r"X_n K Q^\top z_n"


def test_linear_attention_needs_no_index() -> None:
    Q, K, M = lx.tensor("Q", D, k), lx.tensor("K", D, k), lx.tensor("M", D, D)
    f = lx.sqnorm((X @ Q) @ ((X @ K).T @ (X @ M)) - lx.tensor("T", n, D)) / 2
    for variable in (Q, K, M):
        text = latex(lx.gradient(f, variable))  # type: ignore[arg-type]
        assert "sum" not in text and "[" not in text


def test_where_explains_what_occurs_in_the_order_of_use() -> None:
    f = lx.sqnorm(X @ W - Y) / 2
    R = (X @ W - Y).named("R")
    g = lx.gradient(lx.sqnorm(R) / 2, W)
    assert latex(g, where=True) == r"X^\top R, \quad\text{where } R = X W - Y"  # type: ignore[arg-type]
    assert latex(g, inline=True) == latex(lx.gradient(f, W))  # type: ignore[arg-type]
    model = lx.models.attention()
    text = latex(lx.gradient(model.loss, model.WQ), where=True)  # type: ignore[arg-type]
    places = [text.index(left + " =") for left, _ in reversed(DEFINITIONS["softmax"])]
    assert places == sorted(places)


def test_relations_and_notation() -> None:
    model = lx.models.attention()
    g = lx.gradient(model.loss, model.WV)
    relation = lx.sqnorm(g).ge(2 * lx.sigma(model.B, n) ** 2 * model.loss)  # type: ignore[arg-type]
    assert latex_relation(relation) == (
        r"\sum_{h} \Bigl\| \sum_{i} X_i^\top S_{ih}^\top R_i W^{O\top}_h \Bigr\|_F^2 \ge 2 \sigma_{n}(B)^2 f"
    )
    rows = {row.symbol: row for row in notation_table(model.loss)}
    assert rows["W^V_h"].shape == r"D \times v"
    assert rows["W^V_h"].meaning == r"given; $h = 1, \dots, H$"
    assert rows["S_{ih}"].meaning.startswith("defined below")


def test_formal_derivatives() -> None:
    model = lx.models.attention()
    assert latex(lx.Derivative(model.loss, model.WQ)) == r"\frac{\partial f}{\partial W^Q_h}"
    assert latex(lx.Derivative(model.loss, model.WQ), notation="index").startswith(
        r"\frac{\partial f}{\partial W^Q_{h"
    )
    assert latex(lx.Derivative(model.S, model.logits, "local")) == r"\partial_{A} S"


def test_index_notation_has_every_sum() -> None:
    assert latex(X @ W, notation="index") == r"\sum_{d=1}^{D} X_{id} W_{dj}"
    S = lx.softmax(X @ lx.tensor("Z", D, n))
    assert latex(S.named("S"), notation="index").count(r"\sum") == 3


@pytest.mark.parametrize("bad", [3, "X", None])
def test_no_tensor_is_refused(bad: object) -> None:
    with pytest.raises(lx.InvalidArgument, match="expected a tensor"):
        latex(bad)  # type: ignore[arg-type]


def test_unknown_notation_is_refused() -> None:
    with pytest.raises(lx.InvalidArgument, match="expected 'matrix' or 'index'"):
        latex(X, notation="tensor")  # type: ignore[arg-type]


def test_unknown_function_is_refused() -> None:
    with pytest.raises(lx.MissingRule, match="add a row"):
        latex(lx.Apply("wavelet", (X,), X.shape))
