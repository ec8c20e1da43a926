from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lemmax.campaign.instance.report import FEWEST_STEPS, InstanceReport, affordable_steps, read_instance
from lemmax.campaign.instance.setup import Options, load_instance
from lemmax.campaign.registry import load
from lemmax.cli.screen import plain
from tests.campaign.instance import cases
from tests.repo.files import ROOT


def read(path: Path, **options: object) -> InstanceReport:
    chosen = Options(**{"steps": 20, **options})  # type: ignore[arg-type]
    theorems = [load(ROOT / "proofs" / "pl_value_weights_of_full_row_rank.py")]
    return read_instance(path, load_instance(path, chosen), chosen, theorems)


@pytest.fixture(scope="module")
def digits() -> InstanceReport:
    return read(ROOT / "examples" / "digits.npz")


def test_digits_have_parts_of_both_kinds(digits: InstanceReport) -> None:
    assert digits.tokens.rank == 7
    for kernel in digits.kernels:
        by_label = {s.label: s for s in kernel.sets}
        assert list(by_label) == ["all samples", "largest", "best sample", "one sample more", "equal tokens"]
        assert [s.features.applies for s in kernel.sets] == [False, True, True, False, False]
        whole, largest = by_label["all samples"], by_label["largest"]
        assert "N n = 256 > H D = 32" in whole.features.obstacles
        assert any("sample 1: token 5 = token 6" in text for text in whole.features.obstacles)
        assert len(largest.features.samples) == 3 == kernel.search.bound and kernel.search.is_largest
        assert largest.kept == "kept" and largest.features.rank == 24
        more = by_label["one sample more"].features
        assert (more.rank, more.rank_bound, more.full) == (28, 28, False)
        assert by_label["equal tokens"].features.samples == (1,)
        assert whole.local is not None and not whole.local.applies
        assert largest.local is not None and not largest.local.applies
        assert largest.local.hypotheses[2].factor > 1  # type: ignore[operator]
        assert kernel.heads_needed == 36
    assert digits.as_expected
    (theorem,) = digits.theorems
    assert theorem.samples == digits.kernels[0].sets[1].features.samples


def test_report_is_json(digits: InstanceReport) -> None:
    text = json.dumps(plain(digits.to_json()), allow_nan=False)
    data = json.loads(text)
    assert data["kernels"][0]["sets"][1]["value_descent"]["kept"] == "kept"
    assert data["kernels"][0]["sets"][0]["local_convergence"]["path"] == "inf"


def test_patches_carry_sixteen_samples() -> None:
    report = read(ROOT / "examples" / "digits_patches.npz")
    for kernel in report.kernels:
        assert len(kernel.search.samples) == 16 and kernel.search.is_largest
        assert not any(s.label == "equal tokens" for s in kernel.sets)
        assert kernel.sets[1].features.applies


def test_instance_to_which_all_applies(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(2, 2, 4)))
    report = read(tmp_path / "a.npz", heads=2)
    for kernel in report.kernels:
        (only,) = kernel.sets
        assert only.label == "all samples" and only.features.applies and only.kept == "kept"
    assert report.theorems[0].on_all


def test_single_sample_of_equal_tokens(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.ones((1, 2, 4)))
    report = read(tmp_path / "a.npz")
    for kernel in report.kernels:
        (only,) = kernel.sets
        assert not only.features.applies and kernel.search.samples == ()
    assert report.theorems[0].verdict.name == "not applicable"


def test_blank_tokens(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 2, 3)))
    report = read(tmp_path / "a.npz")
    assert report.tokens.rank == 0 and len(report.tokens.blank) == 4
    assert all(not s.features.applies for k in report.kernels for s in k.sets)
    json.dumps(plain(report.to_json()), allow_nan=False)


def test_seed_reproduces(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(3, 2, 3)))
    first, again, other = (read(tmp_path / "a.npz", seed=s).to_json() for s in (1, 1, 2))
    assert first == again != other


def test_large_instances_take_fewer_steps() -> None:
    small, large = (cases.instance(sizes=(n, 2, 3, 1, 1, 1, 1)) for n in (2, 60))
    assert affordable_steps(small, 500) == 500
    large = replace(large, sizes={**large.sizes, "N": 10**4, "n": 30})
    assert affordable_steps(large, 500) == FEWEST_STEPS
