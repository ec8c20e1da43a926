"""Hessians by structure: factors taken out of intermediate tensors, summands with deltas on diagonals."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.codegen.diagonals import on_diagonal, subscripts
from lemmax.codegen.hoisting import hoist
from lemmax.codegen.lower import define, lower
from lemmax.codegen.views import reachable
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.nodes import Lambda
from lemmax.expr.tensor import identifier

MODEL = lx.models.attention()
N, n, D, d = lx.sizes("N n D d")
X = lx.tensor("X", N, n, D)
WK = lx.tensor("W^K", D, d)
RNG = np.random.default_rng(0)


def arrays(fn: lx.CompiledFunction, **sizes: int) -> dict[str, np.ndarray]:
    """Return random arguments."""
    shapes = dict(zip(fn.inputs, (t.shape for t in fn.plan.inputs), strict=True))
    return {
        name: RNG.normal(size=[int(s.xreplace({x: sizes[str(x)] for x in s.free_symbols})) for s in shape])
        for name, shape in shapes.items()
    }


SIZES = [
    {"N": 2, "n": 3, "D": 4, "H": 2, "d": 3, "v": 2, "m": 3},
    {"N": 1, "n": 1, "D": 2, "H": 1, "d": 1, "v": 1, "m": 1},
    {"N": 3, "n": 2, "D": 5, "H": 3, "d": 2, "v": 3, "m": 2},
]


@pytest.mark.parametrize("pair", [(p, q) for p in range(4) for q in range(4)])
def test_every_block_is_what_the_interpreter_says(pair: tuple[int, int]) -> None:
    H = lx.hessian(MODEL.loss, *(MODEL.weights[p] for p in pair))
    fn = lx.compile(H, inputs=inputs_of(MODEL.loss))
    needed = {identifier(str(t.name)) for t in inputs_of(H)}
    for sizes in SIZES:
        given = arrays(fn, **sizes)
        expected = lx.evaluate(H, {k: a for k, a in given.items() if k in needed}, sizes=sizes)
        np.testing.assert_allclose(fn(**given), expected, rtol=0, atol=1e-12 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
def test_no_array_carries_tokens_twice_and_a_weight_twice(pair: tuple[int, int]) -> None:
    """The derivative of logits in a whole weight, of shape (N, H, n, n, H, D, d), is never formed."""
    program = lower([lx.hessian(MODEL.loss, *(MODEL.weights[p] for p in pair))])
    largest = max(len(t.tensor.shape) for t in program.definitions if t.tensor not in program.outputs)
    assert largest <= 6
    assert any("factors with axes" in choice.reason for choice in program.choices)


def hoisted(*roots: lx.Tensor) -> list[lx.Tensor]:
    return hoist(roots)[0]


def test_a_factor_that_every_summand_has_is_taken_out() -> None:
    i5 = lx.tensor_from(
        lambda a, b, i, p, q: X[i, a, p] * (X[i, b, q] + sp.exp(X[i, b, 0]) * WK[q, 0]),
        shape=(n, n, N, D, D),
    )
    loss = lx.tensor_from(lambda p, q: lx.index_sum(lambda a, b, i: i5[a, b, i, p, q] ** 1 * X[i, a, q]))
    (new,) = hoisted(loss)
    inner = [t for t in topological_order(new) if isinstance(t, Lambda) and t is not new]
    assert max(t.ndim for t in inner) == 3
    at = {"X": RNG.normal(size=(2, 3, 4)), "WK": RNG.normal(size=(4, 2))}
    np.testing.assert_allclose(lx.evaluate(new, at), lx.evaluate(loss, at), rtol=1e-13)


@pytest.mark.parametrize("power", [1, 2])
def test_what_is_used_in_a_function_or_twice_stays_whole(power: int) -> None:
    t5 = lx.tensor_from(lambda a, b, i, p, q: X[i, a, p] * X[i, b, q], shape=(n, n, N, D, D))
    inside = (lambda e: sp.exp(e)) if power == 1 else (lambda e: e**2)
    loss = lx.tensor_from(lambda p, q: lx.index_sum(lambda a, b, i: inside(t5[a, b, i, p, q])))
    assert hoisted(loss) == [loss]


def test_named_tensors_and_results_stay_whole() -> None:
    t5 = lx.tensor_from(lambda a, b, i, p, q: X[i, a, p] * X[i, b, q], shape=(n, n, N, D, D))
    named = t5.named("T")
    loss = lx.sum(named, axis=(0, 1, 2))
    assert hoisted(loss, named) == [loss, named]
    assert hoisted(t5) == [t5]


def test_diagonals() -> None:
    E = lx.eye(n)
    a, b, x = lx.tensor("a", n, D), lx.tensor("b", n, D), lx.tensor("x", n)
    t = lx.tensor_from(
        lambda i, p, j, q: (
            sp.KroneckerDelta(i, j) * a[i, p] * b[j, q]
            + 3 * sp.KroneckerDelta(i, j) * sp.KroneckerDelta(p, q)
            + x[i] * a[j, p] * b[j, q]
        ),
        shape=(n, D, n, D),
    )
    at = {"a": RNG.normal(size=(3, 2)), "b": RNG.normal(size=(3, 2)), "x": RNG.normal(size=3)}
    for one in (t, t - lx.tensor_from(lambda i, p, j, q: x[i] * a[j, p] * b[j, q], shape=(n, D, n, D))):
        fn = lx.compile(one)
        given = {name: at[name] for name in fn.inputs}
        np.testing.assert_allclose(fn(**given), lx.evaluate(one, given), rtol=1e-14)
        assert sum(v.op == "on_diagonal" for v in reachable([s.value for s in fn.plan.statements])) == 1
        first, second = fn(**given), fn(**given)
        first += 1  # results are the caller's own
        np.testing.assert_allclose(second, lx.evaluate(one, given), rtol=1e-14)
    assert subscripts(((0, 2), (1, 3)), 4) == "abab->ab"
    free = tuple(zip(t.indices, t.shape, strict=True))
    found = [on_diagonal(p, free) for p in define(t).products]
    assert sorted(len(f.pairs) for f in found if f is not None) == [1, 2]
    small = lx.compile(E * 2 + lx.outer(x, x))
    assert all(v.op != "on_diagonal" for v in reachable([s.value for s in small.plan.statements]))


def test_a_result_that_is_needed_elsewhere_is_not_written_to() -> None:
    """What a diagonal is added to is copied if it is another result as well."""
    a, b = lx.tensor("a", n, D, n), lx.tensor("b", D, d)
    base = lx.tensor_from(lambda i, p, j, q: lx.index_sum(lambda k: a[i, k, j] * b[k, p] * b[k, q]))
    x = lx.tensor("x", d, d)
    both = base + lx.tensor_from(lambda i, p, j, q: sp.KroneckerDelta(i, j) * x[p, q], shape=(n, d, n, d))
    fn = lx.compile([base, both])
    given = arrays(fn, n=3, D=2, d=4)
    one, two = fn(**given)
    np.testing.assert_allclose(one, lx.evaluate(base, {k: given[k] for k in ("a", "b")}), rtol=1e-13)
    np.testing.assert_allclose(two, lx.evaluate(both, given), rtol=1e-13)
    assert not np.shares_memory(one, two)


k = lx.size("k")
NET_SIZES = {"N": 2, "n": 3, "D": 4, "k": 2, "d": 3}


def deep_attention() -> tuple[lx.Tensor, list[lx.Tensor]]:
    W = [lx.tensor("A", D, D), lx.tensor("B", D, D), lx.tensor("C", D, k), lx.tensor("E", D, k)]
    Y = X @ W[0] @ W[1]
    return lx.sum(lx.softplus(lx.softmax((Y @ W[2]) @ (Y @ W[3]).mT) @ Y)), W


@pytest.mark.parametrize("pair", [(1, 1), (2, 1), (3, 1), (0, 1)])
def test_the_same_factor_at_other_indices_is_another_factor(pair: tuple[int, int]) -> None:
    """Queries and keys are one projection here, of tokens a and of tokens b."""
    loss, W = deep_attention()
    H = lx.hessian(loss, W[pair[0]], W[pair[1]])
    fn = lx.compile(H)
    given = {name: 0.5 * a for name, a in arrays(fn, **NET_SIZES).items()}
    np.testing.assert_allclose(fn(**given), lx.evaluate(H, given), rtol=0, atol=1e-14)


def test_an_operand_that_comes_again_is_not_written_over() -> None:
    """In memory, of t u u the product t u must not take the place of u."""
    A, B = lx.tensor("A", D, k), lx.tensor("B", D, k)
    mixed = lx.softmax((X @ A) @ (X @ B).mT) @ X
    H = lx.hessian(lx.sqnorm(lx.tanh(mixed * mixed)) / 2, B)
    fn = lx.compile(H, buffers=True)
    given = {name: 0.5 * a for name, a in arrays(fn, **NET_SIZES).items()}
    np.testing.assert_allclose(fn(**given), lx.evaluate(H, given), rtol=0, atol=1e-14)


def test_one_number_for_several_rows_is_not_taken_as_one_for_each() -> None:
    """In memory, an operand with two axes of length 1 is no vector with a number for each row."""
    h = lx.size("h")
    W = [lx.tensor(name, h, D, k) for name in "ABCE"]
    T = X[:, None]
    first = lx.softmax((T @ W[0]) @ (T @ W[1]).mT)
    second = lx.softmax((first @ T @ W[2]) @ (first @ T @ W[3]).mT)
    H = lx.hessian(lx.sum(lx.softplus((second @ (first @ T)).sum(axis=1))), W[1], W[2])
    fn = lx.compile(H, buffers=True)
    given = {name: 0.5 * a for name, a in arrays(fn, **NET_SIZES, h=2).items()}
    np.testing.assert_allclose(fn(**given), lx.evaluate(H, given), rtol=0, atol=1e-14)
