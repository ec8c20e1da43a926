r"""The gradient in the value weights is bounded by the loss.

Statement.
$$\|\nabla_{W^V} f\|_F^2 \le 2 \|B\|_2^2 \big(\max_h \|W^O_h\|_2\big)^2 f.$$ As f is quadratic in W^V,
  the constant $L = \|B\|_2^2 (\max_h \|W^O_h\|_2)^2$ also bounds its curvature, which is claimed along
  the gradient: $f(W^V - g / L) \le f(W^V) - \|g\|_F^2 / (2 L)$ for the gradient g.

Hypotheses. (1) Heads in use: $L > 0$ (else the gradient is 0 and a step 1/L has no meaning).

Bound. Upper bound on a gradient norm, in the Frobenius norm; tight, with equality at N n = m = 1.

Proof idea. The gradient in $W^V_h$ is $[B^\top R]_h (W^O_h)^\top$ with $[\cdot]_h$ the block of
rows of head h. Then $\|[B^\top R]_h (W^O_h)^\top\|_F \le \|W^O_h\|_2 \|[B^\top R]_h\|_F$; summed
over heads, $\|\nabla\|_F^2 \le \max_h \|W^O_h\|_2^2 \|B^\top R\|_F^2 \le \max_h \|W^O_h\|_2^2
\|B\|_2^2 \cdot 2 f$. The Hessian is $T^\top T$ for the linear map $T: W^V \mapsto F$ with gradient
$T^* R$, so $\|T\|^2 \le L$.

Reference. Song, Han, Zhang, Ding, Hong, NeurIPS 2024, arXiv 2411.07538; the constant is derived
here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
B, WV, WO, f = model.B, model.WV, model.WO, model.loss

# -- expressions -------------------------------------------------------------------------------------
gradient = lx.gradient(f, WV)
output_norms = lx.spectral_norm(WO)  # (H,)
L = lx.spectral_norm(B) ** 2 * lx.max(output_norms) ** 2
after_step = lx.substitute(f, {WV: WV - gradient / L})

# -- hypotheses --------------------------------------------------------------------------------------
heads_in_use = L.gt(0).named("heads in use")

# -- conclusion --------------------------------------------------------------------------------------
bounds = [
    (lx.sqnorm(gradient) <= 2 * L * f).named("gradient bound"),
    (after_step <= f - lx.sqnorm(gradient) / (2 * L)).named("descent at step 1/L"),
]

# -- instances ---------------------------------------------------------------------------------------
single = Instances(sizes={N: 1, n: 1, D: 2, m: 1})  # where the two sides are equal

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "factor 2 lost",
        lx.sqnorm(gradient) <= L * f,
        "at N n = m = 1 the sides of the theorem are equal",
        instances=single,
    ),
    lx.Mutant(
        "smallest output head",
        lx.sqnorm(gradient) <= 2 * lx.spectral_norm(B) ** 2 * lx.min(output_norms) ** 2 * f,
        "a head with small output weights does not bound the gradient in the others",
    ),
    lx.Mutant(
        "smallest singular value of B",
        lx.sqnorm(gradient) <= 2 * lx.sigma_min(B) ** 2 * lx.max(output_norms) ** 2 * f,
        "residuals along the first singular vector of B give a larger gradient",
    ),
    lx.Mutant(
        "twice the decrease",
        after_step <= f - lx.sqnorm(gradient) / L,
        "a quadratic of curvature L decreases by half of that",
    ),
]

THEOREM = lx.Theorem(
    name="value_gradient_bound_of_feature_and_output_norms",
    statement=r"$\|\nabla_{W^V} f\|_F^2 \le 2 L f$ with $L = \|B\|_2^2 (\max_h \|W^O_h\|_2)^2$, and a "
    r"gradient step of length $1/L$ decreases f by at least $\|\nabla_{W^V} f\|_F^2 / (2 L)$.",
    hypotheses=[heads_in_use],
    conclusion=bounds,
    expected="holds",
    bound="tight",
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, d: 2, H: 2}),
)
