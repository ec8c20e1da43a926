"""A printed derivation shows the loss, every step and the result, and no inner name."""

from __future__ import annotations

import re

import lemmax as lx

n, D, k = lx.sizes("n D k")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)


def test_least_squares_as_text() -> None:
    derivation = lx.derive(lx.sqnorm(X @ W - Y) / 2, W)
    lines = str(derivation).splitlines()
    assert lines[0] == r"f = \frac{1}{2} \|T_1\|_F^2"
    assert lines[1] == "T_1 = X W - Y"
    assert lines[2] == "  1. inline_definitions, at f"
    assert lines[-1] == r"\frac{\partial f}{\partial W} = X^\top T_1"
    rules = [step.rule for step in derivation.steps]
    assert re.findall(r"^ *\d+\. (\w+), at", str(derivation), re.M) == rules
    assert repr(derivation) == f"<Derivation of the gradient in W (D, k): {len(rules)} steps>"


def test_every_place_is_named() -> None:
    model = lx.models.attention_classifier()
    for loss, variables in [
        (model.loss, (model.K, model.Q)),
        (lx.sqnorm(lx.exp(X @ W)), (W,)),
        (lx.sum(X), (X,)),
    ]:
        text = str(lx.derive(loss, variables))
        assert "None" not in text and not re.search(r"_[0-9a-f]{16}|_[ik]\d", text)
        assert text.count(r"\frac{\partial") >= len(variables)
