r"""Zero query weights collapse the features of Gaussian attention to one row per sample.

Statement. If $W^Q = 0$ (in particular if $W^Q = W^K = 0$), then the n rows of $B_i = [S_{i1} X_i,
\dots, S_{iH} X_i]$ coincide for each sample i, so that $\operatorname{rank} B \le N$ for $B = [B_1;
\dots; B_N]$.

Hypotheses. (1) Zero query weights: $W^Q_h = 0$ for all heads h.

Bound. Tight: with $W^K = 0$ too, a row of sample i is the sum of its tokens, once per head; N of
them are linearly independent for generic tokens and $N \le D$.

Proof idea. All queries are 0, so $(S_{ih})_{kj} = \exp(-\|k_j\|^2 / \sqrt d)$ does not depend on
the row k, and neither does the row k of S_ih X_i. Rows of one sample coincide, hence at most N rows
of B differ. The roles of queries and keys are not the same: $W^K = 0$ alone leaves rows that are
multiples of one another within each head, with factors that differ between heads.

Reference. Song, Han, Zhang, Ding, Hong, Unraveling the Gradient Descent Dynamics of Transformers,
NeurIPS 2024, arXiv 2411.07538 (full rank of the feature matrix at the start); the collapse is
derived here.

Evidence. Tested on random instances; each mutant is refuted in the same run.
"""

from __future__ import annotations

import lemmax as lx
from lemmax.statement import Instances, Structure

# -- variables ---------------------------------------------------------------------------------------
model = lx.models.attention(kernel="gaussian")
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
        "the rows of N samples are linearly independent if N <= D and tokens are generic",
    ),
    lx.Mutant(
        "rows are mean tokens",
        attended.eq((X.sum(axis=1, keepdims=True) / n)[:, None]),
        "that is the softmax kernel; the Gaussian kernel is not normalised",
    ),
    lx.Mutant("samples coincide too", attended.eq(attended[:1]), "different samples have different tokens"),
]

THEOREM = lx.Theorem(
    name="row_rank_collapse_of_zero_query_weights_gaussian",
    statement=r"If $W^Q = 0$ in Gaussian attention, then the rows of B that belong to one sample "
    r"coincide and $\operatorname{rank} B \le N$.",
    hypotheses=[zero_queries],
    conclusion=collapse,
    expected="holds",
    bound="tight",
    reference="derived here; the role of rank B: Song et al., NeurIPS 2024, arXiv 2411.07538",
    mutants=mutants,
    instances=Instances(sizes={N: 2, D: 3, d: 1, H: 2}, structure=[Structure("zero", (WQ,))]),
)
