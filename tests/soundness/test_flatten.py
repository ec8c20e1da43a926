"""Flattening is sound: nothing is captured, shared, renamed or lost."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmax as lx
from lemmax.calculus.canonical import collect
from lemmax.calculus.flatten import flatten
from lemmax.calculus.terms import contract_deltas
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import bound_index, free_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.interpret import Evaluator

n, k = lx.sizes("n k")
A, B, C = lx.tensor("A", n, n), lx.tensor("B", n, k), lx.tensor("C", k, n)
x, w, s = lx.tensor("x", n), lx.tensor("w", k), lx.tensor("s")
rng = np.random.default_rng(0)
VALUES = {
    "A": rng.standard_normal((3, 3)),
    "B": rng.standard_normal((3, 2)),
    "C": rng.standard_normal((2, 3)),
    "x": rng.standard_normal(3),
    "w": rng.standard_normal(2),
    "s": rng.standard_normal(()),
}


def values(tensors: list[lx.Tensor]) -> list[np.ndarray]:
    evaluator = Evaluator(tensors)
    return evaluator.run(VALUES, sizes={p: {"n": 3, "k": 2}[p] for p in evaluator.sizes})


def check(*tensors: lx.Tensor) -> list[lx.Tensor]:
    flat = flatten(tensors)
    for before, after in zip(values(list(tensors)), values(flat), strict=True):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-12 * max(np.abs(before).max(), 1))
    return flat


EXPRESSIONS = {
    "power of a sum": lx.sum(A) ** 3,
    "sum times itself": (A @ x) * (A @ x),
    "square of a matrix product": (A @ B) ** 2,
    "square of a sum": (A + A.T) ** 2,
    "cube of a scaling": (2 * A) ** 3,
    "negative power": 1 / (2 * x) ** 2,
    "root of a scaling": lx.sqrt(4 * lx.exp(x)),
    "root of a square": lx.sqrt((s * s) * 4),
    "scalar function in a product": A / lx.sqrt(lx.sqnorm(A)) * lx.norm(x),
    "nested products": ((A @ A) @ (A @ A)) @ ((A @ A) @ x),
    "trace of a product of traces": lx.trace(A @ A) * lx.trace(A @ A.T) * lx.trace(A),
    "product of one sum by another": lx.sum(B) * lx.sum(B @ C),
    "broadcast differences": ((x[:, None] - x) * A) @ ((x[:, None] - x) * A),
    "difference of products": (A @ B - B) @ (C @ A - C),
    "sum over an absent index": lx.sum(lx.outer(x, lx.ones(k))) + lx.sum(lx.full(s.symbol, n, k)),
    "zero inside": (A - A) @ B + 0 * B,
    "one inside": lx.ones(n, n) @ A @ lx.ones(n),
    "identity inside": lx.eye(n) @ A @ lx.diag(x) @ lx.eye(n),
    "diagonals": lx.diag(lx.diag(x) @ A) + lx.diag(A.T @ lx.diag(x)),
    "broadcast of size one": A * lx.sum(A, axis=0, keepdims=True) + lx.sum(A, axis=1, keepdims=True),
    "entries": A[0, 1] * A @ A[:, 0],
    "function of a scaling": lx.tanh(3 * A.T) @ lx.exp(-x),
    "cases": lx.where(A > 0, lx.sqrt(lx.abs(A) + 1) * lx.log(2 + A * A), A / 3),
    "long sum": sum((lx.tanh(p * x) for p in range(1, 20)), start=x),
    "long product": lx.tensor_from(lambda i: sp.Mul(*[(x[i] + p) for p in range(8)])),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_stay(name: str) -> None:
    (flat,) = check(EXPRESSIONS[name])
    (again,) = check(flat)
    assert flat.shape == EXPRESSIONS[name].shape == again.shape


def test_products_become_one_sum() -> None:
    (flat,) = flatten([(A @ B) @ (C @ A) @ x / lx.sqrt(n)])
    assert isinstance(flat, Lambda) and len(flat.terms) == 1
    assert {t.name for t in flat.operands} == {"A", "B", "C", "x"}


def test_names_and_kept_tensors_stay_whole() -> None:
    R, P = (A @ B).named("R"), C @ A
    (flat,) = flatten([lx.trace(P @ R)], keep=[P])
    assert set(flat.operands) == {R, P}


def test_shared_parts_stay_shared() -> None:
    t = lx.tanh(A @ A)
    for _ in range(30):
        t = lx.tanh(t @ t)
    (flat,) = flatten([t])
    assert len(topological_order(flat)) <= 2 * len(topological_order(t))


def test_different_tensors_of_one_name_are_told_apart() -> None:
    first, second = lx.tanh(A).named("S"), lx.exp(A).named("S")
    flat = check(first @ x + (second.T @ x))[0]
    names = {t.name for t in topological_order(flat) if t.name}
    assert {"S", "S^{(2)}"} <= names
    inner = lx.tanh(A).named("x")  # the name of an input
    flat = check(lx.sum(inner) * x)[0]
    assert {"x", "x^{(2)}"} <= {t.name for t in topological_order(flat) if t.name}


def test_one_tensor_met_before_and_after_flattening_is_one() -> None:
    S = lx.softmax((A @ A).T / 2).named("S")
    (flat,) = flatten([S])
    assert flat != S
    total = check((S @ x) * 2 + flat @ x)[0]
    assert [t.name for t in topological_order(total) if t.name == "S"] == ["S"]
    assert isinstance(total, Lambda) and len(total.terms) == 1  # three times S x


# -- deltas and like terms, on random terms ---------------------------------------------------------
@st.composite
def terms(draw: st.DrawFn) -> Term:
    """Draw a product of entries and deltas over free indices i, j and summed ones, of two ranges."""
    i, j = free_index(0), free_index(1)
    bound = [(bound_index(p), draw(st.sampled_from([n, k]))) for p in range(draw(st.integers(0, 3)))]
    ranges = {i: n, j: k, **dict(bound)}
    pick = st.sampled_from(sorted(ranges, key=str))
    factors: list[sp.Expr] = []
    for _ in range(draw(st.integers(1, 4))):
        p, q = draw(pick), draw(pick)
        kind = draw(st.sampled_from(["delta", "constant", "vector", "matrix"]))
        if kind == "delta":
            factors.append(sp.KroneckerDelta(p, q))
        elif kind == "constant":
            factors.append(sp.KroneckerDelta(p, draw(st.integers(0, 2))))
        elif kind == "vector":
            factors.append((x if ranges[p] == n else w).entry(p))
        else:
            table = {(n, n): A, (n, k): B, (k, n): C}
            factors.append(
                table[ranges[p], ranges[q]].entry(p, q) if (ranges[p], ranges[q]) in table else s.symbol
            )
    return Term(tuple(bound), sp.Mul(*factors))


def as_tensor(*of: Term) -> lx.Tensor:
    return Lambda((n, k), (free_index(0), free_index(1)), of)


@settings(max_examples=150)
@given(terms())
def test_contracting_deltas_keeps_the_value(term: Term) -> None:
    contracted = contract_deltas(term, {free_index(0): n, free_index(1): k})
    before, after = values([as_tensor(term), as_tensor(contracted)])
    np.testing.assert_allclose(after, before, atol=1e-12)


@settings(max_examples=75)
@given(st.lists(terms(), min_size=1, max_size=4))
def test_collecting_keeps_the_value(drawn: list[Term]) -> None:
    repeated = [*drawn, *drawn[:2]]
    collected = collect(repeated)
    before, after = values([as_tensor(*repeated), as_tensor(*collected)])
    np.testing.assert_allclose(after, before, atol=1e-11)
    assert len(collected) <= len(drawn)


def test_a_long_chain_of_unnamed_products_stays_short() -> None:
    y = x
    for _ in range(150):
        y = y * lx.sin(y) / 2
    (flat,) = flatten([y])
    nodes = topological_order(flat)
    assert len(nodes) <= 2 * 150 + 1
    assert max(len(t.operands) for t in nodes) <= 12
    for before, after in zip(values([y]), values([flat]), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-12)


def test_a_delta_common_to_all_summands_is_contracted_by_the_user() -> None:
    G = lx.tensor("G", n, n, k)
    block = lx.eye(n)[:, :, None] * (lx.exp(G) + G * G)
    (flat,) = flatten([lx.einsum("ij,jlk->ilk", A, block)])
    assert not any(
        term.expr.atoms(sp.KroneckerDelta)
        for t in topological_order(flat)
        if isinstance(t, Lambda)
        for term in t.terms
    )
    evaluator = Evaluator([lx.einsum("ij,jlk->ilk", A, block), flat])
    arrays = {"A": VALUES["A"], "G": rng.standard_normal((3, 3, 2))}
    before, after = evaluator.run(arrays)
    np.testing.assert_allclose(after, before, rtol=1e-12)
