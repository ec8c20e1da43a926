r"""If the tokens of each sample are identical, softmax attention has no gradient in query and key weights.

Statement. If $X_{ik} = X_{i1}$ for all tokens k of every sample i (rank collapse), then
$\nabla_{W^Q} f = 0$ and $\nabla_{W^K} f = 0$ for the softmax kernel.

Hypotheses. (1) Identical tokens: all rows of $X_i$ are equal, for each i.

Bound. None: two equalities.

Proof idea. Each row of $S_{ih}$ has sum 1, so $S_{ih} X_i = X_i$ whatever the weights: f does not
depend on $W^Q$ and $W^K$. The rows of a Gaussian kernel matrix have no fixed sum, and its gradients
do not vanish.

Reference. Noci et al., Signal Propagation in Transformers, NeurIPS 2022, arXiv 2206.03126 (rank
collapse makes the gradients in queries and keys vanish).

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
X, WQ, WK, f = model.X, model.WQ, model.WK, model.loss

# -- expressions -------------------------------------------------------------------------------------
query_gradient, key_gradient, value_gradient = lx.gradient(f, (WQ, WK, model.WV))

# -- hypotheses --------------------------------------------------------------------------------------
identical_tokens = X.eq(X[:, :1]).named("identical tokens")

# -- conclusion --------------------------------------------------------------------------------------
no_gradients = [
    query_gradient.eq(0).named("no gradient in W^Q"),
    key_gradient.eq(0).named("no gradient in W^K"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("any tokens", drop="identical tokens", reason="the gradients are generically not 0"),
    lx.Mutant(
        "Gaussian kernel",
        lx.gradient(gaussian.loss, WQ).eq(0),
        "the kernel rescales the common token, and the scale depends on W^Q",
    ),
    lx.Mutant("gradient in the value weights", value_gradient.eq(0), "the loss depends on the common token"),
    lx.Mutant("zero loss", f.eq(0), "targets may differ from what the common token gives"),
]

THEOREM = lx.Theorem(
    name="zero_query_key_gradients_of_identical_tokens_softmax",
    statement=r"If the tokens of each sample are identical, then $\nabla_{W^Q} f = \nabla_{W^K} f = 0$ for "
    r"the softmax kernel.",
    hypotheses=[identical_tokens],
    conclusion=no_gradients,
    expected="holds",
    bound=None,
    reference="Noci et al., NeurIPS 2022, arXiv 2206.03126; the equality is derived here",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, d: 2, v: 2, m: 2, H: 2}, structure=[Structure("identical_tokens", (X,))]
    ),
)
