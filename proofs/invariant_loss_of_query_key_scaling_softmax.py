r"""Softmax attention does not change when queries and keys are scaled against each other.

Statement. For invertible matrices $T_h$ (d x d), the substitution $W^Q_h \mapsto W^Q_h T_h$, $W^K_h
\mapsto W^K_h T_h^{-\top}$ leaves the attention matrices and the loss as they are.

Hypotheses. (1) Invertible T: $\det T_h \ne 0$ for all heads h.

Bound. None: two equalities.

Proof idea. The logits contain $W^Q_h (W^K_h)^\top$ only, and $W^Q_h T_h (W^K_h T_h^{-\top})^\top =
W^Q_h T_h T_h^{-1} (W^K_h)^\top$.

Reference. Derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
S, WQ, WK, f = model.S, model.WQ, model.WK, model.loss
T = lx.tensor("T", H, d, d)

# -- expressions -------------------------------------------------------------------------------------
scaled = {WQ: WQ @ T, WK: WK @ lx.inv(T).mT}
scaled_f, scaled_S = lx.substitute(f, scaled).named("f'"), lx.substitute(S, scaled).named("S'")

# -- hypotheses --------------------------------------------------------------------------------------
invertible = (lx.det(T) ** 2).gt(0).named("invertible T")

# -- conclusion --------------------------------------------------------------------------------------
invariance = [scaled_S.eq(S).named("attention"), scaled_f.eq(f).named("loss")]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "inverse not transposed",
        lx.substitute(f, {WQ: WQ @ T, WK: WK @ lx.inv(T)}).named("f'").eq(f),
        "T T^-T is not the identity for d >= 2",
    ),
    lx.Mutant(
        "no inverse",
        lx.substitute(f, {WQ: WQ @ T, WK: WK @ T}).named("f'").eq(f),
        "T T^T is not the identity unless T is orthogonal",
    ),
    lx.Mutant(
        "queries only",
        lx.substitute(f, {WQ: WQ @ T}).named("f'").eq(f),
        "the logits change with the queries alone",
    ),
    lx.Mutant(
        "Gaussian kernel",
        lx.substitute(gaussian.loss, scaled).named("f'").eq(gaussian.loss),
        "distances between queries and keys change",
    ),
]

THEOREM = lx.Theorem(
    name="invariant_loss_of_query_key_scaling_softmax",
    statement=r"The softmax attention loss is invariant under $W^Q_h \mapsto W^Q_h T_h$, $W^K_h \mapsto "
    r"W^K_h T_h^{-\top}$.",
    hypotheses=[invertible],
    conclusion=invariance,
    expected="holds",
    bound=None,
    reference="derived here",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, d: 2, v: 2, m: 2, H: 2}, draw={T: Draw("integers")}, mutate=(model.X, WQ)
    ),
)
