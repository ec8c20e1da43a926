r"""A Polyak-Lojasiewicz inequality in the query weights, Gaussian kernel.

Statement. Let $J_{ik}$ (H d x m) hold the derivatives of the output of token k of sample i in its
queries: with queries $q_k = X_{ik} W^Q_h$, keys $k_j = X_{ij} W^K_h$ and values $v_j = X_{ij} W^V_h
W^O_h$, block h is
$$J_{ikh} = -\tfrac{2}{\sqrt d} \sum_j S_{kj} (q_k - k_j)\, v_j^\top.$$
If the stacked tokens X (N n x D) have rank N n and every $J_{ik}$ has rank m, then with $\mu =
\sigma_{Nn}(X)^2 \min_{ik} \sigma_m(J_{ik})^2 > 0$
$$\|\nabla_{W^Q} f\|_F^2 \ge 2 \mu f.$$

Hypotheses. (1) Size: $N n \le D$ and $m \le H d$. (2) Independent tokens: the stacked tokens have
rank N n. (3) Sensitive outputs: every $J_{ik}$ has rank m.

Bound. Lower bound on a gradient norm; tight, with equality at N n = m = 1.

Proof idea. The gradient in all query weights is $X^\top Z$, where row (i, k) of Z is $J_{ik}
R_{ik}$. As X has full row rank, $\|X^\top Z\|_F \ge \sigma_{Nn}(X) \|Z\|_F$; and $\|J_{ik} R_{ik}\|
\ge \sigma_m(J_{ik}) \|R_{ik}\|$. Far from all keys, S underflows and so does the constant: the
inequality is local in nature.

Reference. Song, Han, Zhang, Ding, Hong, NeurIPS 2024, arXiv 2411.07538; the inequality is derived
here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

from dataclasses import replace

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
N, n, D, d, v, m, H = model.sizes
X, Y, S, WQ, f = model.X, model.Y, model.S, model.WQ, model.loss
E = lx.tensor("E", N, n, m)  # plays the residual
tokens = lx.merge(X, (0, 1), (2,))  # (N n, D)

# -- expressions -------------------------------------------------------------------------------------
queries, keys = X[:, None] @ WQ, X[:, None] @ model.WK  # (N, H, n, d)
values = X[:, None] @ model.WV @ model.WO  # (N, H, n, m)
blocks = lx.tensor_from(
    lambda i, k, h, a, c: lx.index_sum(
        lambda j: S[i, h, k, j] * (queries[i, h, k, a] - keys[i, h, j, a]) * values[i, h, j, c]
    )
)
J = -2 * lx.merge(blocks, (0,), (1,), (2, 3), (4,)) / lx.sqrt(d)  # (N, n, H d, m)
sensitivity = lx.sigma(J, m)  # (N, n)
gradient = lx.gradient(f, WQ)
mu = lx.sigma(tokens, N * n) ** 2 * lx.min(sensitivity) ** 2

# -- hypotheses --------------------------------------------------------------------------------------
independent_tokens = lx.rank(tokens).eq(N * n).named("independent tokens")
sensitive_outputs = lx.min(sensitivity).gt(0).named("sensitive outputs")

# -- conclusion --------------------------------------------------------------------------------------
inequality = lx.sqnorm(gradient) >= 2 * mu * f  # with mu > 0 under the hypotheses

# -- instances ---------------------------------------------------------------------------------------
single = Instances(sizes={N: 1, n: 1, D: 2, m: 1}, derived={Y: model.F - E})  # where the two sides are equal

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "twice the bound",
        lx.sqnorm(gradient) >= 4 * mu * f,
        "at N n = m = 1 the two sides are equal",
        instances=single,
    ),
    lx.Mutant(
        "most sensitive token",
        lx.sqnorm(gradient) >= 2 * lx.sigma(tokens, N * n) ** 2 * lx.max(sensitivity) ** 2 * f,
        "the residual may sit on the least sensitive token",
    ),
    lx.Mutant(
        "largest singular value of the tokens",
        lx.sqnorm(gradient) >= 2 * lx.spectral_norm(tokens) ** 2 * lx.min(sensitivity) ** 2 * f,
        "contributions of nearly dependent tokens cancel",
    ),
    lx.Mutant(
        "sensitivity not over sqrt d",
        lx.sqnorm(gradient) >= 2 * d * mu * f,
        "the squared distances are scaled by 1 / sqrt d",
        instances=replace(single, sizes={**single.sizes, d: (2, 3)}),
    ),
]

THEOREM = lx.Theorem(
    name="pl_query_weights_of_independent_tokens_gaussian",
    statement=r"$\|\nabla_{W^Q} f\|_F^2 \ge 2 \sigma_{Nn}(X)^2 \min_{ik} \sigma_m(J_{ik})^2 f$ for the "
    r"Gaussian kernel, with $J_{ik}$ the derivative of output (i, k) in its queries.",
    sizes=[N * n <= D, m <= H * d],
    hypotheses=[independent_tokens, sensitive_outputs],
    conclusion=inequality,
    expected="holds",
    bound="tight",
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, n: 2, D: (2, 5), d: 2, v: 2, H: 2, m: 2}, derived={Y: model.F - E}),
)
