r"""The scaling symmetry between values and outputs balances their weights, softmax kernel.

Statement. For each head h, with gradients $G^V, G^O$ of f in $W^V, W^O$,
$$(W^V_h)^\top G^V_h = G^O_h (W^O_h)^\top.$$
So $W^{V\top}_h W^V_h - W^O_h W^{O\top}_h$ is constant under gradient flow; one step of gradient
descent with step $\eta$ changes it by exactly $\eta^2 (G^{V\top}_h G^V_h - G^O_h G^{O\top}_h)$.

Hypotheses. None.

Bound. None: two equalities.

Proof idea. f depends on $W^V_h W^O_h$ only, so it is invariant under $W^V_h \mapsto W^V_h A$,
$W^O_h \mapsto A^{-1} W^O_h$. The derivative along $A = I + \epsilon M$ is $\langle W^{V\top} G^V, M
\rangle - \langle G^O W^{O\top}, M \rangle = 0$ for all M. The kernel plays no role: only S_ih X_i
enters, and it is the same on both sides.

Reference. Du, Hu, Lee, NeurIPS 2018, arXiv 1806.00900, Theorem 2.1 (products of two factors).

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
WV, WO, f = model.WV, model.WO, model.loss
eta = lx.tensor(r"\eta")

# -- expressions -------------------------------------------------------------------------------------
GV, GO = lx.gradient(f, (WV, WO))
imbalance = WV.mT @ WV - WO @ WO.mT  # (H, v, v)
moved_WV, moved_WO = WV - eta * GV, WO - eta * GO
moved_imbalance = moved_WV.mT @ moved_WV - moved_WO @ moved_WO.mT
second_order = GV.mT @ GV - GO @ GO.mT

# -- conclusion --------------------------------------------------------------------------------------
balance = [
    (WV.mT @ GV).eq(GO @ WO.mT).named("balance of gradients"),
    moved_imbalance.eq(imbalance + eta**2 * second_order).named("one step of descent"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("transposed", (WV.mT @ GV).eq((GO @ WO.mT).mT), "the matrix is not symmetric for v >= 2"),
    lx.Mutant("opposite sign", (WV.mT @ GV).eq(-(GO @ WO.mT)), "both sides are generically not 0"),
    lx.Mutant(
        "conserved by descent", moved_imbalance.eq(imbalance), "a finite step leaves a second-order term"
    ),
    lx.Mutant(
        "second-order term of the wrong sign",
        moved_imbalance.eq(imbalance - eta**2 * second_order),
        "the term is generically not 0",
    ),
]

THEOREM = lx.Theorem(
    name="value_output_balance_of_scaling_symmetry_softmax",
    statement=r"$(W^V_h)^\top \nabla_{W^V_h} f = \nabla_{W^O_h} f\, (W^O_h)^\top$ for the softmax "
    r"kernel, so that gradient flow conserves $W^{V\top}_h W^V_h - W^O_h W^{O\top}_h$.",
    conclusion=balance,
    expected="holds",
    bound=None,
    reference="derived here; products of two factors: Du, Hu, Lee, NeurIPS 2018, arXiv 1806.00900",
    mutants=mutants,
    instances=Instances(sizes={N: 2, d: 2, v: 2, m: 2, H: 2}),
)
