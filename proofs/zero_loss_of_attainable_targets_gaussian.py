r"""False: descent on the query weights of Gaussian attention reaches zero loss whenever zero is attainable.

Statement. (False.) Let the targets be the outputs of Gaussian attention with other query weights
$W^*$, all else equal: zero loss is attained at $W^Q = W^*$. Then gradient descent on $W^Q$ with
backtracking, from any start, brings the loss to 1 % of its start within 200 steps.

Hypotheses. (1) Distinct loss: $f > 0$ at the start.

Bound. None: the claim fails. It holds locally, where a PL inequality in $W^Q$ does, see
pl_query_weights_of_independent_tokens_gaussian.

Proof idea. A query near a key whose value is wrong sits in the basin of that key: between two keys
far apart the kernel nearly vanishes, and so do the output and the gradient. Descent stops close to
a local minimum. With keys -3, 3 and values 1, 2, a query at -1 ends at -3 with output 1, though 3/2
is attained at 2.46. What is refuted is the claim for this many steps; a run that crawls counts as
much as one that is stuck.

Reference. Derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538, on the Gaussian
kernel.

Evidence. Refuted by a small witness, found anew from the seed in every run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.expr.graph import substitute
from lemmax.statement import Convergence, Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
N, n, D, d, v, m, H = model.sizes
WQ, WK = model.WQ, model.WK
teacher = lx.tensor("W^*", H, D, d)  # query weights of the teacher

# -- expressions -------------------------------------------------------------------------------------
target = substitute(model.F, {WQ: teacher}).named("F^*")
f = lx.sqnorm(model.F - target) / 2

# -- hypotheses --------------------------------------------------------------------------------------
not_there = f.gt(0).named("distinct loss")

# -- conclusion --------------------------------------------------------------------------------------
conclusion = Convergence(f, (WQ,), step="backtracking", steps=200, reaches=0.01)

THEOREM = lx.Theorem(
    name="zero_loss_of_attainable_targets_gaussian",
    statement=r"(False.) Gradient descent on $W^Q$ with the Gaussian kernel reaches zero loss whenever "
    r"zero is attainable (here: 1 % of the first loss in 200 steps).",
    hypotheses=[not_there],
    conclusion=conclusion,
    expected="refuted",
    reference="derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538",
    instances=Instances(
        sizes={N: 1, n: 2, D: 2, d: 1, v: 1, m: 1, H: 1},
        draw={
            WK: Draw("gaussian", scale=3.0),
            WQ: Draw("gaussian", scale=3.0),
            teacher: Draw("gaussian", scale=3.0),
        },
        mutations=(),
    ),
)
