r"""Gradient descent on the value weights converges linearly if the features have full row rank.

Statement. With all other weights fixed, let $\operatorname{rank} B = N n$ and let every $W^O_h$
have rank m. Put $\mu = \sigma_{Nn}(B)^2 \min_h \sigma_m(W^O_h)^2$ and $L = \|B\|_2^2 \max_h
\|W^O_h\|_2^2$. Gradient descent on $W^V$ from any start with a step $\eta \le 1/L$ has
$$f_t \le (1 - \eta \mu)^{2 t} f_0, \qquad 0 < \eta \mu \le 1.$$

Hypotheses. (1) Size: $N n \le H D$ and $m \le v$. (2) Full row rank: $\operatorname{rank} B = N n$.
(3) Every output head has rank m. (4) Step at most 1/L: $\theta \le 1$ for the step $\eta = \theta /
L$.

Bound. Upper bound on the loss; tight, with equality at N n = m = 1.

Proof idea. $F = T W^V$ is linear, so $R_{t+1} = (I - \eta T T^*) R_t$, and f is half of
$\|R\|_F^2$. $T T^*: R \mapsto \sum_h B_h B_h^\top R W^{O\top}_h W^O_h$ has its eigenvalues between
$\mu$ and L, by the PL inequality in $W^V$ and its upper counterpart. With $\eta \le 1/L$, $\|I -
\eta T T^*\|_2 \le 1 - \eta \mu$.

Reference. Song, Han, Zhang, Ding, Hong, NeurIPS 2024, arXiv 2411.07538 (linear convergence); the
rate is derived here.

Evidence. Tested by running the descent on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Convergence, Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
B, Y, WV, WO, f = model.B, model.Y, model.WV, model.WO, model.loss
theta = lx.tensor(r"\theta")  # step in units of 1/L
E = lx.tensor("E", N, n, m)  # plays the residual at the start

# -- expressions -------------------------------------------------------------------------------------
per_head = lx.sigma(WO, m)  # (H,)
mu = lx.sigma(B, N * n) ** 2 * lx.min(per_head) ** 2
L = lx.spectral_norm(B) ** 2 * lx.max(lx.spectral_norm(WO)) ** 2
eta = theta / L
steps = 5


def descent(rate: lx.Tensor) -> Convergence:
    """Descent on the value weights, claimed to have f_t <= rate^t f_0."""
    return Convergence(f, (WV,), step=eta, steps=steps, rate=rate)


# -- hypotheses --------------------------------------------------------------------------------------
full_row_rank = lx.rank(B).eq(N * n).named("full row rank")
output_rank = lx.min(per_head).gt(0).named("every output head has rank m")
short_step = theta.le(1).named("step at most 1/L")

# -- conclusion --------------------------------------------------------------------------------------
linear_rate = descent((1 - eta * mu) ** 2)  # with eta mu > 0 under the hypotheses

# -- instances ---------------------------------------------------------------------------------------
single = Instances(
    sizes={N: 1, n: 1, D: 2, m: 1}, draw={theta: "uniform"}, derived={Y: model.F - E}
)  # where the two sides are equal

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant(
        "rate squared",
        descent((1 - eta * mu) ** 4),
        "at N n = m = 1 the loss falls by exactly (1 - eta mu)^2 a step",
        instances=single,
    ),
    lx.Mutant(
        "largest curvature in the rate",
        descent((1 - theta) ** 2),
        "residuals along the last singular vector of B fall more slowly",
    ),
    lx.Mutant(
        "best output head",
        descent((1 - eta * lx.sigma(B, N * n) ** 2 * lx.max(per_head) ** 2) ** 2),
        "a head with small output weights does not help",
    ),
    lx.Mutant(
        "longer steps",
        drop="step at most 1/L",
        reason="directions of curvature above 2/eta - mu overshoot",
    ),
]

THEOREM = lx.Theorem(
    name="linear_rate_value_weights_of_full_row_rank",
    statement=r"Gradient descent on $W^V$ with step $\eta \le 1/L$ has $f_t \le (1 - \eta \mu)^{2t} f_0$, "
    r"$\mu = \sigma_{Nn}(B)^2 \min_h \sigma_m(W^O_h)^2$ and $L = \|B\|_2^2 \max_h \|W^O_h\|_2^2$.",
    sizes=[N * n <= H * D, m <= v],
    hypotheses=[full_row_rank, output_rank, short_step],
    conclusion=linear_rate,
    expected="holds",
    bound="tight",
    reference="derived here; setting of Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, n: 2, D: (2, 4), d: 2, v: 2, m: 2, H: 2},
        draw={theta: Draw("uniform", scale=1.75)},
        derived={Y: model.F - E},
        mutate=(model.X, *model.weights),
    ),
)
