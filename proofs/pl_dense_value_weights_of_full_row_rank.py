r"""A Polyak-Lojasiewicz inequality in dense value weights, with the stacked output weights.

Statement. Let heads share one dense value matrix $W^V$ (H D x H v) and one output matrix $W^O$ (H v
x m), so that $F = B W^V W^O$ and $f = \tfrac12 \|F - Y\|_F^2$. If $\operatorname{rank} B = N n$ and
$\operatorname{rank} W^O = m$, then with $\mu = \sigma_{Nn}(B)^2 \sigma_m(W^O)^2 > 0$
$$\|\nabla_{W^V} f\|_F^2 \ge 2 \mu f.$$

Hypotheses. (1) Size: $N n \le H D$ and $m \le H v$. (2) Full row rank: $\operatorname{rank} B = N
n$. (3) Output of rank m: $\operatorname{rank} W^O = m$.

Bound. Lower bound on a gradient norm; tight, with equality at N n = m = 1.

Proof idea. The gradient is $B^\top R (W^O)^\top$ and $2 f = \|R\|_F^2$. $\|B^\top M\|_F \ge
\sigma_{Nn}(B) \|M\|_F$ as B has full row rank, and $\|R (W^O)^\top\|_F \ge \sigma_m(W^O) \|R\|_F$
as $W^O$ has full column rank. In multi-head attention $W^V$ is block diagonal; there the stacked
$W^O$ is not enough, see pl_value_weights_of_stacked_output.

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
B = model.B  # (N n, H D)
WV, WO = lx.tensor("W^V", H * D, H * v), lx.tensor("W^O", H * v, m)
Y, E = lx.tensor("Y", N * n, m), lx.tensor("E", N * n, m)  # E plays the residual

# -- expressions -------------------------------------------------------------------------------------
F = B @ WV @ WO
f = lx.sqnorm(F - Y) / 2
gradient = lx.gradient(f, WV)
mu = lx.sigma(B, N * n) ** 2 * lx.sigma(WO, m) ** 2

# -- hypotheses --------------------------------------------------------------------------------------
full_row_rank = lx.rank(B).eq(N * n).named("full row rank")
output_rank = lx.rank(WO).eq(m).named("output of rank m")

# -- conclusion --------------------------------------------------------------------------------------
inequality = lx.sqnorm(gradient) >= 2 * mu * f  # with mu > 0 under the hypotheses

# -- instances ---------------------------------------------------------------------------------------
single = Instances(sizes={N: 1, n: 1, D: 2, m: 1}, derived={Y: F - E})  # where the two sides are equal

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "twice the bound",
        lx.sqnorm(gradient) >= 4 * mu * f,
        "at N n = m = 1 the sides of the theorem are equal",
        instances=single,
    ),
    lx.Mutant(
        "largest singular value of B",
        lx.sqnorm(gradient) >= 2 * lx.spectral_norm(B) ** 2 * lx.sigma(WO, m) ** 2 * f,
        "residuals along the last singular vector of B give a smaller gradient",
    ),
    lx.Mutant(
        "largest singular value of the output",
        lx.sqnorm(gradient) >= 2 * lx.sigma(B, N * n) ** 2 * lx.spectral_norm(WO) ** 2 * f,
        "residuals along the last singular vector of W^O give a smaller gradient",
    ),
    lx.Mutant(
        "singular values not squared",
        lx.sqnorm(gradient) >= 2 * lx.sigma(B, N * n) * lx.sigma(WO, m) * f,
        "the sides scale differently with W^O",
    ),
]

THEOREM = lx.Theorem(
    name="pl_dense_value_weights_of_full_row_rank",
    statement=r"For dense value weights, $\|\nabla_{W^V} f\|_F^2 \ge 2 \sigma_{Nn}(B)^2 \sigma_m(W^O)^2 f$.",
    sizes=[N * n <= H * D, m <= H * v],
    hypotheses=[full_row_rank, output_rank],
    conclusion=inequality,
    expected="holds",
    bound="tight",
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, n: 2, d: 2, v: 2, H: 2, D: 3, m: 2},
        derived={Y: F - E},
        mutate=(model.X, WO),
    ),
)
