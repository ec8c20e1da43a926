r"""Sentences that say what the signs in formulas mean, as far as they occur."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SENTENCES: tuple[tuple[str, str], ...] = (
    (r"\\odot", r"$\odot$ is the entrywise product."),
    (r"\\oslash", r"$\oslash$ is the entrywise quotient."),
    (r"\^\{\\circ ", r"$A^{\circ p}$ is the entrywise power."),
    (
        r"\\(exp|log)\^\{\\circ",
        r"$\exp^{\circ}$ and $\log^{\circ}$ of a square matrix are those of its entries.",
    ),
    (r"\\operatorname\{Diag\}", r"$\operatorname{Diag}(v)$ is the diagonal matrix of the vector $v$."),
    (r"\\operatorname\{diag\}", r"$\operatorname{diag}(A)$ is the diagonal of the matrix $A$, as a column."),
    (r"\\mathbf\{1\}(?!\[|\\Bigl)", r"$\mathbf{1}$ is the column of ones."),
    (r"\\mathbf\{1\}(\[|\\Bigl)", r"$\mathbf{1}[\cdot]$ is $1$ where the condition holds and $0$ elsewhere."),
    (r"\\otimes", r"$\otimes$ is the Kronecker product."),
    (r"\\operatorname\{vec\}", r"$\operatorname{vec}$ puts the rows of a matrix one after the other."),
    (r"\\operatorname\{softmax\}", r"$\operatorname{softmax}$ acts on each row of a matrix, and on vectors."),
    (
        r"\\(exp|log|tanh|sin|cos|operatorname\{(relu|sigmoid|softplus|erf|sign)\})(?![A-Za-z])",
        "Functions of one variable act entry by entry.",
    ),
    (r"\\langle", r"$\langle A, B \rangle$ is the sum of the products of entries."),
    (r"_F(?![A-Za-z])", r"$\|\cdot\|_F$ is the Frobenius norm."),
    (
        r"(?<![A-Za-z}])[a-z]_(\{[a-z']+\}|[a-z])",
        r"A lower-case letter with an index, such as $x_i$, is a row of the matrix with the capital letter, "
        r"written as a column.",
    ),
    (r"\\bar\{", r"A bar marks the derivative of the loss in the tensor under it."),
)


def conventions(formulas: Iterable[str]) -> list[str]:
    """Return LaTeX sentences about the signs that occur in formulas, in a fixed order."""
    text = " ".join(formulas)
    return [sentence for pattern, sentence in _SENTENCES if re.search(pattern, text)]
