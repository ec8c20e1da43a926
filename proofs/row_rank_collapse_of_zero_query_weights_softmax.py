r"""Zero query weights collapse the features of softmax attention to one row per sample.

Statement. If $W^Q = 0$ (in particular if $W^Q = W^K = 0$), then the n rows of $B_i = [S_{i1} X_i,
\dots, S_{iH} X_i]$ coincide for each sample i, so that $\operatorname{rank} B \le N$ for $B = [B_1;
\dots; B_N]$.

Hypotheses. (1) Zero query weights: $W^Q_h = 0$ for all heads h.

Bound. Tight: the rank is N whenever the mean tokens of the samples are linearly independent.

Proof idea. All logits are 0, so each row of S_ih is uniform and each row of S_ih X_i is the mean
token of sample i. Rows of one sample coincide, hence at most N rows of B differ.

Reference. Song, Han, Zhang, Ding, Hong, Unraveling the Gradient Descent Dynamics of Transformers,
NeurIPS 2024, arXiv 2411.07538 (full rank of the feature matrix at the start); the collapse is
derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="softmax")
N, n, D, d, v, m, H = model.sizes
X, WQ, B = model.X, model.WQ, model.B

# -- expressions -------------------------------------------------------------------------------------
attended = model.S @ X[:, None]  # (N, H, n, D); row k of head h is row (i, k), block h of B

# -- hypotheses --------------------------------------------------------------------------------------
zero_queries = WQ.eq(0).named("zero query weights")

# -- conclusion --------------------------------------------------------------------------------------
collapse = [
    (lx.rank(B) <= N).named("rank B <= N"),
    attended.eq(attended[:, :, :1]).named("rows of a sample coincide"),
]

# -- mutants: false variants, each with the reason ---------------------------------------------------
mutants = [
    lx.Mutant("any query weights", drop="zero query weights", reason="generic weights give different rows"),
    lx.Mutant(
        "rank at most N - 1",
        lx.rank(B) <= N - 1,
        "mean tokens of N samples are linearly independent if N <= D and tokens are generic",
    ),
    lx.Mutant(
        "no features at all", attended.eq(0), "the rows coincide with the mean token, which need not be 0"
    ),
    lx.Mutant(
        "samples coincide too",
        attended.eq(attended[:1]),
        "different samples have different mean tokens",
    ),
]

THEOREM = lx.Theorem(
    name="row_rank_collapse_of_zero_query_weights_softmax",
    statement=r"If $W^Q = 0$ in softmax attention, then the rows of B that belong to one sample coincide and "
    r"$\operatorname{rank} B \le N$.",
    hypotheses=[zero_queries],
    conclusion=collapse,
    expected="holds",
    bound="tight",
    reference="derived here; the role of rank B: Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, D: 3, d: 1, H: 2}, structure=[Structure("zero", (WQ,))]),
)
