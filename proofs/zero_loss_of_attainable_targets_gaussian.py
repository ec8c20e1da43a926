r"""False: descent on the query weights of Gaussian attention reaches zero loss whenever zero is attainable.

Statement. (False.) Let the targets be the outputs of Gaussian attention with other query weights
$W^*$, all else equal: zero loss is attained at $W^Q = W^*$. Then gradient descent on $W^Q$ with
backtracking brings the loss below a tenth of its start, within 30 steps.

Hypotheses. (1) Every query is near a key at the start: $\max_j S_{kj} \ge 1/10$ for all k, in each
sample and head. (2) The first loss is at least 1/10. Both make sure that no run fails merely because
gradients are tiny from the start.

Bound. None: the claim fails. It holds locally, where a PL inequality in $W^Q$ does, see
pl_query_weights_of_independent_tokens_gaussian.

Proof idea. A query near a key whose value is wrong sits in the basin of that key: between two keys
far apart the kernel nearly vanishes, and so does the output. Descent ends close to a local minimum.
With keys -3, 3 and values 1, 2, a query at -1 ends at -3 with output 1, though the target 3/2 is
attained at 2.46. What is refuted is the claim for this many steps.

Reference. Derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538, on the Gaussian
kernel.

Evidence. Refuted by a small witness, found anew from the seed in every run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Convergence, Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
N, n, D, d, v, m, H = model.sizes
WQ, WK = model.WQ, model.WK
teacher = lx.tensor("W^*", H, D, d)  # query weights of the teacher

# -- expressions -------------------------------------------------------------------------------------
target = lx.substitute(model.F, {WQ: teacher}).named("F^*")
f = lx.sqnorm(model.F - target) / 2

# -- hypotheses --------------------------------------------------------------------------------------
near = lx.max(model.S, axis=-1).ge(0.1).named("every query is near a key")
large_loss = f.ge(0.1).named("the first loss is at least 1/10")

# -- conclusion --------------------------------------------------------------------------------------
conclusion = Convergence(f, (WQ,), step="backtracking", steps=30, reaches=0.1)

THEOREM = lx.Theorem(
    name="zero_loss_of_attainable_targets_gaussian",
    statement=r"(False.) Gradient descent on $W^Q$ with the Gaussian kernel reaches zero loss whenever "
    r"zero is attainable (here: a tenth of the first loss, in 30 steps).",
    hypotheses=[near, large_loss],
    conclusion=conclusion,
    expected="refuted",
    reference="derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538",
    instances=Instances(
        sizes={N: 1, n: 2, D: 2, d: 1, v: 1, m: 1, H: 1},
        draw={
            WK: Draw("gaussian", scale=2.0),
            WQ: Draw("gaussian", scale=2.0),
            teacher: Draw("gaussian", scale=2.0),
        },
        mutations=(),
    ),
)
