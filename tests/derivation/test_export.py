"""Derivations as LaTeX documents and fragments."""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path
from typing import Literal

import pytest

import lemmax as lx
from lemmax.derivation.export import derivation_document
from lemmax.typeset.records import Equation
from tests.thorough import THOROUGH

n, D, k = lx.sizes("n D k")
X, W, Y, V = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k), lx.tensor("V", k, k)


SECOND = ["product", "block of softmax", "outer part", "functional part", "classifier, all blocks"]
NAMES = [*SECOND, "least squares", "two layers", "log det", "softmax", "gaussian", "classifier"]


IN_INDICES = ["product", "two layers", "log det", "softmax"]


@functools.cache
def derivations() -> dict[str, lx.Derivation]:
    softmax, gaussian = lx.models.attention(), lx.models.attention("gaussian", mask="causal")
    classifier = lx.models.attention_classifier()
    return {
        "product": lx.derive(lx.sqnorm(lx.tanh(X @ W) - Y) / 2, W, order=2, direction=lx.tensor("U", D, k)),
        "block of softmax": lx.derive(softmax.loss, [(softmax.WQ, softmax.WK)], order=2),
        "outer part": lx.derive(gaussian.loss, gaussian.WQ, order=2, part="outer"),
        "functional part": lx.derive(lx.sqnorm(lx.tanh(X @ W) @ V - Y), (W, V), order=2, part="functional"),
        "classifier, all blocks": lx.derive(classifier.loss, classifier.weights, order=2),
        "least squares": lx.derive(lx.sqnorm(X @ W - Y) / 2, W),
        "two layers": lx.derive(lx.sqnorm(lx.relu(X @ W) @ V - Y) / 2, (W, V), nonsmooth="subgradient"),
        "log det": lx.derive(lx.logdet(V @ V.T + lx.eye(k)), V),
        "softmax": lx.derive(softmax.loss, softmax.weights),
        "gaussian": lx.derive(gaussian.loss, gaussian.weights),
        "classifier": lx.derive(classifier.loss, classifier.weights),
    }


@functools.cache
def text_of(name: str, notation: Literal["matrix", "index"] = "matrix") -> str:
    return derivations()[name].latex(notation)


