r"""The hypotheses of local convergence in all four weights, and by how much each fails.

With :math:`\beta = \sigma_{Nn}(B_0)`, :math:`w = \min_h \sigma_m(W^O_h)`, :math:`\alpha = \beta w / 4`, and a
radius :math:`\rho \le w/2` with :math:`L_B(\rho) \rho \le \beta/2`, where

.. math::

    L_B(\rho) = \frac{\sqrt2 (M + \rho)}{2 \sqrt d} \Big(\sum_i \|X_i\|_2^6\Big)^{1/2}
    \quad\text{(softmax)}, \qquad
    L_B = \frac{2}{\sqrt e} d^{-1/4} \sqrt n \Big(\sum_i \|X_i\|_2^4\Big)^{1/2} \quad\text{(Gaussian)},

and :math:`M = \max_h \max(\|W^Q_h\|_2, \|W^K_h\|_2)`: if :math:`2 \sqrt{2 f_0} / \alpha \le \rho` and each
step satisfies :math:`f_{t+1} \le f_t - \tfrac{\eta_t}{2} \|g_t\|^2`, then the iterates stay within the radius
and :math:`f_t \le \prod_s (1 - \eta_s \alpha^2) f_0`.  Backtracking meets the condition on steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lemmax.campaign.instance.features import Features
from lemmax.campaign.instance.setup import Instance


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A hypothesis ``lhs <= rhs`` (or ``lhs > 0``) with its numbers.

    Attributes:
        text: what it says.
        lhs: left side.
        op: ``<=`` or ``>``.
        rhs: right side.
    """

    text: str
    lhs: float
    op: str
    rhs: float

    @property
    def holds(self) -> bool:
        """Is it true of the numbers?"""
        return self.lhs <= self.rhs if self.op == "<=" else self.lhs > self.rhs

    @property
    def factor(self) -> float | None:
        """By which factor a false hypothesis ``lhs <= rhs`` fails."""
        if self.holds or self.op != "<=":
            return None
        return self.lhs / self.rhs if self.rhs > 0 else math.inf


@dataclass(frozen=True, slots=True)
class LocalConvergence:
    """The theorem, read on an instance.

    Attributes:
        beta: sigma_{N n}(B_0).
        w: min_h sigma_m(W^O_h).
        alpha: beta w / 4.
        rho: the largest admissible radius.
        path: 2 sqrt(2 f_0) / alpha, the bound on the distance travelled.
        hypotheses: all of them.
    """

    beta: float
    w: float
    alpha: float
    rho: float
    path: float
    hypotheses: tuple[Hypothesis, ...]

    @property
    def applies(self) -> bool:
        """Are all hypotheses true?"""
        return all(h.holds for h in self.hypotheses)


def read_local(instance: Instance, features: Features, loss: float) -> LocalConvergence:
    """Evaluate the hypotheses at the start, where the loss is ``loss``."""
    beta = features.sigma.value if features.full else 0.0
    w = features.w.value if features.w.is_positive else 0.0
    alpha = beta * w / 4
    rho = min(w / 2, largest_radius(instance, features, beta))
    path = 2 * math.sqrt(2 * loss) / alpha if alpha else math.inf
    return LocalConvergence(
        beta,
        w,
        alpha,
        rho,
        path,
        (
            Hypothesis("B_0 has full row rank: beta = sigma_Nn(B_0)", beta, ">", 0.0),
            Hypothesis("every W^O_h has rank m: w = min_h sigma_m(W^O_h)", w, ">", 0.0),
            Hypothesis("path 2 sqrt(2 f_0)/alpha <= rho", path, "<=", rho),
        ),
    )


def largest_radius(instance: Instance, features: Features, beta: float) -> float:
    r"""Return the largest :math:`\rho` with :math:`L_B(\rho) \rho \le \beta / 2`."""
    X, d = instance.arrays["X"], instance.sizes["d"]
    norms = np.linalg.norm(X, 2, axis=(-2, -1))
    if features.kernel == "softmax":
        slope = math.sqrt(2.0) / (2 * math.sqrt(d)) * math.sqrt(float(np.sum(norms**6)))
        M = max(float(np.linalg.norm(instance.arrays[k], 2, axis=(-2, -1)).max()) for k in ("WQ", "WK"))
        # slope (M + rho) rho = beta / 2; written so that a small beta does not cancel
        return beta / (slope * (M + math.sqrt(M * M + 2 * beta / slope))) if slope else math.inf
    bound = 2 / math.sqrt(math.e) * d**-0.25 * math.sqrt(instance.sizes["n"] * float(np.sum(norms**4)))
    return beta / (2 * bound) if bound else math.inf
