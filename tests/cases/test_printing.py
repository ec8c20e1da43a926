"""LaTeX that compiles: dummies, scripts on scripts, powers of names with superscripts, columns."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import lemmax as lx
from lemmax.typeset.pdf import compile_pdf
from tests.cases.registry import covers

n, m, k = lx.sizes("n m k")
M, N = lx.tensor("M", n, m), lx.tensor("N", m, n)
x1, L1, Xa = lx.tensor("x_1", n), lx.tensor("L^1", n, n), lx.tensor("X_a", n, n)
W, hat = lx.tensor("W^Q_h", n, m), lx.tensor(r"\hat{x}_1", n)
A, v = lx.tensor("A", 2, 3), lx.tensor("v", 3)

FORMULAS = {
    "entry of a product": (M @ N)[0, 1],
    "entries of a product": lx.tensor_from(lambda i, j: (M @ N)[i, j]),
    "index on a name with a subscript": lx.tensor_from(lambda i: x1[i] ** 2),
    "fixed index on a name with a subscript": x1[0] + hat[1],
    "square of a name with a superscript": L1 @ L1,
    "entrywise square of a name with a superscript": L1**2,
    "powers of a name with a superscript": lx.matrix_power(L1, k) @ lx.matrix_power(L1, 9),
    "inverse and transpose of a name with a superscript": lx.inv(L1) @ L1.T,
    "pseudo-inverse of a name with both scripts": lx.pinv(W) @ hat,
    "power of a scalar with a subscript": lx.tensor("s_1") ** 3,
    "entry of a name with a subscript": Xa[0, 0] * Xa[1, 2],
    "entries of a name with both scripts": lx.tensor_from(lambda i, j: W[i, j] ** 2),
    "transpose of a name with both scripts": W.T @ hat,
    "column": A @ v,
    "norms": lx.norm(L1) ** 2 + lx.norm(x1) + lx.spectral_norm(L1) + lx.nuclear_norm(Xa),
}
TWO_SCRIPTS = re.compile(r"(_(\{[^{}]*\}|\w)){2}|(\^(\{[^{}]*\}|\w|\\top)){2}")


@pytest.mark.parametrize("notation", ["matrix", "index"])
@pytest.mark.parametrize("name", FORMULAS)
def test_no_double_scripts_and_no_underscores_in_dummies(name: str, notation: str) -> None:
    text = lx.latex(FORMULAS[name], notation=notation)
    assert not TWO_SCRIPTS.search(text), text
    assert not re.search(r"(?<![\w}|*)])_", text), text  # a script stands on something


@covers("P02", "P03", "P04", "P05")
@pytest.mark.requires("latex")
def test_all_compile(tmp_path: Path) -> None:
    lines = [
        rf"\[ {lx.latex(t, notation=notation)} \]"
        for t in FORMULAS.values()
        for notation in ("matrix", "index")
    ]
    document = "\n".join(
        [r"\documentclass{article}", r"\usepackage{amsmath}", r"\begin{document}", *lines, r"\end{document}"]
    )
    log = compile_pdf(document, tmp_path / "all.pdf")
    assert log.errors == ()
    broken = document.replace(r"\begin{document}", r"\begin{document} $x_{1}_{i}$", 1)
    with pytest.raises(lx.LemmaxError, match=r"[Dd]ouble subscript"):
        compile_pdf(broken, tmp_path / "broken.pdf")


@covers("P02", "P03", "P04", "P05")
def test_as_users_wrote_them() -> None:
    assert lx.latex((M @ N)[0, 1], notation="index") == r"\sum_{i=1}^{m} M_{1i} N_{i2}"
    assert lx.latex(lx.tensor_from(lambda i: x1[i] ** 2), notation="index") == "x_{1,i}^2"
    assert lx.latex(lx.matrix_power(L1, k)) == "(L^1)^{k}"
    assert lx.latex(Xa[0, 0]) == "X_{a,11}"


@covers("P08")
def test_a_matrix_times_a_vector_is_a_column() -> None:
    product = A @ v
    assert product.shape == (2,)
    assert lx.parse_latex(lx.latex(product), product, like=product) == product
    assert lx.latex(product) == "A v" and lx.latex(product[None, :]) in (r"v^\top A^\top", r"(A v)^\top")
    assert lx.evaluate(product, A=np.arange(6.0).reshape(2, 3), v=np.ones(3)).tolist() == [3, 12]


@covers("P10")
def test_notebooks_get_delimiters() -> None:
    shown = (A @ v)._repr_latex_()
    assert shown == r"$\displaystyle A v$"
    model = lx.models.attention()
    assert model.loss._repr_latex_().startswith(r"$\displaystyle ")
    derivation = lx.derive(lx.sqnorm(x1), x1)
    assert "$" in derivation._repr_latex_() or r"\begin{" in derivation._repr_latex_()
