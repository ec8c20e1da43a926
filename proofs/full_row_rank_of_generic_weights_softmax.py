r"""Almost all weights give softmax attention features of full row rank, if tokens are independent.

Statement. Let the stacked tokens $X = [X_1; \dots; X_N]$ (N n x D) have rank N n, which needs $N n
\le D$. Then $\operatorname{rank} B = N n$ for almost all $W^Q, W^K$; with probability 1, for
instance, if their entries are independent Gaussians. One head suffices, and more heads do no harm.

Hypotheses. (1) Size: $N n \le D$. (2) Independent tokens: the stacked tokens have rank N n. (3)
Generic weights: $W^Q, W^K$ lie outside some set of measure zero.

Bound. None: a rank.

Proof idea. $\prod_i \det S_{i1}$ is a real-analytic function of the weights. It is not identically
zero: at $W^Q = W^K$ with distinct projected tokens, each S_i1 is invertible. So its zeros have
measure zero, and away from them block 1 of B is an invertible matrix times X. Nothing is claimed
for $D < N n \le H D$: there full rank was only ever observed.

Reference. Zeros of real-analytic functions: Mityagin, arXiv 1512.07276. Invertibility at tied
weights: Wendland, Scattered Data Approximation, 2004, Theorem 6.10.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Generic, Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
B, WQ, WK = model.B, model.WQ, model.WK
tokens = lx.merge(model.X, (0, 1), (2,))  # (N n, D)

# -- expressions -------------------------------------------------------------------------------------
rank = lx.rank(B)

# -- hypotheses --------------------------------------------------------------------------------------
independent_tokens = lx.rank(tokens).eq(N * n).named("independent tokens")
generic_weights = Generic((WQ, WK)).named("generic weights")

# -- conclusion --------------------------------------------------------------------------------------
full_rank = rank.eq(N * n).named("full row rank")

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "all weights",
        drop="generic weights",
        reason="zero query weights make all rows of a sample coincide",
        instances=Instances(
            sizes={N: 1, n: (2, 2), D: 2, d: 1, H: 1}, structure=[Structure("zero", (model.WQ,))]
        ),
    ),
    lx.Mutant(
        "dependent tokens",
        drop="independent tokens",
        reason="equal tokens give equal rows of B",
        instances=Instances(
            sizes={N: 1, n: (2, 2), D: 2, d: 1, H: 1}, structure=[Structure("identical_tokens", (model.X,))]
        ),
    ),
    lx.Mutant("full column rank", rank.eq(H * D), "B has only N n rows, fewer than H D in general"),
    lx.Mutant(
        "conditioned as well as the tokens",
        lx.sigma(B, N * n) >= lx.sigma(tokens, N * n) / 2,
        "weights near those of measure zero give features that are nearly dependent",
    ),
]

THEOREM = lx.Theorem(
    name="full_row_rank_of_generic_weights_softmax",
    statement=r"If the stacked tokens have rank $N n$, then $\operatorname{rank} B = N n$ for almost all "
    r"$W^Q, W^K$, softmax kernel.",
    sizes=[N * n <= D],
    hypotheses=[independent_tokens, generic_weights],
    conclusion=full_rank,
    expected="holds",
    bound=None,
    reference="derived here; the role of rank B: Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, n: 2, D: (2, 5), d: 2, H: 2},
        mutations=("duplicate", "near_duplicate", "zero", "round", "scale"),
        mutate=(model.X, WQ),
    ),
)
