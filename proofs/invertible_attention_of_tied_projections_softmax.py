r"""Tied projections with distinct rows make every softmax attention matrix invertible.

Statement. If $X_i W^Q_h = X_i W^K_h$ for all i, h, and no two rows of such a matrix are equal, then
every $S_{ih}$ has rank n, and $\det S_{ih} > 0$.

Hypotheses. (1) Tied projections: queries and keys of a token coincide. (2) Distinct projections:
$q_k \ne q_j$ for $k \ne j$, in each sample and head.

Bound. None: a rank and a sign.

Proof idea. $S_{ih} = D^{-1} E$ with $E_{kj} = \exp(q_k^\top q_j / \sqrt d)$ and D the diagonal of
its row sums. $E$ is the Gaussian Gram matrix of the points, scaled by $\exp(\|q_k\|^2 / (2 \sqrt
d))$ on both sides, and Gaussian Gram matrices of distinct points are positive definite. So S is a
positive diagonal matrix times a positive definite one: its determinant is a product of positive
numbers.

Reference. Positive definiteness of the Gaussian kernel: Wendland, Scattered Data Approximation,
2004, Theorem 6.10.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
WQ, WK, S = model.WQ, model.WK, model.S
tokens = model.X[:, None]  # (N, 1, n, D)

# -- expressions -------------------------------------------------------------------------------------
queries, keys = tokens @ WQ, tokens @ WK  # (N, H, n, d)
difference = queries[:, :, :, None, :] - queries[:, :, None, :, :]
distances = (difference**2).sum(axis=-1)  # (N, H, n, n), squared

# -- hypotheses --------------------------------------------------------------------------------------
tied = queries.eq(keys).named("tied projections")
distinct = (distances + lx.eye(n)).gt(0).named("distinct projections")  # the diagonal asks nothing

# -- conclusion --------------------------------------------------------------------------------------
invertible = [lx.rank(S).eq(n).named("rank n"), lx.det(S).gt(0).named("positive determinant")]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("free projections", drop="tied projections", reason="the determinant changes sign"),
    lx.Mutant(
        "equal projections allowed",
        lx.rank(S).eq(n),
        drop="distinct projections",
        reason="equal projections give equal rows",
        instances=Instances(
            sizes={N: 1, n: (2, 2), D: 1, d: 1, H: 1},
            structure=[Structure("identical_tokens", (model.X,)), Structure("tied", (WQ, WK))],
        ),
    ),
    lx.Mutant(
        "positive definite",
        lx.lambda_min(S).gt(0),
        "row sums of different size make the symmetric part indefinite",
    ),
    lx.Mutant(
        "determinant at most 1/n",
        lx.det(S) <= 1 / n,
        "S tends to the identity as the projections grow",
    ),
]

THEOREM = lx.Theorem(
    name="invertible_attention_of_tied_projections_softmax",
    statement=r"If $X_i W^Q_h = X_i W^K_h$ with distinct rows, then every $S_{ih}$ is invertible, with "
    r"$\det S_{ih} > 0$.",
    hypotheses=[tied, distinct],
    conclusion=invertible,
    expected="holds",
    bound=None,
    reference="derived here; Wendland, Scattered Data Approximation, 2004, Theorem 6.10",
    mutants=mutants,
    instances=Instances(sizes={d: 2, H: 2}, structure=[Structure("tied", (WQ, WK))]),
)
