"""How names are given and found: keywords, mappings, models, graphs; scripts of their own."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.parse.names import key_of
from tests.parse.inputs import A, B, W, X, assert_same, n, x


def test_keywords_are_names_in_code() -> None:
    v = lx.tensor("x", W.shape[0], W.shape[2])
    assert_same(lx.parse_latex(r"W^Q_h x_h", WQ=W, x=v), lx.einsum("hab,hb->ha", W, v))
    bar = lx.tensor(r"\bar{S}", n)
    assert lx.parse_latex(r"\bar{S}", barS=bar) == bar
    assert lx.parse_latex(r"\bar S", barS=bar) == bar


def test_a_mapping_says_how_names_are_written() -> None:
    assert_same(lx.parse_latex("U x", {"U": A, "x": x}), A @ x)
    with pytest.raises(lx.ParseError, match="the name A is not known"):
        lx.parse_latex("A x", {"U": A, "x": x})


def test_mapping_and_keywords_together() -> None:
    assert_same(lx.parse_latex("U x", {"U": A}, x=x), A @ x)


def test_a_model_brings_its_tensors() -> None:
    model = lx.models.attention()
    assert lx.parse_latex(r"R_i", model, like=model.R) == model.R
    assert lx.parse_latex("f", model) == model.loss
    want = lx.softmax(model.logits)
    assert_same(lx.parse_latex(r"\operatorname{softmax}(A_{ih})", model, like=want), want)


def test_a_tensor_brings_the_named_parts_it_is_made_of() -> None:
    p = (A @ x).named("p")
    assert_same(lx.parse_latex(r"p^\top A x", lx.sqnorm(p)), p @ A @ x)


def test_several_sources_in_a_list() -> None:
    assert_same(lx.parse_latex("U A x", [{"U": A}, lx.sqnorm(A @ x)]), A @ A @ x)


def test_one_name_for_two_tensors_is_refused() -> None:
    with pytest.raises(lx.NameClash, match="'A' is given two tensors"):
        lx.parse_latex("A", {"A": A}, A=B)


@pytest.mark.parametrize("given", [3, {"A": 3}, {3: A}, object()])
def test_other_things_are_no_names(given: object) -> None:
    with pytest.raises(lx.InvalidArgument):
        lx.parse_latex("A", given)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("W^Q", ["W^Q", "W^{Q}", "{W^Q}", r"\mathbf{W}^Q", r"\mathrm{WQ}"]),
        ("x_1", ["x_1", "x_{1}", r"\mathbf{x}_1"]),
        ("x1", ["x_1"]),
        ("alpha", [r"\alpha"]),
        ("lam", [r"\lambda"]),
        ("eps", [r"\varepsilon"]),
        (r"\Phi", [r"\Phi", r"\boldsymbol{\Phi}"]),
        (r"\bar{S}", [r"\bar{S}", r"\bar S"]),
        (r"\hat{\beta}", [r"\hat{\beta}", r"\hat\beta"]),
        (r"\hat\beta", [r"\hat{\beta}", r"\hat\beta"]),
        (r"\hat y", [r"\hat{y}", r"\hat y"]),
        (r"\bar{W^Q}", [r"\bar{W^Q}", r"\bar{W}^Q"]),
        (r"\mathcal{L}", [r"\mathcal{L}", r"\mathcal L"]),
        ("loss", [r"\mathrm{loss}", r"\text{loss}", r"\operatorname{loss}", "loss"]),
        ("W^(1)", ["W^{(1)}"]),
        ("w_max", [r"w_{\mathrm{max}}", r"w_{\max}", "w_{max}"]),
        ("X'", ["X'", r"X^{\prime}", r"X^\prime"]),
        ("W^*", ["W^*", r"W^{*}"]),
        ("diag", [r"\mathrm{diag}"]),
    ],
)
def test_a_name_is_found_as_people_write_it(name: str, texts: list[str]) -> None:
    tensor = lx.tensor(name, n, n)
    for text in texts:
        assert lx.parse_latex(text, {name: tensor}) == tensor, text


@pytest.mark.parametrize(
    "text", [r"W^{Q\top}_h", r"W_h^{Q\top}", r"(W^Q_h)^\top", r"(W^Q_h)^T", r"W^{Q\,T}_h", r"{W^Q_h}^\top"]
)
def test_a_name_with_a_script_of_its_own_is_transposed(text: str) -> None:
    assert_same(lx.parse_latex(text, WQ=W), W.mT, text)


def test_subscripts_beside_a_subscript_of_the_name() -> None:
    v = lx.tensor("x_1", n, n)
    for text in ("x_{1,ij}", "{x_1}_{ij}", "x_{1,i,j}", "{x_{1}}_{i,j}"):
        assert lx.parse_latex(text, {"x_1": v}) == v, text


def test_small_letters_are_rows() -> None:
    q = lx.tensor("Q", n, n)
    assert_same(lx.parse_latex(r"\sum_k q_k q_k^\top", Q=q), q.T @ q)
    assert_same(lx.parse_latex(r"x_{ik}", X=X), X)  # row k of sample i
    assert_same(lx.parse_latex(r"q_{ij}", Q=q), q)  # an entry
    bar = lx.tensor(r"\bar{S}", n, n)
    assert_same(lx.parse_latex(r"\bar{s}_1", {r"\bar{S}": bar}), bar[0])


def test_a_given_small_letter_is_itself() -> None:
    v = lx.tensor("x", n)
    assert lx.parse_latex("x", X=X, x=v) == v


def test_letters_spell_a_name_only_if_nothing_else_does() -> None:
    product, name = lx.tensor("K", n, n), lx.tensor("KQ", n, n)
    q = lx.tensor("Q", n, n)
    assert lx.parse_latex("KQ", KQ=name) == name
    assert_same(lx.parse_latex("KQ", K=product, Q=q), product @ q)
    assert_same(lx.parse_latex("K Q", K=product, Q=q, KQ=name), product @ q)
    assert lx.parse_latex(r"\mathrm{KQ}", K=product, Q=q, KQ=name) == name


def test_close_names_are_shown() -> None:
    with pytest.raises(lx.ParseError, match=r"Did you mean W\^\{Q\}"):
        lx.parse_latex("W^K_h", WQ=W)
    with pytest.raises(lx.ParseError, match=r"the name a is not known|row of A"):
        lx.parse_latex("a", A=A)


def test_constants_give_way_to_names() -> None:
    eye = lx.tensor("I", n, n)
    assert lx.parse_latex("I", I=eye) == eye
    assert_same(lx.parse_latex("I x", x=x), x)
    e = lx.tensor("e", n)
    assert_same(lx.parse_latex(r"e^\top x", e=e, x=x), e @ x)


def test_sizes_are_names_too() -> None:
    assert_same(lx.parse_latex(r"\frac{1}{n} x", x=x), x / n)
    k = lx.size("n_1")
    v = lx.tensor("v", k)
    assert_same(lx.parse_latex(r"n_1 v", v=v), k * v)


def test_parts_of_names() -> None:
    assert key_of("W^Q_h").sub == ("h",) and key_of("W^Q_h").sup == ("Q",)
    assert key_of(r"\bar{W^Q}").base == r"\bar{W}"


def test_a_model_and_its_gradient_are_given_together() -> None:
    model = lx.models.attention()
    gradient = lx.gradient(model.loss, model.WV)
    text = r"\sum_i X_i^\top S_{ih}^\top R_i W^{O\top}_h"
    claim = lx.parse_latex(text, [model, gradient], like=gradient)
    assert lx.equal(claim, gradient).name == "proved"
