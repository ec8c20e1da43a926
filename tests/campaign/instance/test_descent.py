from __future__ import annotations

import numpy as np
import pytest

from lemmax.campaign.instance.descent import FLOOR, Path, descend_all, descend_values
from lemmax.campaign.instance.features import measure
from lemmax.campaign.instance.setup import KERNELS, Instance
from lemmax.campaign.instance.tokens import read_tokens
from lemmax.models.attention import Kernel
from tests.campaign.instance.cases import features_by_hand, instance


def losses_by_hand(kernel: str, given: Instance, step: float, steps: int) -> list[float]:
    a = given.arrays
    B = features_by_hand(kernel, a)
    H, D = a["WV"].shape[:2]
    blocks = [B[:, h * D : (h + 1) * D] for h in range(H)]
    WV = a["WV"].copy()
    losses = []
    for _ in range(steps + 1):
        R = sum(b @ WV[h] @ a["WO"][h] for h, b in enumerate(blocks)) - a["Y"].reshape(len(B), -1)
        losses.append(0.5 * np.sum(R**2))
        WV = WV - step * np.stack([b.T @ R @ a["WO"][h].T for h, b in enumerate(blocks)])
    return losses


@pytest.mark.parametrize("kernel", KERNELS)
def test_generated_gradient_descends_as_by_hand(kernel: Kernel) -> None:
    given = instance()
    features = measure(kernel, given, read_tokens(given.arrays["X"]))
    path = descend_values(kernel, given, 1 / features.L, 40)
    np.testing.assert_allclose(path.losses, losses_by_hand(kernel, given, 1 / features.L, 40), rtol=1e-11)
    assert path.against([features.rate] * 40) == "kept"
    assert max(path.factors) <= features.rate
    assert path.decrease == path.losses[-1] / path.losses[0]
    assert path.mean == pytest.approx(path.decrease ** (1 / 40))
    assert path.worst == max(path.factors)


@pytest.mark.parametrize("kernel", KERNELS)
def test_bound_is_attained_with_one_head(kernel: Kernel) -> None:
    given = instance(seed=4, sizes=(1, 2, 4, 2, 1, 1, 1))
    features = measure(kernel, given, read_tokens(given.arrays["X"]))
    path = descend_values(kernel, given, 1 / features.L, 2000)
    slow = [f for f, loss in zip(path.factors, path.losses, strict=False) if loss > 1e-10 * path.losses[0]]
    assert slow[-1] == pytest.approx(features.rate, rel=1e-4)
    assert path.losses[-1] <= FLOOR * path.losses[0] or len(path.steps) == 2000


@pytest.mark.parametrize("kernel", KERNELS)
def test_descent_on_all_weights_meets_the_descent_condition(kernel: Kernel) -> None:
    given = instance()
    path = descend_all(kernel, given, 50)
    assert len(path.steps) == 50 and min(path.steps) > 0
    assert all(b < a for a, b in zip(path.losses, path.losses[1:], strict=False))
    assert path.decrease < 0.5 and path.distance > 0
    assert path.losses[0] == pytest.approx(losses_by_hand(kernel, given, 0.0, 0)[0])


def test_factors_are_judged_against_their_bounds() -> None:
    path = Path((1.0, 0.5, 0.26), (1.0, 1.0), 1.0, (1e-12, 1e-12, 1e-12))
    assert path.against([0.6, 0.6]) == "kept"
    assert path.against([0.6, 0.51]) == "broken"
    assert path.against([0.6, 0.52]) == "undecided"
    assert Path((0.0,), (), 0.0, (0.0,)).mean is None


def test_too_long_a_step_breaks_the_bound() -> None:
    given = instance()
    features = measure("softmax", given, read_tokens(given.arrays["X"]))
    path = descend_values("softmax", given, 4 / features.L, 20)
    assert path.against([(1 - 4 * features.mu / features.L) ** 2] * 20) == "broken"
