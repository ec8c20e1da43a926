r"""False: the PL inequality in the value weights with the stacked output matrix.

Statement. (False.) If $\operatorname{rank} B = N n$ and the stacked $W^O$ (H v x m) has rank m, then
$$\|\nabla_{W^V} f\|_F^2 \ge 2\, \sigma_{Nn}(B)^2\, \sigma_m(W^O)^2\, f.$$

Hypotheses. (1) N n <= H D and H v >= m. (2) B has full row rank. (3) The stacked $W^O$ has rank m.

Bound. None: the claim fails. It holds if $W^V$ is a full (H D x H v) matrix, or with the minimum over
heads of $\sigma_m(W^O_h)$ in place of $\sigma_m(W^O)$.

Proof idea. The gradient in head h is $[B^\top R]_h (W^O_h)^\top$: the heads are not mixed. Where
$W^O_2 = 0$ only $[B^\top R]_1$ counts, and with D < N n a residual R may be orthogonal to the columns
of the first head's part of B.

Reference. Derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538.

Evidence. Refuted by a small witness, found anew from the seed in every run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Draw, Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
B, WO, f = model.B, model.WO, model.loss
E = lx.tensor("E", N, n, m)  # plays the residual

# -- expressions -------------------------------------------------------------------------------------
squared_gradient = lx.sqnorm(lx.gradient(f, model.WV))
stacked = lx.sigma(lx.merge(WO, (0, 1), (2,)), m)  # of the (H v) x m matrix

# -- hypotheses --------------------------------------------------------------------------------------
full_row_rank = lx.rank(B).eq(N * n).named("B has full row rank")
full_output = (stacked > 0).named("the stacked output matrix has rank m")

# -- conclusion --------------------------------------------------------------------------------------
conclusion = squared_gradient >= 2 * lx.sigma(B, N * n) ** 2 * stacked**2 * f

THEOREM = lx.Theorem(
    name="pl_value_weights_of_stacked_output",
    statement=r"(False.) Full ranks of $B$ and of the stacked $W^O$ give a PL inequality in $W^V$.",
    sizes=[N * n <= H * D, H * v >= m],
    hypotheses=[full_row_rank, full_output],
    conclusion=conclusion,
    expected="refuted",
    reference="Derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538",
    instances=Instances(
        sizes={N: 1, n: (2, 2), D: 2, d: 1, v: 1, m: 1, H: (2, 2)},
        draw={model.WQ: Draw("gaussian", scale=3.0), model.WK: Draw("gaussian", scale=3.0)},
        structure=[Structure("zero_head", (WO,))],
        derived={model.Y: model.F - E},
    ),
)
