"""Norms are those of ``numpy.linalg.norm``, with gradients where they have one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.check import taylor_slope

n, m, N = lx.sizes("n m N")
x, A, F = lx.tensor("x", n), lx.tensor("A", n, m), lx.tensor("F", N, n, m)
RNG = np.random.default_rng(0)
ARRAYS = {"x": RNG.standard_normal(4), "A": RNG.standard_normal((3, 2)), "F": RNG.standard_normal((2, 3, 2))}
CASES: list[tuple[lx.Tensor, dict[str, Any], dict[str, Any]]] = [
    *[(x, {"ord": p}, {"ord": p}) for p in (None, 1, 2, 3, 1.5, np.inf)],
    (x, {"ord": sp.oo}, {"ord": np.inf}),
    *[(A, {"ord": p}, {"ord": p}) for p in (None, "fro", "nuc", 1, 2, np.inf)],
    *[(F, {"ord": p}, {"ord": p, "axis": (1, 2)}) for p in ("fro", "nuc", 1, 2, np.inf)],
    *[(A, {"ord": p, "axis": a}, {"ord": p, "axis": a}) for p in (None, 1, 2, 3, np.inf) for a in (0, 1, -1)],
    *[(A, {"ord": p, "keepdims": True}, {"ord": p, "keepdims": True}) for p in (None, "fro", "nuc", 1, 2)],
    (F, {"axis": (0, 2)}, {"axis": (0, 2)}),
    (A, {"axis": "m", "keepdims": True}, {"axis": 1, "keepdims": True}),
]


@pytest.mark.parametrize(("t", "ours", "numpys"), CASES, ids=[f"{t.name}-{o}" for t, o, _ in CASES])
def test_value_and_gradient(t: lx.Tensor, ours: dict[str, Any], numpys: dict[str, Any]) -> None:
    at = ARRAYS[str(t.name)]
    made, expected = lx.norm(t, **ours), np.linalg.norm(at, **numpys)
    given = {str(t.name): at}
    for value in (lx.evaluate(made, given), lx.compile(made)(**given)):
        assert np.shape(value) == np.shape(expected)
        np.testing.assert_allclose(value, expected, rtol=1e-14)
    loss = lx.sum(made * made * made)
    g = lx.gradient(loss, t, nonsmooth="subgradient")
    assert isinstance(t, lx.Input)
    assert taylor_slope(loss, g, t, **given) == pytest.approx(2, abs=0.1)
    np.testing.assert_allclose(lx.compile(g)(**given), lx.evaluate(g, given), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", [1, np.inf])
def test_norms_with_kinks_are_refused_by_default(norm: float) -> None:
    with pytest.raises(lx.NonSmooth):
        lx.gradient(lx.norm(x, ord=norm), x)
    with pytest.raises(lx.NonSmooth):
        lx.gradient(lx.norm(A, ord=norm), A)
    lx.gradient(lx.norm(A, ord=2), A)  # smooth where its condition holds, which evaluation checks


def test_even_powers_have_no_kink() -> None:
    for order in (4, 4.0):
        found = lx.gradient(lx.norm(x, order) ** 4, x)
        assert lx.equal(found, 4 * x**3).name == "proved"
        assert lx.norm(x, order) == lx.norm(x, 4)


def test_refusals() -> None:
    for t, options, message in [
        (x, {"ord": "fro"}, "for vectors a number from 1 on"),
        (x, {"ord": 0.5}, "for vectors a number from 1 on"),
        (A, {"ord": 3}, "for matrices 'fro', 'nuc', 1, 2 or infinity"),
        (F, {"ord": 2, "axis": (0, 1)}, "matrices stand in the last two axes"),
        (lx.tensor("s"), {"ord": 2}, "matrices stand in the last two axes"),
    ]:
        with pytest.raises(lx.InvalidArgument, match=message):
            lx.norm(t, **options)
