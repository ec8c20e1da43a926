r"""Random input: pieces of LaTeX in any order, formulas with one piece changed: a tensor or a clear error.

No other exception may come out, and none of it takes long.
"""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx
from tests.parse.inputs import NAMES

_WORDS = r"""
A B X x y s S i j k n 1 2 0 . + - * / = , : ; ( ) [ ] { } ^ _ ' | ! < > & % $ # ~ ? @ \ \top \odot
\otimes \cdot \times \frac \sqrt \sum \prod \max \exp \log \softmax \operatorname{vec}
\operatorname{diag} \operatorname{softmax} \operatorname{tr} \mathbf{1} \mathrm{d} \bar \hat \tilde
\left( \right) \left[ \right. \| \lVert \rVert \|_F^2 \langle \rangle \lfloor \rfloor \infty \dots ^\top
^{-1} ^{2} ^{\circ2} _{ij} _i _{i:j} _{i=1}^n _{i\neqj} \in \le \mathbb{R} \partial \nabla
\begin{bmatrix} \end{bmatrix} \begin{cases} \end{cases} \begin{aligned} \end{aligned} \\ \text{where}
\delta_{ij} K_{nk} I_n e_1 \Delta \lambda \alpha \, \quad \; \! \bigl \bigr) \Bigl( \label{a} \text{if}
\end{} \begin{align*} \cite{a} __import__ %s 1e400
"""
PIECES = [*_WORDS.split(), "", " ", "\n", "\t", "9" * 30, "\u00e9", "\x00"]
FORMULAS = [
    r"\sum_{i=1}^{n} x_i \exp(-s x_i^2) A_{ij}",
    r"A^\top B - \operatorname{diag}(x) A^{-1} \odot (x y^\top)",
    r"\frac{1}{2} \|A x - y\|_2^2 + \operatorname{tr}(A B)",
    r"\begin{bmatrix} A & x \\ y^\top & s \end{bmatrix}",
    r"(A \otimes B) \operatorname{vec}(A) \text{ where } B = A + A^\top",
    r"\nabla_A f = \softmax(A)_{ij} - \max_k A_{ik} + \log \sum_k e^{A_{ik}}",
]
SECONDS = 5


def check(text: str) -> None:
    for target in ("A", None):
        start = time.process_time()
        try:
            found = lx.parse_latex(text, NAMES, like=None if target is None else NAMES[target])
        except lx.LemmaxError as error:
            assert str(error)
            assert len(str(error)) < 5_000
        else:
            assert isinstance(found, lx.Tensor)
        assert time.process_time() - start < SECONDS, text


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_pieces_in_any_order(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_pieces_side_by_side(text: str) -> None:
    check(text)


@given(st.sampled_from(FORMULAS), st.integers(0, 80), st.integers(0, 4), st.sampled_from(PIECES))
def test_formulas_with_one_piece_changed(formula: str, at: int, length: int, piece: str) -> None:
    check(formula[:at] + piece + formula[at + length :])


@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    check(text)
