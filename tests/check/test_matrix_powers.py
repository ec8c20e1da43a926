"""Powers of matrices with symbolic exponents, products without one factor."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.cli.main import main

n, m, k = lx.sizes("n m k")
A, B, x, X = lx.tensor("A", n, n), lx.tensor("B", n, n), lx.tensor("x", n), lx.tensor("X", n, m)
S = lx.tensor("S", n, n, symmetric=True)
power = lx.matrix_power

TRUE = {
    "transpose": (power(A.T, k), power(A, k).T),
    "next": (power(A, k) @ A, power(A, k + 1)),
    "commutes": (A @ power(A, k), power(A, k) @ A),
    "next but one": (A @ power(A, k) @ A, power(A, k + 2)),
    "before": (A @ power(A, k - 1), power(A, k)),
    "multiple": (power(2 * A, k), 2**k * power(A, k)),
    "sign": (power(-A, k), power(A, k) * (-1) ** k),
    "gradient": (lx.gradient(lx.trace(power(A, k)), A), k * power(A, k - 1).T),
    "in a trace": (lx.trace(A @ power(A, k) @ B), lx.trace(B @ power(A, k + 1))),
    "symmetric": (power(S, k).T, power(S, k)),
    "inverse": (lx.inv(A) @ power(A, k), power(A, k - 1)),
    "product": (lx.gradient(lx.prod(x), x), lx.prod(x) / x),
    "product of rows": (
        lx.gradient(lx.sum(lx.prod(X, axis=1)), X),
        lx.prod(X, axis=1)[:, None] / X,
    ),
    "product of exponentials": (lx.gradient(lx.prod(lx.exp(x)), x), lx.prod(lx.exp(x)) * lx.ones(n)),
}
FALSE = {
    "other matrix": (power(A, k) @ B, B @ power(A, k)),
    "exponent": (power(A, k + 1), power(A, k)),
    "transpose dropped": (power(A.T, k), power(A, k)),
    "transpose of one": (power(A, k) @ A, A.T @ power(A, k)),
    "factor": (power(2 * A, k), 2 * power(A, k)),
    "product times": (lx.gradient(lx.prod(x), x), lx.prod(x) * x),
    "product along the other axis": (
        lx.gradient(lx.sum(lx.prod(X, axis=1)), X),
        lx.prod(X, axis=0)[None, :] / X,
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_proved(name: str) -> None:
    assert lx.equal(*TRUE[name]).name == "proved"


@pytest.mark.parametrize("name", FALSE)
def test_refuted(name: str) -> None:
    assert lx.equal(*FALSE[name]).name == "refuted"


@pytest.mark.parametrize(
    ("claim", "code"),
    [(r"k (X^{k-1})^\top", 0), (r"k (X^\top)^{k-1}", 0), ("k X^{k-1}", 1), (r"(k-1)(X^{k-1})^\top", 1)],
)
def test_an_exponent_is_declared_as_a_size(claim: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    loss = ["formula", "--loss", r"\operatorname{tr}(X^k)", "--shape", "X=n,n", "--wrt", "X"]
    assert main([*loss, "--size", "k", claim]) == code
    capsys.readouterr()
    assert main([*loss, claim]) == 2
    assert "the name k is not known" in capsys.readouterr().err


def test_sizes_in_a_file_of_declarations() -> None:
    from lemmax.check.claim.given import given_in

    given = given_in(
        "X \\in \\mathbb{R}^{n \\times n}\nk, p \\in \\mathbb{N}\nf = \\operatorname{tr}(X^{k + p})"
    )
    loss, rest = given.loss()
    assert given.sizes == ("k", "p")
    assert rest == ()
    assert loss == lx.trace(power(lx.tensor("X", n, n), k + lx.size("p")))
    with pytest.raises(lx.InvalidArgument, match="line 1: size"):
        given_in("2k \\in \\mathbb{N}")
    with pytest.raises(lx.InvalidArgument, match=r"k \\in \\mathbb{N}"):
        given_in("k in the integers")


def test_sizes_among_the_names_of_a_formula() -> None:
    assert lx.parse_latex("A^k", [A, k]) == power(A, k)
    with pytest.raises(lx.ParseError, match="the name k is not known"):
        lx.parse_latex("A^k", [A])
