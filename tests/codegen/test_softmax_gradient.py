"""The two forms of the gradient through a softmax."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.codegen.forms import Choice
from tests.codegen.samples import relative_error

MODEL = lx.models.attention_classifier("separate")
LOSS_AND_GRADIENTS = [MODEL.loss, *lx.gradient(MODEL.loss, MODEL.weights)]


def saturated(margin: float) -> dict[str, np.ndarray]:
    """Return an instance whose softmax rows miss a unit vector by about ``exp(-margin)``."""
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((2, 3, 2)) * 64) / 64
    Z = np.round(rng.standard_normal((2, 2)) * 64) / 64
    K, Q = np.eye(2), np.eye(2)
    logits = np.einsum("ila,ia->il", X, Z)
    gap = np.sort(logits, axis=1)[:, -1] - np.sort(logits, axis=1)[:, -2]
    K = K * np.round(margin / gap.min() * 64) / 64
    return {"X": X, "Z": Z, "y": np.array([1.0, -1.0]), "v": np.array([0.75, -0.5]), "K": K, "Q": Q}


def exact_gradients(arrays: dict[str, np.ndarray], digits: int = 120) -> list[np.ndarray]:
    """Return the gradients in K and Q from the formula in high precision, rounded at the end."""
    with mpmath.workdps(digits):
        entries = {key: np.vectorize(mpmath.mpf, otypes=[object])(a) for key, a in arrays.items()}
        X, Z, y, v, K, Q = (entries[key] for key in ("X", "Z", "y", "v", "K", "Q"))
        gK, gQ = 0 * K, 0 * Q
        for i in range(len(y)):
            a = X[i] @ (K @ (Q.T @ Z[i]))
            e = np.array([mpmath.exp(t) for t in a])
            s = e / e.sum()
            values = X[i] @ v
            weight = -y[i] * mpmath.exp(-y[i] * (s @ values))
            bar = weight * s * (values - s @ values)
            u = X[i].T @ bar
            gK = gK + np.outer(u, Q.T @ Z[i])
            gQ = gQ + np.outer(Z[i], K.T @ u)
        return [g.astype(float) for g in (gK, gQ)]


@pytest.mark.parametrize("margin", [1, 10, 30, 44, 100, 300, 600])
def test_exponential_loss_is_exact_at_any_margin(margin: float) -> None:
    arrays = saturated(margin)
    fn = lx.compile(LOSS_AND_GRADIENTS)
    for value, exact in zip(fn(**arrays)[1:], exact_gradients(arrays, 400), strict=True):
        # the logits are exact here; exp turns their size into a relative error of at most margin * eps
        assert relative_error(value, exact) < 1e-15 * (10 + margin)


def test_row_sums_lose_everything_at_a_large_margin() -> None:
    arrays = saturated(44)
    value = lx.compile(LOSS_AND_GRADIENTS, softmax_gradient="rowsum")(**arrays)[1]
    assert relative_error(value, exact_gradients(arrays)[0]) > 0.1


def test_both_forms_agree_on_moderate_rows() -> None:
    arrays = saturated(1)
    forms = [
        lx.compile(LOSS_AND_GRADIENTS, softmax_gradient=form)(**arrays) for form in ("pairwise", "rowsum")
    ]
    for a, b in zip(*forms, strict=True):
        assert relative_error(a, b) < 1e-13


def form_of(fn: lx.codegen.CompiledFunction) -> Choice:
    (choice,) = (c for c in fn.plan.choices if "softmax gradient" in c.chosen)
    return choice


def test_the_choice_is_in_the_plan() -> None:
    choice = form_of(lx.compile(LOSS_AND_GRADIENTS))
    assert choice.chosen.startswith("pairwise")
    assert "3 axes" in choice.reason
    attention = lx.models.attention()
    choice = form_of(lx.compile(lx.gradient(attention.loss, attention.WQ)))
    assert choice.chosen.startswith("rowsum")
    assert "5 axes" in choice.reason
    choice = form_of(lx.compile(LOSS_AND_GRADIENTS, softmax_gradient="rowsum"))
    assert choice.chosen.startswith("rowsum")
    assert choice.reason == "asked for"


def test_a_batch_takes_the_form_of_one_instance() -> None:
    fn = lx.compile(LOSS_AND_GRADIENTS, batch=True)
    assert form_of(fn).chosen.startswith("pairwise")
    instances = [saturated(margin) for margin in (5, 44, 90)]
    values = fn(**{key: np.stack([i[key] for i in instances]) for key in instances[0]})
    for row, arrays in enumerate(instances):
        assert relative_error(values[1][row], exact_gradients(arrays)[0]) < 2e-13


def test_pairwise_along_any_axis() -> None:
    n, L = lx.sizes("n L")
    A, C = lx.tensor("A", n, L), lx.tensor("C", n, L)
    rng = np.random.default_rng(0)
    a, c = rng.standard_normal((2, 3, 4))
    gradient = lx.gradient(lx.sum(C * lx.softmax(A, axis=0)), A)
    forms = [lx.compile(gradient, softmax_gradient=form)(A=a, C=c) for form in ("pairwise", "rowsum")]
    assert relative_error(*forms) < 1e-14


def test_an_unknown_form() -> None:
    with pytest.raises(lx.InvalidArgument, match=r"softmax_gradient='exact'.*'auto', 'pairwise', 'rowsum'"):
        lx.compile(LOSS_AND_GRADIENTS, softmax_gradient="exact")  # type: ignore[arg-type]
