"""Functions with kinks whose pieces meet smoothly have a derivative; all others are refused."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.calculus.joins import is_smooth
from lemmax.expr.functions import relu, step
from lemmax.expr.graph import inputs_of

n, D = lx.sizes("n D")
X, w, y, u, v = (
    lx.tensor("X", n, D),
    lx.tensor("w", D),
    lx.tensor("y", n),
    lx.tensor("u", n),
    lx.tensor("v", n),
)
residual, half = X @ w - y, sp.Rational(1, 2)

SMOOTH = {
    "Huber's loss": lx.sum(lx.where(lx.abs(u) <= 1, u**2 / 2, lx.abs(u) - half)),
    "Huber's loss with another threshold": lx.sum(lx.where(lx.abs(u) < 2, u**2 / 4, lx.abs(u) - 1)),
    "squared hinge": lx.sum(lx.relu(1 - v * u) ** 2),
    "squared hinge as a maximum": lx.sum(lx.maximum(1 - v * u, 0) ** 2),
    "cube": lx.sum(lx.abs(u) ** 3),
    "power 3/2": lx.sum(lx.abs(u) ** sp.Rational(3, 2)),
    "u |u|": lx.sum(u * lx.abs(u)),
    "3-norm, cubed": lx.norm(u, 3) ** 3,
    "4-norm": lx.norm(u + 3, 4),
    "distance from an interval, squared": lx.sum((u - lx.minimum(lx.maximum(u, -1), 1)) ** 2),
    "excess over another entry, squared": lx.sum((lx.maximum(u, v) - u) ** 2),
    "negative part, squared": lx.sum(lx.minimum(u, 0) ** 2),
    "outside the unit interval": lx.sum(lx.relu(u**2 - 1) ** 2),
}
KINKS = {
    "Huber's loss with a jump": lx.sum(lx.where(lx.abs(u) <= 1, u**2 / 2, lx.abs(u))),
    "hinge": lx.sum(lx.relu(1 - v * u)),
    "absolute value": lx.sum(lx.abs(u)),
    "root": lx.sum(lx.abs(u) ** half),
    "squared sign": lx.sum(lx.sign(u) ** 2),
    "squared maximum": lx.sum(lx.maximum(u, v) ** 2),
    "product of two kinks": lx.sum(lx.relu(u) * lx.relu(v)),
    "quantile loss": lx.sum(lx.maximum(0.3 * u, -0.7 * u)),
    "rounding": lx.sum(lx.floor(u) ** 2),
    "ramp by a case": lx.sum(u * lx.where(u > 0, 1, 0)),
    "logarithm": lx.sum(lx.log(lx.abs(u))),
}
AT = {
    "u": np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0]),
    "v": np.array([1.0, -1, -2, 0, 2, 1, 0.5, 3]),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_from_both_sides_are_the_gradient(name: str) -> None:
    loss = SMOOTH[name]
    g = lx.gradient(loss, u)
    arrays = {str(t.name): AT[str(t.name)] for t in inputs_of(loss)}
    found, h = lx.evaluate(g, arrays), 1e-9
    np.testing.assert_allclose(lx.compile(g)(**arrays), found, rtol=1e-14, atol=1e-14)
    start = lx.evaluate(loss, arrays)
    for place in range(len(AT["u"])):
        for side in (-h, h):
            moved = {**arrays, "u": arrays["u"] + side * np.eye(len(AT["u"]))[place]}
            assert (lx.evaluate(loss, moved) - start) / side == pytest.approx(found[place], abs=2e-4), place


@pytest.mark.parametrize("name", KINKS)
def test_kinks_are_refused(name: str) -> None:
    with pytest.raises(lx.NonSmooth):
        lx.gradient(KINKS[name], u)
    lx.gradient(KINKS[name], u, nonsmooth="subgradient")


def test_the_second_derivative_has_kinks_where_the_first_has() -> None:
    for name in ("Huber's loss", "squared hinge", "power 3/2"):
        with pytest.raises(lx.NonSmooth):
            lx.hessian(SMOOTH[name], u)
    assert lx.latex(lx.hessian(lx.sum(lx.abs(residual) ** 3), w)) == (
        r"6 X^\top \operatorname{Diag}(\operatorname{abs}(X w - y)) X"
    )


def test_they_print_as_on_paper() -> None:
    g = lx.gradient(lx.sum(lx.relu(1 - y * (X @ w)) ** 2), w)
    assert lx.latex(g) == r"-2 X^\top (y \odot \operatorname{relu}(\mathbf{1}_n - y \odot (X w)))"


def test_random_pieces() -> None:
    """No random body that is called smooth has a kink or a jump, and both kinds occur."""
    rng = np.random.default_rng(0)
    x = sp.Dummy("x", real=True)
    count = {True: 0, False: 0}
    for _ in range(150):
        body = random_body(rng, x)
        called = is_smooth(body, x)
        value = sp.lambdify(
            x, body, [{"relu": lambda z: max(z, 0), "step": lambda z: float(z > 0)}, "math", "sympy"]
        )
        worst, h = 0.0, 1e-8
        for at in np.arange(-4, 4.25, 0.25):  # all kinks are at multiples of 1/4
            here, left, right = (float(value(float(at) + d)) for d in (0, -h, h))
            worst = max(worst, abs(left + right - 2 * here) / h)
        assert not (called and worst > 1e-2), body
        count[called] += 1
        count["kink"] = count.get("kink", 0) + (worst > 1e-2)  # type: ignore[call-overload]
    assert min(count.values()) >= 20, count


def random_body(rng: np.random.Generator, x: sp.Symbol) -> sp.Expr:
    def linear() -> sp.Expr:
        return int(rng.choice([-2, -1, 1, 2])) * x + sp.Rational(int(rng.integers(-4, 5)), 2)

    def kink() -> sp.Expr:
        u = linear()
        kind = int(rng.integers(6))
        if kind == 0:
            return relu(u) ** int(rng.integers(1, 4))
        if kind == 1:
            return sp.Abs(u) ** sp.Rational(int(rng.integers(2, 7)), 2)
        if kind == 2:
            return u * step(u) if rng.random() < 0.3 else u**2 * step(u)
        if kind == 3:
            return sp.Piecewise((u**2 / 2, sp.Abs(u) <= 1), (sp.Abs(u) - sp.Rational(1, 2), True))
        if kind == 4:
            return sp.Max(u, 0) ** 2 + sp.Min(u, 0)
        return u * sp.Abs(u)

    return sum((int(rng.integers(1, 3)) * kink() for _ in range(int(rng.integers(1, 3)))), x)
