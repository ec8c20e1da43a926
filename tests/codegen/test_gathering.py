"""Sums of products with an operand in common: one product less each, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.expr.graph import inputs_of

n, D, k = lx.sizes("n D k")
A, B, C = (lx.tensor(name, n, n) for name in "ABC")
X, Y = lx.tensor("X", n, D), lx.tensor("Y", n, D)


def products(source: str) -> int:
    return source.count(" @ ") + source.count("np.matmul")


Z = C @ lx.exp(Y)


@pytest.mark.parametrize(
    ("t", "count"),
    [
        (lx.tanh(A) @ X + lx.exp(B) @ X + Z, 2),
        (lx.tanh(A) @ X - lx.exp(B) @ X + Z, 2),
        (-(lx.tanh(A) @ X) - lx.exp(B) @ X - Z, 2),
        (A @ lx.tanh(X) - A @ lx.exp(X) + Z, 2),
        (lx.tanh(A).T @ X + lx.exp(B).T @ X + Z, 2),
        (lx.tanh(A) @ X + lx.exp(B) @ Y + Z, 3),  # nothing in common
        (lx.tanh(A) @ B + B @ lx.exp(A) + C @ C, 3),  # B on different sides
        ((lx.tanh(A) @ X).named("P") + lx.exp(B) @ X + Z, 3),  # a named product stays
    ],
)
def test_one_product_less(t: lx.Tensor, count: int) -> None:
    rng = np.random.default_rng(0)
    extents = {n: 3, D: 4, k: 2}
    arrays = {str(v.name): rng.standard_normal([extents[s] for s in v.shape]) / 2 for v in inputs_of(t)}
    for buffers in (True, False):
        fn = lx.compile(t, buffers=buffers)
        assert products(fn.source) == count
        np.testing.assert_allclose(fn(**arrays), lx.evaluate(t, **arrays), rtol=1e-12, atol=1e-13)
        assert any("an operand in common" in c.chosen for c in fn.plan.choices) == (count == 2)


def test_a_product_that_is_needed_stays() -> None:
    P, Q = lx.tanh(A) @ X, lx.exp(B) @ X
    fn = lx.compile([P + Q, P])
    assert products(fn.source) == 2


def test_the_hessian_vector_product_shares_its_products() -> None:
    """As by hand: one product forth and one back for all weights and directions, and R W^O once."""
    model = lx.models.attention()
    directions = [lx.tensor(f"d{name}", *w.shape) for name, w in zip("QKVO", model.weights, strict=True)]
    source = lx.compile(list(lx.hvp(model.loss, model.weights, directions))).source
    assert products(source) == 25
    assert source.count("np.matmul(X_flat") == 2
    assert source.count("axis=-1") == 0  # sums of short rows run over whole rows


def test_numbers_go_to_much_smaller_operands() -> None:
    """A gradient in weights of many columns is not divided entry by entry."""
    u, v = lx.tensor("u", n, D), lx.tensor("v", n, k)
    t = lx.einsum("ia,ib->ab", lx.tanh(u), lx.exp(v)) / lx.sqrt(n)
    sizes = {"n": 2, "D": 400, "k": 300}
    fn = lx.compile(t, sizes=sizes)
    assert any(c.subject == "numbers" for c in fn.plan.choices)
    last = fn.source.rstrip().splitlines()[-2]
    assert last.strip().startswith("result = ")
    assert "n ** 0.5" not in last
    rng = np.random.default_rng(0)
    arrays = {"u": rng.standard_normal((2, 4)), "v": rng.standard_normal((2, 3))}
    np.testing.assert_allclose(fn(**arrays), lx.evaluate(t, **arrays), rtol=1e-13)
    square = lx.compile(t, sizes={"n": 300, "D": 400, "k": 300})
    assert not any(c.subject == "numbers" for c in square.plan.choices)
