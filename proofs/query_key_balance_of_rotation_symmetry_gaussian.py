r"""The rotation symmetry of Gaussian attention makes the sum of query and key moments symmetric.

Statement. For the Gaussian kernel and each head h, with gradients $G^Q, G^K$ of f in $W^Q, W^K$,
the matrix
$$(W^Q_h)^\top G^Q_h + (W^K_h)^\top G^K_h$$
is symmetric; and f is invariant under $W^Q_h \mapsto W^Q_h T_h$, $W^K_h \mapsto W^K_h T_h$ for
orthogonal $T_h$ (d x d).

Hypotheses. (1) Orthogonal T: $T_h^\top T_h = I$ (for the invariance).

Bound. None: two equalities.

Proof idea. Rotating queries and keys together leaves their distances as they are. The derivative of
f along $T = I + \epsilon M$ with $M^\top = -M$ is $\langle W^{Q\top} G^Q + W^{K\top} G^K, M \rangle
= 0$, so that the matrix has no antisymmetric part. Unlike for softmax, its terms are not symmetric
or equal by themselves.

Reference. Derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
N, n, D, d, v, m, H = model.sizes
WQ, WK, f = model.WQ, model.WK, model.loss
T = lx.tensor("T", H, d, d)

# -- expressions -------------------------------------------------------------------------------------
GQ, GK = lx.gradient(f, (WQ, WK))
moment_Q, moment_K = WQ.mT @ GQ, WK.mT @ GK  # (H, d, d)
total = moment_Q + moment_K
rotated = lx.substitute(f, {WQ: WQ @ T, WK: WK @ T}).named("f'")

# -- hypotheses --------------------------------------------------------------------------------------
orthogonal = (T.mT @ T).eq(lx.eye(d)).named("orthogonal T")

# -- conclusion --------------------------------------------------------------------------------------
symmetry = [total.eq(total.mT).named("symmetric sum"), rotated.eq(f).named("rotated loss")]


# -- instances ---------------------------------------------------------------------------------------
def signed_permutations(arrays: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Make every T_h a signed permutation: orthogonal without rounding."""
    heads, size, _ = arrays["T"].shape
    signs = rng.choice([-1.0, 1.0], (heads, size, 1))
    return {"T": np.stack([np.eye(size)[rng.permutation(size)] for _ in range(heads)]) * signs}


# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("any T", drop="orthogonal T", reason="a general linear map changes distances"),
    lx.Mutant(
        "difference instead of sum",
        (moment_Q - moment_K).eq((moment_Q - moment_K).mT),
        "the antisymmetric parts of the two terms are opposite",
    ),
    lx.Mutant("each term symmetric", moment_Q.eq(moment_Q.mT), "only the sum is"),
    lx.Mutant(
        "balance as for softmax", moment_Q.eq(moment_K.mT), "the kernel is not invariant under scaling"
    ),
    lx.Mutant(
        "only the queries rotated",
        lx.substitute(f, {WQ: WQ @ T}).named("f'").eq(f),
        "distances between queries and keys change",
    ),
]

THEOREM = lx.Theorem(
    name="query_key_balance_of_rotation_symmetry_gaussian",
    statement=r"$(W^Q_h)^\top \nabla_{W^Q_h} f + (W^K_h)^\top \nabla_{W^K_h} f$ is symmetric for the "
    r"Gaussian kernel, and f is invariant under a common rotation of queries and keys.",
    hypotheses=[orthogonal],
    conclusion=symmetry,
    expected="holds",
    bound=None,
    reference="derived here",
    mutants=mutants,
    instances=Instances(
        sizes={N: 2, d: 3, v: 2, m: 2, H: 2},
        structure=[Structure("orthogonal", (T,), by=signed_permutations)],
    ),
)
