from __future__ import annotations

import numpy as np
import pytest

from lemmax.campaign.instance import features
from lemmax.campaign.instance.features import Features, measure, rows_of
from lemmax.campaign.instance.setup import KERNELS, Instance
from lemmax.campaign.instance.tokens import read_tokens
from lemmax.models.attention import Kernel
from tests.campaign.instance.cases import features_by_hand, instance


def of(kernel: Kernel, given: Instance) -> Features:
    return measure(kernel, given, read_tokens(given.arrays["X"]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_constants_agree_with_numpy(kernel: Kernel) -> None:
    given = instance()
    B = features_by_hand(kernel, given.arrays)
    np.testing.assert_allclose(rows_of(kernel, given).reshape(B.shape), B, rtol=1e-12)
    found = of(kernel, given)
    values = np.linalg.svd(B, compute_uv=False)
    outputs = np.linalg.svd(given.arrays["WO"], compute_uv=False)
    assert (found.rows, found.columns, found.rank, found.full) == (4, 10, 4, True)
    assert found.sigma.value == pytest.approx(values[-1], rel=1e-10)
    assert found.smallest.value == pytest.approx(values[-1], rel=1e-10)
    assert found.w.value == pytest.approx(outputs[:, -1].min(), rel=1e-10)
    assert found.mu == pytest.approx((values[-1] * outputs[:, -1].min()) ** 2, rel=1e-10)
    assert pytest.approx((values[0] * outputs[:, 0].max()) ** 2, rel=1e-10) == found.L
    assert found.applies
    assert found.rate == pytest.approx((1 - found.mu / found.L) ** 2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_too_many_rows(kernel: Kernel) -> None:
    found = of(kernel, instance(sizes=(3, 4, 5, 3, 3, 2, 2)))
    assert (found.full, found.sigma.value, found.rank) == (False, 0.0, 10)
    assert found.obstacles == ("N n = 12 > H D = 10",)
    assert not found.applies and found.rate == 1.0
    assert found.smallest.value > 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_tokens_are_named(kernel: Kernel) -> None:
    given = instance()
    given.arrays["X"][1, 1] = given.arrays["X"][1, 0]
    found = of(kernel, given.only((1,)))
    assert found.obstacles == ("sample 1: token 0 = token 1, equal rows of B_0",)
    assert (found.full, found.rank, found.rank_bound) == (False, 1, 1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_low_rank_of_the_stacked_tokens(kernel: Kernel) -> None:
    X = np.random.default_rng(0).integers(-3, 4, size=(3, 2, 6)).astype(float) / 4
    X[..., 2:] = X[..., :1] + np.arange(4.0) * X[..., 1:2]
    found = of(kernel, instance(sizes=(3, 2, 6, 2, 2, 1, 2), X=X))
    assert found.full is False and found.rank == found.rank_bound == 4
    assert found.obstacles == ("stacked X has rank 2 < D = 6, so rank B_0 <= H rank X = 4 < 6",)


@pytest.mark.parametrize("kernel", KERNELS)
def test_narrow_heads_do_not_apply(kernel: Kernel) -> None:
    found = of(kernel, instance(sizes=(2, 2, 5, 3, 1, 2, 2)))
    assert found.full is True and not found.applies and found.rate == 1.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_rank_that_rounding_hides_is_decided_in_multiprecision(kernel: Kernel) -> None:
    X = np.random.default_rng(0).normal(size=(1, 2, 3))
    X[0, 1] = X[0, 0] * (1 + 2.0**-50)
    found = of(kernel, instance(sizes=(1, 2, 3, 2, 1, 1, 1), X=X))
    assert found.full is True and found.rank == 2
    assert "digits" in found.by
    assert found.sigma.value < found.sigma.radius


def test_rank_that_stays_open_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = np.zeros((2, 5, 3))
    found = of("softmax", instance(WQ=zero))  # rows of a sample coincide, though tokens differ
    assert found.full is None and "is 0 to 400 digits" in found.by
    assert found.rank == 2 and not found.applies
    monkeypatch.setattr(features, "PRECISE_ROWS", 0)
    assert "too large for multiprecision" in of("softmax", instance(WQ=zero)).by
