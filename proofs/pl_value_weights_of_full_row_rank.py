r"""Polyak-Lojasiewicz inequality in the value weights of multi-head softmax attention.

Statement. If $\operatorname{rank} B = N n$ and every $W^O_h$ has rank m, then
$$\|\nabla_{W^V} f\|_F^2 \ge 2\, \sigma_{Nn}(B)^2\, \min_h \sigma_m(W^O_h)^2\, f,$$
where $B$ (N n x H D) stacks the rows $[S_{i1} X_i, \dots, S_{iH} X_i]$.

Hypotheses. (1) N n <= H D and v >= m. (2) B has full row rank. (3) Every output head has rank m.

Bound. Tight: equality occurs at N n = m = 1.

Proof idea. The gradient in head h is $[B^\top R]_h (W^O_h)^\top$, of norm at least
$\sigma_m(W^O_h) \|[B^\top R]_h\|$, as $W^O_h$ has full column rank. Sum over h:
$\|\nabla\|^2 \ge \min_h \sigma_m(W^O_h)^2 \|B^\top R\|^2$, and $\|B^\top R\| \ge \sigma_{Nn}(B) \|R\|$,
with $\|R\|_F^2 = 2 f$.

Reference. Derived here; the setting is that of Song, Han, Zhang, Ding, Hong, Unraveling the Gradient
Descent Dynamics of Transformers, NeurIPS 2024, arXiv 2411.07538.

Evidence. Tested on random instances.
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
smallest_head = lx.min(lx.sigma(WO, m))  # over heads
mu = lx.sigma(B, N * n) ** 2 * smallest_head**2

# -- hypotheses --------------------------------------------------------------------------------------
full_row_rank = lx.rank(B).eq(N * n).named("B has full row rank")
full_heads = (smallest_head > 0).named("every output head has rank m")

# -- conclusion --------------------------------------------------------------------------------------
conclusion = squared_gradient >= 2 * mu * f

# -- mutants: false variants, each with the reason ------------------------------------------------------
mutants = [
    lx.Mutant(
        "factor 4",
        squared_gradient >= 4 * mu * f,
        "equality with factor 2 occurs at N n = m = 1",
    ),
    lx.Mutant(
        "largest head",
        squared_gradient >= 2 * lx.sigma(B, N * n) ** 2 * lx.max(lx.sigma(WO, m)) ** 2 * f,
        "a head with small W^O contributes little, whatever the other heads do",
    ),
    lx.Mutant(
        "largest singular value of B",
        squared_gradient >= 2 * lx.spectral_norm(B) ** 2 * smallest_head**2 * f,
        "a residual along the weakest left singular vector of B sees only sigma_{Nn}(B)",
    ),
    lx.Mutant(
        "upper instead of lower bound",
        squared_gradient <= 2 * mu * f,
        "the upper bound has the largest singular values in place of the smallest",
    ),
    lx.Mutant(
        "smallest singular value of narrow output heads",
        squared_gradient >= 2 * lx.sigma(B, N * n) ** 2 * lx.min(lx.sigma_min(WO)) ** 2 * f,
        "for v < m a residual whose rows are orthogonal to the rows of W^O has gradient 0",
        drop=("every output head has rank m", v >= m),
    ),
]

THEOREM = lx.Theorem(
    name="pl_value_weights_of_full_row_rank",
    statement=r"Full row rank of $B$ and full column rank of every $W^O_h$ give a PL inequality in $W^V$.",
    sizes=[N * n <= H * D, v >= m],
    hypotheses=[full_row_rank, full_heads],
    conclusion=conclusion,
    expected="holds",
    bound="tight",
    reference="Derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, n: 3, D: 6, d: 2, v: 3, m: 2, H: 3}),
)
