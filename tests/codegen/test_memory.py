"""Buffers that a function keeps between calls: nothing a caller holds ever changes, whatever happens."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx
from lemmax.codegen import make_plan
from lemmax.codegen.memory_order import memory_order
from lemmax.codegen.places import Place, covers, reshaped, sliced, transposed, whole
from lemmax.expr.graph import inputs_of
from tests.codegen.samples import EXPRESSIONS, arrays_for, relative_error
from tests.codegen.test_random_graphs import graphs

MODEL = lx.models.attention("softmax", "additive")
OUTPUTS = [MODEL.loss, MODEL.S, *lx.gradient(MODEL.loss, MODEL.weights)]
KEPT, FRESH = (lx.compile(OUTPUTS, buffers=buffers) for buffers in (True, False))
INPUTS = ("X", "Y", "WQ", "WK", "WV", "WO", "M")


def instance(seed: int, N: int = 2, n: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = ((N, n, 4), (N, n, 2), (2, 4, 3), (2, 4, 3), (2, 4, 5), (2, 5, 2), (n, n))
    return {name: rng.standard_normal(shape) for name, shape in zip(INPUTS, shapes, strict=True)}


def buffers_of(fn: Any) -> list[np.ndarray]:
    """Return all arrays of the memory that a function has kept."""
    kept = fn._function.__globals__["_memory_of_compute"]
    return [array for _, arrays in kept for array in arrays[:-1]]


def owners(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return the arrays whose memory ``arrays`` are views of."""
    found = {}
    for a in arrays:
        while a.base is not None:
            a = a.base
        found[id(a)] = a
    return list(found.values())


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_expression_with_and_without_buffers(name: str) -> None:
    t = EXPRESSIONS[name]()
    arrays = arrays_for(t, np.random.default_rng(0))
    kept, fresh = (lx.compile(t, buffers=buffers) for buffers in (True, False))
    first = kept(**arrays)
    for value in (first, kept(**arrays)):  # the second time over what the first has left
        assert relative_error(value, fresh(**arrays)) < 1e-13


@given(graphs(), st.integers(0, 2**32 - 1))
def test_random_graphs_with_and_without_buffers(roots: list[lx.Tensor], seed: int) -> None:
    kept, fresh = (lx.compile(roots, buffers=buffers) for buffers in (True, False))
    rng = np.random.default_rng(seed)
    arrays = {name: a for t in roots for name, a in arrays_for(t, rng).items()}
    expected = fresh(**arrays)
    for _ in range(2):
        for value, other in zip(kept(**arrays), expected, strict=True):
            if np.abs(other).max() < 1e100:  # repeated squares leave the range of floating point
                assert relative_error(value, other) < 1e-9, kept.source


def test_results_stay_when_the_function_is_called_again() -> None:
    first = KEPT(**instance(0))
    copies = [np.copy(a) for a in first]
    for seed in range(1, 4):
        KEPT(**instance(seed))
    for value, copy in zip(first, copies, strict=True):
        np.testing.assert_array_equal(value, copy)


def test_results_and_arguments_share_no_memory_with_the_buffers() -> None:
    arrays = instance(0)
    before = {name: a.copy() for name, a in arrays.items()}
    results = KEPT(**arrays)
    for buffer in buffers_of(KEPT):
        for a in [*results[1:], *arrays.values()]:
            assert not np.shares_memory(a, buffer)
    for a in results[1:]:
        a[...] = np.nan  # callers may write to what they get
    for name, a in arrays.items():
        np.testing.assert_array_equal(a, before[name])
    again = KEPT(**arrays)
    assert all(np.isfinite(a).all() for a in again)


def test_every_view_of_a_buffer_is_a_view() -> None:
    """A reshape that had to copy would be written to in vain."""
    KEPT(**instance(0))
    owned = [a for a in buffers_of(KEPT) if a.base is None]
    for a in buffers_of(KEPT):
        assert a.base is None or any(np.shares_memory(a, o) for o in owned) or a.base.base is None
    function = KEPT._function.__globals__["_allocate_compute"]
    *arrays, keep = function(2, 4, 3, 5, 2, 6, 7, np.dtype(float))
    assert keep
    memory = KEPT.plan.memory
    assert len(owners(arrays)) == len(memory.buffers) - sum(len(group) - 1 for group in memory.shared)


