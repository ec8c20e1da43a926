"""Output is the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import lemmax as lx
from lemmax.typeset import definitions, latex, notation_table
from tests.typeset.everyday import everyday
from tests.typeset.pair_terms import random_pairs
from tests.typeset.random_terms import random_tensor
for t in everyday().values():
    print(latex(t), latex(t, notation="index"))
for seed in range(16):
    print(latex(random_tensor(seed, bool(seed % 4), 1 + seed % 3)))
for kernel in ("softmax", "gaussian"):
    model = lx.models.attention(kernel=kernel, mask="causal")
    for g in lx.gradient(model.loss, model.weights):
        print(latex(g), latex(g, inline=True), definitions(g), definitions(g, "index"), notation_table(g))
    print(latex(lx.hessian(model.loss, model.WQ, model.WK)))
for seed in range(20):
    t, rows = random_pairs(seed, bool(seed % 4), 1 + seed % 3)
    print(latex(t, rows=rows, vec="column"))
"""


def output(seed: int) -> str:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_hash_seed_does_not_matter() -> None:
    first = output(0)
    assert len(first.splitlines()) > 100
    assert output(4711).splitlines() == first.splitlines()
