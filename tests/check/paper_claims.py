r"""Formulas of the literature as LaTeX: gradients and Hessian blocks of attention, with their definitions.

Gradients: multi-head attention, samples i, heads h.  Blocks: one head on one sample, W^O = I, vec row-major.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import lemmax as lx
from lemmax.check.claim.given import given_in

SHAPES = r"""
X \in \mathbb{R}^{n \times D}
Y \in \mathbb{R}^{n \times v}
W^Q, W^K \in \mathbb{R}^{D \times d}
W^V \in \mathbb{R}^{D \times v}
c \in \mathbb{R}
"""
SOFTMAX_HEAD = (
    SHAPES
    + r"""
S = \operatorname{softmax}\left( \frac{X W^Q (X W^K)^\top}{\sqrt{d}} \right)
R = S X W^V - Y
f = \frac{c}{2} \|R\|_F^2

M_1 = S X
J_A = \operatorname{blkdiag}_k(\operatorname{diag}(s_k) - s_k s_k^\top)
Z_1 = (I_n \otimes X^\top) J_A (X \otimes X)
P = c R W^{V\top} X^\top
E = S \odot P
\Delta = E - \operatorname{diag}(E \mathbf{1}) S
q = X W^Q
M_k = \operatorname{diag}(\Delta_k) - \Delta_k s_k^\top - s_k \Delta_k^\top
T = \frac{1}{\sqrt{d}} J_A (X W^Q \otimes X) K_{Dd}  % dS/dW^K
"""
)
GAUSSIAN_HEAD = (
    SHAPES
    + r"""
q = X W^Q
k = X W^K
S_{kj} = \exp\left(-\frac{\|q_k - k_j\|^2}{\sqrt{d}}\right)
R = S X W^V - Y
f = \frac{c}{2} \|R\|_F^2

