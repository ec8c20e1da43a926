r"""Query and key weights cannot take softmax attention below a floor set by the hulls of the values.

Statement. Let $v_{ijh} = X_{ij} W^V_h W^O_h$ and $C_i = \sum_h \operatorname{conv} \{v_{i1h},
\dots, v_{inh}\}$, a Minkowski sum. For all $W^Q, W^K$
$$f \ge \tfrac12 \sum_{ik} \operatorname{dist}(Y_{ik}, C_i)^2.$$
Where a target lies outside the hulls, descent on $W^Q, W^K$ alone cannot reach zero loss.

Hypotheses. None.

Bound. Lower bound on the loss; tight, with equality for a single token.

Proof idea. The weights of a row of $S_{ih}$ are non-negative with sum 1, so that output k of sample
i lies in $C_i$, and its distance from $Y_{ik}$ is at least that of the set. The bound does not
depend on $W^Q$ and $W^K$.

Reference. Derived here; that softmax attention may end in suboptimal points: Song, Han, Zhang,
Ding, Hong, NeurIPS 2024, arXiv 2411.07538.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
X, Y, f = model.X, model.Y, model.loss
E = lx.tensor("E", N, n, m)  # a small residual, for one of the mutants

# -- expressions -------------------------------------------------------------------------------------
values = X[:, None] @ model.WV @ model.WO  # (N, H, n, m)
points = lx.tensor_from(lambda i, k, h, j, c: values[i, h, j, c], shape=(N, n, H, n, m))
distance = lx.hull_distance(points, Y)  # (N, n)
floor = (distance**2).sum() / 2
union = lx.merge(points, (0,), (1,), (2, 3), (4,))[:, :, None]  # (N, n, 1, H n, m)

# -- conclusion --------------------------------------------------------------------------------------
loss_floor = f >= floor

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("factor 1/2 lost", f >= 2 * floor, "for one token the sides of the theorem are equal"),
    lx.Mutant(
        "Gaussian kernel",
        gaussian.loss >= floor,
        "its rows have no fixed sum and leave the hull of the values",
    ),
    lx.Mutant(
        "hull of the values of all heads",
        f >= (lx.hull_distance(union, Y) ** 2).sum() / 2,
        "heads add up: the output lies in the sum of the hulls, not in the hull of their union",
        instances=Instances(
            sizes={N: 1, n: 2, D: 2, d: 1, v: 1, m: 2, H: (2, 3)},
            draw={E: Draw("gaussian", scale=0.01)},
            derived={Y: model.F - E},
        ),
    ),
    lx.Mutant(
        "distance from the mean values",
        f >= lx.sqnorm(values.sum(axis=1).sum(axis=1, keepdims=True) / n - Y) / 2,
        "attention can move the output from the mean towards the target",
    ),
]

THEOREM = lx.Theorem(
    name="loss_floor_of_value_hulls_softmax",
    statement=r"$f \ge \frac12 \sum_{ik} \mathrm{dist}(Y_{ik}, \sum_h \mathrm{conv} \{X_{ij} W^V_h "
    r"W^O_h\}_j)^2$ for the softmax kernel and all $W^Q, W^K$.",
    conclusion=loss_floor,
    expected="holds",
    bound="tight",
    reference="derived here; suboptimal points: Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, D: 2, d: 2, v: 2, m: 2, H: 2}),
)
