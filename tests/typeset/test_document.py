"""Documents: structure, references, escaped text; and that they compile."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import lemmax as lx
from lemmax.errors import ToolMissing
from lemmax.typeset import definitions, latex, notation_table, pdf
from lemmax.typeset.document import render_document, render_fragment
from lemmax.typeset.escape import escape
from lemmax.typeset.pdf import LatexError, compile_pdf, parse_log
from lemmax.typeset.records import (
    Cite,
    Document,
    Equation,
    Math,
    Paragraph,
    Ref,
    Reference,
    Section,
    Statement,
    chain,
)

NASTY = r"100% of W^Q_h & \input{/etc/passwd} # $x$ ~ {} <> | \"`—½ λ ü Ж 𝒜 [a]"


def example(kernel: str = "softmax", inline: bool = False) -> Document:
    """A document with everything in it."""
    model = lx.models.attention(kernel=kernel, mask="causal")
    gradients = lx.gradient(model.loss, model.weights)
    loss = Section(
        f"The loss: {NASTY}",
        (
            Paragraph("The loss ", Math("f"), " of ", Cite(("song",), "Theorem 2"), " is"),
            Equation("f", (f"= {latex(model.loss)}", f"= {latex(model.loss, inline=True)}"), "loss"),
            *(Equation(left, (f"= {right}",), f"def {left}") for left, right in definitions(model.loss)),
        ),
        "the loss",
    )
    steps = tuple(
        Statement(
            "step",
            (
                Paragraph("By ", Ref("loss"), ": "),
                chain(
                    rf"\frac{{\partial f}}{{\partial {latex(w)}_h}}",
                    ("=", latex(g, inline=inline)),
                    ("=", latex(g, notation="index")),
                    label=f"g {w.name}",
                ),
            ),
            ("chain_rule [at] ", Math(latex(w)), " & more"),
            f"step {w.name}",
        )
        for w, g in zip(model.weights, gradients, strict=True)
    )
    result = Statement(
        "theorem", (Paragraph("All is in ", Ref("g W^Q", "g W^K"), "."),), ("Result",), "result"
    )
    proof = Statement(
        "proof", (Paragraph("See ", Ref("step W^Q", "step W^V"), " and ", Ref("the loss"), "."),)
    )
    return Document(
        title=(f"Gradients: {NASTY}",),
        sections=(
            loss,
            Section("Derivation", (*steps, result, proof, Paragraph("Again ", Ref("result"), "."))),
        ),
        notation=tuple(notation_table(gradients)),
        references=(Reference("song", "Song et al., ", Math("x^2"), f" {NASTY}"),),
        abstract=(NASTY,),
        footnote=("Made by lemmax.",),
    )


def test_text_is_escaped() -> None:
    assert escape("a_b % {c}") == r"a\_b \% \{c\}"
    assert escape("α ≤ Ω") == r"$\alpha$ $\le$ $\Omega$"
    assert escape("Ж") == r"\texttt{U+0416}"
    assert escape("a\tb\x00\n\n c") == "a b c"
    text = render_document(example())
    assert r"\input{/etc" not in text
    assert r"\textbackslash{}input\{/etc/passwd\}" in text


def test_document_has_its_parts() -> None:
    text = render_document(example(inline=True))
    for part in (r"\usepackage{amsmath", "cleveref", r"\title{", r"\section*{Notation}", r"\begin{step}[{"):
        assert part in text
    assert r"D \times d" in text  # shapes
    assert "acts on each row" in text and r"$\odot$ is the entrywise product." in text
    assert text.count(r"\begin{step}") == text.count(r"\end{step}") == 4


def test_output_does_not_change() -> None:
    assert render_document(example()) == render_document(example())


def test_missing_and_double_labels_are_refused() -> None:
    document = example()
    stray = Section("More", (Paragraph(Ref("nowhere")),))
    with pytest.raises(lx.InvalidArgument, match="no label 'nowhere'"):
        render_document(dataclasses.replace(document, sections=(*document.sections, stray)))
    again = Section("More", (Equation("x", label="loss"),))
    with pytest.raises(lx.InvalidArgument, match="'loss' is given twice"):
        render_document(dataclasses.replace(document, sections=(*document.sections, again)))
    with pytest.raises(lx.InvalidArgument, match="no reference 'song'"):
        render_fragment(dataclasses.replace(document, references=()))


@pytest.mark.requires("latex")
@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
@pytest.mark.parametrize("inline", [False, True])
def test_document_compiles(kernel: str, inline: bool, tmp_path: Path) -> None:
    log = compile_pdf(render_document(example(kernel, inline)), tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
    assert [p.name for p in tmp_path.iterdir()] == ["out.pdf"]
    assert not log.undefined
    assert not [excess for excess in log.overfull if excess > 5]


@pytest.mark.requires("latex")
def test_fragment_compiles_in_a_paper(tmp_path: Path) -> None:
    fragment = render_fragment(example())
    preamble = [line[4:] for line in fragment.splitlines() if line.startswith("%   ")]
    paper = "\n".join(
        [
            r"\documentclass{amsart}",
            *preamble,
            r"\newtheorem{claim}{Claim}",
            r"\begin{document}",
            r"\begin{claim}\label{loss} Ours. \end{claim} See \cref{lemmax:loss,loss}.",
            fragment,
            r"\end{document}",
        ]
    )
    log = compile_pdf(paper, tmp_path / "paper.pdf")
    assert not log.undefined


@pytest.mark.requires("latex")
def test_errors_of_latex_are_shown_and_nothing_is_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "out.pdf"
    out.write_bytes(b"before")
    with pytest.raises(LatexError, match="Undefined control sequence"):
        compile_pdf(r"\documentclass{article}\begin{document}\nonsense\end{document}", out)
    assert out.read_bytes() == b"before"


@pytest.mark.requires("latex")
def test_shell_escape_is_off(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    tex = (
        rf"\documentclass{{article}}\begin{{document}}\immediate\write18{{touch {witness}}}x\end{{document}}"
    )
    compile_pdf(tex, tmp_path / "out.pdf")
    assert not witness.exists()


@pytest.mark.requires("latex")
def test_undefined_references_and_overfull_boxes_are_seen(tmp_path: Path) -> None:
    tex = (
        r"\documentclass{article}\usepackage{amsmath}\begin{document}\ref{nowhere}"
        r"\begin{equation} " + " + ".join(["x_{1}"] * 60) + r"\end{equation}\end{document}"
    )
    log = compile_pdf(tex, tmp_path / "out.pdf")
    assert log.undefined == ("nowhere",)
    assert log.overfull and log.overfull[0] > 5


def test_logs_are_read() -> None:
    log = parse_log(
        "./document.tex:12: Undefined control sequence.\n"
        "LaTeX Warning: Reference `eq:x' on page 1 undefined on input line 3.\n"
        "LaTeX Warning: Citation `song' on page 1 undefined on input line 4.\n"
        "Overfull \\hbox (12.5pt too wide) in paragraph at lines 3--4\n"
        "Overfull \\vbox (1.0pt too high) has occurred\n"
        "LaTeX Warning: Label(s) may have changed. Rerun to get cross-references right.\n"
    )
    assert log.errors == ("./document.tex:12: Undefined control sequence.",)
    assert log.undefined == ("eq:x", "song")
    assert log.overfull == (12.5, 1.0)
    assert log.rerun


def test_missing_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    with pytest.raises(ToolMissing, match="texlive-latex-extra"):
        compile_pdf("", tmp_path / "out.pdf")
