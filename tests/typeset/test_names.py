"""Names with scripts, and letters of indices."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.typeset import latex
from lemmax.typeset.letters import Letters
from lemmax.typeset.names import parse_name, render_name


@pytest.mark.parametrize(
    ("name", "plain", "indexed", "transposed"),
    [
        ("X", "X", "X_{ih}", r"X_{ih}^\top"),
        ("W^Q", "W^Q", "W^Q_{ih}", r"W^{Q\top}_{ih}"),
        ("W^{KQ}", "W^{KQ}", "W^{KQ}_{ih}", r"W^{KQ\top}_{ih}"),
        ("x_1", "x_1", "x_{1,ih}", r"x_{1,ih}^\top"),
        ("W1", "W_1", "W_{1,ih}", r"W_{1,ih}^\top"),
        (r"\bar{S}", r"\bar{S}", r"\bar{S}_{ih}", r"\bar{S}_{ih}^\top"),
        (r"\bar{W^Q}", r"\bar{W}^Q", r"\bar{W}^Q_{ih}", r"\bar{W}^{Q\top}_{ih}"),
        (r"\bar{x_1}", r"\bar{x}_1", r"\bar{x}_{1,ih}", r"\bar{x}_{1,ih}^\top"),
        ("L^{1}", "L^1", "L^1_{ih}", r"L^{1\top}_{ih}"),
        ("Phi", r"\Phi", r"\Phi_{ih}", r"\Phi_{ih}^\top"),
        ("lam", r"\lambda", r"\lambda_{ih}", r"\lambda_{ih}^\top"),
        ("logits", r"\mathrm{logits}", r"\mathrm{logits}_{ih}", r"\mathrm{logits}_{ih}^\top"),
        ("A'", r"A^{\prime}", r"A^{\prime}_{ih}", r"A^{\prime\top}_{ih}"),
        ("x_i^2", "x^2_i", "x^2_{i,ih}", r"x^{2\top}_{i,ih}"),
    ],
)
def test_scripts_never_double(name: str, plain: str, indexed: str, transposed: str) -> None:
    parsed = parse_name(name)
    assert render_name(parsed) == plain
    assert render_name(parsed, ["i", "h"]) == indexed
    assert render_name(parsed, ["i", "h"], transposed=True) == transposed


def test_row_names() -> None:
    row = parse_name(r"\bar{S}").row
    assert row is not None and render_name(row, ["i"]) == r"\bar{s}_i"
    assert parse_name("logits").row is None
    assert parse_name("v").row is None


def test_long_indices_get_commas() -> None:
    assert render_name(parse_name("X"), ["i", "n + 1"]) == "X_{i,n + 1}"
    assert render_name(parse_name("X"), ["i", "h'"]) == "X_{ih'}"


def test_names_that_would_look_alike_stay_apart() -> None:
    n = lx.size("n")
    a, b = lx.tensor("W_1", n), lx.tensor("W1", n)
    assert latex(a + b) == r"\mathrm{W1} + W_1"


def test_letters_keep_clear_of_names_and_sizes() -> None:
    N, n, i = lx.sizes("N n i")
    X, k, j = lx.tensor("X", N, n, i), lx.tensor("k", i), lx.tensor("j", n)
    text = latex(lx.einsum("abc,c,b->a", X, k, j), notation="index")
    letters = Letters(X, k, j)
    assert {"i", "k", "j", "n", "N"} <= letters.reserved
    assert text.count("k") == text.count("k_") == 1


def test_a_capital_size_has_its_own_letter() -> None:
    H, N, n = lx.sizes("H N n")
    W, X = lx.tensor("W", H, n, n), lx.tensor("X", N, n, n)
    assert latex(lx.sum(W, axis=0)) == r"\sum_{h} W_h"
    assert latex(lx.sum(X, axis=0)) == r"\sum_{i} X_i"  # n is a size


def test_a_row_gives_way_to_a_vector_of_that_name() -> None:
    n, m, k = lx.sizes("n m k")
    A, T, a = lx.tensor("A", n, m), lx.tensor("T", n, m, k), lx.tensor("a", k)
    assert latex(lx.einsum("ij,ijk->k", A, T)) == r"\sum_{i} T_i^\top a_i"
    assert latex(lx.einsum("ij,ijk,k->", A, T, a)) == r"\sum_{i} A_{i,:}^\top T_i a"


def test_nested_sums_over_one_size_have_different_letters() -> None:
    model = lx.models.attention()
    text = latex(lx.gradient(model.loss, model.WQ), inline=True)  # type: ignore[arg-type]
    assert r"\sum_{h'}" in text and r"W^Q_h " in text
