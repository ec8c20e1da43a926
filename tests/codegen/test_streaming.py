"""Samples and instances in chunks: the same results in bounded memory; what is no sum is refused."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import lemmax as lx
from tests.codegen.samples import relative_error

MODEL = lx.models.attention("softmax", "causal")
OUTPUTS = [MODEL.loss, *lx.gradient(MODEL.loss, MODEL.weights)]
N, n, D, k = lx.sizes("N n D k")
X, Y, W = lx.tensor("X", N, n, D), lx.tensor("Y", N, n, D), lx.tensor("W", D, k)
x = lx.tensor("x", N, D)


def instance(samples: int, n: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(samples)
    shapes = {"X": (samples, n, 4), "Y": (samples, n, 2), "WQ": (2, 4, 3), "WK": (2, 4, 3), "WV": (2, 4, 5)}
    return {name: rng.standard_normal(s) for name, s in {**shapes, "WO": (2, 5, 2)}.items()}


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 7])
def test_sums_over_samples_in_chunks(samples: int) -> None:
    whole = lx.compile(OUTPUTS)
    arrays = instance(samples)
    for chunk in (1, 3, 10):
        streamed = lx.compile(OUTPUTS, stream="N", chunk=chunk)
        for value, other in zip(streamed(**arrays), whole(**arrays), strict=True):
            assert relative_error(value, other) < 1e-13


@pytest.mark.parametrize(
    "t",
    [
        lx.sum(X),
        lx.sqnorm(X @ W),
        2 * lx.sum(lx.exp(X)) - 3 * lx.sqnorm(Y),
        lx.sum(lx.softmax(X @ W) * lx.logsumexp(X, axis=-1, keepdims=True)),
        lx.sum(lx.max(X, axis=1)),
        x.T @ x,
        lx.sum(x @ W) * lx.sqnorm(W),
        lx.einsum("inp,inq->pq", X, lx.tanh(Y)),
        lx.gradient(lx.sum(lx.logsumexp(lx.relu(X @ W + 2), axis=-1)), W, nonsmooth="subgradient"),
    ],
)
def test_what_is_a_sum_over_samples(t: lx.Tensor) -> None:
    rng = np.random.default_rng(0)
    shapes = {"X": (5, 2, 3), "Y": (5, 2, 3), "W": (3, 2), "x": (5, 3)}
    fn = lx.compile(t, stream="N", chunk=2)
    arrays = {name: rng.standard_normal(shapes[name]) for name in fn.inputs}
    assert relative_error(fn(**arrays), lx.evaluate(t, **arrays)) < 1e-13


@pytest.mark.parametrize(
    ("t", "why"),
    [
        (lx.mean(X), "the number N occurs"),
        (X @ W, "no sum over samples"),
        (lx.sqnorm(X) + lx.sqnorm(W), "depends on no sample"),
        (lx.exp(lx.sqnorm(X)), "other than as a factor"),
        (lx.sqnorm(X) * lx.sqnorm(Y), "other than as a factor"),
        (lx.sqnorm(x.T @ x), "other than as a factor"),
        (lx.sum(x @ x.T), "its shape is"),
        (lx.einsum("ia,jb->", x, x), "joins two samples"),
        (lx.logdet(x @ x.T), "its shape is"),
        (lx.sum(lx.softmax(x, axis=0)), "nothing is known about softmax"),
        (lx.sum(x[0]), "nothing is known about slice|fixed sample"),
        (lx.sum(x - lx.sum(x, axis=0)), "each of its entries depends on all samples|no sum|joins two"),
        (lx.einsum("ia,ia->", x, lx.tensor_from(lambda i, a: x[i, a] * i, (N, D))), "number of a sample"),
    ],
)
def test_what_is_not_is_refused(t: lx.Tensor, why: str) -> None:
    with pytest.raises(lx.UnsupportedYet, match=why):
        lx.compile(t, stream="N")


def test_memory_does_not_grow_with_the_samples() -> None:
    streamed, whole = lx.compile(OUTPUTS, stream="N", chunk=8), lx.compile(OUTPUTS)
    peaks = []
    for fn, samples in ((streamed, 64), (streamed, 512), (whole, 512)):
        arrays = instance(samples, n=8)
        fn(**arrays)
        fn = lx.compile(OUTPUTS, stream="N", chunk=8) if fn is streamed else lx.compile(OUTPUTS)
        tracemalloc.start()
        fn(**arrays)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[2] > 5 * peaks[1]


def test_samples_may_lie_in_a_file(tmp_path: Path) -> None:
    arrays = instance(7)
    np.save(tmp_path / "X.npy", arrays["X"])
    mapped = {**arrays, "X": np.load(tmp_path / "X.npy", mmap_mode="r")}
    streamed = lx.compile(OUTPUTS, stream="N", chunk=2)
    for value, other in zip(streamed(**mapped), streamed(**arrays), strict=True):
        np.testing.assert_array_equal(value, other)


def test_instances_in_chunks() -> None:
    instances = [instance(3) for _ in range(5)]
    stacked = {key: np.stack([i[key] * (p + 1) for p, i in enumerate(instances)]) for key in instances[0]}
    whole = lx.compile(OUTPUTS, batch=True)
    for chunk in (1, 2, 5, 9):
        parts = lx.compile(OUTPUTS, batch=True, chunk=chunk)
        for value, other in zip(parts(**stacked), whole(**stacked), strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-13, atol=1e-300)
    some = lx.compile(MODEL.loss, batch=["WQ"], chunk=2)
    arrays = {**instance(3), "WQ": stacked["WQ"]}
    np.testing.assert_allclose(some(**arrays), lx.compile(MODEL.loss, batch=["WQ"])(**arrays), rtol=1e-13)


def test_bad_use() -> None:
    fn = lx.compile(OUTPUTS, stream="N", chunk=2)
    arrays = instance(4)
    with pytest.raises(ValueError, match="Y must have shape"):
        fn(**{**arrays, "Y": arrays["Y"][:3]})
    with pytest.raises(ValueError, match="at least 1"):
        fn(**{**arrays, "X": arrays["X"][:0], "Y": arrays["Y"][:0]})
    with pytest.raises(ValueError, match="X must have shape"):
        fn(**{**arrays, "X": 1.0, "Y": 2.0})
    for options, message in (
        ({"chunk": 3}, "chunks of what"),
        ({"stream": "N", "chunk": 0}, "positive integer"),
        ({"stream": "N", "chunk": True}, "positive integer"),
        ({"stream": "Z"}, "expected one of the sizes"),
        ({"stream": "N", "batch": True}, "do not go together"),
    ):
        with pytest.raises(lx.InvalidArgument, match=message):
            lx.compile(OUTPUTS, **options)
    with pytest.raises(lx.InvalidArgument, match="do not use it"):
        lx.compile(lx.sqnorm(x), inputs=[x, X], stream="N")
