"""A checker that is broken in one place must not report that all is as expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lemmax as lx
from lemmax.check import confirm, decide, failures, judge, mutants, readings, run, settle
from lemmax.check.decide import TRUE, Bounded
from lemmax.statement import Instances, Mutant
from tests.check import toys

FLIPPED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "=="}

# a theorem that needs its hypothesis: without it the first claim is false
NEEDS_HYPOTHESIS = toys.theorem(
    "lower_bound_of_full_row_rank",
    lx.norm(toys.X.T @ toys.Y) >= lx.sigma(toys.X, toys.n) * lx.norm(toys.Y),
    sizes=[toys.n <= toys.D],
    hypotheses=[lx.rank(toys.X).eq(toys.n).named("independent rows")],
    instances=Instances(sizes={toys.n: 3, toys.D: 3, toys.k: 2}),
    mutants=[
        Mutant(
            "twice", lx.norm(toys.X.T @ toys.Y) >= 2 * lx.sigma(toys.X, toys.n) * lx.norm(toys.Y), "n = 1"
        ),
        Mutant(
            "largest",
            lx.norm(toys.X.T @ toys.Y) >= lx.spectral_norm(toys.X) * lx.norm(toys.Y),
            "weak direction",
        ),
        Mutant(
            "above",
            lx.norm(toys.X.T @ toys.Y) <= lx.sigma(toys.X, toys.n) * lx.norm(toys.Y),
            "strong direction",
        ),
    ],
)


def report_of(theorem: lx.Theorem) -> Any:
    return lx.check(theorem, instances=25, seed=1)


def test_the_sound_checker_is_content() -> None:
    assert report_of(toys.CAUCHY_SCHWARZ).as_expected
    assert report_of(NEEDS_HYPOTHESIS).as_expected
    assert report_of(toys.GRAM_RANK).as_expected


def _flip_float(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judge, "compare", lambda op, lhs, rhs: decide.compare(FLIPPED[op], lhs, rhs))  # type: ignore[arg-type]


def _flip_precise(patch: pytest.MonkeyPatch) -> None:
    original = decide.compare_precisely
    patch.setattr(settle, "compare_precisely", lambda op, *rest: original(FLIPPED[op], *rest))  # type: ignore[arg-type]


def _ignore_hypotheses_everywhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        judge.Judge, "_condition", lambda self, plan, condition, values, judged: [TRUE] * len(judged)
    )
    patch.setattr(confirm, "hypothesis_state", lambda relation, settled: TRUE)


def _ignore_hypotheses_in_float(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        judge.Judge, "_condition", lambda self, plan, condition, values, judged: [TRUE] * len(judged)
    )


def _loosen_bounds(patch: pytest.MonkeyPatch) -> None:
    bounded = readings.Reader.bounded

    def loose(self: readings.Reader, arrays: Any, sizes: Any) -> Any:
        found = bounded(self, arrays, sizes)
        return {k: Bounded(v.value, v.bound + np.abs(v.value) + 1e-3) for k, v in found.items()}

    patch.setattr(readings.Reader, "bounded", loose)


def _accept_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        judge,
        "compare",
        lambda op, lhs, rhs: np.full(np.broadcast_shapes(lhs.value.shape, rhs.value.shape), TRUE),
    )


def _draw_zeros(patch: pytest.MonkeyPatch) -> None:
    def zeros(plan: Any, recipe: Any) -> Any:
        from lemmax.check.build import build

        return {k: np.zeros_like(v) for k, v in build(plan, recipe).items()}

    patch.setattr(judge, "build", zeros)


def _never_confirm(patch: pytest.MonkeyPatch) -> None:
    original = confirm.confirm

    def shy(*arguments: Any, **more: Any) -> Any:
        found = original(*arguments, **more)
        return confirm.Confirmed(found.accepted, decide.CLOSE, found.comparisons, found.digits)

    patch.setattr(run, "confirm", shy)
    patch.setattr(failures, "confirm", shy)
    patch.setattr(mutants, "confirm", shy)


@pytest.mark.parametrize(
    "corrupt",
    [
        _flip_float,
        _flip_precise,
        _ignore_hypotheses_everywhere,
        _ignore_hypotheses_in_float,
        _loosen_bounds,
        _accept_everything,
        _draw_zeros,
        _never_confirm,
    ],
)
@pytest.mark.parametrize("theorem", [toys.CAUCHY_SCHWARZ, NEEDS_HYPOTHESIS], ids=lambda t: t.name)
def test_a_corrupted_checker_is_noticed(
    theorem: lx.Theorem, corrupt: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    corrupt(monkeypatch)
    assert not report_of(theorem).as_expected


def test_rounding_bounds_that_are_too_small_cannot_refute_a_true_theorem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounded = readings.Reader.bounded

    def overconfident(self: readings.Reader, arrays: Any, sizes: Any) -> Any:
        return {k: Bounded(v.value, 0.0 * v.bound) for k, v in bounded(self, arrays, sizes).items()}

    monkeypatch.setattr(readings.Reader, "bounded", overconfident)
    for theorem in (toys.CAUCHY_SCHWARZ, toys.CYCLIC_TRACE, toys.SATURATED):
        assert report_of(theorem).verdict.name != "refuted"


def test_a_wrong_derived_gradient_is_refuted() -> None:
    f = lx.sqnorm(toys.X @ toys.W - toys.Y) / 2
    right, wrong = toys.X.T @ (toys.X @ toys.W - toys.Y), toys.X.T @ (toys.X @ toys.W + toys.Y)
    good = toys.theorem("gradient_of_least_squares", lx.gradient(f, toys.W).eq(right), expected="refuted")
    bad = toys.theorem("wrong_gradient_of_least_squares", lx.gradient(f, toys.W).eq(wrong))
    assert lx.check(good, instances=40).verdict.name == "survived"
    assert lx.check(bad, instances=40).verdict.name == "refuted"
