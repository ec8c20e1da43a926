r"""Tied projections with distinct rows make every Gaussian attention matrix positive definite.

Statement. If $X_i W^Q_h = X_i W^K_h$ for all i, h, and no two rows of such a matrix are equal, then
every $S_{ih}$ is symmetric and positive definite; in particular its rank is n.

Hypotheses. (1) Tied projections: queries and keys of a token coincide. (2) Distinct projections:
$q_k \ne q_j$ for $k \ne j$, in each sample and head.

Bound. None: a rank and a sign.

Proof idea. $(S_{ih})_{kj} = \exp(-\|q_k - q_j\|^2 / \sqrt d)$ is the Gram matrix of the Gaussian
kernel at the points $q_1, \dots, q_n$. The Fourier transform of a Gaussian is positive, so $c^\top
S c = 0$ means that a trigonometric sum $\sum_k c_k e^{i \omega^\top q_k}$ vanishes for all omega;
for distinct points c = 0.

Reference. Wendland, Scattered Data Approximation, 2004, Theorem 6.10.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
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
positive_definite = [
    lx.rank(S).eq(n).named("rank n"),
    lx.lambda_min(S).gt(0).named("positive definite"),
    S.eq(S.mT).named("symmetric"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("free projections", drop="tied projections", reason="the matrix is not symmetric"),
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
        "smallest eigenvalue at least 1/n",
        lx.lambda_min(S) >= 1 / n,
        "the smallest eigenvalue tends to 0 as two projections approach one another",
    ),
    lx.Mutant(
        "smallest eigenvalue below 1/2",
        lx.lambda_min(S) < 0.5,
        "S tends to the identity as the projections move apart; for n = 1 it is 1",
    ),
]

THEOREM = lx.Theorem(
    name="invertible_attention_of_tied_projections_gaussian",
    statement=r"If $X_i W^Q_h = X_i W^K_h$ with distinct rows, then every $S_{ih}$ is symmetric and positive "
    r"definite.",
    hypotheses=[tied, distinct],
    conclusion=positive_definite,
    expected="holds",
    bound=None,
    reference="Wendland, Scattered Data Approximation, 2004, Theorem 6.10",
    mutants=mutants,
    instances=Instances(sizes={d: 2, H: 2}, structure=[Structure("tied", (WQ, WK))]),
)