def test_large_memory_is_given_back() -> None:
    """The pages of an array that nothing writes to are never made, so that this costs nothing."""
    function = KEPT._function.__globals__["_allocate_compute"]
    *arrays, keep = function(H=2, D=4, d=3, v=5, m=2, N=2000, n=100, dtype=np.dtype(float))
    assert not keep
    assert sum(a.nbytes for a in owners(arrays)) > 2**27
    n, D = lx.sizes("n D")
    A = lx.tensor("A", n, D)
    fn = lx.compile(lx.sum(lx.exp(A) * lx.tanh(A)), buffers=True)
    kept = fn._function.__globals__["_memory_of_compute"]
    a = np.zeros((3, 4))
    assert fn(A=a) == 0
    assert len(kept) == 1
    assert fn(A=np.zeros((2**12, 2**12 + 2**10))) == 0
    assert not kept


def test_other_sizes_and_types_get_other_buffers() -> None:
    for N, n in ((2, 3), (5, 2), (1, 1), (2, 3)):
        arrays = instance(N, N, n)
        for value, other in zip(KEPT(**arrays), FRESH(**arrays), strict=True):
            assert relative_error(value, other) < 1e-13
    single = {name: a.astype(np.float32) for name, a in instance(0).items()}
    assert all(a.dtype == np.float32 for a in KEPT(**single)[1:])
    stepped = {**instance(0), "WQ": instance(0)["WQ"] + 1e-30j}
    for value, other in zip(KEPT(**stepped), FRESH(**stepped), strict=True):
        np.testing.assert_allclose(np.imag(value), np.imag(other), rtol=1e-10, atol=1e-43)
    assert KEPT(**instance(0))[1].dtype == np.float64


def test_calls_at_once() -> None:
    instances = [instance(seed, N=1 + seed % 3) for seed in range(8)]
    expected = [FRESH(**arrays) for arrays in instances]
    wrong: list[int] = []
    barrier = threading.Barrier(len(instances))

    def work(number: int) -> None:
        barrier.wait()
        for _ in range(40):
            values = KEPT(**instances[number])
            if any(relative_error(a, b) > 1e-13 for a, b in zip(values, expected[number], strict=True)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(instances))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_that_fails_spoils_nothing() -> None:
    arrays = instance(0)
    masked = {**arrays, "M": np.full((3, 3), -np.inf)}
    with pytest.raises(ValueError, match="a row are -inf throughout"):
        KEPT(**masked)
    for value, other in zip(KEPT(**arrays), FRESH(**arrays), strict=True):
        assert relative_error(value, other) < 1e-13


def test_few_intermediate_results_need_no_buffers_and_the_plan_says_so() -> None:
    n, D = lx.sizes("n D")
    short = lx.compile(lx.sqnorm(lx.tensor("X", n, D)))
    assert short.plan.memory is None
    assert "np.empty" not in short.source
    assert any(c.subject == "memory" and "fewer than" in c.reason for c in short.plan.choices)
    assert KEPT.plan.memory is not None
    assert any(c.subject == "memory" and "kept" in c.chosen for c in KEPT.plan.choices)
    assert FRESH.plan.memory is None


def test_names_of_arguments_and_sizes_are_not_taken() -> None:
    """``sizes``, ``kept`` and ``buffers`` are names that users may use."""
    sizes, kept = lx.sizes("sizes kept")
    buffers = lx.tensor("buffers", sizes, kept)
    fn = lx.compile(lx.tanh(lx.exp(buffers / 9) @ buffers.T), buffers=True)
    a = np.random.default_rng(0).standard_normal((3, 2))
    np.testing.assert_allclose(fn(buffers=a), np.tanh(np.exp(a / 9) @ a.T), rtol=1e-14)


# -- places ------------------------------------------------------------------------------------------
SIZES = lx.sizes("p q r s")
EXTENTS = dict(zip(SIZES, (3, 4, 5, 7), strict=True))


def array_at(place: Place) -> np.ndarray:
    """Return the numbers 0, 1, ... in memory, seen at a place."""
    memory = np.arange(3 * 4 * 5 * 7)
    shape = [int(s.xreplace(EXTENTS)) for s in place.shape]
    strides = [int(s.xreplace(EXTENTS)) * memory.itemsize for s in place.strides]
    start = memory[int(sp.sympify(place.offset).xreplace(EXTENTS)) :]
    return np.lib.stride_tricks.as_strided(start, shape, strides)


