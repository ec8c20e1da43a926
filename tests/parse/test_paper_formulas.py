"""The formulas of the papers, as they are written there, are proved equal to what lemmax derives."""

from __future__ import annotations

import re

import pytest

import lemmax as lx
from tests.parse.inputs import assert_same

SOFTMAX = lx.models.attention("softmax")
GAUSSIAN = lx.models.attention("gaussian")


def paper_names(model: object) -> list[object]:
    """Return a model with q, k, P, E and Delta as the gradients are written in."""
    names: list[object] = [model]
    definitions = {
        "q": (r"X_i W^Q_h", "ih"),
        "k": (r"X_i W^K_h", "ih"),
        "P": (r"R_i (W^O_h)^T (W^V_h)^T X_i^T", "ih"),
        "E": (r"S_{ih} \circ P_{ih}", "ih"),
        r"\Delta": (r"E_{ih} - \operatorname{diag}(E_{ih} \mathbf{1}) S_{ih}", "ih"),
    }
    for name, (text, indices) in definitions.items():
        names.append({name: lx.parse_latex(text, names, indices=indices)})
    return names


GRADIENTS = [
    (SOFTMAX, "WO", r"\sum_i (S_{ih} X_i W^V_h)^T R_i"),
    (SOFTMAX, "WV", r"\sum_i X_i^T S_{ih}^T R_i (W^O_h)^T"),
    (SOFTMAX, "WV", r"\sum_{i=1}^{N} X_i^\top S_{ih}^\top R_i W^{O\top}_h"),
    (SOFTMAX, "WQ", r"\frac{1}{\sqrt d} \sum_i X_i^T \Delta_{ih} X_i W^K_h"),
    (SOFTMAX, "WK", r"\frac{1}{\sqrt{d}} \sum_i X_i^T \Delta_{ih}^T X_i W^Q_h"),
    (
        SOFTMAX,
        "WQ",
        r"(1/\sqrt{d}) \sum_i X_i^T \left(E_{ih} - \mathrm{diag}(E_{ih} \mathbf 1) S_{ih}\right) k_{ih}",
    ),
    (SOFTMAX, "WQ", r"d^{-1/2} \sum_{i,k} x_{ik} \delta_{ihk}^\top X_i W^K_h"),
    (GAUSSIAN, "WO", r"\sum_i (S_{ih} X_i W^V_h)^T R_i"),
    (GAUSSIAN, "WV", r"\sum_i X_i^T S_{ih}^T R_i (W^O_h)^T"),
    (
        GAUSSIAN,
        "WQ",
        r"-\frac{2}{\sqrt d} \sum_i X_i^T [\operatorname{diag}(E_{ih} \mathbf 1) q_{ih} - E_{ih} k_{ih}]",
    ),
    (
        GAUSSIAN,
        "WK",
        r"\frac{2}{\sqrt d} \sum_i X_i^T [E_{ih}^T q_{ih} - \operatorname{diag}(E_{ih}^T \mathbf 1) k_{ih}]",
    ),
]


@pytest.mark.parametrize(
    ("model", "weight", "text"), GRADIENTS, ids=[f"{m.kernel} {w} {t}" for m, w, t in GRADIENTS]
)
def test_gradients_of_attention(model: lx.models.AttentionModel, weight: str, text: str) -> None:
    wrt = getattr(model, weight)
    names = [
        *paper_names(model),
        {r"\delta": lx.parse_latex(r"\Delta_{ih}", paper_names(model), indices="ih")},
    ]
    claim = lx.parse_latex(text, names, like=wrt)
    assert lx.equal(claim, lx.gradient(model.loss, wrt)).name == "proved"


CORRUPTIONS = [
    (r"\Delta_{ih} X_i W^K", r"\Delta_{ih}^T X_i W^K"),
    (r"\frac{1}{\sqrt d}", r"\frac{1}{d}"),
    (r"\frac{1}{\sqrt d}", r"\frac{2}{\sqrt d}"),
    (r"\frac{1}{\sqrt d}", r"-\frac{1}{\sqrt d}"),
    (r"\Delta_{ih}", r"E_{ih}"),
    (r"W^K_h", r"W^Q_h"),
]


@pytest.mark.parametrize(("right", "wrong"), CORRUPTIONS)
def test_a_corrupted_gradient_is_refuted(right: str, wrong: str) -> None:
    text = r"\frac{1}{\sqrt d} \sum_i X_i^T \Delta_{ih} X_i W^K_h"
    assert right in text
    claim = lx.parse_latex(text.replace(right, wrong), paper_names(SOFTMAX), like=SOFTMAX.WQ)
    assert lx.equal(claim, lx.gradient(SOFTMAX.loss, SOFTMAX.WQ)).name == "refuted"


def test_gradients_of_the_classifier() -> None:
    model = lx.models.attention_classifier("separate")
    text = r"-\sum_i y_i e^{-y_i \Phi_i} X_i^T (\operatorname{diag}(s_i) - s_i s_i^T) X_i v z_i^T"
    names = [model, {"G": lx.parse_latex(text, model)}]
    for claim, wrt in (("G Q", model.K), ("G^T K", model.Q)):
        assert lx.equal(lx.parse_latex(claim, names, like=wrt), lx.gradient(model.loss, wrt)).name == "proved"


# -- Hessians of one head on one sample, vec row-major ------------------------------------------
n, D, d, v = lx.sizes("n D d v")
X, Y, c = lx.tensor("X", n, D), lx.tensor("Y", n, v), lx.tensor("c")
WQ, WK, WV = lx.tensor("W^Q", D, d), lx.tensor("W^K", D, d), lx.tensor("W^V", D, v)


