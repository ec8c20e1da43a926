"""Stored LaTeX: everyday expressions, the models' gradients, a document."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lemmax as lx
from lemmax.typeset import definitions, latex
from lemmax.typeset.document import render_document, render_fragment
from tests.typeset.everyday import everyday
from tests.typeset.test_document import example

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("notation", ["matrix", "index"])
def test_everyday_expressions(notation: str, golden: Golden) -> None:
    lines = [f"% {name}\n{latex(t, notation=notation)}" for name, t in everyday().items()]  # type: ignore[arg-type]
    golden(f"everyday_{notation}.tex", "\n".join(lines) + "\n")


@pytest.mark.parametrize("model", ["softmax", "gaussian", "separate", "combined", "diagonal"])
def test_gradients_of_models(model: str, golden: Golden) -> None:
    found = (
        lx.models.attention(kernel=model)
        if model in ("softmax", "gaussian")
        else lx.models.attention_classifier(weights=model)
    )
    lines = [f"% loss\n{latex(found.loss)}"]
    gradients = lx.gradient(found.loss, found.weights)
    for weight, g in zip(found.weights, gradients, strict=True):
        lines += [f"% gradient in {weight.name}", latex(g), latex(g, notation="index"), latex(g, inline=True)]
    for notation in ("matrix", "index"):
        lines.append(f"% definitions, {notation} notation")
        lines += [f"{left} = {right}" for left, right in definitions(list(gradients), notation)]  # type: ignore[arg-type]
    golden(f"{model}.tex", "\n".join(lines) + "\n")


@pytest.mark.parametrize("model", ["softmax", "gaussian", "combined"])
def test_hessian_blocks_of_models(model: str, golden: Golden) -> None:
    found = (
        lx.models.attention_classifier(weights="combined")
        if model == "combined"
        else lx.models.attention(kernel=model)  # type: ignore[arg-type]
    )
    lines = []
    for a in found.weights:
        for b in found.weights:
            block = lx.hessian(found.loss, a, b)
            lines += [f"% Hessian block in {a.name}, {b.name}", latex(block), latex(block, vec="column")]
    golden(f"{model}_hessian.tex", "\n".join(lines) + "\n")


def test_document(golden: Golden) -> None:
    golden("document.tex", render_document(example()))
    golden("fragment.tex", render_fragment(example()))
