"""Index notation: bodies, nested sums, renaming that captures nothing, einsum, masks."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lemmax as lx
from lemmax.expr.indices import bound_index, free_index, fresh, is_index
from lemmax.expr.nodes import Term
from lemmax.interpret import Evaluator

n, k, m = lx.sizes("n k m")
A, B, C = lx.tensor("A", n, k), lx.tensor("B", k, m), lx.tensor("C", n, n)
a, b, s = lx.tensor("a", n), lx.tensor("b", n), lx.tensor("s")
rng = np.random.default_rng(0)
VALUES = {
    "A": rng.standard_normal((3, 2)),
    "B": rng.standard_normal((2, 4)),
    "C": rng.standard_normal((3, 3)),
    "a": rng.standard_normal(3),
    "b": rng.standard_normal(3),
    "s": rng.standard_normal(()),
}


def value(t: lx.Tensor) -> np.ndarray:
    evaluator = Evaluator([t])
    sizes = {name: {"n": 3, "k": 2, "m": 4}[name] for name in evaluator.sizes}
    return np.asarray(evaluator.run(VALUES, sizes=sizes)[0])


CASES: dict[str, tuple[Callable[[], lx.Tensor], Callable[..., np.ndarray]]] = {
    "entry by entry": (lambda: lx.tensor_from(lambda i, j: A[i, j] * a[i]), lambda A, a, **_: A * a[:, None]),
    "transpose": (lambda: lx.tensor_from(lambda i, j: A[j, i]), lambda A, **_: A.T),
    "product": (
        lambda: lx.tensor_from(lambda i, j: lx.index_sum(lambda r: A[i, r] * B[r, j])),
        lambda A, B, **_: A @ B,
    ),
    "repeated index is not summed": (lambda: lx.tensor_from(lambda i: C[i, i]), lambda C, **_: np.diag(C)),
    "trace": (lambda: lx.tensor_from(lambda: lx.index_sum(lambda i: C[i, i])), lambda C, **_: np.trace(C)),
    "sum over two": (
        lambda: lx.tensor_from(lambda: lx.index_sum(lambda i, j: A[i, j] * a[i])),
        lambda A, a, **_: np.sum(A * a[:, None]),
    ),
    "nested sums": (
        lambda: lx.tensor_from(
            lambda i: lx.index_sum(lambda j: C[i, j] * lx.index_sum(lambda r: C[j, r] * C[i, r]))
        ),
        lambda C, **_: np.einsum("ij,jl,il->i", C, C, C),
    ),
    "square of a sum": (
        lambda: lx.tensor_from(lambda i: lx.index_sum(lambda j: A[i, j]) ** 2),
        lambda A, **_: A.sum(1) ** 2,
    ),
    "product of two equal sums": (
        lambda: lx.tensor_from(lambda i: lx.index_sum(lambda j: A[i, j]) * lx.index_sum(lambda j: A[i, j])),
        lambda A, **_: A.sum(1) ** 2,
    ),
    "sum in a denominator": (
        lambda: lx.tensor_from(lambda i, j: lx.exp(A[i, j]) / lx.index_sum(lambda r: lx.exp(A[i, r]))),
        lambda A, **_: np.exp(A) / np.exp(A).sum(1, keepdims=True),
    ),
    "sum of a sum and a term": (
        lambda: lx.tensor_from(lambda i: lx.index_sum(lambda j: C[i, j] + lx.index_sum(lambda r: C[j, r]))),
        lambda C, **_: C.sum(1) + C.sum(),
    ),
    "difference of sums": (
        lambda: lx.tensor_from(lambda i: lx.index_sum(lambda j: C[i, j]) - lx.index_sum(lambda j: C[j, i])),
        lambda C, **_: C.sum(1) - C.sum(0),
    ),
    "sum of a constant": (lambda: lx.tensor_from(lambda: lx.index_sum(lambda i: s, n)), lambda s, **_: 3 * s),
    "function of a function of a sum": (
        lambda: lx.tensor_from(lambda i: lx.tanh(1 + lx.exp(lx.index_sum(lambda j: A[i, j])))),
        lambda A, **_: np.tanh(1 + np.exp(A.sum(1))),
    ),
    "sum in a sum in a function": (
        lambda: lx.tensor_from(
            lambda i: lx.index_sum(lambda j: C[i, j] * lx.tanh(lx.index_sum(lambda r: C[j, r] * C[i, r])))
        ),
        lambda C, **_: (C * np.tanh(C @ C.T)).sum(1),
    ),
    "delta": (
        lambda: lx.tensor_from(lambda i: lx.index_sum(lambda j: sp.KroneckerDelta(i, j) * a[j] * b[j])),
        lambda a, b, **_: a * b,
    ),
    "by position": (
        lambda: lx.tensor_from(lambda i, j: sp.Piecewise((C[i, j], j <= i), (0, True))),
        lambda C, **_: np.tril(C),
    ),
    "where in a body": (
        lambda: lx.tensor_from(lambda i, j: lx.where(C[i, j] > C[j, i], C[i, j], -1)),
        lambda C, **_: np.where(C > C.T, C, -1),
    ),
    "larger in a body": (
        lambda: lx.tensor_from(lambda i: lx.maximum(a[i], 0) + lx.minimum(a[i], b[i])),
        lambda a, b, **_: np.maximum(a, 0) + np.minimum(a, b),
    ),
    "scalar tensor in a body": (lambda: lx.tensor_from(lambda i: s * a[i]), lambda s, a, **_: s * a),
    "scalar tensors of all kinds in a body": (
        lambda: lx.tensor_from(lambda i: (a[i] - s) / lx.sqnorm(a) + 2 * lx.exp(C[0, 0]) ** a[i]),
        lambda s, a, C, **_: (a - s) / (a @ a) + 2 * np.exp(C[0, 0]) ** a,
    ),
    "size in a body": (lambda: lx.tensor_from(lambda i: a[i] / n), lambda a, **_: a / 3),
    "index as a number": (lambda: lx.tensor_from(lambda i: i * a[i]), lambda a, **_: np.arange(3) * a),
    "first entry": (lambda: lx.tensor_from(lambda i: C[i, 0] * C[0, i]), lambda C, **_: C[:, 0] * C[0]),
    "shape given": (
        lambda: lx.tensor_from(lambda i, j: a[i], shape=(n, 2)),
        lambda a, **_: np.stack([a, a], 1),
    ),
    "einsum": (
        lambda: lx.einsum("ij,jk,ii->k", A, B, C),
        lambda A, B, C, **_: np.einsum("ij,jk,ii->k", A, B, C),
    ),
    "einsum diagonal": (lambda: lx.einsum("ii->i", C), lambda C, **_: np.einsum("ii->i", C)),
    "einsum permutes": (lambda: lx.einsum("ij -> ji", A), lambda A, **_: A.T),
    "causal mask": (
        lambda: lx.softmax(C + lx.causal_mask(n)),
        lambda C, **_: np.tril(np.exp(C)) / np.tril(np.exp(C)).sum(1, keepdims=True),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value(name: str) -> None:
    make, reference = CASES[name]
    np.testing.assert_allclose(value(make()), reference(**VALUES), rtol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_dummies_have_no_influence(name: str) -> None:
    """The same construction gives the same tensor, whatever indices were used before."""
    make, _ = CASES[name]
    first = make()
    for used in (1, 7, 80, 800):
        fresh(used)
        assert make() == first


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: lx.tensor_from(lambda i, j: a[i]), "the size of axis 1 cannot be inferred from the body"),
        (lambda: lx.tensor_from(lambda i: a[i], shape=(n, k)), "takes 1 indices, shape has 2 sizes"),
        (lambda: lx.tensor_from(lambda i: a), "a body must be a scalar, got a (n); index it"),
        (lambda: lx.tensor_from(lambda i: a[i] + b), "b (n) stands beside an entry: index it too"),
        (lambda: lx.tensor_from(lambda i: b * a[i]), "b (n) stands beside an entry: index it too"),
        (lambda: lx.tensor_from(lambda i: "a"), "cannot be combined with a tensor"),
        (lambda: lx.tensor_from(lambda i: a[i] * 1j), "no real number"),
        (lambda: lx.tensor_from(lambda i: a[i] * sp.Symbol("c")), "neither a size nor a tensor"),
        (lambda: lx.index_sum(lambda i: s), "a range cannot be inferred from the body"),
        (lambda: lx.index_sum(lambda i: a[i], n, n), "takes 1 indices, 2 sizes were given"),
        (lambda: lx.tensor_from(lambda i: a[i] + b[leaked[0]]), "is neither free nor summed"),
    ],
)
def test_bad_bodies(use: Callable[[], object], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=re.escape(message)):
        use()


leaked: list[sp.Symbol] = []
lx.tensor_from(lambda i: leaked.append(i) or a[i])


def test_an_index_in_a_delta_has_the_range_of_the_other() -> None:
    t = lx.tensor_from(lambda i, j, r: sp.KroneckerDelta(i, j) * sp.KroneckerDelta(j, r) * a[r])
    assert t.shape == (n, n, n)
    assert np.einsum("iii->i", value(t)).tolist() == VALUES["a"].tolist()


def test_index_symbols() -> None:
    assert is_index(free_index(0)) and is_index(bound_index(0)) and is_index(fresh()[0])
    assert not is_index(n) and not is_index(s.symbol) and not is_index(3)
    p, q = fresh(2)
    assert p != q and sorted([q, p], key=str) == [p, q]


def test_a_lambda_checks_its_indices() -> None:
    i, j = free_index(0), bound_index(0)
    with pytest.raises(lx.InvalidArgument, match="needs 1 different indices"):
        lx.Lambda((n,), (), (Term((), a.entry(i)),))
    with pytest.raises(lx.InvalidArgument, match="needs 2 different indices"):
        lx.Lambda((n, n), (i, i), (Term((), a.entry(i)),))
    with pytest.raises(lx.InvalidArgument, match="neither free nor summed"):
        lx.Lambda((n,), (i,), (Term((), a.entry(j)),))
    with pytest.raises(lx.InvalidArgument, match="bound twice"):
        lx.Lambda((n,), (i,), (Term(((i, n),), a.entry(i)),))
    with pytest.raises(lx.InvalidArgument, match="bound twice"):
        lx.Lambda((n,), (i,), (Term(((j, n), (j, n)), a.entry(j)),))
    with pytest.raises(lx.InvalidArgument, match="unfinished sum"):
        lx.Lambda((), (), (Term((), sp.Sum(a.entry(j), (j, 0, n - 1))),))


def test_zero_terms_are_dropped_and_shapes_stay() -> None:
    zero = lx.zeros(n, k)
    assert zero.terms == () and zero.shape == (n, k) and zero.operands == ()
    assert (0 * A).shape == (n, k) and (A - A).shape == (n, k)
    assert value(0 * A).tolist() == [[0.0] * 2] * 3


# -- alpha-equivalence and capture ---------------------------------------------------------------
@st.composite
def renamings(draw: st.DrawFn) -> tuple[list[sp.Symbol], list[sp.Symbol]]:
    """Draw names for two free and two summed indices, from a pool that holds the canonical names too."""
    pool = [*map(free_index, range(4)), *map(bound_index, range(4)), *fresh(2)]
    chosen = draw(st.permutations(pool))
    return list(chosen[:2]), list(chosen[2:4])


@settings(max_examples=100)
@given(renamings())
def test_alpha_equivalent_lambdas_are_one_tensor(names: tuple[list[sp.Symbol], list[sp.Symbol]]) -> None:
    (i, j), (p, q) = names
    expr = C.entry(i, p) * C.entry(p, q) * C.entry(q, j) * a.entry(p)
    made = lx.Lambda((n, n), (i, j), (Term(((p, n), (q, n)), expr),))
    i, j, p, q = free_index(0), free_index(1), bound_index(0), bound_index(1)
    expr = C.entry(i, p) * C.entry(p, q) * C.entry(q, j) * a.entry(p)
    assert made == lx.Lambda((n, n), (i, j), (Term(((p, n), (q, n)), expr),))


@settings(max_examples=50)
@given(renamings(), st.integers(0, 3))
def test_putting_bodies_into_bodies_captures_nothing(
    names: tuple[list[sp.Symbol], list[sp.Symbol]], depth: int
) -> None:
    """Products of matrices whose bodies use the same dummies, inlined into one another."""
    from lemmax.calculus.flatten import flatten

    (i, j), (p, _) = names
    square = lx.Lambda((n, n), (i, j), (Term(((p, n),), C.entry(i, p) * C.entry(p, j)),))
    t, expected = square, VALUES["C"] @ VALUES["C"]
    for _ in range(depth):
        t, expected = square @ t.T, VALUES["C"] @ VALUES["C"] @ expected.T
    (flat,) = flatten([t])
    np.testing.assert_allclose(value(t), expected, rtol=1e-12)
    np.testing.assert_allclose(value(flat), expected, rtol=1e-12)