def head(kernel: str) -> dict[str, lx.Tensor]:
    """Return the names of a head: S, R and the loss f."""
    q, k = X @ WQ, X @ WK
    if kernel == "softmax":
        S = lx.softmax(q @ k.T / lx.sqrt(d)).named("S")
    else:
        squared = ((q[:, None, :] - k[None, :, :]) ** 2).sum(axis=-1)
        S = lx.exp(-squared / lx.sqrt(d)).named("S")
    R = (S @ X @ WV - Y).named("R")
    tensors = {str(t.name): t for t in (X, Y, c, WQ, WK, WV, S, R)}
    return {**tensors, "f": c * lx.sqnorm(R) / 2}


def with_definitions(names: dict[str, lx.Tensor], definitions: dict[str, str]) -> dict[str, lx.Tensor]:
    for name, text in definitions.items():
        key = re.sub(r"_[kj]+$", "", name)
        names[key] = lx.parse_latex(text, names, indices=name[len(key) + 1 :] or None)
    return names


SOFTMAX_HEAD = {
    "M_1": "S X",
    r"\mathcal{J}": r"\operatorname{blkdiag}_k(\operatorname{diag}(s_k) - s_k s_k^T)",
    "Z_1": r"(I_n \otimes X^T) \mathcal{J} (X \otimes X)",
    "P": r"c R W^{V T} X^T",
    "E": r"S \circ P",
    r"\Delta": r"E - \operatorname{diag}(E \mathbf{1}) S",
    "q": "X W^Q",
    r"\mathcal{M}_k": r"\operatorname{diag}(\Delta_k) - \Delta_k s_k^T - s_k \Delta_k^T",
    "T": r"\frac{1}{\sqrt d} \mathcal{J} (X W^Q \otimes X) K_{Dd}",
}
HESSIANS = [
    (WV, WV, r"c M_1^\top M_1 \otimes I_v"),
    (WQ, WQ, r"\frac{c}{d} (I \otimes W^{K\top}) Z_1^\top (I_n \otimes W^V W^{V\top}) Z_1 (I \otimes W^K)"
             r" + \frac{1}{d} \sum_k x_k x_k^\top \otimes (W^{K\top} X^\top \mathcal{M}_k X W^K)"),
    (WV, WQ, r"\frac{c}{\sqrt d} (M_1^\top \otimes W^{V\top}) Z_1 (I \otimes W^K)"
             r" + \frac{c}{\sqrt d} (X^\top \otimes R^\top) K_{nn} \mathcal{J} (X \otimes X W^K)"),
    (WV, WK, r"c (M_1^\top \otimes W^{V\top}) (I \otimes X^\top) T + c (X^\top \otimes R^\top) K_{nn} T"),
    (WK, WK, r"\frac{1}{d} \sum_k (X^\top \mathcal{M}_k X) \otimes q_k q_k^\top"
             r" + c T^{\top} (I_n \otimes X W^V W^{V\top} X^\top) T"),
    (WQ, WK, r"\frac{1}{d} \sum_k (x_k \otimes W^{K\top} X^\top) \mathcal{M}_k (X \otimes q_k^\top)"
             r" + \frac{1}{\sqrt d} (X^\top \Delta X) \otimes I_d"
             r" + \frac{c}{\sqrt d} (X^\top \otimes W^{K\top} X^\top) \mathcal{J}"
             r" (I_n \otimes X W^V W^{V\top} X^\top) T"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "text"), HESSIANS, ids=[f"{a.name} {b.name}" for a, b, _ in HESSIANS])
def test_hessian_blocks_of_the_softmax_head(a: lx.Tensor, b: lx.Tensor, text: str) -> None:
    names = with_definitions(head("softmax"), SOFTMAX_HEAD)
    block = lx.merge(lx.hessian(names["f"], a, b), (0, 1), (2, 3))
    claim = lx.parse_latex(text, names, like=block)
    assert lx.equal(claim, block).name == "proved"


def test_a_swapped_kronecker_product_is_refuted() -> None:
    names = with_definitions(head("softmax"), SOFTMAX_HEAD)
    block = lx.merge(lx.hessian(names["f"], WV, WV), (0, 1), (2, 3))
    claim = lx.parse_latex(r"I_v \otimes c M_1^\top M_1", names, like=block)
    assert lx.equal(claim, block).name == "refuted"


def test_hessian_block_of_the_gaussian_head() -> None:
    names = head("gaussian")
    names = with_definitions(
        names,
        {
            "P": r"c R W^{V T} X^T",
            "E": r"S \circ P",
            "q": "X W^Q",
            "k": "X W^K",
            r"B_kj": r"E_{kj} \Bigl( \frac{4}{d} (q_k - k_j) (q_k - k_j)^T - \frac{2}{\sqrt d} I \Bigr)",
            "J_k": r"-\frac{2}{\sqrt d} \sum_j S_{kj} (q_k - k_j) (W^{V T} x_j)^T",
        },
    )
    block = lx.merge(lx.hessian(names["f"], WQ, WQ), (0, 1), (2, 3))
    text = r"\sum_{k,j} x_k x_k^\top \otimes B_{kj} + c \sum_k x_k x_k^\top \otimes J_k J_k^\top"
    claim = lx.parse_latex(text, names, like=block)
    assert_same(claim, block, text)
