r"""Multi-head attention under the squared loss, with the softmax or the Gaussian kernel.

.. math::

    f = \tfrac12 \sum_i \Big\| \sum_h S_{ih} X_i W^V_h W^O_h - Y_i \Big\|_F^2, \qquad
    S_{ih} = \mathrm{kernel}(A_{ih} + M),

with logits :math:`A_{ih} = X_i W^Q_h (X_i W^K_h)^\top / \sqrt d` for the softmax kernel
(normalised along rows) and :math:`(A_{ih})_{kj} = -\|q_k - k_j\|^2 / \sqrt d` for the Gaussian
kernel :math:`e^{A}`, which is not normalised.

Source: Song, Han, Zhang, Ding, Hong, *Unraveling the Gradient Descent Dynamics of
Transformers*, NeurIPS 2024, arXiv 2411.07538.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lemmax.errors import InvalidArgument
from lemmax.expr import arithmetic, functions, indexing, linalg, notation, reductions
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import Size, sizes
from lemmax.expr.tensor import Tensor

Kernel = Literal["softmax", "gaussian"]
Mask = Literal["causal", "additive"]


@dataclass(frozen=True)
class AttentionModel:
    r"""The attention loss with its parts by name.

    Attributes:
        kernel: ``softmax`` or ``gaussian``.
        mask: ``None``, ``causal`` or ``additive``.
        sizes: samples N, tokens n, token dimension D, key dimension d, value dimension v,
            output dimension m, heads H.
        X: tokens (N, n, D).
        Y: targets (N, n, m).
        WQ: query weights (H, D, d).
        WK: key weights (H, D, d).
        WV: value weights (H, D, v).
        WO: output weights (H, v, m).
        M: additive mask (n, n) with entries in [-inf, inf), or ``None``.
        logits: :math:`A` (N, H, n, n), before the mask.
        S: attention matrix (N, H, n, n).
        B: features (N n, H D): row (i, k), column (h, a) is :math:`(S_{ih} X_i)_{ka}`.
        C: value features (N n, H v): :math:`(S_{ih} X_i W^V_h)_{kb}`.
        heads: outputs of the heads (N, H, n, m), summed to F.
        F: output (N, n, m).
        R: residual F - Y (N, n, m).
        loss: :math:`f`, a scalar.
    """

    kernel: Kernel
    mask: Mask | None
    sizes: tuple[Size, ...]
    X: Input
    Y: Input
    WQ: Input
    WK: Input
    WV: Input
    WO: Input
    M: Tensor | None
    logits: Tensor
    S: Tensor
    B: Tensor
    C: Tensor
    heads: Tensor
    F: Tensor
    R: Tensor
    loss: Tensor

    @property
    def weights(self) -> tuple[Input, Input, Input, Input]:
        """The four weights, in the order Q, K, V, O."""
        return self.WQ, self.WK, self.WV, self.WO

    @property
    def name(self) -> str:
        """The name under which the command line knows the model."""
        return f"{self.kernel}-attention" + (f"-{self.mask}" if self.mask else "")


def attention(kernel: Kernel = "softmax", mask: Mask | None = None) -> AttentionModel:
    r"""Return the multi-head attention loss.

    Args:
        kernel: ``softmax`` (rows of S sum to 1) or ``gaussian`` (not normalised).
        mask: ``causal`` keeps j <= k; ``additive`` adds an input M (n, n) to the logits of all
            samples and heads; its entries lie in [-inf, inf).

    Raises:
        InvalidArgument: unknown kernel or mask.
    """
    if kernel not in ("softmax", "gaussian"):
        raise InvalidArgument(f"attention: unknown kernel {kernel!r}: expected 'softmax' or 'gaussian'.")
    if mask not in (None, "causal", "additive"):
        raise InvalidArgument(f"attention: unknown mask {mask!r}: expected None, 'causal' or 'additive'.")
    all_sizes = sizes("N n D d v m H")
    N, n, D, d, v, m, H = all_sizes
    X, Y = notation.tensor("X", N, n, D), notation.tensor("Y", N, n, m)
    WQ, WK = notation.tensor("W^Q", H, D, d), notation.tensor("W^K", H, D, d)
    WV, WO = notation.tensor("W^V", H, D, v), notation.tensor("W^O", H, v, m)
    tokens = X[:, None]  # (N, 1, n, D), broadcast over heads
    logits = softmax_logits(tokens, WQ, WK, d) if kernel == "softmax" else gaussian_logits(tokens, WQ, WK, d)
    M: Tensor | None = None
    if mask is not None:
        M = notation.causal_mask(n) if mask == "causal" else notation.tensor("M", n, n)
    masked = logits if M is None else logits + M
    S = (reductions.softmax(masked) if kernel == "softmax" else functions.exp(masked)).named("S")
    attended = S @ tokens  # (N, H, n, D)
    values = attended @ WV
    heads = values @ WO
    F = heads.sum(axis=1)
    R = (F - Y).named("R")
    B = indexing.merge(linalg.permute(attended, (0, 2, 1, 3)), (0, 1), (2, 3)).named("B")
    C = indexing.merge(linalg.permute(values, (0, 2, 1, 3)), (0, 1), (2, 3)).named("C")
    loss = reductions.sqnorm(R) / 2
    return AttentionModel(
        kernel,
        mask,
        all_sizes,
        X,
        Y,
        WQ,
        WK,
        WV,
        WO,
        M,
        logits,
        S,
        B,
        C,
        heads,
        F.named("F"),
        R,
        loss.named("f"),
    )


def softmax_logits(tokens: Tensor, WQ: Tensor, WK: Tensor, d: Size) -> Tensor:
    r"""Return :math:`X W^Q (X W^K)^\top / \sqrt d`."""
    return ((tokens @ WQ) @ (tokens @ WK).mT / functions.sqrt(d)).named("A")


def gaussian_logits(tokens: Tensor, WQ: Tensor, WK: Tensor, d: Size) -> Tensor:
    r"""Return :math:`-\|q_k - k_j\|^2 / \sqrt d` with :math:`q = X W^Q`, :math:`k = X W^K`."""
    queries, keys = tokens @ WQ, tokens @ WK
    difference = queries[:, :, :, None, :] - keys[:, :, None, :, :]  # (N, H, n, n, d)
    squared = arithmetic.power(difference, 2).sum(axis=-1)
    return (-squared / functions.sqrt(d)).named("A")
