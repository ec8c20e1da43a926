"""Values in floating point against NumPy."""

from __future__ import annotations

import numpy as np

import lemmax as lx

N, n, D, k = lx.sizes("N n D k")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)


def test_least_squares() -> None:
    rng = np.random.default_rng(0)
    x, w, y = rng.standard_normal((3, 4)), rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
    value = lx.evaluate(lx.sqnorm(X @ W - Y) / 2, X=x, W=w, Y=y)
    assert isinstance(value, float)
    np.testing.assert_allclose(value, np.sum((x @ w - y) ** 2) / 2, rtol=1e-14)
