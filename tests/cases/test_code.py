"""Generated code: what is written, that it is run, and what it costs."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.graph import topological_order
from tests.cases.registry import covers

n, m, K, d = lx.sizes("n m K d")
A, M = lx.tensor("A", n, m), lx.tensor("M", n, n)
x, y, w = lx.tensor("x", m), lx.tensor("y", m), lx.tensor("w", n)


def body(code: object) -> str:
    """Return the statements of generated code, after its checks."""
    return str(code.source).split("all sizes must be")[-1]  # type: ignore[attr-defined]


@covers("C02")
@pytest.mark.parametrize("given", [sp.Matrix([1, 2]), sp.Symbol("a"), sp.MatrixSymbol("X", 2, 1), "12", None])
def test_what_is_no_array_of_numbers_is_refused(given: object) -> None:
    code = lx.compile(x @ x)
    assert code(x=np.array([1.0, 2])) == 5 and code(x=[1, 2]) == 5
    with pytest.raises(lx.InvalidArgument, match="expected an array of numbers"):
        code(x=given)


@covers("C03")
def test_a_sum_inside_a_function_is_a_whole_sum() -> None:
    by_sum = lx.sum(lx.tensor_from(lambda i: lx.exp(lx.index_sum(lambda k: A[i, k] * x[k]))))
    ones = np.ones(3)
    assert lx.compile(lx.exp(x @ y))(x=ones, y=ones) == pytest.approx(np.exp(3), rel=1e-15)
    assert lx.compile(by_sum)(A=np.ones((2, 3)), x=ones) == pytest.approx(2 * np.exp(3), rel=1e-15)
    rng = np.random.default_rng(0)
    a, v = rng.standard_normal((4, 3)), rng.standard_normal(3)
    assert lx.compile(by_sum)(A=a, x=v) == pytest.approx(np.exp(a @ v).sum(), rel=1e-14)


@covers("C06")
def test_sums_over_indices_become_matrix_products() -> None:
    product = lx.tensor_from(lambda i: lx.index_sum(lambda j: A[i, j] * x[j]))
    code = lx.compile(product)
    assert "A @ x" in code.source and "einsum" not in code.source
    B = lx.tensor("B", m, K)
    chained = lx.compile(lx.tensor_from(lambda i, k: lx.index_sum(lambda j: A[i, j] * B[j, k])))
    assert "A @ B" in chained.source
    a, b, v = (np.random.default_rng(0).standard_normal(s) for s in ((3, 4), (4, 2), 4))
    np.testing.assert_allclose(code(A=a, x=v), np.einsum("ij,j->i", a, v), rtol=1e-14)
    np.testing.assert_allclose(chained(A=a, B=b), np.einsum("ij,jk->ik", a, b), rtol=1e-14)


@covers("C07")
def test_code_of_the_jacobian_of_a_normalised_logarithm() -> None:
    q = lx.tensor("q", n, positive=True)
    J = lx.compile(lx.jacobian(lx.log(q / lx.sum(q)), q))
    at = np.array([1.0, 2, 5])
    np.testing.assert_allclose(J(q=at), np.diag(1 / at) - 1 / at.sum(), rtol=1e-14)
    assert "for " not in body(J)


@covers("C08")
def test_traces_and_single_entries() -> None:
    at = np.arange(9.0).reshape(3, 3)
    assert lx.compile(M[0, 0] + M[1, 1] + M[2, 2])(M=at) == np.trace(at)
    assert lx.compile(lx.trace(M))(M=at) == np.trace(at)
    by_sum = lx.compile(lx.sum(lx.tensor_from(lambda i: M[i, i])))
    assert by_sum(M=at) == np.trace(at)
    with pytest.raises(ValueError, match="slices and indices need"):
        lx.compile(M[2, 2])(M=np.eye(2))


@covers("C09")
def test_a_hessian_grows_with_the_expression_and_not_with_the_sizes() -> None:
    """A classifier with one hidden layer: derived once for all sizes; products with it need no Hessian."""
    X, W, V, Y = lx.tensor("X", n, d), lx.tensor("W", d, m), lx.tensor("V", m, K), lx.tensor("Y", n, K)
    start = time.process_time()
    logits = lx.tanh(X @ W) @ V
    loss = lx.sum(lx.logsumexp(logits, axis=1)) - lx.sum(Y * logits)
    U = lx.tensor("U", d, m)
    product, block = lx.hvp(loss, W, U), lx.hessian(loss, W)
    code = lx.compile(product)
    assert time.process_time() - start < 5
    assert len(topological_order(product)) < 60
    rng = np.random.default_rng(0)
    small = {
        "X": rng.standard_normal((3, 2)),
        "W": rng.standard_normal((2, 4)),
        "V": rng.standard_normal((4, 3)),
    }
    small |= {"Y": np.eye(3)}
    table = lx.evaluate(block, **small)
    direction = rng.standard_normal((2, 4))
    np.testing.assert_allclose(code(U=direction, **small), np.tensordot(table, direction), rtol=1e-11)
    large = {"X": rng.standard_normal((200, 50)), "W": rng.standard_normal((50, 40)) / 7}
    large |= {"V": rng.standard_normal((40, 10)), "Y": np.eye(10)[rng.integers(10, size=200)]}
    assert code(U=large["W"], **large).shape == (50, 40)


@covers("C10")
def test_shared_parts_are_computed_once() -> None:
    shared = lx.exp(lx.sin(M))
    code = lx.compile([lx.sum(shared * M), lx.sum(shared * shared), lx.trace(shared @ M)])
    assert body(code).count("np.exp(") == 1 and body(code).count("np.sin(") == 1
    model = lx.models.attention(kernel="softmax")
    gradients = lx.compile(list(lx.gradient(model.loss, model.weights)))
    assert body(gradients).count("np.exp(") == 1  # one softmax for the loss and four gradients
