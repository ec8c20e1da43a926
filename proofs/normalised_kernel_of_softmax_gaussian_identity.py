r"""Softmax attention is a row-normalised Gaussian kernel with a factor for each key.

Statement. With queries $q_k$ and keys $k_j$ of a sample and head, and $w_{kj} = \exp(-\|q_k -
k_j\|^2 / (2 \sqrt d))\, \exp(\|k_j\|^2 / (2 \sqrt d))$,
$$S_{kj} = \frac{w_{kj}}{\sum_l w_{kl}}$$
is the softmax attention matrix.

Hypotheses. None.

Bound. None: an equality.

Proof idea. $-\|q_k - k_j\|^2 + \|k_j\|^2 = 2 q_k^\top k_j - \|q_k\|^2$: the exponent of $w_{kj}$ is
$q_k^\top k_j / \sqrt d$ up to a term that depends on the row only, and the normalisation removes
it. Note the 1/2: the Gaussian kernel of the model here has the exponent $-\|q_k - k_j\|^2 / \sqrt
d$.

Reference. Chen, Zeng, Ji, Yang, Skyformer, NeurIPS 2021, arXiv 2111.00035 (softmax and Gaussian
kernels).

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
gaussian = lx.models.attention(kernel="gaussian")  # on the same inputs
N, n, D, d, v, m, H = model.sizes
S, tokens = model.S, model.X[:, None]

# -- expressions -------------------------------------------------------------------------------------
queries, keys = tokens @ model.WQ, tokens @ model.WK  # (N, H, n, d)
query_squares = (queries**2).sum(axis=-1)[:, :, :, None]  # (N, H, n, 1)
key_squares = (keys**2).sum(axis=-1)[:, :, None]  # (N, H, 1, n)
key_factor = lx.exp(key_squares / (2 * lx.sqrt(d)))
half_kernel = lx.exp(gaussian.logits / 2)


def normalised(weights: lx.Tensor) -> lx.Tensor:
    """Divide each row by its sum."""
    return weights / weights.sum(axis=-1, keepdims=True)


# -- conclusion --------------------------------------------------------------------------------------
identity = S.eq(normalised(half_kernel * key_factor))

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("no factor for the keys", S.eq(normalised(half_kernel)), "long keys attract more attention"),
    lx.Mutant(
        "factor for the queries",
        S.eq(normalised(half_kernel * lx.exp(query_squares / (2 * lx.sqrt(d))))),
        "a factor for the row is removed by the normalisation",
    ),
    lx.Mutant(
        "exponent without 1/2",
        S.eq(normalised(gaussian.S * key_factor)),
        "the exponent would hold twice the logits",
    ),
    lx.Mutant("not normalised", S.eq(half_kernel * key_factor), "the rows of w have no fixed sum"),
]

THEOREM = lx.Theorem(
    name="normalised_kernel_of_softmax_gaussian_identity",
    statement=r"$S = \mathrm{normalise}[\exp(-\|q_k - k_j\|^2 / (2 \sqrt d)) \exp(\|k_j\|^2 / (2 \sqrt "
    r"d))]$ along rows is the softmax attention matrix.",
    conclusion=identity,
    expected="holds",
    bound=None,
    reference="Skyformer, NeurIPS 2021, arXiv 2111.00035",
    mutants=mutants,
    instances=Instances(sizes={N: 2, d: 2, H: 2}),
)
