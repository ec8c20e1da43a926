from __future__ import annotations

import math

import numpy as np
import pytest

from lemmax.campaign.instance.features import measure
from lemmax.campaign.instance.local import Hypothesis, largest_radius, read_local
from lemmax.campaign.instance.report import read_set
from lemmax.campaign.instance.setup import KERNELS, Options
from lemmax.campaign.instance.tokens import read_tokens
from lemmax.models.attention import Kernel
from tests.campaign.instance.cases import instance


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("beta", [1e-9, 0.3, 50.0])
def test_radius_is_the_largest(kernel: Kernel, beta: float) -> None:
    given = instance()
    X, d, n = given.arrays["X"], 3, 2
    features = measure(kernel, given, read_tokens(X))
    rho = largest_radius(given, features, beta)
    norms = np.array([np.linalg.norm(x, 2) for x in X])
    if kernel == "softmax":
        M = max(np.linalg.norm(w, 2) for k in ("WQ", "WK") for w in given.arrays[k]) + rho
        lipschitz = math.sqrt(2) * M * math.sqrt(np.sum(norms**6)) / (2 * math.sqrt(d))
    else:
        lipschitz = (
            math.sqrt(2) * math.sqrt(2 / math.e) * d**-0.25 * math.sqrt(n) * math.sqrt(np.sum(norms**4))
        )
    assert lipschitz * rho == pytest.approx(beta / 2, rel=1e-12)


@pytest.mark.parametrize(("kernel", "scale"), [("gaussian", 1e6), ("softmax", 1e9)])
def test_hypotheses_hold_in_the_lazy_regime_and_the_rate_is_kept(kernel: Kernel, scale: float) -> None:
    sizes = (2, 2, 4, 2, 2, 1, 2)
    start = instance(seed=1, sizes=sizes)
    WO = scale * start.arrays["WO"]
    given = instance(seed=1, sizes=sizes, WV=np.zeros((2, 4, 2)), WO=WO)
    read = read_set(kernel, "all", given, Options(steps=100), True)
    assert read.local is not None and read.everything is not None
    assert read.local.applies, read.local.hypotheses
    assert read.everything.losses[0] == pytest.approx(np.sum(given.arrays["Y"] ** 2) / 2)
    assert read.kept_locally in ("kept", "undecided")
    assert read.everything.distance <= read.local.path


@pytest.mark.parametrize("kernel", KERNELS)
def test_failing_hypothesis_says_by_how_much(kernel: Kernel) -> None:
    given = instance()
    features = measure(kernel, given, read_tokens(given.arrays["X"]))
    local = read_local(given, features, loss=3.0)
    full_rank, output, path = local.hypotheses
    assert full_rank.holds and output.holds and not path.holds and not local.applies
    assert local.alpha == pytest.approx(features.sigma.value * features.w.value / 4)
    assert path.lhs == pytest.approx(2 * math.sqrt(6.0) / local.alpha)
    assert path.factor == pytest.approx(path.lhs / local.rho)
    assert local.rho <= features.w.value / 2


def test_deficient_features_leave_no_radius() -> None:
    given = instance(sizes=(3, 4, 5, 3, 3, 2, 2))
    features = measure("softmax", given, read_tokens(given.arrays["X"]))
    local = read_local(given, features, loss=1.0)
    assert [h.holds for h in local.hypotheses] == [False, True, False]
    assert (local.beta, local.rho, local.path) == (0.0, 0.0, math.inf)
    assert local.hypotheses[2].factor == math.inf
    assert Hypothesis("", 1.0, "<=", 2.0).factor is None
