"""Random graphs: all arithmetics agree, within the rounding radius."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
import numpy as np
from hypothesis import strategies as st

import lemmax as lx
from lemmax.expr.nodes import Apply
from lemmax.interpret import ComplexArithmetic, Evaluator, FloatArithmetic, MpArithmetic, RoundingArithmetic

n = lx.size("n")
LEAVES = [lx.tensor("A", n, n), lx.tensor("C", n, n), lx.tensor("E", n, n)]

UNARY: list[Callable[[lx.Tensor], lx.Tensor]] = [
    lambda a: a.T,
    lambda a: lx.tanh(a),
    lambda a: lx.exp(-a * a),
    lambda a: lx.softmax(a, axis=0),
    lambda a: lx.softmax(3 * a + lx.causal_mask(n)).named("S"),
    lambda a: lx.relu(a) - lx.abs(a) / n,
    lambda a: lx.diag(lx.diag(a)) + lx.eye(n),
    lambda a: lx.sin(a) ** 2,
    lambda a: lx.sqrt(a * a + 1),
    lambda a: lx.softplus(a) * lx.sigmoid(-a),
    lambda a: lx.inv(a @ a.T + lx.eye(n)),
    lambda a: a / (1 + lx.sqnorm(a)),
    lambda a: a - lx.max(a, axis=1, keepdims=True),
    lambda a: lx.log(1 + a * a) + lx.logsumexp(a, axis=0)[None, :],
    lambda a: a * lx.sum(a, axis=0) - lx.trace(a),
    lambda a: lx.concat([a, -a], axis=0)[n:] + lx.concat([a, a], axis=1)[:, :n],
    lambda a: lx.split(lx.merge(a, (0, 1)), ((0, 1),), a.shape),
]
BINARY: list[Callable[[lx.Tensor, lx.Tensor], lx.Tensor]] = [
    lambda a, b: a @ b / n,
    lambda a, b: a * b,
    lambda a, b: a - b,
    lambda a, b: lx.where(a.gt(b), a, b * a),
    lambda a, b: lx.maximum(a, b),
    lambda a, b: lx.einsum("ij,ik,kj->kj", a, b, a),
    lambda a, b: Apply("softmax_pullback", (lx.softmax(a), b), a.shape, {"axis": 1}),
    lambda a, b: lx.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=2),
]


@st.composite
def graphs(draw: st.DrawFn) -> lx.Tensor:
    """Draw a graph: each step applies a function to earlier tensors, so that parts are shared."""
    made: list[lx.Tensor] = list(LEAVES)
    for step in range(draw(st.integers(1, 7))):
        pick = st.integers(0, len(made) - 1)
        if draw(st.booleans()):
            new = UNARY[draw(st.integers(0, len(UNARY) - 1))](made[draw(pick)])
        else:
            new = BINARY[draw(st.integers(0, len(BINARY) - 1))](made[draw(pick)], made[draw(pick)])
        made.append(new.named(f"T_{step}") if new.name or step % 2 else new)
    return made[-1]


@hypothesis.given(graphs(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_arithmetics_agree(tensor: lx.Tensor, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    evaluator = Evaluator([tensor, lx.sqnorm(tensor)])
    arrays = {
        name: rng.standard_normal((size, size)) * 10.0 ** rng.uniform(-1, 1) for name in evaluator.inputs
    }
    values = [
        evaluator.run(arrays, {"n": size}, arithmetic)
        for arithmetic in (FloatArithmetic(), ComplexArithmetic(), RoundingArithmetic(), MpArithmetic(60))
    ]
    for plain, complex_, rounded, exact in zip(*values, strict=True):
        np.testing.assert_array_equal(plain, complex_)
        assert plain.shape == rounded.value.shape == rounded.radius.shape == exact.shape
        for p, v, r, e in zip(plain.flat, rounded.value.flat, rounded.radius.flat, exact.flat, strict=True):
            assert e == v or abs(e - float(v)) <= r
            assert p == v or abs(p - v) <= 2 * r  # both are within the radius of the exact value