M_1 = S X
P = c R W^{V\top} X^\top
E = S \odot P
B_{kj} = E_{kj} \left( \frac{4}{d} (q_k - k_j) (q_k - k_j)^\top - \frac{2}{\sqrt{d}} I_d \right)
J_k = -\frac{2}{\sqrt d} \sum_j S_{kj} (q_k - k_j) (W^{V\top} x_j)^\top
L_k = \frac{2}{\sqrt d} \sum_j S_{kj} x_j \otimes (q_k - k_j) (W^{V\top} x_j)^\top
"""
)
GRADIENT_DEFINITIONS = (
    r"P_{ih} = R_i (W^O_h)^\top (W^V_h)^\top X_i^\top",
    r"E_{ih} = S_{ih} \odot P_{ih}",
    r"\Delta_{ih} = E_{ih} - \operatorname{diag}(E_{ih} \mathbf{1}) S_{ih}",
    r"q_{ih} = X_i W^Q_h",
    r"k_{ih} = X_i W^K_h",
)


@dataclass(frozen=True)
class Claim:
    """A formula, of which loss, and in what.

    Attributes:
        loss: "softmax", "gaussian" (all heads and samples) or "softmax head", "gaussian head".
        wrt: one variable or two.
        text: the formula.
        part: "outer", "functional" or "" for all of the block.
    """

    loss: str
    wrt: tuple[str, ...]
    text: str
    part: str = ""

    @property
    def name(self) -> str:
        """A name for tests."""
        return " ".join((self.loss, *self.wrt, self.part)).strip()


@cache
def loss_of(name: str) -> tuple[lx.Tensor, tuple[str, ...]]:
    """Return a loss and the definitions that claims about it may use."""
    if name.endswith("head"):
        return given_in(SOFTMAX_HEAD if name.startswith("softmax") else GAUSSIAN_HEAD).loss()
    return lx.models.attention(name).loss, GRADIENT_DEFINITIONS  # type: ignore[arg-type]


_BOTH = [
    (("W^O",), r"\sum_i (S_{ih} X_i W^V_h)^\top R_i"),
    (("W^V",), r"\sum_i X_i^\top S_{ih}^\top R_i (W^O_h)^\top"),
    (("S",), r"R_i (W^O_h)^\top (W^V_h)^\top X_i^\top"),
]
GRADIENTS = [
    *(Claim(kernel, wrt, text) for kernel in ("softmax", "gaussian") for wrt, text in _BOTH),
    Claim("softmax", ("W^Q",), r"\frac{1}{\sqrt d} \sum_i X_i^\top \Delta_{ih} X_i W^K_h"),
    Claim("softmax", ("W^K",), r"\frac{1}{\sqrt d} \sum_i X_i^\top \Delta_{ih}^\top X_i W^Q_h"),
    Claim(
        "gaussian",
        ("W^Q",),
        r"-\frac{2}{\sqrt d} \sum_i X_i^\top [\operatorname{diag}(E_{ih} \mathbf{1}) q_{ih} - E_{ih} k_{ih}]",
    ),
    Claim(
        "gaussian",
        ("W^K",),
        r"\frac{2}{\sqrt d} \sum_i X_i^\top"
        r" [E_{ih}^\top q_{ih} - \operatorname{diag}(E_{ih}^\top \mathbf{1}) k_{ih}]",
    ),
]

_SOFTMAX = [
    ("V", "V", "outer", r"c M_1^\top M_1 \otimes I_v"),
    ("V", "V", "functional", "0"),
    ("Q", "Q", "outer", r"\frac{c}{d} (I \otimes W^{K\top}) Z_1^\top"
                        r" (I_n \otimes W^V W^{V\top}) Z_1 (I \otimes W^K)"),
    ("V", "Q", "outer", r"\frac{c}{\sqrt d} (M_1^\top \otimes W^{V\top}) Z_1 (I \otimes W^K)"),
    ("Q", "Q", "functional", r"\frac{1}{d} \sum_k x_k x_k^\top \otimes (W^{K\top} X^\top M_k X W^K)"),
    ("K", "K", "functional", r"\frac{1}{d} \sum_k (X^\top M_k X) \otimes q_k q_k^\top"),
    ("Q", "K", "functional", r"\frac{1}{d} \sum_k (x_k \otimes W^{K\top} X^\top) M_k (X \otimes q_k^\top)"
                             r" + \frac{1}{\sqrt d} (X^\top \Delta X) \otimes I_d"),
    ("V", "Q", "functional", r"\frac{c}{\sqrt d} (X^\top \otimes R^\top) K_{nn} J_A (X \otimes X W^K)"),
    ("V", "K", "functional", r"\frac{c}{\sqrt d} (X^\top \otimes R^\top) K_{nn} J_A"
                             r" (X W^Q \otimes X) K_{Dd}"),
    ("V", "K", "outer", r"c (M_1^\top \otimes W^{V\top}) (I_n \otimes X^\top) T"),
    ("K", "K", "outer", r"c T^\top (I_n \otimes X W^V W^{V\top} X^\top) T"),
    ("Q", "K", "outer", r"\frac{c}{\sqrt d} (X^\top \otimes W^{K\top} X^\top) J_A"
                        r" (I_n \otimes X W^V W^{V\top} X^\top) T"),
]  # fmt: skip
_GAUSSIAN = [
    ("V", "V", "outer", r"c M_1^\top M_1 \otimes I_v"),
    ("V", "V", "functional", "0"),
    ("Q", "Q", "functional", r"\sum_{k,j} x_k x_k^\top \otimes B_{kj}"),
    ("K", "K", "functional", r"\sum_{k,j} x_j x_j^\top \otimes B_{kj}"),
    ("Q", "K", "functional", r"-\sum_{k,j} x_k x_j^\top \otimes B_{kj}"),
    ("V", "Q", "functional", r"-\frac{2 c}{\sqrt d} \sum_{k,j} S_{kj} (x_j \otimes r_k)"
                             r" (x_k \otimes (q_k - k_j))^\top"),
    ("V", "K", "functional", r"\frac{2 c}{\sqrt d} \sum_{k,j} S_{kj} (x_j \otimes r_k)"
                             r" (x_j \otimes (q_k - k_j))^\top"),
    ("Q", "Q", "outer", r"c \sum_k x_k x_k^\top \otimes J_k J_k^\top"),
    ("V", "Q", "outer", r"c \sum_k X^\top s_k x_k^\top \otimes J_k^\top"),
    ("K", "K", "outer", r"c \sum_k L_k L_k^\top"),
    ("Q", "K", "outer", r"c \sum_k (x_k \otimes J_k) L_k^\top"),
    ("V", "K", "outer", r"c \sum_k (X^\top s_k \otimes I_v) L_k^\top"),
]  # fmt: skip
BLOCKS = [
    *(Claim("softmax head", (f"W^{a}", f"W^{b}"), text, part) for a, b, part, text in _SOFTMAX),
    *(Claim("gaussian head", (f"W^{a}", f"W^{b}"), text, part) for a, b, part, text in _GAUSSIAN),
]
CLAIMS = [*GRADIENTS, *BLOCKS]
