r"""The nuclear norm of a product is at most half the sum of the squared Frobenius norms of its factors.

Statement. For all real K, Q (d x r),
$$\|K Q^\top\|_* \le \|K\|_F \|Q\|_F \le \tfrac12 (\|K\|_F^2 + \|Q\|_F^2).$$

Hypotheses. None.

Bound. Upper bound on the nuclear norm; tight, with equality if $K^\top K = Q^\top Q$.

Proof idea. With a singular value decomposition $K Q^\top = U \Sigma V^\top$, $\|K Q^\top\|_* =
\langle U^\top K, V^\top Q \rangle$, at most $\|U^\top K\|_F \|V^\top Q\|_F \le \|K\|_F \|Q\|_F$ by
Cauchy-Schwarz. The second inequality is that of the means.

Reference. Srebro, Rennie, Jaakkola, Maximum-Margin Matrix Factorization, NeurIPS 2004, Lemma 1.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
d, r = lx.sizes("d r")
K, Q = lx.tensor("K", d, r), lx.tensor("Q", d, r)

# -- expressions -------------------------------------------------------------------------------------
nuclear = lx.nuclear_norm(K @ Q.T)
product = lx.norm(K) * lx.norm(Q)
mean = (lx.sqnorm(K) + lx.sqnorm(Q)) / 2

# -- conclusion --------------------------------------------------------------------------------------
bounds = [
    (nuclear <= product).named("product of norms"),
    (nuclear <= mean).named("mean of squared norms"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("half the bound", nuclear <= mean / 2, "equality holds if the factors are balanced"),
    lx.Mutant(
        "spectral norms",
        nuclear <= lx.spectral_norm(K) * lx.spectral_norm(Q),
        "the nuclear norm of the identity is its size",
    ),
    lx.Mutant(
        "Frobenius norm of the product",
        nuclear <= lx.norm(K @ Q.T),
        "the nuclear norm is larger as soon as the rank is 2",
    ),
    lx.Mutant("equality for all factors", nuclear.eq(mean), "unbalanced factors have a larger mean"),
]

THEOREM = lx.Theorem(
    name="nuclear_norm_bound_of_factor_norms",
    statement=r"$\|K Q^\top\|_* \le \frac12 (\|K\|_F^2 + \|Q\|_F^2)$.",
    conclusion=bounds,
    expected="holds",
    bound="tight",
    reference="Srebro, Rennie, Jaakkola, NeurIPS 2004, Lemma 1",
    mutants=mutants,
    instances=Instances(sizes={d: 4, r: 4}),
)