@pytest.mark.requires("latex")
@pytest.mark.parametrize(
    ("notation", "name"),
    [
        *(("matrix", name) for name in NAMES),
        *(("index", name) for name in NAMES if THOROUGH or name in IN_INDICES),
    ],
)
def test_documents_compile_without_errors_overfull_boxes_or_open_references(
    name: str, notation: Literal["matrix", "index"], tmp_path: Path
) -> None:
    from lemmax.typeset.pdf import compile_pdf

    log = compile_pdf(text_of(name, notation), tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").stat().st_size > 10_000
    assert log.errors == ()
    assert log.undefined == ()
    assert log.overfull == ()


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_there_with_its_rule_and_no_tensor_goes_without_a_name(name: str) -> None:
    derivation = derivations()[name]
    text = text_of(name)
    assert text.count(r"\begin{step}") == len(derivation.steps)
    for step in derivation.steps:
        assert step.rule.replace("_", " ") in text
    assert "None" not in text
    assert not re.search(r"_[0-9a-f]{12}", text), "the name of an unnamed tensor shows through"


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_changes_nothing_in_print_says_so_and_repeats_no_formula(name: str) -> None:
    text = text_of(name)
    steps = re.findall(r"\\begin\{step\}.*?\\end\{step\}", text, re.S)
    formulas = [re.search(r"\\begin\{equation\}.*?\n(.*)\\end\{equation\}", step, re.S) for step in steps]
    shown = [found[1] for found in formulas if found is not None]
    assert not any(a == b for a, b in itertools.pairwise(shown))
    for step, found in zip(steps, formulas, strict=True):
        assert (found is None) == ("again \\cref{step:" in step)
    assert "as before: " in str(derivations()[name]) or all(formulas)


def test_deltas_stay_visible_until_they_are_contracted() -> None:
    text = text_of("least squares", "index")
    assert re.search(r"\\delta\^\{?n\}?_\{", text)
    assert r"\frac{\partial f}{\partial W_{" in text


def test_the_result_and_its_layout_are_stated() -> None:
    text = text_of("softmax")
    assert r"\frac{1}{\sqrt{d}} \sum_{i} X_i^\top \bar{A}_{ih} X_i W^K_h" in text
    assert "shape of its variable" in text


def test_a_fragment_has_no_preamble() -> None:
    fragment = derivations()["least squares"].fragment()
    assert r"\documentclass" not in fragment
    assert r"\begin{step}" in fragment


def test_a_notebook_shows_loss_and_gradient() -> None:
    shown = derivations()["least squares"]._repr_latex_()
    assert shown.startswith(r"$\displaystyle")
    assert r"X^\top (X W - Y)" in shown


@pytest.mark.requires("latex")
def test_a_derivation_becomes_a_pdf_file(tmp_path: Path) -> None:
    derivations()["least squares"].pdf(tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")


def test_sources_are_cited_and_words_are_not() -> None:
    text = text_of("softmax")
    assert text.count(r"\bibitem") == 2 and "eq. 4.106" in text
    sliced = lx.derive(lx.sqnorm(X[0]), X).latex()
    assert text.count("Griewank") == 1 and "linear." not in sliced.split("thebibliography")[1]


def test_blocks_and_what_is_known_of_their_parts_are_stated() -> None:
    text = text_of("block of softmax")
    assert r"\title{Derivation of the Hessian block in $W^Q_h$ and $W^K_h$" in text
    left = r"\frac{\partial^2 f}{\partial \operatorname{vec}(W^Q_h) \, \partial \operatorname{vec}(W^K_"
    assert left in text and "both row by row" in text
    assert "both column by column" in derivations()["block of softmax"].latex(vec="column")
    outer = text_of("outer part")
    assert "positive semidefinite, because the curvature is the identity" in outer
    assert r"\biggr)_{\mathrm{outer}}" in outer
    functional = text_of("functional part")
    assert "The functional part is linear in" in functional
    cubic = lx.derive(lx.sum((lx.tanh(X @ W) - Y) ** 3), W, order=2, part="outer")
    assert "It was not shown that this part is positive semidefinite" in cubic.latex()


@pytest.mark.parametrize("vec", ["row", "column"])
def test_the_block_of_a_document_is_read_back_as_the_hessian(vec: Literal["row", "column"]) -> None:
    H = lx.tanh((X @ W).named("P")).named("H")
    derivation = lx.derive(lx.sqnorm((H @ V - Y).named("R")) / 2, [(W, V)], order=2)
    equation = derivation_document(derivation, "matrix", vec).sections[-1].body[0]
    assert isinstance(equation, Equation)
    assert equation.left.endswith(r"{\partial \operatorname{vec}(W) \, \partial \operatorname{vec}(V)^\top}")
    block = derivation.result if vec == "row" else lx.permute(derivation.result, (1, 0, 3, 2))
    back = lx.parse_latex(equation.right[0].removeprefix("= "), derivation.result, vec=vec)
    assert lx.equal(back, lx.merge(block, (0, 1), (2, 3))).name == "proved"


def test_of_vectors_one_is_a_column_and_one_a_row() -> None:
    w = lx.tensor("w", D)
    text = lx.derive(lx.sum(lx.exp(X @ w)), w, order=2).latex()
    assert r"\frac{\partial^2 f}{\partial w \, \partial w^\top}" in text


def test_a_notebook_shows_blocks() -> None:
    shown = derivations()["block of softmax"]._repr_latex_()
    assert shown.startswith(r"$\displaystyle \frac{\partial^2 f}{\partial \operatorname{vec}(W^Q)")
    assert r"\partial \operatorname{vec}(W^K)^\top} =" in shown and r"\otimes" in shown


def test_products_are_stated_with_what_moves() -> None:
    product = derivations()["product"]
    text = product.latex()
    assert r"\title{Derivation of the Hessian in $W$ times $U$" in text
    assert r"\mathrm{D}_{U} \frac{\partial f}{\partial W} = X^\top" in text.replace("&", "").replace(
        "\n", " "
    )
    assert r"\frac{\partial \hat{W}_{di}}{\partial \epsilon} = U_{di}" in text.replace("&", "").replace(
        "\n", " "
    )
    assert product._repr_latex_().startswith(r"$\displaystyle \mathrm{D}_{U} \frac{\partial f}{\partial W} =")
    assert "None" not in str(product)
