"""The order of contractions is chosen again at the first call with sizes for which another is cheaper."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lemmax as lx
from lemmax.codegen import Plan, make_plan, replanning
from lemmax.codegen.labels import Frame
from lemmax.codegen.order import Decided, cheapest
from lemmax.codegen.replanning import cost

n, d = lx.sizes("n d")
A, B, C = lx.tensor("A", n, d), lx.tensor("B", d, n), lx.tensor("C", n, d)
CHAIN = (A @ B) @ C
LONG, WIDE = (400, 3), (3, 400)
"""Sizes (n, d) at which A (B C) and (A B) C are cheap: n d^2 against n^2 d."""


def arrays(sizes: tuple[int, int], instances: int | None = None) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(sizes))
    lead = () if instances is None else (instances,)
    return [rng.standard_normal((*lead, *shape)) for shape in (sizes, sizes[::-1], sizes)]


def flops(plan: Plan, sizes: tuple[int, int]) -> int:
    return int(plan.flops.subs({n: sizes[0], d: sizes[1]}))


@pytest.mark.parametrize("sizes", [LONG, WIDE])
def test_the_first_call_decides(sizes: tuple[int, int]) -> None:
    fn = lx.compile(CHAIN)
    given = arrays(sizes)
    value = fn(*given)
    np.testing.assert_allclose(value, given[0] @ given[1] @ given[2], rtol=0, atol=1e-10)
    np.testing.assert_allclose(value, lx.evaluate(CHAIN, dict(zip("ABC", given, strict=True))), atol=1e-10)
    best = make_plan([CHAIN], False, sizes={"n": sizes[0], "d": sizes[1]})
    assert flops(fn.plan, sizes) == flops(best, sizes) == 4 * min(sizes) ** 2 * max(sizes)
    assert flops(fn.plan, sizes[::-1]) == 4 * max(sizes) ** 2 * min(sizes)


def test_a_plan_made_again_says_so_and_its_source_runs_alone() -> None:
    plain = lx.compile(CHAIN)
    before = plain.source
    for sizes in (LONG, WIDE):
        fn = lx.compile(CHAIN)
        fn(*arrays(sizes))
        again = [c for c in fn.plan.choices if c.subject == "sizes"]
        assert len(again) == (fn.source != before)
        if again:
            assert again[0].chosen == f"d = {sizes[1]}, n = {sizes[0]}"
            assert "planned again" in str(fn.plan)
            space: dict[str, object] = {}
            exec(fn.source, space)
            given = arrays(sizes)
            np.testing.assert_array_equal(space[fn.plan.name](*given), fn(*given))  # type: ignore[operator]
            return
    raise AssertionError("one of the two must be planned again")


def test_each_class_of_sizes_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    costs = Decided.costs

    def counted(self: Decided, extents: dict[object, int]) -> tuple[float, float]:
        looked.append(1)
        return costs(self, extents)  # type: ignore[arg-type]

    monkeypatch.setattr(Decided, "costs", counted)
    fn = lx.compile(CHAIN)
    for sizes in (LONG, LONG, (410, 3), WIDE, (3, 390), LONG):
        given = arrays(sizes)
        np.testing.assert_allclose(fn(*given), given[0] @ given[1] @ given[2], rtol=0, atol=1e-10)
    assert len(looked) == 2
    assert len(fn.plans) == 2
    assert fn.plans[0] is fn.plan
    assert {flops(p, LONG) for p in fn.plans} == {4 * 400**2 * 3, 4 * 3**2 * 400}


def test_small_arrays_are_not_planned_again() -> None:
    fn = lx.compile(CHAIN)
    plan = fn.plan
    for sizes in ((5, 2), (2, 5), (1, 1)):
        fn(*arrays(sizes))
    assert fn.plans == (plan,)


def test_it_can_be_declined_and_sizes_decline_it() -> None:
    for fn in (lx.compile(CHAIN, replan=False), lx.compile(CHAIN, sizes={"n": 2, "d": 900})):
        before = fn.source
        for sizes in (LONG, WIDE):
            given = arrays(sizes)
            np.testing.assert_allclose(fn(*given), given[0] @ given[1] @ given[2], rtol=0, atol=1e-10)
        assert fn.source == before
        assert len(fn.plans) == 1
    asked = lx.compile(CHAIN, sizes={"n": 2, "d": 900}, replan=True)
    asked(*arrays(LONG))
    assert flops(asked.plan, LONG) == 4 * 3**2 * 400


def test_wrong_shapes_are_refused_and_change_nothing() -> None:
    fn = lx.compile(CHAIN)
    before = fn.source
    good, other = arrays(LONG), arrays(WIDE)
    for wrong in ([good[0], other[1], good[2]], [good[0], good[1], good[2][0]]):
        with pytest.raises(ValueError, match="compute"):
            fn(*wrong)
    assert fn.source == before
    np.testing.assert_allclose(fn(*good), good[0] @ good[1] @ good[2], rtol=0, atol=1e-10)


def test_instances_and_chunks() -> None:
    for sizes in (LONG, WIDE):
        given = arrays(sizes, instances=5)
        expected = given[0] @ given[1] @ given[2]
        for options in ({}, {"chunk": 2}):
            fn = lx.compile(CHAIN, batch=True, **options)  # type: ignore[arg-type]
            np.testing.assert_allclose(fn(*given), expected, rtol=0, atol=1e-10)
            assert (fn.plan.chunks is not None) == bool(options)


def test_streams_keep_their_chunks() -> None:
    model = lx.models.attention()
    outputs = [model.loss, *lx.gradient(model.loss, model.weights)]
    streamed, whole = lx.compile(outputs, stream="N", chunk=8), lx.compile(outputs, replan=False)
    sizes = {"N": 20, "n": 4, "D": 150, "d": 3, "v": 3, "m": 2, "H": 2}
    rng = np.random.default_rng(3)
    named = {
        a: rng.standard_normal([sizes[str(s)] for s in t.shape]) * (0.1 if "W" in a else 1)
        for a, t in zip(whole.inputs, whole.plan.inputs, strict=True)
    }
    for a, b in zip(streamed(**named), whole(**named), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert streamed.plan.chunks is not None


def test_threads_share_what_the_first_has_planned() -> None:
    fn = lx.compile(CHAIN)
    given = {sizes: arrays(sizes) for sizes in (LONG, WIDE)}
    expected = {sizes: a @ b @ c for sizes, (a, b, c) in given.items()}

    def call(p: int) -> float:
        sizes = (LONG, WIDE)[p % 2]
        return float(np.abs(fn(*given[sizes]) - expected[sizes]).max())

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(call, range(64))) < 1e-10
    assert len(fn.plans) == 2


def test_a_pickled_function_keeps_its_plan() -> None:
    fn = lx.compile(CHAIN)
    for sizes in (LONG, WIDE):
        fn(*arrays(sizes))
    restored = pickle.loads(pickle.dumps(fn))
    assert restored.source == fn.source
    given = arrays(WIDE)
    np.testing.assert_allclose(restored(*given), given[0] @ given[1] @ given[2], rtol=0, atol=1e-10)


def test_only_so_many_plans_and_shapes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replanning, "MOST_PLANS", 1)
    monkeypatch.setattr(replanning, "MOST_SHAPES", 2)
    fn = lx.compile(CHAIN)
    for sizes in (LONG, WIDE, (4, 4), (5, 5), (6, 6), LONG):
        given = arrays(sizes)
        np.testing.assert_allclose(fn(*given), given[0] @ given[1] @ given[2], rtol=0, atol=1e-10)
    assert len(fn.plans) <= 2


def test_the_cost_of_a_decided_order_is_what_was_compared() -> None:
    """The order found at some sizes costs there what the search says, and no less than the best elsewhere."""
    i, j, k, p = lx.sizes("i j k p")
    factors = tuple(frozenset(f) for f in ((i, j), (j, k), (k, p)))
    frame = Frame({x: x for x in (i, j, k, p)}, (i, j, k, p))
    rng = np.random.default_rng(0)
    for _ in range(20):
        at, elsewhere = (
            dict(zip((i, j, k, p), map(int, rng.integers(1, 90, 4)), strict=True)) for _ in range(2)
        )
        order = cheapest(
            factors, frozenset({i, p}), {x: float(at[x]) for x in at}.__getitem__, lambda _: False
        )
        decided = Decided(factors, frozenset({i, p}), frame, frozenset(), order.tree)
        chosen, best = decided.costs(at)
        assert chosen == best == order.cost
        chosen, best = decided.costs(elsewhere)
        assert chosen >= best > 0


def test_plans_are_compared_by_operations_and_bytes() -> None:
    plan = make_plan([A @ B], False)
    assert cost(plan, {n: 3, d: 5}) == 2 * 3 * 3 * 5 + 8 * 9
