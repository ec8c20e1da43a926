from __future__ import annotations

from pathlib import Path

import pytest

import lemmax as lx
from lemmax.campaign.document import pieces, plain_words, theorem_document, words
from lemmax.campaign.registry import files_in, load
from lemmax.statement import Convergence, Generic
from lemmax.typeset.document import render_document, render_fragment
from lemmax.typeset.pdf import compile_pdf
from lemmax.typeset.records import Equation, Math, Paragraph
from tests.repo.files import ROOT

PROOFS = files_in(ROOT / "proofs")


def test_text_with_formulas_is_split() -> None:
    assert list(pieces("If $a$ then $b$.")) == ["If ", Math("a"), " then ", Math("b"), "."]
    long = " + ".join(["x_{ij} y_{jk} z_{kl}"] * 6)
    assert list(words(f"So ${long}$.")) == [Paragraph("So "), Equation(long)]
    assert list(words(f"${long}$ for all $x$.")) == [Equation(long), Paragraph(" for all ", Math("x"), ".")]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("at W^Q = W^K nothing changes.", ["W^{Q}", "W^{K}"]),
        ("sees only sigma_{Nn}(B)", [r"\sigma_{Nn}"]),
        ("W^Q^T G^Q is not symmetric", ["{W^{Q}}^{T}", "G^{Q}"]),
        ("T T^-T is not the identity", ["T^{-T}"]),
        ("full_row_rank of the tokens, $x_1$", ["x_1"]),
    ],
)
def test_names_with_scripts_in_plain_words_become_formulas(text: str, formulas: list[str]) -> None:
    found = list(plain_words(text))
    assert [piece.latex for piece in found if isinstance(piece, Math)] == formulas
    kept = "".join(piece for piece in found if isinstance(piece, str))
    assert len(kept) < len(text) or kept == text


def test_document_holds_all_that_is_checked() -> None:
    n, k = lx.sizes("n k")
    X, w, b = lx.tensor("X", n, k), lx.tensor("w", k), lx.tensor("b", n)
    R = (X @ w - b).named("R")
    f = lx.sqnorm(R) / 2
    theorem = lx.Theorem(
        name="descent_of_least_squares",
        statement="Gradient descent on $w$ descends.",
        sizes=[n <= k],
        hypotheses=[lx.rank(X).eq(n).named("full row rank"), Generic((w,)).named("generic weights")],
        conclusion=[
            (lx.sqnorm(lx.gradient(f, w)) >= 2 * lx.sigma(X, n) ** 2 * f).named("PL"),
            Convergence(f, (w,), 1 / lx.spectral_norm(X) ** 2, steps=7, rate=0.5),
            Convergence(f, (w,), "backtracking", steps=9, reaches=0.25),
        ],
        reference="Folklore_1 & others",
        bound="lower",
        mutants=[
            lx.Mutant("no rank", drop="full row rank", reason="dependent rows"),
            lx.Mutant("any sizes", drop=(n <= k,), reason="more rows than columns"),
            lx.Mutant("reversed", lx.sqnorm(R) < 0, "a norm"),
        ],
    )
    text = render_document(theorem_document(theorem))
    for piece in (
        r"n \le k",
        r"\operatorname{rank}(X) = n",
        "Hypothesis 1, full row rank",
        "Hypothesis 2, generic weights",
        "lie outside some set of measure zero",
        r"X^\top R",
        r"\sigma_{n}(X)^2",
        r"\le \rho^t f_0",
        r"1 \le t \le 7",
        "= 0.5",
        r"f_{9}",
        r"\frac{1}{4}",
        "backtracking",
        "R &= X w - b",
        "1. no rank: dependent rows.",
        "Left out: full row rank.",
        r"Folklore\_1 \& others",
        "lower bound",
        r"descent\_of\_least\_squares",
    ):
        assert piece in text or piece.replace(" &", " ") in text, piece
    index = render_document(theorem_document(theorem, "index"))
    assert r"\sum_{" in index


def test_initials_in_a_title_stay_capitals() -> None:
    theorem = load(ROOT / "proofs" / "pl_value_weights_of_full_row_rank.py")
    assert theorem_document(theorem).title == ("PL value weights of full row rank",)


def test_false_claim_is_said_to_be_false() -> None:
    text = render_document(theorem_document(load(ROOT / "proofs" / "pl_value_weights_of_stacked_output.py")))
    assert "This claim is false" in text and "refuted" in text


@pytest.mark.slow
@pytest.mark.requires("latex")
def test_all_shipped_theorems_compile_as_fragments_of_one_paper(tmp_path: Path) -> None:
    assert len(PROOFS) > 20
    first = render_document(theorem_document(load(PROOFS[0])))
    preamble = first.split(r"\begin{document}")[0]
    bodies = [render_fragment(theorem_document(load(p)), prefix=f"{p.stem}:") for p in PROOFS]
    paper = preamble + r"\begin{document}" + "\n\\clearpage\n".join(bodies) + r"\end{document}"
    log = compile_pdf(paper, tmp_path / "all.pdf")
    assert not log.undefined and not [w for w in log.overfull if w > 5]
