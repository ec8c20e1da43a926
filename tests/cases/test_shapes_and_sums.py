"""Shapes of derivatives, bound indices, deltas; identities of traces; structured variables."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from tests.cases.registry import covers

n, m, k, N = lx.sizes("n m k N")
A, B, C = (lx.tensor(c, n, n) for c in "ABC")
x, y, z = (lx.tensor(c, n) for c in "xyz")
a, b, c, d = (lx.tensor(t) for t in "abcd")


@covers("S22")
def test_zero_keeps_its_shape() -> None:
    pair = lx.stack([a * b, a + b])
    J = lx.jacobian(pair, lx.tensor("q", 2))
    assert J.shape == (2, 2) and not lx.evaluate(J).any() and lx.evaluate(J).shape == (2, 2)
    beside = lx.stack([lx.jacobian(pair, c), lx.jacobian(pair, d)], axis=1)
    assert beside.shape == (2, 2) and not lx.evaluate(beside).any()
    assert lx.jacobian(A @ x, y).shape == (n, n)
    assert lx.hessian(a * b, x).shape == (n, n)
    assert lx.evaluate(lx.hessian(a * b, x), sizes={"n": 3}).tolist() == [[0] * 3] * 3


@covers("S20")
def test_a_delta_of_indices_is_constant() -> None:
    delta = lx.tensor_from(lambda i, j: sp.KroneckerDelta(i, j), shape=(n, n))
    J = lx.jacobian(delta, x)
    assert J.shape == (n, n, n) and not lx.evaluate(J, sizes={"n": 2}).any()
    weighted = lx.sum(lx.tensor_from(lambda i, j: sp.KroneckerDelta(i, j) * A[i, j]))
    assert lx.gradient(weighted, A) == lx.eye(n)
    with pytest.raises(lx.InvalidArgument, match="expected an input or a named tensor"):
        lx.gradient(weighted, n)  # the range of an index is no variable


@covers("S21")
def test_a_delta_under_a_sum_leaves_a_vector() -> None:
    made = lx.tensor_from(lambda i: lx.index_sum(lambda j: sp.KroneckerDelta(i, j) * x[j] * y[j]))
    assert made.shape == (n,)
    assert lx.equal(made, x * y).name == "proved"
    v, w = np.array([1.0, 2, 3]), np.array([5.0, 7, 11])
    expected = np.einsum("ij,j,j->i", np.eye(3), v, w)
    assert lx.evaluate(made, x=v, y=w).tolist() == expected.tolist()
    assert lx.compile(made)(x=v, y=w).tolist() == expected.tolist()
    assert lx.latex(made) == r"x \odot y"


@covers("S23")
def test_a_matrix_of_one_entry_is_made_a_scalar_on_request() -> None:
    column = lx.tensor("x", n, 1)
    form = column.T @ A @ column
    assert form.shape == (1, 1)
    with pytest.raises(lx.InvalidArgument, match=r"expected a scalar.*differentiate one entry"):
        lx.gradient(form, column)
    for scalar in (form[0, 0], lx.trace(form), lx.sum(form)):
        g = lx.gradient(scalar, column)
        assert g.shape == (n, 1)
        assert lx.equal(g, (A + A.T) @ column).name != "refuted"
        at, matrix = np.array([[1.0], [2]]), np.array([[1.0, 2], [3, 5]])
        assert lx.evaluate(g, x=at, A=matrix).tolist() == ((matrix + matrix.T) @ at).tolist()
    assert lx.jacobian(form, column).shape == (1, 1, n, 1)


@covers("N24")
def test_second_derivatives_of_a_vector_are_named_by_their_axes() -> None:
    with pytest.raises(lx.InvalidArgument, match="expected a scalar"):
        lx.hessian(lx.exp(x), x)
    assert lx.hessian(lx.sum(lx.exp(x)), x).shape == (n, n)
    third = lx.jacobian(lx.jacobian(lx.exp(x), x), x)
    assert third.shape == (n, n, n)
    assert lx.equal(lx.hessian(lx.sum(lx.exp(x)), x), lx.diag(lx.exp(x))).name == "proved"


@covers("S16")
def test_derivative_of_a_matrix_in_its_own_entries() -> None:
    J = lx.jacobian(A, A)
    unit = np.zeros((2, 2))
    unit[0, 0] = 1
    assert lx.evaluate(J[:, :, 0, 0], sizes={"n": 2}).tolist() == unit.tolist()
    assert lx.evaluate(J[0, 0], sizes={"n": 2}).tolist() == unit.tolist()


@covers("S25")
def test_traces_are_cyclic_and_invariant_under_transposition() -> None:
    R, Q = lx.tensor("R", n, m), lx.tensor("Q", m, n)
    for left, right in [
        (lx.trace(A @ B), lx.trace(B @ A)),
        (lx.trace(R @ Q), lx.trace(Q @ R)),
        (lx.trace(A @ B @ C), lx.trace(B @ C @ A)),
        (lx.trace(A @ B @ C), lx.trace(C.T @ B.T @ A.T)),
        (lx.trace(A), lx.trace(A.T)),
        (lx.trace(A.T @ B), lx.sum(A * B)),
        (lx.trace(A + k * B), k * lx.trace(B) + lx.trace(A)),
    ]:
        assert lx.equal(left, right).name == "proved"
        assert lx.equal(left - right, 0).name == "proved"
    for left, right in [
        (lx.trace(A @ B @ C), lx.trace(B @ A @ C)),
        (lx.trace(A @ B), lx.trace(A @ B.T)),
        (lx.trace(A @ B), lx.trace(A) * lx.trace(B)),
    ]:
        assert lx.equal(left, right).name == "refuted"


@covers("S27")
@pytest.mark.parametrize("matrix", [[[1, 2], [3, 4]], [[2, 1], [1, 2]], [[0, 1], [2, 1]]])
def test_what_agrees_everywhere_is_never_refuted(matrix: list[list[int]]) -> None:
    """The larger eigenvalue of exp(M t), by its quadratic equation, is exp of that of M times t."""
    (trace, det), M = (sp.Matrix(matrix).trace(), sp.Matrix(matrix).det()), sp.Matrix(matrix)
    root = sp.sqrt(trace**2 - 4 * det)
    high, low = (trace + root) / 2, (trace - root) / 2
    # exp(M t) = sum over eigenvalues of exp(lambda t) times the projector of Lagrange and Sylvester
    t = lx.tensor("t", positive=True)
    P = [
        [
            lx.exp(high * t) * ((M - low * sp.eye(2)) / (high - low))[i, j]
            + lx.exp(low * t) * ((M - high * sp.eye(2)) / (low - high))[i, j]
            for j in range(2)
        ]
        for i in range(2)
    ]
    sum_, product = P[0][0] + P[1][1], P[0][0] * P[1][1] - P[0][1] * P[1][0]
    claim = (sum_ + lx.sqrt(sum_**2 - 4 * product)) / 2
    assert lx.equal(claim, lx.exp(high * t)).name in ("proved", "unknown")
    verdict = lx.equal(claim, lx.exp(low * t))
    assert verdict.name == "refuted" and verdict.witness is not None


@covers("S29")
def test_which_gradient_in_a_symmetric_matrix_is_meant() -> None:
    S = lx.tensor("S", n, n, symmetric=True)
    f = lx.trace(A @ S @ B @ S)
    with pytest.raises(lx.InvalidArgument, match=r"say which derivative is meant"):
        lx.gradient(f, S)
    free = lx.gradient(f, S, structured="ignore")
    subspace, entries = (lx.gradient(f, S, structured=o) for o in ("subspace", "entries"))
    assert lx.equal(subspace, (free + free.T) / 2).name == "proved"
    assert lx.equal(entries, free + free.T - lx.diag(lx.diag(free))).name == "proved"
    assert lx.equal(free, subspace).name == "refuted"
    rng = np.random.default_rng(0)
    arrays = {"A": rng.standard_normal((3, 3)), "B": rng.standard_normal((3, 3))}
    s = rng.standard_normal((3, 3))
    s, h = s + s.T, 1e-5
    table, projected = (lx.evaluate(g, S=s, **arrays) for g in (entries, subspace))
    for i in range(3):
        for j in range(i + 1):
            move = np.zeros((3, 3))
            move[i, j] = move[j, i] = 1
            up, down = (lx.evaluate(f, S=s + e * move, **arrays) for e in (h, -h))
            assert table[i, j] == pytest.approx((up - down) / (2 * h), rel=1e-8)
            assert np.sum(projected * move) == pytest.approx((up - down) / (2 * h), rel=1e-8)


@covers("S30")
def test_bound_indices_are_renamed_apart() -> None:
    """Sums whose dummies have the same letter, one inside the other and side by side, mean what they say."""
    nested = lx.tensor_from(
        lambda i: lx.index_sum(lambda j: B[i, j] * y[j] * lx.index_sum(lambda j: A[j, j] * x[j]))
    )
    expected = (B @ y) * lx.sum(lx.diag(A) * x)
    assert lx.equal(nested, expected).name == "proved"
    squared = lx.index_sum(lambda j: x[j] * y[j]) * lx.index_sum(lambda j: x[j] * z[j])
    made = lx.tensor_from(lambda i: y[i] * squared)
    assert lx.equal(made, y * ((x @ y) * (x @ z))).name == "proved"
    assert (
        lx.equal(made, lx.tensor_from(lambda i: y[i] * lx.index_sum(lambda q: x[q] ** 2 * y[q] * z[q]))).name
        == "refuted"
    )
    product = lx.substitute(
        lx.sum(x * y), {x: lx.tensor_from(lambda i: lx.index_sum(lambda j: A[i, j] * x[j]))}
    )
    assert lx.equal(product, y @ A @ x).name == "proved"
    twice = lx.substitute(product, {x: lx.tensor_from(lambda j: lx.index_sum(lambda i: B[j, i] * x[i]))})
    assert lx.equal(twice, y @ A @ B @ x).name == "proved"
    assert lx.equal(lx.gradient(twice, x), (A @ B).T @ y).name == "proved"


@covers("E12", "Q21")
def test_layout_is_stated_with_every_formula() -> None:
    """A gradient has the shape of its variable (a column of x), and code and documents say so."""
    g = lx.gradient(x @ y, x)
    assert g == y and lx.latex(g) == "y"
    matrix = lx.gradient(lx.trace(A @ C @ B), C)
    assert matrix.shape == C.shape and lx.latex(matrix) == r"A^\top B^\top"
    assert "A gradient has the shape of its variable" in lx.compile(matrix).source
    document = lx.derive(lx.trace(A @ C @ B), C).latex()
    assert "gradient has the shape of" in document
