"""Transposed operands of many small products are copied first, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.codegen import CompiledFunction

SIZES = {"N": 3, "n": 4, "D": 6, "d": 2, "v": 3, "m": 2, "H": 2}


def copied(fn: CompiledFunction) -> list[str]:
    return [c.chosen for c in fn.plan.choices if c.chosen.endswith("transposed operands copied")]


def test_instances_of_attention_agree_with_one_at_a_time() -> None:
    model = lx.models.attention()
    outputs = [model.loss, *lx.gradient(model.loss, model.weights)]
    one, many = lx.compile(outputs), lx.compile(outputs, batch=True)
    assert copied(many) == ["2 transposed operands copied"]
    assert not copied(one), "a few matrices gain less than one more call costs"
    rng = np.random.default_rng(0)
    for instances in (1, 7):
        arrays = {
            a: rng.standard_normal((instances, *(SIZES[str(s)] for s in t.shape)))
            for a, t in zip(one.inputs, one.plan.inputs, strict=True)
        }
        together = many(**arrays)
        for p in range(instances):
            apart = one(**{a: array[p] for a, array in arrays.items()})
            for x, y in zip(together, apart, strict=True):
                np.testing.assert_allclose(x[p], y, rtol=0, atol=1e-11)
    single = many(**{a: array.astype(np.float32) for a, array in arrays.items()})
    assert {x.dtype for x in single} == {np.dtype(np.float32)}


@pytest.mark.parametrize("buffers", [True, False])
def test_with_and_without_buffers(buffers: bool) -> None:
    N, n, d, H = lx.sizes("N n d H")
    A, B = lx.tensor("A", N, H, n, d), lx.tensor("B", N, H, n, d)
    t = lx.exp(A @ B.mT)
    fn = lx.compile(t, batch=True, buffers=buffers)
    assert copied(fn) == ["1 transposed operands copied"]
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((5, 3, 2, 4, 2)) for _ in "AB")
    value = fn(A=a, B=b)
    np.testing.assert_allclose(value, np.exp(np.einsum("...ij,...kj->...ik", a, b)), rtol=1e-12)


def test_long_sums_and_single_matrices_are_left_alone() -> None:
    N, n, d, H = lx.sizes("N n d H")
    A, B = lx.tensor("A", N, H, n, d), lx.tensor("B", N, H, n, d)
    assert not copied(lx.compile(A @ B.mT, batch=True, sizes={"d": 64}))
    assert not copied(lx.compile(A @ B.mT, sizes={"N": 2, "H": 2}))
    C, D = lx.tensor("C", n, d), lx.tensor("D", n, d)
    assert not copied(lx.compile(C @ D.mT))
