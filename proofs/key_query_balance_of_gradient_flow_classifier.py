r"""Gradient flow of the attention classifier conserves the balance of keys and queries.

Statement. Let L be the exponential loss with $W = K Q^\top$, and G the gradient of the loss in a
free W at $K Q^\top$. Then $\nabla_K L = G Q$, $\nabla_Q L = G^\top K$ and
$$K^\top \nabla_K L = (Q^\top \nabla_Q L)^\top,$$
so that gradient flow conserves $K^\top K - Q^\top Q$. One step of gradient descent with step $\eta$
changes it by exactly $\eta^2 (Q^\top G^\top G\, Q - K^\top G\, G^\top K)$.

Hypotheses. None.

Bound. None: equalities.

Proof idea. The chain rule gives both gradients, and $K^\top G Q$ is both sides of the balance. The
flow changes $K^\top K$ and $Q^\top Q$ by minus the symmetric part of $2 K^\top G Q$; a step adds
the squares of the gradients.

Reference. Sheen, Chen, Wang, Zhou, Implicit Regularization of Gradient Flow on One-Layer Softmax
Attention, arXiv 2403.08699 (setting); the Euler step is derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Draw, Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention_classifier(weights="separate")
combined = lx.models.attention_classifier(weights="combined")  # on the same inputs
N, L, d, r = model.sizes
K, Q = model.K, model.Q
eta = lx.tensor(r"\eta")

# -- expressions -------------------------------------------------------------------------------------
GK, GQ = lx.gradient(model.loss, (K, Q))
G = lx.substitute(lx.gradient(combined.loss, combined.W), {combined.W: K @ Q.T}).named("G")  # (d, d)
imbalance = K.T @ K - Q.T @ Q
moved_K, moved_Q = K - eta * GK, Q - eta * GQ
moved_imbalance = moved_K.T @ moved_K - moved_Q.T @ moved_Q
second_order = Q.T @ G.T @ G @ Q - K.T @ G @ G.T @ K

# -- conclusion --------------------------------------------------------------------------------------
balance = [
    GK.eq(G @ Q).named("gradient in K"),
    GQ.eq(G.T @ K).named("gradient in Q"),
    (K.T @ GK).eq((Q.T @ GQ).T).named("balance of gradients"),
    moved_imbalance.eq(imbalance + eta**2 * second_order).named("one step of descent"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("not transposed", (K.T @ GK).eq(Q.T @ GQ), "K^T G Q is not symmetric for r >= 2"),
    lx.Mutant("gradient with G transposed", GK.eq(G.T @ Q), "G is not symmetric"),
    lx.Mutant("sum conserved", (K.T @ GK).eq(-(Q.T @ GQ).T), "K^T G Q is generically not 0"),
    lx.Mutant(
        "conserved by descent", moved_imbalance.eq(imbalance), "a finite step leaves a second-order term"
    ),
    lx.Mutant(
        "second-order term of the wrong sign",
        moved_imbalance.eq(imbalance - eta**2 * second_order),
        "the term is generically not 0",
    ),
]

THEOREM = lx.Theorem(
    name="key_query_balance_of_gradient_flow_classifier",
    statement=r"$K^\top \nabla_K L = (Q^\top \nabla_Q L)^\top$: gradient flow conserves $K^\top K - "
    r"Q^\top Q$, and a step of gradient descent changes it by $\eta^2 (Q^\top G^\top G Q - "
    r"K^\top G G^\top K)$.",
    conclusion=balance,
    expected="holds",
    bound=None,
    reference="derived here; setting of Sheen et al., arXiv 2403.08699",
    mutants=mutants,
    instances=Instances(sizes={N: 2, r: 2}, draw={model.y: "signs", eta: Draw("gaussian", scale=0.5)}),
)
