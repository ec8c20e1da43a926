"""Wrong formulas and what is wrong with them."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.check.diagnosis import diagnose

model = lx.models.attention()
N, n, D, d, v, m, H = model.sizes
X = model.X[:, None]
right = lx.gradient(model.loss, model.WQ)
P = model.R[:, None] @ model.WO.mT @ model.WV.mT @ X.mT
E = model.S * P
Delta = E - lx.sum(E, axis=-1, keepdims=True) * model.S


def claim(delta: lx.Tensor) -> lx.Tensor:
    return (X.mT @ delta @ X @ model.WK).sum(axis=0) / lx.sqrt(d)


WRONG = {
    "factor": (2 * claim(Delta), "factor", "1/2"),
    "sign": (-claim(Delta), "sign", "-1"),
    "missing scale": (claim(Delta) * lx.sqrt(d), "factor", "1/sqrt(d)"),
    "missing sum over samples": ((X.mT @ Delta @ X @ model.WK) / lx.sqrt(d), "missing sum", "size N"),
    "transposed inside": (claim(Delta.mT), "transpose", "transpose"),
    "transposed as a whole": (claim(Delta).mT, "layout", "transpose the claim"),
    "rank-one term missing": (claim(E), "softmax Jacobian", "rank-one"),
    "sign of the rank-one term": (
        claim(E + lx.sum(E, axis=-1, keepdims=True) * model.S),
        "sign",
        "change the sign of summand",
    ),
}


def test_the_right_formula_is_proved() -> None:
    assert diagnose(claim(Delta), right).verdict.name == "proved"


@pytest.mark.parametrize("name", WRONG)
def test_one_repair_is_found_and_proved(name: str) -> None:
    wrong, kind, text = WRONG[name]
    found = diagnose(wrong, right)
    assert found.verdict.name in ("refuted", "unknown")
    assert found.repair is not None
    assert found.repair.kind == kind
    assert text in found.repair.text
    assert lx.equal(found.repair.result, right).name == "proved"


def test_what_no_repair_mends_has_no_diagnosis() -> None:
    found = diagnose(claim(Delta * Delta), right)
    assert found.verdict.name == "refuted"
    assert found.repair is None
