r"""For balanced factors the nuclear norm of their product is half the sum of their squared Frobenius norms.

Statement. If $K^\top K = Q^\top Q$, then
$$\|K Q^\top\|_* = \tfrac12 (\|K\|_F^2 + \|Q\|_F^2).$$
As gradient flow conserves $K^\top K - Q^\top Q$, a balanced start keeps the equality for all times:
under such a flow the squared norm of the weights is twice the nuclear norm of W.

Hypotheses. (1) Balanced factors: $K^\top K = Q^\top Q$.

Bound. None: an equality.

Proof idea. $K^\top K = Q^\top Q$ means $Q = K$ up to a rotation from the left: polar decompositions
$K = U P$, $Q = V P$ share $P = (K^\top K)^{1/2}$. Then $K Q^\top = U P^2 V^\top$ has nuclear norm
$\operatorname{tr} P^2 = \|K\|_F^2 = \|Q\|_F^2$.

Reference. Derived here; the bound: Srebro, Rennie, Jaakkola, NeurIPS 2004, Lemma 1.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
d, r = lx.sizes("d r")
K, Q = lx.tensor("K", d, r), lx.tensor("Q", d, r)

# -- expressions -------------------------------------------------------------------------------------
nuclear = lx.nuclear_norm(K @ Q.T)
mean = (lx.sqnorm(K) + lx.sqnorm(Q)) / 2

# -- hypotheses --------------------------------------------------------------------------------------
balanced = (K.T @ K).eq(Q.T @ Q).named("balanced factors")

# -- conclusion --------------------------------------------------------------------------------------
equality = nuclear.eq(mean)

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("any factors", drop="balanced factors", reason="unbalanced factors have a larger mean"),
    lx.Mutant("twice the mean", nuclear.eq(2 * mean), "both sides are positive"),
    lx.Mutant(
        "product of the nuclear norms",
        nuclear.eq(lx.nuclear_norm(K) * lx.nuclear_norm(Q)),
        "for K = Q = I the right side is the square of the left one",
    ),
    lx.Mutant(
        "K^T Q instead of K Q^T",
        lx.nuclear_norm(K.T @ Q).eq(mean),
        "K^T Q = P U^T V P can be 0",
    ),
]

THEOREM = lx.Theorem(
    name="nuclear_norm_equality_of_balanced_factors",
    statement=r"If $K^\top K = Q^\top Q$, then $\|K Q^\top\|_* = \frac12 (\|K\|_F^2 + \|Q\|_F^2)$.",
    hypotheses=[balanced],
    conclusion=equality,
    expected="holds",
    bound=None,
    reference="derived here; the bound: Srebro, Rennie, Jaakkola, NeurIPS 2004, Lemma 1",
    mutants=mutants,
    instances=Instances(sizes={d: 4, r: 4}, structure=[Structure("rotated", (K, Q))]),
)
