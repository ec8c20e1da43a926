r"""Statements: records that say what is claimed, under what, and what was found.

A theorem file builds one :class:`Theorem`; the template is ``proofs/_template.py``::

    import lemmax as lx
    from lemmax.statement import Convergence, Draw, Generic, Instances, Structure

    THEOREM = lx.Theorem(
        name="conclusion_of_hypotheses",           # must hold "_of_"; also the name of the file
        statement="In words, LaTeX in $...$.",      # optional
        sizes=[N * n <= H * D, v >= m],             # SymPy relations between size symbols; sympy.Eq(H, 1)
        hypotheses=[                                # named; Relation (any op) or Generic(inputs)
            lx.rank(B).eq(N * n).named("full row rank"),
            Generic((WQ, WK)).named("generic query and key weights"),
        ],
        conclusion=a >= b,                          # or a list of relations (all claimed), or Convergence
        expected="holds",                           # or "refuted"
        bound="tight",                              # or "lower", "upper", None
        reference="...",
        mutants=[                                   # at least 3 if expected to hold, each with a reason
            lx.Mutant("twice the bound", a >= 2 * b, "equality occurs at N n = m = 1"),
            lx.Mutant("no rank condition", drop="full row rank", reason="..."),
            lx.Mutant("fewer columns than rows", drop=(N * n <= H * D,), reason="..."),  # a size constraint
            lx.Mutant("...", claim, "...", instances=Instances(...)),  # if the theorem's do not show it false
        ],
        instances=Instances(                        # all optional
            sizes={N: 2, n: (1, 3), D: 6},          # largest, or (smallest, largest); default 3
            tokens=X,                               # rows are tokens (default: the input called X)
            draw={y: "signs", theta: "uniform", WQ: Draw("gaussian", scale=0.5)},
            structure=[Structure("tied", (WQ, WK)), Structure("zero", (WQ,))],
            derived={Y: model.F - E},               # E is an auxiliary input that plays the residual
            mutations=("duplicate", "scale"),       # default: all
            mutate=(X, WQ),                         # default: all that can be
        ),
    )

A relation is read entry by entry and meant for all entries.  An equality hypothesis (``WQ.eq(0)``) is
never met by chance: build it in with ``structure`` or ``derived``, exactly; a part of the draws then
leaves it out on purpose.  Gradients (``lx.gradient``) stand in relations like any other tensor.
``Convergence(loss, variables, step, steps, rate=... | reaches=...)`` is gradient descent on ``variables``.
"""

from __future__ import annotations

from lemmax.statement.conditions import Claim, Condition, Generic
from lemmax.statement.convergence import Convergence
from lemmax.statement.evidence import Evidence, HypothesisTally, MutantOutcome, Tightest
from lemmax.statement.instances import Draw, Instances, Structure
from lemmax.statement.load import load_theorem
from lemmax.statement.report import Report
from lemmax.statement.theorem import Mutant, Theorem
from lemmax.statement.verdict import Comparison, Verdict, Witness

__all__ = [
    "Claim",
    "Comparison",
    "Condition",
    "Convergence",
    "Draw",
    "Evidence",
    "Generic",
    "HypothesisTally",
    "Instances",
    "Mutant",
    "MutantOutcome",
    "Report",
    "Structure",
    "Theorem",
    "Tightest",
    "Verdict",
    "Witness",
    "load_theorem",
]
