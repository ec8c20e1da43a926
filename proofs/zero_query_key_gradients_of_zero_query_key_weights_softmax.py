r"""With zero query and key weights, softmax attention has no gradient in either.

Statement. If $W^Q = W^K = 0$, then $\nabla_{W^Q} f = 0$ and $\nabla_{W^K} f = 0$ for the softmax
kernel.

Hypotheses. (1) Zero query weights: $W^Q_h = 0$ for all heads h. (2) Zero key weights: $W^K_h = 0$
for all heads h.

Bound. None: two equalities.

Proof idea. The logits are bilinear in $W^Q_h$ and $W^K_h$: their derivative in the one contains the
other as a factor, and both are 0.

Reference. Derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
WQ, WK, f = model.WQ, model.WK, model.loss

# -- expressions -------------------------------------------------------------------------------------
query_gradient, key_gradient, value_gradient = lx.gradient(f, (WQ, WK, model.WV))

# -- hypotheses --------------------------------------------------------------------------------------
zero_queries = WQ.eq(0).named("zero query weights")
zero_keys = WK.eq(0).named("zero key weights")

# -- conclusion --------------------------------------------------------------------------------------
no_gradients = [
    query_gradient.eq(0).named("no gradient in W^Q"),
    key_gradient.eq(0).named("no gradient in W^K"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "any query weights",
        drop="zero query weights",
        reason="the gradient in W^K is a multiple of the queries",
    ),
    lx.Mutant(
        "any key weights", drop="zero key weights", reason="the gradient in W^Q is a multiple of the keys"
    ),
    lx.Mutant("gradient in the value weights", value_gradient.eq(0), "the loss depends on the mean token"),
    lx.Mutant("zero loss", f.eq(0), "a point without gradient in two weights need not be a minimum"),
]

THEOREM = lx.Theorem(
    name="zero_query_key_gradients_of_zero_query_key_weights_softmax",
    statement=r"If $W^Q = W^K = 0$, then $\nabla_{W^Q} f = \nabla_{W^K} f = 0$ for the softmax kernel.",
    hypotheses=[zero_queries, zero_keys],
    conclusion=no_gradients,
    expected="holds",
    bound=None,
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, d: 2, v: 2, m: 2, H: 2},
        structure=[Structure("zero", (WQ,)), Structure("zero", (WK,))],
    ),
)
