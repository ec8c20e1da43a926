"""Losses written with exponentials, as on paper: their code neither overflows nor loses small values."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import lemmax as lx
from lemmax.expr.graph import inputs_of
from tests.thorough import THOROUGH

n, m = lx.sizes("n m")
X, x, y, w = lx.tensor("X", n, m), lx.tensor("x", n), lx.tensor("y", n), lx.tensor("w", m)
Z, u = X @ w, lx.exp(x)

LOSSES: dict[str, Callable[[], lx.Tensor]] = {
    "log of a sum": lambda: lx.log(lx.sum(u)),
    "log of a mean": lambda: lx.log(lx.mean(u)),
    "log of sums along rows": lambda: lx.dot(y, lx.log(lx.sum(lx.exp(X), axis=1))),
    "log of a weighted sum": lambda: lx.log(2 * lx.sum(lx.exp(x - 3)) / 5),
    "log of two exponentials": lambda: lx.sum(lx.log(lx.exp(x) + lx.exp(2 * x))),
    "log of three terms": lambda: lx.sum(lx.log(1 + lx.exp(x) + lx.exp(-x))),
    "log of one and an exponential": lambda: lx.sum(lx.log(1 + lx.exp(-y * Z))),
    "log of a sum with one": lambda: lx.log(1 + lx.sum(u)),
    "log of a quotient": lambda: lx.dot(y, lx.log(u / lx.sum(u))),
    "softmax by hand": lambda: lx.dot(y, u / lx.sum(u)),
    "softmax of rows by hand": lambda: lx.dot(
        w, lx.mean(lx.exp(X) / lx.sum(lx.exp(X), axis=1, keepdims=True), axis=0)
    ),
    "softmax with one more": lambda: lx.dot(y, u / (1 + lx.sum(u))),
    "sigmoid by hand": lambda: lx.dot(y, 1 / (1 + lx.exp(-x))),
    "other sigmoid by hand": lambda: lx.dot(y, lx.exp(x) / (1 + lx.exp(x))),
    "log of a sigmoid": lambda: lx.sum(lx.log(lx.sigmoid(x))),
    "cross-entropy of a sigmoid": lambda: (
        -lx.dot(y, lx.log(lx.sigmoid(Z))) - lx.dot(1 - y, lx.log(1 - lx.sigmoid(Z)))
    ),
    "cross-entropy of a softmax": lambda: -lx.dot(y, lx.log(lx.softmax(x))),
    "cross-entropy of a named softmax": lambda: -lx.dot(y, lx.log(lx.softmax(x).named("S"))),
    "log cosh": lambda: lx.sum(lx.log(lx.cosh(x))),
}


def arrays_at(f: lx.Tensor, scale: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = {"X": (3, 2), "x": (3,), "y": (3,), "z": (3,), "w": (2,)}
    return {
        name: rng.normal(size=shapes[name]) * (1 if name in "yw" else scale) for name in lx.compile(f).inputs
    }


def sizes_of(t: lx.Tensor) -> dict[str, int]:
    """Return the sizes that no input of ``t`` has."""
    found = {s for i in inputs_of(t) for e in i.shape for s in e.free_symbols}
    return {str(s): {"n": 3, "m": 2}[str(s)] for e in t.shape for s in e.free_symbols - found}


ORDER_AT_ANY_SCALE = {
    "log of two exponentials": 1,
    "log of three terms": 1,
    "log of a quotient": 0,
    "softmax by hand": 0,
    "softmax with one more": 0,
    "other sigmoid by hand": 1,
    "cross-entropy of a sigmoid": 1,
    "cross-entropy of a softmax": 1,
    "cross-entropy of a named softmax": 1,
    "log cosh": 1,
}
"""Highest order of derivative that is in range for logits of any size, where that is below 2.

Beyond it, exponentials that belong together stand in different sums, and overflow with a warning of NumPy.
"""


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("scale", [0.5, 30.0, 1000.0] if THOROUGH else [0.5, 1000.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_derivatives_agree_with_many_digits(loss: str, scale: float, order: int) -> None:
    if scale > 100:
        order = min(order, ORDER_AT_ANY_SCALE.get(loss, 2))
    f = LOSSES[loss]()
    arrays = arrays_at(f, scale)
    variable = next(t for t in (x, w, X) if str(t.name) in arrays and (t is not w or "Z" not in arrays))
    inputs = [t for t in (X, x, y, w) if str(t.name) in arrays]
    t = (f, lx.gradient(f, variable), lx.hessian(f, variable))[order]
    given = {str(i.name): arrays[str(i.name)] for i in inputs_of(t)}
    # 1 - sigmoid(1000) needs the digits
    exact = lx.evaluate(t, given, arithmetic="mpmath", digits=3000, sizes=sizes_of(t))
    expected = np.array(exact, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = lx.compile(t, inputs=inputs)(**arrays)
    # e^z keeps eps |z| of z, and p - p^2 is exact to eps: absolute, since weights are at most 1
    largest = max(1.0, *(np.abs(a).max() for a in arrays.values())) ** 2
    assert np.abs(got - expected).max() <= 1e-14 * largest * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (lx.exp(X) / lx.sum(lx.exp(X), axis=1, keepdims=True), "softmax"),
        (1 / (1 + lx.exp(-x)), "sigmoid"),
        (1 - lx.sigmoid(x), "sigmoid(-x[i])"),
        (lx.gradient(lx.sum(lx.log(1 + lx.exp(x))), x), "sigmoid(x[i])"),
        (lx.log(lx.sum(lx.exp(X), axis=0)), "logsumexp"),
    ],
)
def test_what_is_recognised(expression: lx.Tensor, told: str) -> None:
    assert told in lx.compile(expression).source


@pytest.mark.parametrize(
    "expression",
    [
        lx.sum(lx.exp(x)),  # not in a logarithm
        lx.log(lx.sum(x**2)),  # no exponentials
        lx.log(lx.sum(lx.exp(x) - 1)),  # may be negative
        lx.log(lx.dot(y, lx.exp(x))),  # weights may be negative
        lx.exp(x) / lx.sum(y * lx.exp(x)),
    ],
)
def test_what_is_no_sum_of_exponentials_stays(expression: lx.Tensor) -> None:
    source = lx.compile(expression).source
    assert not any(word in source for word in ("softmax", "logsumexp", "sigmoid", "softplus"))
    arrays = {k: np.abs(a) for k, a in arrays_at(expression, 0.5).items()}
    expected = lx.evaluate(expression, arrays)
    np.testing.assert_allclose(lx.compile(expression)(**arrays), expected, rtol=1e-14)


def test_gates_that_share_a_summand_compile() -> None:
    z = lx.tensor("z", n)  # either gate may use up the summand y
    whole = y * lx.sigmoid(x) * lx.sigmoid(z) + y - y * lx.sigmoid(x)
    arrays = arrays_at(whole, 0.5)
    expected = lx.evaluate(whole, arrays)
    np.testing.assert_allclose(lx.compile(whole)(**arrays), expected, rtol=1e-14)
