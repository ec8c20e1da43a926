r"""The scaling symmetry of softmax attention balances query and key weights.

Statement. For the softmax kernel and each head h, with gradients $G^Q, G^K$ of f in $W^Q, W^K$,
$$(W^Q_h)^\top G^Q_h = \big((W^K_h)^\top G^K_h\big)^\top.$$
So $W^{Q\top}_h W^Q_h - W^{K\top}_h W^K_h$ is constant under gradient flow; one step of gradient
descent with step $\eta$ changes it by exactly $\eta^2 (G^{Q\top}_h G^Q_h - G^{K\top}_h G^K_h)$.

Hypotheses. None.

Bound. None: two equalities.

Proof idea. f is invariant under $W^Q_h \mapsto W^Q_h A$, $W^K_h \mapsto W^K_h A^{-\top}$ for
invertible A (d x d). The derivative along $A = I + \epsilon M$ is $\langle W^{Q\top} G^Q, M \rangle
- \langle W^{K\top} G^K, M^\top \rangle = 0$ for all M. The flow changes $W^\top W$ by $-(W^\top G +
G^\top W)$, and these agree; what is left of a step is of second order.

Reference. Conservation laws from symmetries of gradient flow: Du, Hu, Lee, NeurIPS 2018, arXiv
1806.00900 (linear networks); for attention derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
WQ, WK, f = model.WQ, model.WK, model.loss
eta = lx.tensor(r"\eta")

# -- expressions -------------------------------------------------------------------------------------
GQ, GK = lx.gradient(f, (WQ, WK))
gaussian_GQ, gaussian_GK = lx.gradient(gaussian.loss, (WQ, WK))
imbalance = WQ.mT @ WQ - WK.mT @ WK  # (H, d, d)
moved_WQ, moved_WK = WQ - eta * GQ, WK - eta * GK
moved_imbalance = moved_WQ.mT @ moved_WQ - moved_WK.mT @ moved_WK
second_order = GQ.mT @ GQ - GK.mT @ GK

# -- conclusion --------------------------------------------------------------------------------------
balance = [
    (WQ.mT @ GQ).eq((WK.mT @ GK).mT).named("balance of gradients"),
    moved_imbalance.eq(imbalance + eta**2 * second_order).named("one step of descent"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("not transposed", (WQ.mT @ GQ).eq(WK.mT @ GK), "W^Q^T G^Q is not symmetric for d >= 2"),
    lx.Mutant("opposite sign", (WQ.mT @ GQ).eq(-(WK.mT @ GK).mT), "both sides are generically not 0"),
    lx.Mutant(
        "Gaussian kernel",
        (WQ.mT @ gaussian_GQ).eq((WK.mT @ gaussian_GK).mT),
        "scaling queries and keys against each other changes their distances",
    ),
    lx.Mutant(
        "conserved by descent", moved_imbalance.eq(imbalance), "a finite step leaves a second-order term"
    ),
    lx.Mutant(
        "sum instead of difference",
        (WQ.mT @ GQ + WK.mT @ GK).eq(0),
        "the flow does not conserve the sum of the squares",
    ),
]

THEOREM = lx.Theorem(
    name="query_key_balance_of_scaling_symmetry_softmax",
    statement=r"$(W^Q_h)^\top \nabla_{W^Q_h} f = ((W^K_h)^\top \nabla_{W^K_h} f)^\top$ for the softmax "
    r"kernel, so that gradient flow conserves $W^{Q\top}_h W^Q_h - W^{K\top}_h W^K_h$.",
    conclusion=balance,
    expected="holds",
    bound=None,
    reference="derived here; conservation laws: Du, Hu, Lee, NeurIPS 2018, arXiv 1806.00900",
    mutants=mutants,
    instances=Instances(sizes={N: 2, d: 2, v: 2, m: 2, H: 2}),
)
