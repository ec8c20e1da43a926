"""Large arrays: few passes over them, few held at once, and the numbers are those of the plain program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.codegen.passes import save_passes
from lemmax.codegen.values import Pool, Value
from lemmax.codegen.views import reachable
from tests.codegen.samples import relative_error

MINUS = sp.S.NegativeOne
p, q, r = lx.sizes("p q r")
EXTENTS = {p: 3, q: 50, r: 1000}


def extent(size: Any) -> float:
    return float(size.xreplace(EXTENTS))


def arrays(pool: Pool) -> dict[str, Value]:
    """Return small, middle and large arrays that broadcast."""
    shapes = {"a": (p, 1, 1), "b": (1, q, 1), "x": (p, q, r), "y": (p, q, r), "z": (p, q, r)}
    return {name: pool.make("input", (), (name,), shape) for name, shape in shapes.items()}


def value(v: Value, given: dict[str, np.ndarray]) -> np.ndarray:
    """Evaluate a value by NumPy, without the writer of code."""
    args = [value(a, given) for a in v.args]
    if v.op == "input":
        return given[v.params[0]]
    if v.op == "scale":
        return float(v.params[0]) * args[0]
    if v.op == "multiply":
        return np.prod(np.broadcast_arrays(*args), axis=0)
    assert v.op == "add"
    return sum(s * a for s, a in zip(v.params, args, strict=True))


def large_operations(v: Value) -> int:
    """Return how many passes over large arrays a value takes: one for each operand after the first."""
    work = [x for x in reachable([v]) if x.args and extent(sp.Mul(*x.shape)) >= 2**16]
    return sum(max(1, len(x.args) - 1) for x in work)


def sums_and_products(pool: Pool) -> dict[str, tuple[Value, int, int]]:
    """Return values with their passes before and after."""
    a, b, x, y, z = arrays(pool).values()
    small_last = pool.scale(sp.Integer(2), pool.multiply([pool.multiply([x, a]), b]))
    twice = pool.multiply([a, a, b, pool.multiply([x, x])])
    common = pool.add([pool.multiply([x, a]), y, pool.scale(MINUS, pool.multiply([b, x]))])
    negative = pool.add(
        [
            y,
            pool.scale(MINUS, pool.multiply([x, a])),
            pool.scale(MINUS, pool.multiply([x, b])),
        ]
    )
    several = pool.add([x, pool.scale(MINUS, y), z])
    return {
        "small last": (small_last, 3, 1),
        "twice": (twice, 4, 2),
        "common": (common, 4, 2),
        "negative": (negative, 4, 2),
        "several": (several, 2, 2),
    }


@pytest.mark.parametrize("name", sums_and_products(Pool()))
def test_passes_are_saved_and_the_numbers_stay(name: str) -> None:
    pool = Pool()
    v, before, after = sums_and_products(pool)[name]
    new, choices = save_passes(pool, [v], extent, frozenset())
    result = new[v.number]
    assert choices
    assert (large_operations(v), large_operations(result)) == (before, after)
    assert all(len(x.args) <= 2 for x in reachable([result]) if x.op == "add")
    rng = np.random.default_rng(0)
    shapes = {"a": (3, 1, 1), "b": (1, 5, 1), "x": (3, 5, 4), "y": (3, 5, 4), "z": (3, 5, 4)}
    given = {key: rng.standard_normal(shape) for key, shape in shapes.items()}
    np.testing.assert_allclose(value(result, given), value(v, given), rtol=1e-13, atol=1e-13)


def test_small_arrays_and_named_ones_stay() -> None:
    pool = Pool()
    v, _, _ = sums_and_products(pool)["small last"]
    same = {x.number: x for x in reachable([v])}
    assert save_passes(pool, [v], lambda size: 8.0, frozenset()) == (same, [])
    new, _ = save_passes(pool, [v], extent, set(same))
    (inner,) = [x for x in same.values() if x.op == "multiply" and x.args[0].op == "input"]
    assert inner in reachable([new[v.number]])


MODEL = lx.models.attention()
HESSIANS = [lx.hessian(MODEL.loss, a, b) for i, a in enumerate(MODEL.weights) for b in MODEL.weights[i:]]


def test_a_hessian_of_attention_in_shared_memory() -> None:
    """Buffers in use at different times lie in the same memory; the numbers are those of new arrays."""
    kept, fresh = (lx.compile(HESSIANS, buffers=buffers) for buffers in (True, False))
    memory = kept.plan.memory
    assert memory is not None
    grouped = [number for group in memory.shared for number in group]
    assert len(grouped) == len(set(grouped)) >= 2 * len(memory.shared) > 0
    sizes = dict(H=4, D=64, d=8, v=8, m=16, N=16, n=8)
    assert held(kept, **sizes) < 2 * 8 * outputs(**sizes)
    rng = np.random.default_rng(0)
    shapes = {
        "X": (2, 3, 4),
        "Y": (2, 3, 2),
        "WQ": (2, 4, 3),
        "WK": (2, 4, 3),
        "WV": (2, 4, 5),
        "WO": (2, 5, 2),
    }
    given = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    expected = fresh(**given)
    for _ in range(2):  # the second time over what the first has left
        for value, other in zip(kept(**given), expected, strict=True):
            assert relative_error(value, other) < 1e-12


def held(fn: Any, **sizes: int) -> int:
    """Return the bytes of the memory of one call."""
    allocated = fn._function.__globals__["_allocate_compute"](**sizes, dtype=np.dtype(float))
    owners = {}
    for a in allocated[:-1]:
        while a.base is not None:
            a = a.base
        owners[id(a)] = a.nbytes
    return sum(owners.values())


def outputs(H: int, D: int, d: int, v: int, m: int, N: int, n: int) -> int:
    """Return the entries of all blocks."""
    weights = [H * D * d, H * D * d, H * D * v, H * v * m]
    return sum(a * b for i, a in enumerate(weights) for b in weights[i:])


def test_a_kronecker_delta_of_free_indices_does_not_meet_what_is_summed_later() -> None:
    """What has deltas over heads and widths is summed over samples and tokens, then added on the diagonal."""
    fn = lx.compile(lx.hessian(MODEL.loss, MODEL.WQ, MODEL.WK), buffers=False)
    order = reachable([s.value for s in fn.plan.statements])
    (result,) = [v for v in order if v.op == "on_diagonal"]
    has_base, pairs = result.params
    assert has_base
    assert pairs == (((0, 3), (2, 5)),)
    base, block = result.args
    assert (base.ndim, block.ndim) == (6, 4)
    assert not {"N", "n"} & {str(symbol) for extent in block.shape for symbol in extent.free_symbols}
