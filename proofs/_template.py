r"""Cauchy-Schwarz inequality for matrices (the template of a theorem file).

Statement. For all real matrices A and B of one shape, $\langle A, B \rangle^2 \le \|A\|_F^2 \|B\|_F^2$.

Hypotheses. (1) A is not zero, so that the bound says something.

Bound. Tight: equality holds exactly for proportional matrices, and whenever n = D = 1.

Proof idea. $\|A\|^2 \|B\|^2 - \langle A, B \rangle^2$ is half the sum of $(a_i b_j - a_j b_i)^2$ over all
pairs of entries (Lagrange's identity).

Reference. A.-L. Cauchy, Cours d'analyse, 1821, note II, theorem XVI.

Evidence. Tested on random instances.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
n, D = lx.sizes("n D")
A, B = lx.tensor("A", n, D), lx.tensor("B", n, D)

# -- expressions -------------------------------------------------------------------------------------
inner = lx.dot(A, B)

# -- hypotheses --------------------------------------------------------------------------------------
not_zero = (lx.sqnorm(A) > 0).named("A is not zero")

# -- conclusion --------------------------------------------------------------------------------------
conclusion = inner**2 <= lx.sqnorm(A) * lx.sqnorm(B)

# -- mutants: false variants, each with the reason ------------------------------------------------------
mutants = [
    lx.Mutant(
        "half the bound",
        inner**2 <= lx.sqnorm(A) * lx.sqnorm(B) / 2,
        "equality holds for proportional matrices, and always for n = D = 1",
    ),
    lx.Mutant(
        "the other way round",
        inner**2 >= lx.sqnorm(A) * lx.sqnorm(B),
        "orthogonal matrices that are not zero have inner product 0",
    ),
    lx.Mutant(
        "no square on the left",
        inner <= lx.sqnorm(A) * lx.sqnorm(B),
        "the right side has degree 4: scaling A = B down makes it the smaller one",
    ),
]

THEOREM = lx.Theorem(
    name="cauchy_schwarz_inequality_of_matrices",
    statement=r"$\langle A, B \rangle^2 \le \|A\|_F^2 \|B\|_F^2$ for all matrices of one shape.",
    hypotheses=[not_zero],
    conclusion=conclusion,
    expected="holds",
    bound="tight",
    reference="Cauchy, Cours d'analyse (1821), note II, theorem XVI",
    mutants=mutants,
    instances=Instances(sizes={n: 4, D: 4}),
)
