r"""From the first failure to a smallest one: Hypothesis shrinks, then smaller sizes are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Recipe
from lemmax.check.strategies import blocks
from lemmax.check.sweep import small_sizes

SHRINK_DESCENTS = 40  # the same where each block costs a gradient descent
SHRINK_CALLS = 150  # blocks that Hypothesis may try while it shrinks one failure
BLOCKS_AT_ONCE = 12  # drawn before the first of them is looked at
SMALLER_EXAMPLES = 20  # blocks with mutations tried on sizes smaller still


class Failure(AssertionError):
    """Raised inside Hypothesis when a block holds a failing recipe."""


class Enough(BaseException):
    """Raised inside Hypothesis to break off: no Exception, which it would take for a failure."""


def run_blocks(
    plan: DrawPlan, count: int, seed: int, examine: Callable[[tuple[Recipe, ...]], None], shrink: bool = True
) -> None:
    """Let Hypothesis draw blocks and pass each to ``examine``, which raises :class:`Failure` on failing ones.

    Nothing is stored and no deadline is set: what is drawn follows from ``seed`` alone.

    Raises:
        Failure: an examined block failed (after shrinking, if asked for).
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings

    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        backend="hypothesis",
    )
    @given(blocks(plan))
    def body(block: tuple[Recipe, ...]) -> None:
        examine(block)

    body()


def draw_blocks(plan: DrawPlan, count: int, seed: int) -> Iterator[tuple[Recipe, ...]]:
    """Yield blocks drawn by Hypothesis, a few at a time, without examining them."""
    for part in range(0, count, BLOCKS_AT_ONCE):
        found: list[tuple[Recipe, ...]] = []
        run_blocks(plan, min(BLOCKS_AT_ONCE, count - part), seed + part, found.append, shrink=False)
        yield from found


class Shrinker:
    """Remembers which recipes fail, so that a replayed block fails again, and stops after enough blocks."""

    def __init__(
        self, fails: Callable[[tuple[Recipe, ...]], list[Recipe]], limit: int = SHRINK_CALLS
    ) -> None:
        """Start with a function that returns the failing recipes of a block, and a limit on blocks."""
        self._fails = fails
        self._limit = limit
        self._known: dict[tuple[Recipe, ...], bool] = {}
        self._calls = 0
        self.failing: dict[Recipe, None] = {}

    def examine(self, block: tuple[Recipe, ...]) -> None:
        """Raise :class:`Failure` if the block holds a failing recipe.

        Raises:
            Failure: it does.
            Enough: enough blocks were tried since the first failure.
        """
        self._calls += bool(self.failing)
        if self._calls > self._limit:
            raise Enough
        bad = self._known.get(block)
        if bad is None:
            found = self._fails(block)
            self.failing.update(dict.fromkeys(found))
            bad = self._known[block] = bool(found)
        if bad:
            raise Failure


def restricted(plan: DrawPlan, recipe: Recipe) -> DrawPlan | None:
    """Return the plan with sizes smaller than those of a recipe only, or ``None`` if there are none."""
    table = plan.table
    largest, total = recipe.weight[:2]
    keys = [(int(row.max(initial=0)), int(row.sum())) for row in table.rows]
    keep = np.array([key < (largest, total) for key in keys], dtype=bool)
    if not keep.any():
        return None
    return replace(plan, table=replace(table, rows=table.rows[keep], is_family=table.is_family[keep]))


def shrink_further(
    plan: DrawPlan, recipe: Recipe, seed: int, fails: Callable[[tuple[Recipe, ...]], list[Recipe]]
) -> list[Recipe]:
    """Look for failures on smaller sizes than those of a recipe; return them smallest first, then it."""
    found = {recipe: None}
    smaller = restricted(plan, recipe)
    for block in small_sizes(smaller, seed, recipe) if smaller is not None else ():
        failing = fails(block)
        if failing:  # sizes come in order: none smaller failed
            found.update(dict.fromkeys(failing))
            break
    smaller = restricted(plan, min(found, key=lambda r: r.weight))
    if smaller is not None:
        shrinker = Shrinker(fails)
        try:
            run_blocks(smaller, SMALLER_EXAMPLES, seed, shrinker.examine)
        except (Failure, Enough):
            found.update(shrinker.failing)
    return sorted(found, key=lambda r: r.weight)
