"""Generated code agrees with the interpreter, which shares no code with it, on every kind of expression."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from tests.codegen.samples import EXPRESSIONS, arrays_for, compiled, relative_error

TOLERANCE = 2e-12  # condition numbers of the random 3 x 3 matrices stay below 1e3


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_value(name: str) -> None:
    t = EXPRESSIONS[name]()
    arrays = arrays_for(t, np.random.default_rng(0))
    value = compiled(name)(**arrays)
    assert relative_error(value, lx.evaluate(t, **arrays)) < TOLERANCE
    assert isinstance(value, float) if t.ndim == 0 else isinstance(value, np.ndarray)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_batch_equals_a_loop(name: str) -> None:
    t = EXPRESSIONS[name]()
    one = compiled(name)
    many = lx.compile(t, batch=True)
    rng = np.random.default_rng(1)
    instances = [arrays_for(t, rng) for _ in range(3)]
    stacked = {key: np.stack([i[key] for i in instances]) for key in instances[0]}
    values = many(**stacked)
    assert values.shape[0] == 3
    for value, arrays in zip(values, instances, strict=True):
        assert relative_error(value, one(**arrays)) < TOLERANCE


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_single_precision_stays_single(name: str) -> None:
    t = EXPRESSIONS[name]()
    arrays = arrays_for(t, np.random.default_rng(2))
    single = compiled(name)._function(**{key: a.astype(np.float32) for key, a in arrays.items()})
    assert np.asarray(single).dtype == np.float32


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_results_share_no_memory_with_arguments(name: str) -> None:
    t = EXPRESSIONS[name]()
    arrays = arrays_for(t, np.random.default_rng(3))
    before = {key: a.copy() for key, a in arrays.items()}
    value = compiled(name)(**arrays)
    assert not any(np.shares_memory(np.asarray(value), a) for a in arrays.values())
    if t.ndim:
        value[...] = 7.0
    for key, a in arrays.items():
        np.testing.assert_array_equal(a, before[key])
