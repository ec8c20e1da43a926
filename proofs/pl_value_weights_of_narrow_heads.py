r"""False: the PL inequality in the value weights for narrow heads, with the smallest non-zero singular value.

Statement. (False.) If $v < m$, $\operatorname{rank} B = N n$ and every $W^O_h$ (v x m) has rank v,
then
$$\|\nabla_{W^V} f\|_F^2 \ge 2\, \sigma_{Nn}(B)^2 \min_h \sigma_v(W^O_h)^2\, f.$$

Hypotheses. (1) Size: $N n \le H D$ and $v < m$. (2) Full row rank: $\operatorname{rank} B = N n$.
(3) Every output head has rank v.

Bound. None: the claim fails. It holds for $v \ge m$ with $\sigma_m$ in place of $\sigma_v$.

Proof idea. The gradient in head h is $[B^\top R]_h (W^O_h)^\top$. For $v < m$ there are residuals
whose rows are orthogonal to all rows of $W^O_h$: for one head the gradient is then 0 while f is
not.

Reference. Derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538.

Evidence. Refuted by a small witness, found anew from the seed in every run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
B, WO, f = model.B, model.WO, model.loss

# -- expressions -------------------------------------------------------------------------------------
squared_gradient = lx.sqnorm(lx.gradient(f, model.WV))
smallest_head = lx.min(lx.sigma(WO, v))  # over heads
mu = lx.sigma(B, N * n) ** 2 * smallest_head**2

# -- hypotheses --------------------------------------------------------------------------------------
full_row_rank = lx.rank(B).eq(N * n).named("B has full row rank")
full_heads = (smallest_head > 0).named("every output head has rank v")

# -- conclusion --------------------------------------------------------------------------------------
conclusion = squared_gradient >= 2 * mu * f

THEOREM = lx.Theorem(
    name="pl_value_weights_of_narrow_heads",
    statement=r"(False.) For $v < m$, full ranks of $B$ and of every $W^O_h$ give a PL inequality in $W^V$.",
    sizes=[N * n <= H * D, v < m],
    hypotheses=[full_row_rank, full_heads],
    conclusion=conclusion,
    expected="refuted",
    reference="derived here; compare Song et al., NeurIPS 2024, arXiv 2411.07538",
    instances=Instances(sizes={N: 2, n: 2, D: 4, d: 2, v: 2, m: 3, H: 2}),
)
