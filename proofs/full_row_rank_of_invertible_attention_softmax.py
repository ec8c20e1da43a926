r"""Invertible softmax attention turns independent tokens into features of full row rank.

Statement. Let the stacked tokens $X = [X_1; \dots; X_N]$ (N n x D) have rank N n, and let one head
h have invertible attention matrices $S_{1h}, \dots, S_{Nh}$. Then $\operatorname{rank} B = N n$,
and
$$\sigma_{Nn}(B)^2 \ge \sigma_{Nn}(X)^2 \sum_h \min_i \sigma_{\min}(S_{ih})^2.$$
For one head: $\sigma_{Nn}(B) \ge \min_i \sigma_{\min}(S_i)\, \sigma_{Nn}(X)$.

Hypotheses. (1) Size: $N n \le D$. (2) Independent tokens: the stacked tokens have rank N n. (3) A
head with invertible attention: for some h, all $S_{ih}$ are invertible.

Bound. Lower bound on the smallest singular value; tight, with equality at N = n = 1.

Proof idea. Block h of B is $\operatorname{blkdiag}_i(S_{ih}) X$, so $B B^\top = \sum_h
\operatorname{blkdiag}_i(S_{ih})\, X X^\top \operatorname{blkdiag}_i(S_{ih})^\top$. Each term is at
least $\sigma_{Nn}(X)^2 \min_i \sigma_{\min}(S_{ih})^2 I$, and smallest eigenvalues of symmetric
matrices are superadditive. One positive term makes the sum positive: the rank is N n.

Reference. Song, Han, Zhang, Ding, Hong, Unraveling the Gradient Descent Dynamics of Transformers,
NeurIPS 2024, arXiv 2411.07538, where a feature matrix of full row rank is the condition for
convergence.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
S, B = model.S, model.B
tokens = lx.merge(model.X, (0, 1), (2,))  # (N n, D)

# -- expressions -------------------------------------------------------------------------------------
smallest = lx.sigma_min(S)  # (N, H)
per_head = lx.min(smallest, axis=0)  # (H,)
bound = lx.sigma(tokens, N * n) ** 2 * (per_head**2).sum()

# -- hypotheses --------------------------------------------------------------------------------------
independent_tokens = lx.rank(tokens).eq(N * n).named("independent tokens")
invertible_head = lx.max(lx.min(lx.rank(S), axis=0)).eq(n).named("a head with invertible attention")

# -- conclusion --------------------------------------------------------------------------------------
full_rank = lx.rank(B).eq(N * n).named("full row rank")
lower_bound = (lx.sigma(B, N * n) ** 2 >= bound).named("smallest singular value")

# -- instances ---------------------------------------------------------------------------------------
single = Instances(sizes={N: 1, n: 1, D: 2})  # where the two sides are equal


def equal_samples(arrays: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Let all samples have the tokens of the first."""
    return {"X": np.repeat(arrays["X"][:1], len(arrays["X"]), axis=0)}


# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "twice the bound",
        lx.sigma(B, N * n) ** 2 >= 2 * bound,
        "at N = n = 1 the two sides are equal",
        instances=single,
    ),
    lx.Mutant(
        "largest singular value of the tokens",
        lx.sigma(B, N * n) ** 2 >= lx.spectral_norm(tokens) ** 2 * (per_head**2).sum(),
        "nearly dependent tokens give nearly dependent features",
    ),
    lx.Mutant(
        "best sample instead of worst",
        lx.sigma(B, N * n) ** 2 >= lx.sigma(tokens, N * n) ** 2 * (lx.max(smallest, axis=0) ** 2).sum(),
        "one sample with a nearly singular attention matrix suffices for a small singular value",
    ),
    lx.Mutant(
        "dependent tokens",
        drop="independent tokens",
        reason="equal tokens give equal rows of B",
        instances=Instances(
            sizes={N: (2, 2), n: 1, D: 2, d: 1, H: 1},
            structure=[Structure("equal samples", (model.X,), by=equal_samples)],
        ),
    ),
    lx.Mutant(
        "singular attention",
        drop="a head with invertible attention",
        reason="zero query weights make all rows of a sample coincide",
        instances=Instances(
            sizes={N: 1, n: (2, 2), D: 2, d: 1, H: 1}, structure=[Structure("zero", (model.WQ,))]
        ),
    ),
]

THEOREM = lx.Theorem(
    name="full_row_rank_of_invertible_attention_softmax",
    statement=r"If the stacked tokens have rank $N n$ and one head has invertible softmax attention "
    r"matrices, then $\operatorname{rank} B = N n$ and $\sigma_{Nn}(B)^2 \ge \sigma_{Nn}(X)^2 "
    r"\sum_h \min_i \sigma_{\min}(S_{ih})^2$.",
    sizes=[N * n <= D],
    hypotheses=[independent_tokens, invertible_head],
    conclusion=[full_rank, lower_bound],
    expected="holds",
    bound="tight",
    reference="derived here; the role of rank B: Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, n: 2, D: (2, 5), d: 2, H: 2},
        mutations=("duplicate", "near_duplicate", "zero"),
        mutate=(model.X, model.WQ),
    ),
)
