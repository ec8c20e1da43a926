"""Shapes: broadcasting, products and reductions as in NumPy; errors name both operands and their sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx

N, H, n, D, k = lx.sizes("N H n D k")
X, W, T = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("T", N, n, D)
x, y, s = lx.tensor("x", n), lx.tensor("y", D), lx.tensor("s")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: X + W, "a + b: sizes n and D clash on axis -2: X (n, D) and W (D, k)"),
        (lambda: X * x, "a * b: sizes D and n clash on axis -1: X (n, D) and x (n)"),
        (lambda: T - lx.tensor("U", H, n, D), "sizes N and H clash on axis -3: T (N, n, D) and U (H, n, D)"),
        (lambda: X / W, "a / b: sizes"),
        (lambda: X**x, "a ** b: sizes"),
        (lambda: X @ X, "A @ B: inner sizes D and n differ: X (n, D) @ X (n, D)"),
        (lambda: x @ W, "A @ B: inner sizes n and D differ: x (n) @ W (D, k)"),
        (lambda: T @ lx.tensor("U", H, D, k), "A @ B, leading axes: sizes N and H clash on axis -1"),
        (lambda: T.T, ".T of T (N, n, D) is ambiguous: use .mT"),
        (lambda: x.mT, ".mT needs at least two axes, got x (n)"),
        (lambda: lx.trace(X), "trace needs square matrices in the last two axes, got X (n, D)"),
        (lambda: lx.inv(X), "inv needs square matrices"),
        (lambda: lx.det(x), "det needs square matrices"),
        (lambda: lx.logdet(W), "logdet needs square matrices"),
        (lambda: lx.lambda_min(W), "lambda_min needs square matrices"),
        (lambda: lx.diag(X), "diag of a matrix needs square matrices"),
        (lambda: lx.diag(s), "diag needs a vector or a matrix, got a scalar"),
        (lambda: lx.rank(x), "rank acts on matrices (the last two axes), got x (n)"),
        (lambda: lx.dot(X, W), "dot: sizes n and D clash"),
        (lambda: lx.concat([X, W]), "concat on axis 0: X (n, D) and W (D, k) differ on another axis"),
        (lambda: lx.concat([X, x]), "concat on axis 0: X (n, D) and x (n) differ"),
        (lambda: lx.stack([X, W]), "differ on another axis"),
        (lambda: lx.kron(X, x), "kron needs two matrices or two vectors, got X (n, D) and x (n)"),
        (lambda: lx.einsum("ij,jk->ik", X, X), "letter j has sizes D and n (in X (n, D))"),
        (lambda: lx.where(X > 0, W, 0), "where: sizes n and D clash"),
        (lambda: X.ge(W), "relation >=: sizes n and D clash"),
        (lambda: lx.maximum(X, W), "maximum: sizes n and D clash"),
        (lambda: lx.hull_distance(lx.tensor("P", N, H, n, D), x), "do not fit"),
        (lambda: lx.split(x, ((0, 1),), (n, D)), "an axis of size n of x (n) does not split into n x D"),
        (lambda: lx.tensor_from(lambda i: X[i, i]), "an index runs over axes of sizes n and D"),
        (lambda: lx.tensor_from(lambda i: x[i], shape=(D,)), "an index is used on an axis of size n"),
    ],
)
def test_shape_errors_show_both_operands(use: Callable[[], object], message: str) -> None:
    with pytest.raises(lx.ShapeError, match=re.escape(message)):
        use()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: lx.sum(X, axis=2), "axis 2 does not exist, X (n, D) has 2 axes"),
        (lambda: lx.sum(X, axis="k"), "no axis has size k in X (n, D)"),
        (lambda: lx.sum(lx.tensor("C", n, n), axis="n"), "axes [0, 1] all have size n"),
        (lambda: lx.sum(X, axis=(0, -2)), "an axis is given twice"),
        (lambda: lx.softmax(X, axis=1.0), "expected an integer or the name of a size"),
        (lambda: lx.softmax(s), "axis -1 does not exist, s (scalar) has 0 axes"),
        (lambda: lx.permute(X, (0, 0)), "(0, 0) is no order of the 2 axes"),
        (lambda: lx.stack([X], axis=4), "axis 4 does not exist in a result with 3 axes"),
        (lambda: lx.stack([]), "stack needs a list of at least one tensor"),
        (lambda: lx.concat(X), "concat needs a list of at least one tensor"),
        (lambda: lx.concat([X, 1.0]), "concat: 1.0 is no tensor; constants are lx.full"),
        (lambda: lx.merge(X, (0,)), "must list the axes 0..1 of X (n, D) once, in order"),
        (lambda: lx.merge(T, (0, 2), (1,)), "permute first"),
        (lambda: lx.split(x, ((0,), (1,)), (n, D)), "one group for each axis of x (n)"),
        (lambda: lx.einsum("ij", X), "an explicit '->'"),
        (lambda: lx.einsum("ij,jk->ik", X), "one group of letters per operand"),
        (lambda: lx.einsum("ij->ik", X), "output letters must be different and occur"),
        (lambda: lx.einsum("ij->ii", X), "output letters must be different and occur"),
        (lambda: lx.sigma(X, 0), "size 0 is not positive"),
        (lambda: lx.hull_distance(X, x), "points need axes (..., H, n, m)"),
        (lambda: s @ X, "needs two tensors with at least one axis"),
        (lambda: lx.where(X == 0, X, 1), "no relation between tensors"),
        (lambda: lx.where(True, X, 1), "no relation between tensors"),
        (lambda: lx.full("1", n), "cannot be combined with a tensor"),
    ],
)
def test_other_bad_calls(use: Callable[[], object], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=re.escape(message)):
        use()


@pytest.mark.parametrize(
    ("t", "shape"),
    [
        (X @ W, (n, k)),
        (T @ W, (N, n, k)),
        (x @ X, (D,)),
        (X @ y, (n,)),
        (x @ x, ()),
        (T @ y, (N, n)),
        (T[:, None] @ lx.tensor("U", H, D, k), (N, H, n, k)),
        (X + y, (n, D)),
        (x[:, None] + y, (n, D)),
        (s * T, (N, n, D)),
        (lx.sum(T, axis="n"), (N, D)),
        (lx.sum(T, axis=("N", -1)), (n,)),
        (lx.mean(T, axis=1, keepdims=True), (N, 1, D)),
        (lx.max(T), ()),
        (lx.softmax(T, axis="D"), (N, n, D)),
        (lx.trace(lx.tensor("C", N, n, n)), (N,)),
        (lx.diag(lx.tensor("C", N, n, n)), (N, n)),
        (lx.diag(x), (n, n)),
        (lx.outer(T, x), (N, n, D, n)),
        (lx.kron(X, W), (n * D, D * k)),
        (lx.kron(x, y), (n * D,)),
        (lx.vec(T), (N * n * D,)),
        (lx.merge(T, (0, 1), (2,)), (N * n, D)),
        (lx.concat([X, X[1:]]), (2 * n - 1, D)),
        (lx.concat([X, X], axis="D"), (n, 2 * D)),
        (lx.stack([X, X], axis=1), (n, 2, D)),
        (X[0], (D,)),
        (X[:, -1], (n,)),
        (X[1:, None, :2], (n - 1, 1, 2)),
        (X[-2:], (2, D)),
        (X[:-1], (n - 1, D)),
        (X[: n - 2], (n - 2, D)),
        (T[..., 0], (N, n)),
        (X[...], (n, D)),
        (lx.rank(T), (N,)),
        (lx.sigma(T, 2), (N,)),
        (lx.cond(X), ()),
        (lx.lambda_max(lx.tensor("C", N, n, n)), (N,)),
        (lx.hull_distance(lx.tensor("P", N, H, n, D), lx.tensor("y", N, D)), (N,)),
        (lx.zeros(n, 2), (n, 2)),
        (lx.eye(n), (n, n)),
        (lx.causal_mask(n), (n, n)),
        (lx.Derivative(X @ W, W), (n, k, D, k)),
    ],
    ids=lambda v: repr(v) if isinstance(v, lx.Tensor) else None,
)
def test_shapes(t: lx.Tensor, shape: tuple[Any, ...]) -> None:
    assert t.ndim == len(shape)
    assert all(a == b for a, b in zip(t.shape, shape, strict=True))


# -- against NumPy ------------------------------------------------------------------------------
SIDES = st.lists(st.integers(1, 3), max_size=3).map(tuple)


def outcome(function: Callable[..., Any], *operands: Any) -> Any:
    """Return the shape of a result, or None where it is refused."""
    try:
        return tuple(int(side) for side in function(*operands).shape)
    except ValueError:  # ShapeError is one
        return None


@given(SIDES, SIDES)
def test_broadcasting_is_that_of_numpy(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    s_, t_ = lx.tensor("S", *left), lx.tensor("T", *right)
    a, b = np.arange(1.0, 1 + np.prod(left)).reshape(left), np.arange(2.0, 2 + np.prod(right)).reshape(right)
    assert outcome(lambda p, q: p + q, s_, t_) == outcome(lambda p, q: p + q, a, b)
    if outcome(lambda p, q: p + q, a, b) is not None:
        for combine in (lambda p, q: p + q, lambda p, q: p * q, lambda p, q: p - q, lambda p, q: p / q):
            np.testing.assert_allclose(lx.evaluate(combine(s_, t_), S=a, T=b), combine(a, b), rtol=1e-15)


@given(SIDES, SIDES)
def test_matrix_products_are_those_of_numpy(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    s_, t_ = lx.tensor("S", *left), lx.tensor("T", *right)
    a, b = np.arange(1.0, 1 + np.prod(left)).reshape(left), np.arange(2.0, 2 + np.prod(right)).reshape(right)
    assert outcome(lambda p, q: p @ q, s_, t_) == outcome(np.matmul, a, b)
    if outcome(np.matmul, a, b) is not None:
        np.testing.assert_allclose(lx.evaluate(s_ @ t_, S=a, T=b), a @ b, rtol=1e-14)


@given(SIDES, st.data())
def test_reductions_are_those_of_numpy(shape: tuple[int, ...], data: st.DataObject) -> None:
    axes = data.draw(st.none() | st.lists(st.integers(-4, 3), min_size=1, max_size=3).map(tuple))
    keep = data.draw(st.booleans())
    t = lx.tensor("T", *shape)
    a = np.arange(1.0, 1 + np.prod(shape)).reshape(shape) / 7
    try:
        expected = a.sum(axis=axes, keepdims=keep)
    except ValueError:
        with pytest.raises(lx.InvalidArgument):
            lx.sum(t, axis=axes, keepdims=keep)
        return
    for ours, theirs in (
        (lx.sum, np.sum),
        (lx.mean, np.mean),
        (lx.max, np.max),
        (lx.min, np.min),
        (lx.prod, np.prod),
    ):
        result = ours(t, axis=axes, keepdims=keep)
        assert tuple(map(int, result.shape)) == expected.shape
        np.testing.assert_allclose(lx.evaluate(result, T=a), theirs(a, axis=axes, keepdims=keep), rtol=1e-13)


KEYS = st.one_of(
    st.integers(-4, 3),
    st.none(),
    st.just(...),
    st.builds(slice, st.none() | st.integers(-4, 4), st.none() | st.integers(-4, 4)),
)


@given(SIDES, st.lists(KEYS, max_size=4).map(tuple))
def test_indexing_is_that_of_numpy(shape: tuple[int, ...], key: tuple[Any, ...]) -> None:
    t = lx.tensor("T", *shape)
    a = np.arange(np.prod(shape)).reshape(shape)
    try:
        expected = a[key]
    except IndexError:
        with pytest.raises(lx.InvalidArgument):
            t[key]
        return
    if 0 in expected.shape:  # sizes are at least 1
        with pytest.raises(lx.InvalidArgument, match="empty"):
            t[key]
        return
    result = t[key]
    assert tuple(map(int, result.shape)) == expected.shape
    np.testing.assert_array_equal(lx.evaluate(result, T=a), expected)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: X[0, 0, 0], "too many indices for X (n, D): 3 given, 2 axes"),
        (lambda: X[..., ...], "too many indices"),
        (lambda: X[::2], "slices with a step (2) are not supported"),
        (lambda: X[2:2], "the slice 2:2 is empty"),
        (lambda: X[n], "index n is out of range for an axis of size n"),
        (lambda: X[n + 1], "out of range"),
        (lambda: X[1.5], "expected an integer, a slice, an index symbol, None or ..."),
        (lambda: X[True], "expected an integer"),
        (lambda: X["n":], "slices need integers or sizes"),
        (lambda: X["__import__('os')":], "slices need integers or sizes"),
        (lambda: X[[0, 1]], "expected an integer"),
        (lambda: lx.tensor_from(lambda i: X[i, :]), "index symbols and slices cannot be mixed"),
        (lambda: lx.tensor_from(lambda i: X[i]), "X (n, D) has 2 axes; 1 indices were given"),
        (lambda: lx.tensor_from(lambda i: X[i, 0.5]), "expected an integer"),
        (lambda: lx.tensor_from(lambda i: lx.tensor("q", 3, 3)[i, 3]), "index 3 is out of range"),
    ],
)
def test_bad_indices(use: Callable[[], object], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=re.escape(message)):
        use()


def test_integers_of_numpy_are_integers() -> None:
    assert lx.sum(X, axis=np.int64(-1)) == lx.sum(X, axis=1)
    assert lx.merge(X, [0, 1]) == lx.vec(X)
    assert X[np.int64(1)] == X[1] and X[np.int32(1) :] == X[1:]
    assert lx.tensor("q", np.int64(2)) == lx.tensor("q", 2)


def test_negative_indices_beside_an_index_symbol_count_from_the_end() -> None:
    last = lx.tensor_from(lambda i: X[i, -1] - X[i, 0])
    a = np.arange(6.0).reshape(2, 3)
    assert lx.evaluate(last, X=a).tolist() == [2.0, 2.0]
