r"""Features of Gaussian attention are globally Lipschitz in the query and key weights.

Statement. Let B' be the features at $W^Q + \Delta^Q$, $W^K + \Delta^K$. Then
$$\|B' - B\|_F \le \beta := \sqrt{2/e}\; d^{-1/4} \sqrt n\, \Big(\sum_i \|X_i\|_2^4\Big)^{1/2}
  \Big(\sum_h (\|\Delta^Q_h\|_F + \|\Delta^K_h\|_F)^2\Big)^{1/2},$$
and, by Weyl's inequality, $\sigma_{Nn}(B') \ge \sigma_{Nn}(B) - \beta$.

Hypotheses. None, and no norm of the weights: the bound holds globally.

Bound. Upper bound in the Frobenius norm (ratio 0.912 seen); equality is approached for equal tokens
of dimension 1 at the distance where the kernel is steepest, and a small change.

Proof idea. $u \mapsto \exp(-\|u\|^2 / \sqrt d)$ has a gradient of norm at most $\sqrt{2/e}\,
d^{-1/4}$. The differences $u_{kj} = q_k - k_j$ change by $\Delta q_k - \Delta k_j$, and $(\sum_{kj}
\|\Delta q_k - \Delta k_j\|^2)^{1/2} \le \sqrt n (\|\Delta q\|_F + \|\Delta k\|_F)$, which is at
most $\sqrt n \|X_i\|_2 (\|\Delta^Q_h\|_F + \|\Delta^K_h\|_F)$. Blocks of B' - B are $(S'_{ih} -
S_{ih}) X_i$, which gives another factor $\|X_i\|_2$.

Reference. Derived here; Weyl: Horn, Johnson, Matrix Analysis, 7.3.5.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

import lemmax as lx
from lemmax.statement import Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
N, n, D, d, v, m, H = model.sizes
X, B, WQ, WK = model.X, model.B, model.WQ, model.WK
DQ, DK = lx.tensor(r"\Delta^Q", H, D, d), lx.tensor(r"\Delta^K", H, D, d)

# -- expressions -------------------------------------------------------------------------------------
moved = lx.substitute(B, {WQ: WQ + DQ, WK: WK + DK}).named("B'")
change = lx.norm(moved - B)
DQ_norm, DK_norm = (lx.sqrt((t**2).sum(axis=(1, 2))) for t in (DQ, DK))  # (H,), Frobenius
slope = sp.sqrt(2 / sp.E) / d ** sp.Rational(1, 4)
weights = lx.sqrt(((DQ_norm + DK_norm) ** 2).sum())
tokens = lx.sqrt((lx.spectral_norm(X) ** 4).sum())
beta = slope * lx.sqrt(n) * tokens * weights

# -- conclusion --------------------------------------------------------------------------------------
bounds = [
    (change <= beta).named("features"),
    (lx.sigma(moved, N * n) >= lx.sigma(B, N * n) - beta).named("smallest singular value"),
]

# -- instances ---------------------------------------------------------------------------------------
# the bound is nearly attained by equal tokens, keys where the kernel is steep, a change of the queries
equal_tokens = Instances(
    sizes={N: 1, n: (3, 3), D: 1, d: 1, H: 1},
    draw={X: "ones", WQ: "zeros", DQ: Draw("gaussian", scale=0.01), DK: "zeros"},
    mutations=(),
)

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "half the constant",
        change <= beta / 2,
        "ratios above 0.9 occur",
        instances=equal_tokens,
    ),
    lx.Mutant(
        "sqrt n lost",
        change <= slope * tokens * weights,
        "with equal tokens all n^2 entries of the kernel move together",
        instances=equal_tokens,
    ),
    lx.Mutant(
        "tokens to the power 1",
        change <= slope * lx.sqrt(n) * lx.sqrt((lx.spectral_norm(X) ** 2).sum()) * weights,
        "tokens enter through the projections and as what is averaged",
        instances=equal_tokens,
    ),
    lx.Mutant(
        "exponent over d",
        change <= beta / d ** sp.Rational(3, 4),
        "the exponent is scaled by 1 / sqrt d only",
        instances=replace(equal_tokens, sizes={**equal_tokens.sizes, d: (3, 3)}),
    ),
    lx.Mutant(
        "changes of queries and keys cancel",
        change <= slope * lx.sqrt(n) * tokens * lx.sqrt(((DQ_norm - DK_norm) ** 2).sum()),
        "changes of equal norm may point in opposite directions",
        instances=replace(equal_tokens, draw={**equal_tokens.draw, DK: Draw("gaussian", scale=0.01)}),
    ),
]

THEOREM = lx.Theorem(
    name="feature_perturbation_of_query_key_change_gaussian",
    statement=r"$\|B' - B\|_F \le \sqrt{2/e}\, d^{-1/4} \sqrt n (\sum_i \|X_i\|_2^4)^{1/2} "
    r"(\sum_h (\|\Delta^Q_h\|_F + \|\Delta^K_h\|_F)^2)^{1/2}$; singular values of B move by no more.",
    conclusion=bounds,
    expected="holds",
    bound="upper",
    reference="derived here; Weyl's inequality",
    mutants=mutants,
    instances=Instances(sizes={N: 2, n: 3, D: 3, d: 2, H: 2}),
)
