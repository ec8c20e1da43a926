r"""Features of softmax attention change little under a small change of query and key weights.

Statement. Let B' be the features at $W^Q + \Delta^Q$, $W^K + \Delta^K$, and $\kappa_h =
\|\Delta^Q_h\|_F \|W^K_h\|_2 + \|W^Q_h + \Delta^Q_h\|_2 \|\Delta^K_h\|_F$. Then
$$\|B' - B\|_F \le \beta := \frac{1}{2 \sqrt d} \Big(\sum_i \|X_i\|_2^6\Big)^{1/2}
  \Big(\sum_h \kappa_h^2\Big)^{1/2},$$
and, by Weyl's inequality, $\sigma_{Nn}(B') \ge \sigma_{Nn}(B) - \beta$.

Hypotheses. None. The norms of the weights cannot be left out: softmax attention is not globally
Lipschitz in them.

Bound. Upper bound in the Frobenius norm; the constant 1/2 cannot be lowered (ratio 0.9992 seen): it is
approached by a small change at equal weights of two tokens.

Proof idea. The softmax of a row is 1/2-Lipschitz in the Euclidean norm, so $\|S'_{ih} - S_{ih}\|_F
\le \tfrac12 \|A'_{ih} - A_{ih}\|_F$. The logits are $A_{ih} = X_i W^Q_h W^{K\top}_h X_i^\top /
\sqrt d$, and $W'^Q W'^{K\top} - W^Q W^{K\top} = \Delta^Q W^{K\top} + W'^Q \Delta^{K\top}$ has norm
at most $\kappa_h$. Blocks of B' - B are $(S'_{ih} - S_{ih}) X_i$, at most $\tfrac12 \|X_i\|_2^3
\kappa_h / \sqrt d$ each; sum their squares.

Reference. Softmax Jacobian norm at most 1/2: Nair, arXiv 2510.23012; Weyl: Horn, Johnson, Matrix
Analysis, 7.3.5.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

from dataclasses import replace

import lemmax as lx
from lemmax.statement import Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
X, B, WQ, WK = model.X, model.B, model.WQ, model.WK
DQ, DK = lx.tensor(r"\Delta^Q", H, D, d), lx.tensor(r"\Delta^K", H, D, d)

# -- expressions -------------------------------------------------------------------------------------
moved = lx.substitute(B, {WQ: WQ + DQ, WK: WK + DK}).named("B'")
change = lx.norm(moved - B)
DQ_norm, DK_norm = (lx.sqrt((t**2).sum(axis=(1, 2))) for t in (DQ, DK))  # (H,), Frobenius
kappa = DQ_norm * lx.spectral_norm(WK) + lx.spectral_norm(WQ + DQ) * DK_norm
weights = lx.sqrt((kappa**2).sum()) / (2 * lx.sqrt(d))
tokens = lx.sqrt((lx.spectral_norm(X) ** 6).sum())
beta = tokens * weights

# -- conclusion --------------------------------------------------------------------------------------
bounds = [
    (change <= beta).named("features"),
    (lx.sigma(moved, N * n) >= lx.sigma(B, N * n) - beta).named("smallest singular value"),
]

# -- instances ---------------------------------------------------------------------------------------
# the bound is nearly attained by tokens 1 and -1, nearly equal weights, a change of the queries
two_tokens = Instances(
    sizes={N: 1, n: (2, 2), D: 1, d: 1, H: 1},
    draw={X: "signs", **{t: Draw("gaussian", scale=0.01) for t in (WQ, WK, DQ)}, DK: "zeros"},
    mutations=(),
)

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "quarter instead of half",
        change <= beta / 2,
        "the Jacobian norm 1/2 is attained at two equal weights",
        instances=two_tokens,
    ),
    lx.Mutant(
        "over d instead of sqrt d",
        change <= beta / lx.sqrt(d),
        "the logits are scaled by 1 / sqrt d",
        instances=replace(two_tokens, sizes={**two_tokens.sizes, d: (2, 3)}),
    ),
    lx.Mutant(
        "fourth power of the tokens",
        change <= lx.sqrt((lx.spectral_norm(X) ** 4).sum()) * weights,
        "tokens enter as queries, as keys and as what is averaged: three times",
        instances=two_tokens,
    ),
    lx.Mutant(
        "globally Lipschitz",
        change <= tokens * lx.sqrt(((DQ_norm + DK_norm) ** 2).sum()) / (2 * lx.sqrt(d)),
        "large key weights multiply the effect of a change in the query weights",
        instances=replace(two_tokens, draw={**two_tokens.draw, WK: Draw("gaussian", scale=10.0)}),
    ),
    lx.Mutant(
        "old query weights with the change of the keys",
        change
        <= tokens
        * lx.sqrt(((DQ_norm * lx.spectral_norm(WK) + lx.spectral_norm(WQ) * DK_norm) ** 2).sum())
        / (2 * lx.sqrt(d)),
        "the product of the two changes is left out; at W^Q = W^K = 0 nothing would change",
        instances=replace(two_tokens, draw={X: "signs", WQ: "zeros", WK: "zeros"}),
    ),
]

THEOREM = lx.Theorem(
    name="feature_perturbation_of_query_key_change_softmax",
    statement=r"$\|B' - B\|_F \le \frac{1}{2 \sqrt d} (\sum_i \|X_i\|_2^6)^{1/2} (\sum_h \kappa_h^2)^{1/2}$ "
    r"with $\kappa_h = \|\Delta^Q_h\|_F \|W^K_h\|_2 + \|W^Q_h + \Delta^Q_h\|_2 \|\Delta^K_h\|_F$; "
    r"singular values of B move by no more.",
    conclusion=bounds,
    expected="holds",
    bound="upper",
    reference="derived here; softmax Jacobian norm: arXiv 2510.23012; Weyl's inequality",
    mutants=mutants,
    instances=Instances(sizes={N: 2, n: 3, D: 3, d: 2, H: 2}),
)
