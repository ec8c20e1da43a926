"""Arguments of functions are compared up to how their coefficients are written."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.calculus.normal_form import is_zero, normal_form
from lemmax.expr.tensor import Tensor

n, D, d = lx.sizes("n D d")
Z, w, u = lx.tensor("Z", n, D), lx.tensor("w", D), lx.tensor("u", D)
m = (Z @ w).named("m")

EQUAL = [
    (lx.sigmoid(-m), lx.sigmoid(-(Z @ w)), "named"),
    (lx.sigmoid(-(Z @ w)), lx.sigmoid(-Z @ w), "sign inside the product"),
    (lx.exp(-(Z @ w) / lx.sqrt(d)), lx.exp(-Z @ w / lx.sqrt(d)), "a coefficient in sizes"),
    (lx.sin(Z @ w - Z @ u), -lx.sin(Z @ (u - w)), "odd"),
    (lx.abs(Z @ w - Z @ u), lx.abs(Z @ (u - w)), "even"),
    (lx.tanh(2 * m), lx.tanh(Z @ w + Z @ w), "like terms"),
    (lx.exp(2 * (Z @ w)), lx.exp(m) ** 2, "powers"),
]
DIFFERENT = [
    (lx.sigmoid(-m), lx.sigmoid(Z @ w)),
    (lx.sin(Z @ w - Z @ u), lx.sin(Z @ (u - w))),
    (lx.tanh(2 * m), lx.tanh(3 * m)),
    (lx.exp(-(Z @ w) / lx.sqrt(d)), lx.exp(-(Z @ w) / lx.sqrt(D))),
    (lx.tanh(2 * (Z @ w) - Z @ u), lx.tanh(Z @ w - 2 * (Z @ u))),
]


@pytest.mark.parametrize(("a", "b"), [pair[:2] for pair in EQUAL], ids=[pair[2] for pair in EQUAL])
def test_equal_arguments(a: Tensor, b: Tensor) -> None:
    assert is_zero(normal_form(a - b))


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different_arguments(a: Tensor, b: Tensor) -> None:
    assert not is_zero(normal_form(a - b))
    assert lx.equal(a, b).name == "refuted"
