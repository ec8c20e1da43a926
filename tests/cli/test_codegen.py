from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lemmax as lx
from lemmax.cli.main import main

SHAPES = {"X": (2, 3, 4), "Y": (2, 3, 2), "WQ": (2, 4, 3), "WK": (2, 4, 3), "WV": (2, 4, 2), "WO": (2, 2, 2)}


def arrays(*lead: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=(*lead, *shape)) for name, shape in SHAPES.items()}


def function(path: Path, name: str) -> Any:
    return runpy.run_path(str(path))[name]


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_file_computes_value_and_gradients(
    kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "grad.py"
    assert (
        main(["codegen", f"{kernel}-attention", "--wrt", "W^Q", "--wrt", "WV", "--value", "-o", str(path)])
        == 0
    )
    assert "value_and_gradients(" in capsys.readouterr().out
    model = lx.models.attention(kernel)  # type: ignore[arg-type]
    given = arrays()
    value, gQ, gV = function(path, "value_and_gradients")(**given)
    assert value == pytest.approx(lx.evaluate(model.loss, given))
    for found, weight in ((gQ, model.WQ), (gV, model.WV)):
        np.testing.assert_allclose(
            found, lx.evaluate(lx.gradient(model.loss, weight), given), rtol=1e-10, atol=1e-10
        )


def test_batch(tmp_path: Path) -> None:
    path = tmp_path / "grad.py"
    assert main(["codegen", "softmax-attention", "--wrt", "WO", "--batch", "-o", str(path)]) == 0
    given = arrays(5)
    found = function(path, "gradient_WO")(**{k: given[k] for k in given})
    model = lx.models.attention()
    gradient = lx.gradient(model.loss, model.WO)
    for at in range(5):
        one = {name: a[at] for name, a in given.items()}
        np.testing.assert_allclose(found[at], lx.evaluate(gradient, one), rtol=1e-10, atol=1e-10)


def test_source_is_printed_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codegen", "attention-classifier", "--wrt", "K", "--wrt", "Q"]) == 0
    source = capsys.readouterr().out
    compile(source, "printed", "exec")
    assert "def gradients(" in source and "import lemmax" not in source
    assert main(["codegen", "attention-classifier", "--wrt", "K", "--wrt", "Q", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["source"] == source
    assert data["outputs"] == ["grad_K", "grad_Q"] and set(data["inputs"]) == {"X", "Z", "y", "v", "K", "Q"}


def test_file_that_cannot_be_replaced_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "grad.py"
    path.write_text("mine")
    assert main(["codegen", "softmax-attention", "--wrt", "W", "-o", str(path)]) == 2
    assert path.read_text() == "mine"
