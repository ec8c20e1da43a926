"""The planning stage: what is shared, in which order products are taken, what the plan says."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.codegen import make_plan
from lemmax.codegen.factoring import common_factors
from lemmax.codegen.lower import lower
from lemmax.codegen.sizes import FAMILY, INSIDE_ONE_FAMILY, SHARED, representative_sizes

N, n, D, d, k, H = lx.sizes("N n D d k H")
A, B = lx.tensor("A", n, n), lx.tensor("B", n, n)
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
x = lx.tensor("x", n)


def operations(*roots: lx.Tensor) -> list[str]:
    return [s.operation for s in make_plan(roots, True).statements]


def products(*roots: lx.Tensor) -> int:
    """Count the matrix products of a plan, those inside longer expressions included."""
    return lx.compile(list(roots)).source.count(" @ ")


def test_a_product_with_a_vector_is_taken_from_the_right() -> None:
    plan = make_plan([(A @ B) @ x], False)
    assert plan.flops == 4 * n**2


def test_given_sizes_decide_the_order() -> None:
    U, V = lx.tensor("U", n, d), lx.tensor("V", d, n)
    t = U @ V @ A
    thin = make_plan([t], False, sizes={"n": 100, "d": 2})
    wide = make_plan([t], False, sizes={"n": 2, "d": 100})
    assert sp.expand(thin.flops - 4 * n**2 * d) == 0
    assert sp.expand(wide.flops - 2 * n**2 * d - 2 * n**3) == 0
    arrays = {
        key: np.random.default_rng(0).standard_normal(s)
        for key, s in {"U": (3, 4), "V": (4, 3), "A": (3, 3)}.items()
    }
    for sizes in ({"n": 100}, {"n": 1, "d": 50}):
        np.testing.assert_allclose(
            lx.compile(t, sizes=sizes)(**arrays), arrays["U"] @ arrays["V"] @ arrays["A"], rtol=1e-13
        )


def test_equal_parts_are_computed_once() -> None:
    assert products(X @ W, lx.exp(X @ W), (X @ W) * 2) == 1
    assert products(A @ B, (A @ B) @ X) == 2
    # the same product under other index names, inside longer products
    assert products(lx.einsum("ij,jk->ik", A, B), lx.einsum("ab,bc,cd->ad", A, B, X)) == 2
    assert products(A @ B, B.T @ A.T) == 1  # the second is the transpose of the first


def test_different_products_are_not_mixed_up() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 3, 3))
    roots = [
        A @ B,
        B @ A,
        A @ B.T,
        A.T @ B,
        lx.einsum("ij,jk->i", A, B),
        lx.einsum("ij,ij->i", A, B),
        A @ A,
        A @ A.T,
    ]
    expected = [
        a @ b, b @ a, a @ b.T, a.T @ b, (a @ b).sum(axis=1), (a * b).sum(axis=1), a @ a, a @ a.T,
    ]  # fmt: skip
    for value, wanted in zip(lx.compile(roots)(A=a, B=b), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-13)


def test_a_common_factor_is_taken_out() -> None:
    Z, V = lx.tensor("Z", n, k), lx.tensor("V", D, D)
    t = lx.einsum("ia,ij,jb->ab", X, A, Y) - lx.einsum("ia,ij,jb->ab", X, B, Z)
    fn = lx.compile(t)
    assert fn.source.count(" @ ") == 3
    assert any("X taken out of 2 products" in c.chosen for c in fn.plan.choices)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3, 3))
    arrays = {
        "A": a,
        "B": b,
        "X": rng.standard_normal((3, 4)),
        "Y": rng.standard_normal((3, 2)),
        "Z": rng.standard_normal((3, 2)),
    }
    expected = arrays["X"].T @ (a @ arrays["Y"] - b @ arrays["Z"])
    np.testing.assert_allclose(fn(**arrays), expected, rtol=1e-12)
    # nothing in common, or in common at other indices
    assert not any(
        "taken out" in c.chosen for c in lx.compile(A @ X @ V + B @ B @ X).plan.choices if "V" in c.chosen
    )
    program = lower([lx.einsum("ij,jk->ik", A, B) + lx.einsum("ji,jk->ik", A, B)])
    (definition,) = program.definitions
    assert {str(f.factor.base.label) for f in common_factors(definition.products)} == {"B"}


def test_no_statement_is_unused() -> None:
    model = lx.models.attention()
    plan = lx.compile([model.loss, *lx.gradient(model.loss, model.weights)]).plan
    used = {name for s in plan.statements for name in s.operands} | {name for name, _ in plan.outputs}
    assert {s.name for s in plan.statements} <= used


def test_statements_come_in_order() -> None:
    plan = lx.compile(lx.gradient(lx.sqnorm(lx.tanh(X @ W) - Y), W)).plan
    known = set(plan.arguments)
    for s in plan.statements:
        assert set(s.operands) <= known
        known.add(s.name)


def test_the_plan_as_text() -> None:
    plan = lx.compile(lx.softmax(X @ W).named("S")).plan
    lines = str(plan).splitlines()
    assert lines[0].split() == [
        "variable", "operation", "operands", "shape", "flops", "bytes", "memory",
    ]  # fmt: skip
    assert any(line.split()[:2] == ["S", "softmax"] for line in lines)
    assert plan.flops == 2 * D * k * n + 4 * k * n
    assert plan.bytes == 16 * k * n
    assert [plan.memory_of(s) for s in plan.statements] == ["new", "new"]


def test_the_plan_says_where_results_lie() -> None:
    model = lx.models.attention()
    plan = lx.compile([model.loss, *lx.gradient(model.loss, model.weights)]).plan
    lies = {s.name: plan.memory_of(s) for s in plan.statements}
    assert lies["S"] == "over A"
    assert lies["A"] == "in place"
    assert lies["X_WK"] == "view"
    assert lies["X_WQ_WK_WV"].startswith("buffer ")
    assert lies["f"] == lies["result4"] == "new"
    H, N, n = ({str(s): s for s in model.sizes}[name] for name in ("H", "N", "n"))
    assert {s.name: plan.bytes_of(s) for s in plan.statements}["S"] == 8 * H * N * n**2


def test_operations() -> None:
    assert operations(lx.exp(A).named("E"), lx.softmax(lx.exp(A).named("E")).named("S")) == ["exp", "softmax"]


def test_representative_sizes() -> None:
    model = lx.models.attention()
    inputs = (model.X, model.Y, *model.weights)
    found = {str(s): value for s, value in representative_sizes(inputs).items()}
    assert found == {
        "N": FAMILY, "H": FAMILY, "n": INSIDE_ONE_FAMILY, "d": INSIDE_ONE_FAMILY, "v": INSIDE_ONE_FAMILY,
        "D": SHARED, "m": SHARED,
    }  # fmt: skip
    assert representative_sizes(inputs, {"D": 7})[model.sizes[2]] == 7


def test_attention_takes_the_projections_first() -> None:
    """The logits are (X W^Q)(X W^K)^T, not X (W^Q W^K^T) X^T: key dimensions are small."""
    model = lx.models.attention()
    names = [s.name for s in lx.compile(model.logits).plan.statements]
    assert [name for name in names if name.startswith(("X_W", "A"))] == ["X_WQ", "X_WK", "A"]
    wide = [s.name for s in lx.compile(model.logits, sizes={"d": 512, "D": 8}).plan.statements]
    assert "WQ_WK" in wide or "WK_WQ" in wide


def test_many_factors_are_ordered_by_search() -> None:
    chain = A
    for _ in range(9):
        chain = chain @ B
    plan = make_plan([chain @ x], False)
    assert plan.flops == 20 * n**2


@pytest.mark.parametrize("seed", range(3))
def test_every_order_has_the_same_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = {name: int(value) for name, value in zip("nDk", rng.integers(1, 200, 3), strict=True)}
    t = lx.einsum("ij,ja,ak,lk->il", A, X, W, Y)
    a, w, u, y = (rng.standard_normal(s) for s in ((3, 3), (3, 4), (4, 2), (3, 2)))
    value = lx.compile(t, sizes=sizes)(A=a, X=w, W=u, Y=y)
    np.testing.assert_allclose(value, a @ w @ u @ y.T, rtol=1e-12)
