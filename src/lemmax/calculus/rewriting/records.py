r"""The identities that the normal form uses, as records, and the ledger of those that were used.

Every identity holds wherever both of its sides are defined; what that takes is said in its conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class TooLarge(Exception):
    """What is rewritten became too large, or took too many steps; equality is then unknown."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One identity.

    Attributes:
        name: under which a verdict lists it.
        statement: LaTeX.
        conditions: where it holds; empty: always.
        reference: source (with its year), or a word on why it is evident.
    """

    name: str
    statement: str
    conditions: str
    reference: str

    def __str__(self) -> str:
        """Show the name with the conditions."""
        return f"{self.name} (if {self.conditions})" if self.conditions else self.name


_HJ = "Horn and Johnson, Matrix Analysis (2013)"
_LL = "evident"
_MC = "Petersen and Pedersen, The Matrix Cookbook (2012)"

_TABLE = (
    Rewrite("definitions", r"f(x) := \dots", "", "definitions written out"),
    Rewrite("expansion", r"(a + b) c = a c + b c", "", "distributive law"),
    Rewrite("dummies", r"\sum_k a_k = \sum_l a_l", "", "summed indices renamed"),
    Rewrite("delta", r"\sum_k \delta_{kj} a_k = a_j", "", "definition of the Kronecker delta"),
    Rewrite("free entries", r"S = (S' + S'^\top) / 2", "", "variables with structure, written in free ones"),
    Rewrite("symmetric", r"S_{ij} = S_{ji}", "S symmetric", _LL),
    Rewrite("diagonal", r"D_{ij} = \delta_{ij} D_{ii}", "D diagonal", _LL),
    Rewrite("orthogonal", r"Q^\top Q = Q Q^\top = I, \quad Q^{-1} = Q^\top", "Q orthogonal", _HJ + ", 2.1"),
    Rewrite("inverse", r"A^{-1} A = A A^{-1} = I", "A invertible", _HJ + ", 0.5"),
    Rewrite(
        "inverse of a product", r"(A B)^{-1} = B^{-1} A^{-1}", "A, B square and invertible", _HJ + ", 0.5"
    ),
    Rewrite("inverse of a multiple", r"(c A)^{-1} = c^{-1} A^{-1}", "c nonzero, A invertible", _HJ + ", 0.5"),
    Rewrite("inverse of an inverse", r"(A^{-1})^{-1} = A", "A invertible", _HJ + ", 0.5"),
    Rewrite("inverse of a transpose", r"(A^\top)^{-1} = (A^{-1})^\top", "A invertible", _HJ + ", 0.5"),
    Rewrite(
        "inverse of a diagonal", r"\operatorname{diag}(x)^{-1} = \operatorname{diag}(1/x)", "x nonzero", _LL
    ),
    Rewrite(
        "Sherman-Morrison",
        r"(A + u v^\top)^{-1} = A^{-1} - \frac{A^{-1} u v^\top A^{-1}}{1 + v^\top A^{-1} u}",
        "A and A + u v^T invertible",
        "Sherman and Morrison (1950)",
    ),
    Rewrite(
        "inverse of a sum",
        r"M = \sum_r W_r \implies M^{-1} W_1 = I - \sum_{r > 1} M^{-1} W_r",
        "M invertible",
        "Helton, Stankus and Wavrik, Computer simplification of formulas in linear systems theory (1998)",
    ),
    Rewrite(
        "pseudo-inverse of full rank",
        r"A^+ = (A^\top A)^{-1} A^\top, \quad A^+ = A^\top (A A^\top)^{-1}",
        "A^T A, or A A^T, invertible",
        _HJ + ", 7.3",
    ),
    Rewrite(
        "pseudo-inverse",
        r"A A^+ A = A, \quad A^+ A A^+ = A^+, \quad (A A^+)^\top = A A^+, \quad (A^+ A)^\top = A^+ A, \quad"
        r" (A^+)^+ = A, \quad (c A)^+ = c^{-1} A^+, \quad (A^\top A)^+ = A^+ (A^+)^\top",
        "",
        "Penrose, A generalized inverse for matrices (1955)",
    ),
    Rewrite("pseudo-inverse of a transpose", r"(A^\top)^+ = (A^+)^\top", "", _HJ + ", 7.3"),
    Rewrite(
        "power of a matrix",
        r"(A^\top)^k = (A^k)^\top, \quad (c A)^k = c^k A^k, \quad A^{k+1} = A^k A = A A^k",
        "",
        _HJ + ", 0.2",
    ),
    Rewrite("cancellation", r"M X = 0 \implies X = 0", "M invertible", _HJ + ", 0.5"),
    Rewrite("det of a product", r"\det(A B) = \det A \det B", "A, B square", _HJ + ", 0.3"),
    Rewrite("det of a multiple", r"\det(c A) = c^n \det A", "", _HJ + ", 0.3"),
    Rewrite("det of an inverse", r"\det A^{-1} = 1 / \det A", "A invertible", _HJ + ", 0.3"),
    Rewrite("det of a transpose", r"\det A^\top = \det A", "", _HJ + ", 0.3"),
    Rewrite("det of a diagonal", r"\det \operatorname{diag}(x) = \prod_i x_i", "", _HJ + ", 0.3"),
    Rewrite("det of an orthogonal matrix", r"|\det Q| = 1", "Q orthogonal", _HJ + ", 2.1"),
    Rewrite("Sylvester", r"\det(I + A B) = \det(I + B A)", "", "Sylvester (1851); " + _HJ + ", 1.3"),
    Rewrite("det lemma", r"\det(A + W) = \det A \det(I + A^{-1} W)", "A invertible", _HJ + ", 0.8"),
    Rewrite("log det", r"\log\det M = \log |\det M|", "det M positive", "definition"),
    Rewrite(
        "Kronecker inverse", r"(A \otimes B)^{-1} = A^{-1} \otimes B^{-1}", "A, B invertible", _MC + ", 10.2"
    ),
    Rewrite(
        "Kronecker det", r"\det(A \otimes B) = (\det A)^m (\det B)^n", "A n x n, B m x m", _MC + ", 10.2"
    ),
    Rewrite(
        "merged axes", r"\sum_p a_p = \sum_i \sum_j a_{(i,j)}", "", "an index of a merged axis is a pair"
    ),
    Rewrite(
        "blocks of zeros",
        r"\begin{bmatrix} A \\ 0 \end{bmatrix} = \begin{bmatrix} I \\ 0 \end{bmatrix} A",
        "",
        "entries of blocks",
    ),
    Rewrite("slice", r"(A B)_{s:t} = A_{s:t} B", "", "entries of a product"),
    Rewrite("softmax", r"\operatorname{softmax}(x)_j = e^{x_j} / \sum_l e^{x_l}", "", "definition"),
    Rewrite("log-sum-exp", r"\operatorname{lse}(x) = \log \sum_l e^{x_l}", "", "definition"),
    Rewrite(
        "product without one factor",
        r"\prod_{j \ne i} x_j = x_i^{-1} \prod_j x_j",
        "x_i nonzero for almost all inputs",
        "division; both sides are continuous",
    ),
    Rewrite("exponential", r"e^{a + b} = e^a e^b", "", _LL),
    Rewrite("logarithm", r"\log(a b) = \log |a| + \log |b|", "a b positive", _LL),
    Rewrite("root", r"(a b)^p = |a|^p |b|^p", "a b nonnegative", _LL),
    Rewrite("absolute value", r"|a b| = |a| |b|, \quad |a|^2 = a^2", "", _LL),
    Rewrite(
        "domain", r"|a| = a", "log a or a root of a occurs", "a real logarithm needs a positive argument"
    ),
    Rewrite(
        "hyperbolic",
        r"\tanh x = 1 - 2 / (1 + e^{2x})",
        "",
        "definition; sinh, cosh, sigmoid, softplus likewise",
    ),
    Rewrite("squared sine", r"\sin^2 x = 1 - \cos^2 x", "", _LL),
    Rewrite("larger of two", r"\max(a, b) = (a + b + |a - b|) / 2", "", "min and relu likewise"),
    Rewrite(
        "fraction",
        r"d \cdot d^{-1} = 1",
        "denominators nonzero",
        "common factors of numerator and denominator",
    ),
    Rewrite("common denominator", r"a / d = 0 \iff a = 0", "denominators nonzero", _LL),
    Rewrite("finite sum", r"\sum_{k=0}^{1} a_k = a_0 + a_1", "", "sums over sizes that are numbers"),
    Rewrite("product", r"\prod_i c\, a_i b_i = c^n \prod_i a_i \prod_i b_i", "", _LL),
)

REWRITES: Mapping[str, Rewrite] = {r.name: r for r in _TABLE}
"""Identities by name."""


class Ledger:
    """Which identities were used, in the order of their first use."""

    def __init__(self) -> None:
        """Start with none."""
        self._used: dict[str, None] = {}
        self._missed: dict[str, None] = {}

    def miss(self, name: str) -> None:
        """Write down that an identity was left out because its conditions are not known to hold."""
        assert name in REWRITES, name
        self._missed[name] = None

    @property
    def missed(self) -> tuple[Rewrite, ...]:
        """The identities left out for want of their conditions."""
        return tuple(REWRITES[name] for name in self._missed)

    def mark(self) -> tuple[str, ...]:
        """Return a mark to which :meth:`reset` goes back."""
        return tuple(self._used)

    def reset(self, mark: tuple[str, ...]) -> None:
        """Forget what was used after a mark: the attempt led nowhere."""
        self._used = dict.fromkeys(mark)

    def note(self, name: str) -> None:
        """Write down that an identity was used."""
        assert name in REWRITES, name
        self._used[name] = None

    @property
    def used(self) -> tuple[Rewrite, ...]:
        """The identities used."""
        return tuple(REWRITES[name] for name in self._used)
