r"""Saturated softmax attention has a small gradient in the query weights.

Statement. Let $P_{ih} = R_i (W^V_h W^O_h)^\top X_i^\top$ be the derivative of f in $S_{ih}$, and
$\Delta_{ih} = S_{ih} \odot P_{ih} - \operatorname{diag}((S_{ih} \odot P_{ih}) 1) S_{ih}$ that in
the logits. With $u_k = (1 - \max_j S_{kj}) (\max_j P_{kj} - \min_j P_{kj})$ for row k of sample i
and head h,
$$\|\Delta_{k \cdot}\|_1 \le 2 u_k, \qquad
  \|\nabla_{W^Q_h} f\|_F \le \tfrac{2}{\sqrt d} \sum_i \|X_i\|_2 \|X_i W^K_h\|_2 \|u_{ih}\|_2.$$

Hypotheses. None. The bound says something where rows of S are nearly 0-1.

Bound. Upper bounds; that on rows is tight, that on the gradient is not (ratio 0.41 seen).

Proof idea. $\Delta_{kj} = S_{kj} \sum_l S_{kl} (P_{kj} - P_{kl})$ has sum 0 over j, so that its
1-norm is twice the sum of its entries of one sign. Take the sign that the entry of the largest
weight, at a, does not have: $\|\Delta_k\|_1 \le 2 \sum_{j \ne a} S_{kj} \operatorname{range} P_k$.
The gradient is $\frac{1}{\sqrt d} \sum_i X_i^\top \Delta_{ih} X_i W^K_h$, and $\|\Delta_{ih}\|_F
\le 2 \|u_{ih}\|_2$.

Reference. Derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
X, S, R, WQ, WK, f = model.X, model.S, model.R, model.WQ, model.WK, model.loss
tokens = X[:, None]  # (N, 1, n, D)

# -- expressions -------------------------------------------------------------------------------------
P = R[:, None] @ (tokens @ model.WV @ model.WO).mT  # (N, H, n, n)
spread = lx.max(P, axis=-1) - lx.min(P, axis=-1)  # (N, H, n)
# 1 - max_j S_kj is the least sum of all weights but one; computed so, nothing cancels
others = lx.min(S @ (1 - lx.eye(n)), axis=-1)
u = others * spread
logit_gradient = lx.tensor_from(
    lambda i, h, k, j: lx.index_sum(lambda p: S[i, h, k, j] * S[i, h, k, p] * (P[i, h, k, j] - P[i, h, k, p]))
)
rows = lx.abs(logit_gradient).sum(axis=-1)  # (N, H, n)
gradient = lx.gradient(f, WQ)
gradient_norm = lx.sqrt((gradient**2).sum(axis=(1, 2)))  # (H,)
token_norms = lx.spectral_norm(X)[:, None]  # (N, 1)
sample_bounds = token_norms * lx.spectral_norm(tokens @ WK) * lx.sqrt((u**2).sum(axis=-1))  # (N, H)
bound = 2 * sample_bounds.sum(axis=0) / lx.sqrt(d)  # (H,)

# -- conclusion --------------------------------------------------------------------------------------
bounds = [(rows <= 2 * u).named("rows"), (gradient_norm <= bound).named("gradient in W^Q")]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("factor 2 lost in the rows", rows <= u, "two tokens with nearly 0-1 weights come close to 2 u"),
    lx.Mutant(
        "square of the largest weight",
        rows <= 2 * u * (1 - others) ** 2,
        "for two tokens the row is 2 u times the largest weight, to the first power",
    ),
    lx.Mutant(
        "weights squared",
        rows <= 2 * others * u,
        "the row is of first order in the weights of the other tokens",
    ),
    lx.Mutant(
        "keys left out",
        gradient_norm <= 2 * (token_norms * lx.sqrt((u**2).sum(axis=-1))).sum(axis=0) / lx.sqrt(d),
        "large key weights give a large gradient",
    ),
    lx.Mutant(
        "no gradient once half of the weight sits on one token",
        gradient_norm <= bound * lx.max(lx.max(1 - 2 * (1 - others), axis=-1), axis=0),
        "the gradient does not vanish for any finite logits",
    ),
]

THEOREM = lx.Theorem(
    name="query_gradient_bound_of_saturated_attention_softmax",
    statement=r"$\|\nabla_{W^Q_h} f\|_F \le \frac{2}{\sqrt d} \sum_i \|X_i\|_2 \|X_i W^K_h\|_2 \|u_{ih}\|_2$ "
    r"with $u_k = (1 - \max_j S_{kj}) (\max_j P_{kj} - \min_j P_{kj})$.",
    conclusion=bounds,
    expected="holds",
    bound="upper",
    reference="derived here",
    mutants=mutants,
    instances=Instances(sizes={N: 2, d: 2, v: 2, m: 2, H: 2}),
)
