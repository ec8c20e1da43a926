"""Second derivatives through a softmax keep their digits at any margin, and nothing else is rewritten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lemmax as lx
from lemmax.codegen.cancellation import without_cancellation
from lemmax.interpret import Evaluator, MpArithmetic
from tests.codegen.test_softmax_gradient import MODEL, saturated

n, k = lx.sizes("n k")
A, C, G = lx.tensor("A", n, k), lx.tensor("C", n, k), lx.tensor("G", k, k)
S, P = lx.softmax(A), lx.softmax(A, axis=0)
HESSIAN = [lx.hessian(MODEL.loss, a, b) for a, b in ((MODEL.K, MODEL.K), (MODEL.K, MODEL.Q))]


def exact(roots: list[lx.Tensor], arrays: dict[str, np.ndarray], digits: int) -> list[np.ndarray]:
    parts = Evaluator(roots).run(arrays, arithmetic=MpArithmetic(digits))
    return [np.asarray(part).astype(float) for part in parts]


@pytest.mark.parametrize("margin", [1, 30, 44, 300])
def test_hessians_are_exact_at_any_margin(margin: float) -> None:
    arrays = saturated(margin)
    values = lx.compile(HESSIAN)(**arrays)
    for value, wanted in zip(values, exact(HESSIAN, arrays, 50 + 2 * margin), strict=True):
        assert np.abs(value - wanted).max() <= 1e-15 * (20 + 4 * margin) * np.abs(wanted).max()


def test_row_sums_lose_everything_at_a_large_margin() -> None:
    arrays = saturated(44)
    value = lx.compile(HESSIAN, softmax_gradient="rowsum")(**arrays)[0]
    (wanted, _) = exact(HESSIAN, arrays, 150)
    assert np.abs(value - wanted).max() > 0.1 * np.abs(wanted).max()


def index_form(body: Callable[..., object]) -> lx.Tensor:
    return lx.tensor_from(body, (n, k))


def average(body: Callable[..., object]) -> object:
    return lx.index_sum(body, k)


REWRITTEN = {
    "a difference from the average": index_form(lambda i, a: C[i, a] - average(lambda b: S[i, b] * C[i, b])),
    "with factors and a sum": index_form(
        lambda i, a: (
            3 * A[i, a] * average(lambda c: G[a, c] * C[i, c])
            - 3 * A[i, a] * average(lambda b: S[i, b] * average(lambda c: G[b, c] * C[i, c]))
        )
    ),
    "of what depends on both": index_form(lambda i, a: G[a, a] - average(lambda b: S[i, b] * G[b, a])),
}
LEFT = {
    "another coefficient": index_form(lambda i, a: 2 * C[i, a] - average(lambda b: S[i, b] * C[i, b])),
    "another sign": index_form(lambda i, a: C[i, a] + average(lambda b: S[i, b] * C[i, b])),
    "weights along another axis": index_form(lambda i, a: C[i, a] - average(lambda b: P[i, b] * C[i, b])),
    "no weights": index_form(lambda i, a: C[i, a] - average(lambda b: A[i, b] * C[i, b])),
    "squared weights": index_form(lambda i, a: C[i, a] - average(lambda b: S[i, b] ** 2 * C[i, b])),
    "another tensor": index_form(lambda i, a: C[i, a] - average(lambda b: S[i, b] * A[i, b])),
}


@pytest.mark.parametrize("name", [*REWRITTEN, *LEFT])
def test_what_is_rewritten_has_the_same_value_and_what_is_not_stays(name: str) -> None:
    t = {**REWRITTEN, **LEFT}[name]
    (new,), choices = without_cancellation([t], "auto")
    assert (new != t) == bool(choices) == (name in REWRITTEN)
    rng = np.random.default_rng(2)
    arrays = {
        "A": rng.standard_normal((3, 4)),
        "C": rng.standard_normal((3, 4)),
        "G": rng.standard_normal((4, 4)),
    }
    used = {key: arrays[key] for key in Evaluator([t]).inputs}
    wanted = lx.evaluate(t, used)
    assert lx.evaluate(new, used) == pytest.approx(wanted, rel=1e-13, abs=1e-13)
    for form in ("auto", "pairwise", "rowsum"):
        assert lx.compile(t, softmax_gradient=form)(**used) == pytest.approx(wanted, rel=1e-13, abs=1e-13)


def test_the_choice_is_in_the_plan() -> None:
    plan = str(lx.compile(REWRITTEN["a difference from the average"]).plan)
    assert "averages of differences" in plan
    model = (
        lx.models.attention()
    )  # its weights have four axes, and pairs of tokens are not opened by themselves
    block = lx.hessian(model.loss, model.WQ, model.WV)
    assert "averages of differences" not in str(lx.compile(block).plan)


def test_attention_has_the_same_hessian_in_both_forms() -> None:
    model = lx.models.attention("softmax", mask="causal")
    rng = np.random.default_rng(4)
    shapes = {
        "X": (1, 3, 2),
        "Y": (1, 3, 2),
        "WQ": (2, 2, 2),
        "WK": (2, 2, 2),
        "WV": (2, 2, 2),
        "WO": (2, 2, 2),
    }
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    block = lx.hessian(model.loss, model.WQ)
    plain, pairs = (lx.compile(block, softmax_gradient=form)(**arrays) for form in ("auto", "pairwise"))
    assert pairs == pytest.approx(plain, rel=1e-11, abs=1e-13)
    assert not np.array_equal(pairs, plain)
