r"""One-layer softmax attention for binary labels under the exponential loss.

.. math::

    L = \sum_i e^{-y_i \Phi_i}, \qquad \Phi_i = v^\top X_i^\top s_i, \qquad
    s_i = \mathrm{softmax}(X_i W z_i),

with :math:`W = K Q^\top` (separate), a free :math:`W` (combined) or
:math:`W = \mathrm{diag}(k \odot q)` (diagonal).

Source: Sheen, Chen, Wang, Zhou, *Implicit Regularization of Gradient Flow on One-Layer
Softmax Attention*, arXiv 2403.08699.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lemmax.errors import InvalidArgument
from lemmax.expr import functions, notation, reductions
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import Size, sizes
from lemmax.expr.tensor import Tensor

Weights = Literal["separate", "combined", "diagonal"]


@dataclass(frozen=True)
class ClassifierModel:
    r"""The exponential classification loss with its parts by name.

    Attributes:
        weighting: ``separate``, ``combined`` or ``diagonal``.
        sizes: samples N, tokens L, token dimension d, and key dimension r if separate.
        X: tokens (N, L, d).
        Z: query tokens (N, d).
        y: labels (N,), +1 or -1.
        v: head (d,), fixed.
        weights: the trained inputs: (K, Q), (W,) or (k, q).
        logits: :math:`X_i W z_i` (N, L).
        S: attention weights (N, L).
        Phi: outputs (N,).
        loss: :math:`L`, a scalar.
    """

    weighting: Weights
    sizes: tuple[Size, ...]
    X: Input
    Z: Input
    y: Input
    v: Input
    weights: tuple[Input, ...]
    logits: Tensor
    S: Tensor
    Phi: Tensor
    loss: Tensor

    def __getattr__(self, name: str) -> Input:
        """Return a weight by its name: ``K`` and ``Q``, ``W``, or ``k`` and ``q``."""
        for weight in self.__dict__.get("weights", ()):
            if weight.name == name:
                return weight  # type: ignore[no-any-return]
        raise AttributeError(f"the model with {self.__dict__.get('weighting')} weights has no {name!r}")

    @property
    def name(self) -> str:
        """The name under which the command line knows the model."""
        return "attention-classifier" + ("" if self.weighting == "separate" else f"-{self.weighting}")


def attention_classifier(weights: Weights = "separate") -> ClassifierModel:
    r"""Return the exponential classification loss, summed over samples.

    Args:
        weights: ``separate`` for :math:`W = K Q^\top` with K, Q (d, r); ``combined`` for a free
            W (d, d); ``diagonal`` for :math:`W = \mathrm{diag}(k \odot q)` with k, q (d,).

    Raises:
        InvalidArgument: another value.
    """
    if weights not in ("separate", "combined", "diagonal"):
        raise InvalidArgument(
            f"attention_classifier: unknown weights {weights!r}: expected 'separate', 'combined' or"
            " 'diagonal'."
        )
    N, L, d, r = sizes("N L d r")
    X, Z = notation.tensor("X", N, L, d), notation.tensor("Z", N, d)
    y, v = notation.tensor("y", N), notation.tensor("v", d)
    trained: tuple[Input, ...]
    if weights == "separate":
        K, Q = notation.tensor("K", d, r), notation.tensor("Q", d, r)
        trained, query = (K, Q), (Z @ Q) @ K.T
    elif weights == "combined":
        W = notation.tensor("W", d, d)
        trained, query = (W,), Z @ W.T
    else:
        k, q = notation.tensor("k", d), notation.tensor("q", d)
        trained, query = (k, q), Z * (k * q)
    logits = (X @ query[:, :, None])[:, :, 0].named("A")
    S = reductions.softmax(logits).named("S")
    Phi = ((X @ v) * S).sum(axis=1).named(r"\Phi")
    loss = reductions.sum(functions.exp(-(y * Phi))).named(r"\mathcal{L}")
    all_sizes = (N, L, d, r) if weights == "separate" else (N, L, d)
    return ClassifierModel(weights, all_sizes, X, Z, y, v, trained, logits, S, Phi, loss)