@given(st.permutations(range(4)), st.permutations(range(4)), st.sampled_from(range(5)), st.booleans())
def test_views_of_places_are_those_of_numpy(
    first: list[int], second: list[int], merged: int, part: bool
) -> None:
    place = whole(0, SIZES, SIZES)
    array = np.arange(3 * 4 * 5 * 7).reshape(3, 4, 5, 7)
    place, array = transposed(place, first), array.transpose(first)
    np.testing.assert_array_equal(array_at(place), array)
    assert memory_order(place) == tuple(np.argsort(first))
    if part:
        bounds = (None, (sp.S.One, place.shape[1]), None, None)
        shape = (place.shape[0], place.shape[1] - 1, *place.shape[2:])
        place, array = sliced(place, bounds, shape), array[:, 1:]
        np.testing.assert_array_equal(array_at(place), array)
    assert covers(place, sp.Mul(*SIZES)) is not part
    if merged < 3:
        shape = tuple(
            [*place.shape[:merged], place.shape[merged] * place.shape[merged + 1], *place.shape[merged + 2 :]]
        )
        joined = reshaped(place, shape)
        wanted = array.reshape([int(s.xreplace(EXTENTS)) for s in shape])
        assert (joined is not None) == np.shares_memory(wanted, array)
        if joined is not None:
            np.testing.assert_array_equal(array_at(joined), wanted)
            split = reshaped(joined, place.shape)
            assert split is not None
            np.testing.assert_array_equal(array_at(split), array)
    turned = transposed(place, second)
    np.testing.assert_array_equal(array_at(turned), array.transpose(second))


# -- products side by side ---------------------------------------------------------------------------
n, D, k, m = lx.sizes("n D k m")
X = lx.tensor("X", n, D)
WEIGHTS = [lx.tensor(f"W{p}", D, size) for p, size in enumerate((k, m, k))]


def test_three_products_with_one_operand_are_one() -> None:
    roots = [lx.tanh(X @ W) for W in WEIGHTS]
    fn = lx.compile(roots)
    assert fn.source.count(" @ ") + fn.source.count("np.matmul") == 1
    assert any("3 products with one left operand are one" in c.chosen for c in fn.plan.choices)
    assert lx.compile(roots[:2]).source.count(" @ ") == 2
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((5, 4)), [rng.standard_normal((4, c)) for c in (3, 2, 3)]
    values = fn(X=x, **{f"W{p}": w for p, w in enumerate(weights)})
    for value, w in zip(values, weights, strict=True):
        np.testing.assert_allclose(value, np.tanh(x @ w), rtol=1e-13)
        assert value.base is None or value.base.size == value.size


def test_products_that_need_one_another_stay_apart() -> None:
    A = lx.tensor("A", n, n)
    powers = [X]
    for _ in range(4):
        powers.append(A @ lx.tanh(powers[-1]))
    fn = lx.compile(powers[1:])
    assert fn.source.count(" @ ") + fn.source.count("np.matmul") == 4
    # two groups, each of which would need the other
    B = lx.tensor("B", n, n)
    crossed = [lx.tanh(A @ lx.tanh(B @ X)), lx.tanh(B @ lx.tanh(A @ X)), A @ X * 2, B @ X * 3]
    crossed += [lx.exp(A @ (X / 2)), lx.exp(B @ (X + 1))]
    rng = np.random.default_rng(0)
    arrays = {"A": rng.standard_normal((3, 3)), "B": rng.standard_normal((3, 3)), "X": np.ones((3, 2))}
    for value, t in zip(lx.compile(crossed)(**arrays), crossed, strict=True):
        own = {str(variable.name): arrays[str(variable.name)] for variable in inputs_of(t)}
        np.testing.assert_allclose(value, lx.evaluate(t, **own), rtol=1e-12)


def test_sums_of_short_rows_run_over_whole_rows() -> None:
    model = lx.models.attention()
    plan = make_plan([model.loss, *lx.gradient(model.loss, model.weights)], True)
    assert any("2 products taken transposed" in c.chosen for c in plan.choices)
    wide = make_plan([model.S], False, sizes={"n": 512})
    assert not any("taken transposed" in c.chosen for c in wide.choices)
