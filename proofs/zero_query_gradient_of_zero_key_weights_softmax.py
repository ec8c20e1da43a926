r"""With zero key weights, softmax attention has no gradient in the query weights.

Statement. If $W^K = 0$, then $\nabla_{W^Q} f = 0$ for the softmax kernel, whatever the other
weights and the targets.

Hypotheses. (1) Zero key weights: $W^K_h = 0$ for all heads h.

Bound. None: an equality.

Proof idea. The logits $A_{ih} = X_i W^Q_h (X_i W^K_h)^\top / \sqrt d$ are bilinear in $W^Q_h$ and
$W^K_h$: at $W^K = 0$ they are 0 for every $W^Q$, and so f does not depend on $W^Q$. The Gaussian
kernel depends on $\|q_k\|^2$ as well, so that its gradient does not vanish.

Reference. Derived here; it is the first of the points without gradient that set the softmax kernel
apart.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
WQ, WK, f = model.WQ, model.WK, model.loss

# -- expressions -------------------------------------------------------------------------------------
query_gradient, key_gradient, value_gradient = lx.gradient(f, (WQ, WK, model.WV))

# -- hypotheses --------------------------------------------------------------------------------------
zero_keys = WK.eq(0).named("zero key weights")

# -- conclusion --------------------------------------------------------------------------------------
no_gradient = query_gradient.eq(0).named("no gradient in W^Q")

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("any key weights", drop="zero key weights", reason="the gradient is generically not 0"),
    lx.Mutant(
        "Gaussian kernel",
        lx.gradient(gaussian.loss, WQ).eq(0),
        "the kernel depends on the length of the queries",
    ),
    lx.Mutant(
        "gradient in the key weights",
        key_gradient.eq(0),
        "the logits change with W^K if the queries are not 0",
    ),
    lx.Mutant("gradient in the value weights", value_gradient.eq(0), "the loss depends on the mean token"),
]

THEOREM = lx.Theorem(
    name="zero_query_gradient_of_zero_key_weights_softmax",
    statement=r"If $W^K = 0$, then $\nabla_{W^Q} f = 0$ for the softmax kernel.",
    hypotheses=[zero_keys],
    conclusion=no_gradient,
    expected="holds",
    bound=None,
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, d: 2, v: 2, m: 2, H: 2}, structure=[Structure("zero", (WK,))]),
)
