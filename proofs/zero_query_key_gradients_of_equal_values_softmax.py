r"""If all tokens of a sample have equal values, softmax attention has no gradient in query and key weights.

Statement. Let $v_{ijh} = X_{ij} W^V_h W^O_h$. If $v_{ijh}$ does not depend on the token j, for each
sample i and head h, then $\nabla_{W^Q} f = 0$ and $\nabla_{W^K} f = 0$ for the softmax kernel, even
if all tokens are distinct.

Hypotheses. (1) Equal values: $v_{ijh} = v_{i1h}$ for all i, j, h.

Bound. None: two equalities.

Proof idea. Each row of $S_{ih}$ has sum 1, so row k of $S_{ih} X_i W^V_h W^O_h$ is the common
value, whatever $S_{ih}$. A small change of the weights $W^Q, W^K$ leaves the loss as it is. The
Gaussian kernel rescales the common value.

Reference. Derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

from typing import Any

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
X, WQ, WK, WV, f = model.X, model.WQ, model.WK, model.WV, model.loss

# -- expressions -------------------------------------------------------------------------------------
values = X[:, None] @ WV @ model.WO  # (N, H, n, m)
query_gradient, key_gradient, value_gradient = lx.gradient(f, (WQ, WK, WV))

# -- hypotheses --------------------------------------------------------------------------------------
equal_values = values.eq(values[:, :, :1]).named("equal values")

# -- conclusion --------------------------------------------------------------------------------------
no_gradients = [
    query_gradient.eq(0).named("no gradient in W^Q"),
    key_gradient.eq(0).named("no gradient in W^K"),
]


# -- instances ---------------------------------------------------------------------------------------
def value_of_one_coordinate(arrays: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Let values depend on the last coordinate of tokens only, and that on the sample only."""
    tokens, weights = arrays["X"].copy(), arrays["WV"].copy()
    tokens[:, :, -1] = tokens[:, :1, -1]
    weights[:, :-1] = 0.0
    return {"X": tokens, "WV": weights}


# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("any values", drop="equal values", reason="the gradients are generically not 0"),
    lx.Mutant(
        "Gaussian kernel",
        lx.gradient(gaussian.loss, WQ).eq(0),
        "the kernel rescales the common value, and the scale depends on W^Q",
    ),
    lx.Mutant("gradient in the value weights", value_gradient.eq(0), "other value weights give another loss"),
    lx.Mutant("zero loss", f.eq(0), "targets may differ from the common values"),
]

THEOREM = lx.Theorem(
    name="zero_query_key_gradients_of_equal_values_softmax",
    statement=r"If $X_{ij} W^V_h W^O_h$ does not depend on j, then $\nabla_{W^Q} f = \nabla_{W^K} f = 0$ for "
    r"the softmax kernel.",
    hypotheses=[equal_values],
    conclusion=no_gradients,
    expected="holds",
    bound=None,
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, D: (2, 3), d: 2, v: 2, m: 2, H: 2},
        structure=[Structure("equal values", (X, WV), by=value_of_one_coordinate)],
    ),
)
