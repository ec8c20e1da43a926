r"""Query and key weights cannot take Gaussian attention below a floor set by the zonotopes of the values.

Statement. Let $v_{ijh} = X_{ij} W^V_h W^O_h$ and $Z_i = \sum_{hj} [0, 1] v_{ijh}$, a Minkowski sum
of segments. For all $W^Q, W^K$
$$f \ge \tfrac12 \sum_{ik} \operatorname{dist}(Y_{ik}, Z_i)^2.$$
$Z_i$ contains the sum of hulls in which softmax outputs lie, so this floor is never above theirs.

Hypotheses. None.

Bound. Lower bound on the loss; tight, with equality at $W^Q = W^K = 0$ if the target lies beyond
the sum of the values.

Proof idea. Entries of the Gaussian kernel lie in (0, 1], each by itself: output k of sample i lies
in $Z_i$. A convex combination of $v_{i1h}, \dots, v_{inh}$ has weights in [0, 1] too, so $Z_i$
contains the sum of the hulls.

Reference. Derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
N, n, D, d, v, m, H = model.sizes
X, Y, f = model.X, model.Y, model.loss

# -- expressions -------------------------------------------------------------------------------------
values = X[:, None] @ model.WV @ model.WO  # (N, H, n, m)
points = lx.tensor_from(lambda i, k, h, j, c: values[i, h, j, c], shape=(N, n, H, n, m))
ends = lx.stack([0 * points, points], axis=4)  # (N, n, H, n, 2, m)
segments = lx.merge(ends, (0,), (1,), (2, 3), (4,), (5,))  # H n hulls of two points each
floor = (lx.hull_distance(segments, Y) ** 2).sum() / 2
softmax_floor = (lx.hull_distance(points, Y) ** 2).sum() / 2

# -- conclusion --------------------------------------------------------------------------------------
floors = [
    (f >= floor).named("loss floor"),
    (softmax_floor >= floor).named("no higher than the softmax floor"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("factor 1/2 lost", f >= 2 * floor, "the sides of the theorem come close to one another"),
    lx.Mutant("softmax floor", f >= softmax_floor, "the kernel rescales, and leaves the hull of the values"),
    lx.Mutant("floors are equal", softmax_floor <= floor, "the zonotope is larger than the sum of the hulls"),
    lx.Mutant("distance from the origin", f >= lx.sqnorm(Y) / 2, "attention moves the output off 0"),
]

THEOREM = lx.Theorem(
    name="loss_floor_of_value_zonotopes_gaussian",
    statement=r"$f \ge \frac12 \sum_{ik} \mathrm{dist}(Y_{ik}, \sum_{hj} [0, 1] X_{ij} W^V_h W^O_h)^2$ for "
    r"the Gaussian kernel and all $W^Q, W^K$; this floor is never above that of softmax.",
    conclusion=floors,
    expected="holds",
    bound="tight",
    reference="derived here",
    mutants=mutants,
    instances=Instances(sizes={N: 2, n: 2, D: 2, d: 2, v: 2, m: 2, H: 2}),
)
