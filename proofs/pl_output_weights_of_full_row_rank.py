r"""A Polyak-Lojasiewicz inequality in the output weights.

Statement. Let C (N n x H v) have the row $(S_{ih} X_i W^V_h)_{k \cdot}$, over all heads h, for
sample i and token k. If $\operatorname{rank} C = N n$, then with $\mu = \sigma_{Nn}(C)^2 > 0$
$$\|\nabla_{W^O} f\|_F^2 \ge 2 \mu f.$$

Hypotheses. (1) Size: $N n \le H v$. (2) Full row rank: $\operatorname{rank} C = N n$.

Bound. Lower bound on a gradient norm; tight, with equality at N n = 1.

Proof idea. $F = C W^O$ with the stacked $W^O$, so the gradient is $C^\top R$. As C has full row
rank, $\|C^\top R\|_F \ge \sigma_{Nn}(C) \|R\|_F$, and $\|R\|_F^2 = 2 f$.

Reference. Song, Han, Zhang, Ding, Hong, NeurIPS 2024, arXiv 2411.07538; the constant is derived
here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
B, C, WO, f = model.B, model.C, model.WO, model.loss

# -- expressions -------------------------------------------------------------------------------------
gradient = lx.gradient(f, WO)
mu = lx.sigma(C, N * n) ** 2

# -- hypotheses --------------------------------------------------------------------------------------
full_row_rank = lx.rank(C).eq(N * n).named("full row rank")

# -- conclusion --------------------------------------------------------------------------------------
inequality = lx.sqnorm(gradient) >= 2 * mu * f  # with mu > 0 under the hypothesis

# -- instances ---------------------------------------------------------------------------------------
single = Instances(sizes={N: 1, n: 1, D: 2, m: 1})  # where the two sides are equal

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "twice the bound",
        lx.sqnorm(gradient) >= 4 * mu * f,
        "at N n = 1 the two sides are equal",
        instances=single,
    ),
    lx.Mutant(
        "features before the value weights",
        lx.sqnorm(gradient) >= 2 * lx.sigma(B, N * n) ** 2 * f,
        "small value weights make the gradient small and leave B as it is",
    ),
    lx.Mutant(
        "largest singular value",
        lx.sqnorm(gradient) >= 2 * lx.spectral_norm(C) ** 2 * f,
        "residuals along the last singular vector of C give a smaller gradient",
    ),
    lx.Mutant(
        "rank N suffices for the constant",
        lx.sqnorm(gradient) >= 2 * lx.sigma(C, N) ** 2 * f,
        "for n > 1 a residual can avoid the first N singular vectors",
    ),
]

THEOREM = lx.Theorem(
    name="pl_output_weights_of_full_row_rank",
    statement=r"If $\operatorname{rank} C = N n$, then $\|\nabla_{W^O} f\|_F^2 \ge 2 \sigma_{Nn}(C)^2 f$.",
    sizes=[N * n <= H * v],
    hypotheses=[full_row_rank],
    conclusion=inequality,
    expected="holds",
    bound="tight",
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, n: 2, d: 2, v: 3, H: 2, D: (2, 4), m: 2}),
)
