r"""Hypothesis strategies for recipes.

What Hypothesis draws is small: sizes, seeds, a token-identity table, named mutations.  Dense arrays
of floats would exhaust its buffer; arrays are built from the recipe by a pure function instead.

Every number is drawn bit by bit.  Where Hypothesis draws integers itself, it may return constants that it
found in the modules that happen to be loaded (and keeps a directory of them): then a run would not follow
from its seed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from lemmax.check.build import concrete_shape
from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Mutation, Recipe, Table

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")

SEEDS = 4096
BLOCK = 12  # most recipes in one block (Hypothesis draws about half as many)
CHOICES = 16  # a mutation comes with two numbers below this
MUTATIONS_OF_8 = (0, 0, 0, 0, 1, 1, 1, 2)  # how many mutations strike, in eight cases of equal weight
ONE_IN = 6  # one draw in so many has a token-identity table; one in so many leaves out a structure


def below(draw: DrawFn, count: int) -> int:
    """Draw a number from 0 to ``count - 1`` bit by bit, highest first; it shrinks to 0."""
    bit = _bit()
    value = 0
    for _ in range((count - 1).bit_length()):
        value = 2 * value + draw(bit)
    return value % count


@cache
def _bit() -> SearchStrategy[bool]:
    from hypothesis import strategies as st

    return st.booleans()


def pick(draw: DrawFn, options: Sequence[T]) -> T:
    """Draw one of some options; it shrinks to the first."""
    return options[below(draw, len(options))]


def blocks(plan: DrawPlan) -> SearchStrategy[tuple[Recipe, ...]]:
    """Return the strategy of blocks: recipes that share their sizes and are evaluated together."""
    from hypothesis import strategies as st

    @st.composite
    def block(draw: DrawFn) -> tuple[Recipe, ...]:
        sizes = _draw_sizes(draw, plan)
        return tuple(draw(st.lists(variant(sizes), min_size=1, max_size=BLOCK)))

    @st.composite
    def variant(draw: DrawFn, sizes: tuple[tuple[str, int], ...]) -> Recipe:
        seed = below(draw, SEEDS)
        tokens = _draw_tokens(draw, plan, dict(sizes))
        mutations = _draw_mutations(draw, plan)
        return Recipe(sizes, seed, tokens, mutations, _draw_omitted(draw, plan))

    return block()


def _draw_sizes(draw: DrawFn, plan: DrawPlan) -> tuple[tuple[str, int], ...]:
    table = plan.table
    rows = table.rows
    if table.is_family.any() and not table.is_family.all() and below(draw, 4) >= 4 - plan.family_quarters:
        rows = rows[table.is_family]
    chosen: list[tuple[str, int]] = []
    for column, name in enumerate(table.names):
        value = pick(draw, sorted({int(v) for v in rows[:, column]}))
        rows = rows[rows[:, column] == value]
        chosen.append((name, value))
    return tuple(chosen)


def _draw_tokens(draw: DrawFn, plan: DrawPlan, sizes: dict[str, int]) -> Table | None:
    if plan.tokens is None or below(draw, ONE_IN) < ONE_IN - 1:
        return None
    *families, rows, _ = concrete_shape(plan.tokens, sizes)
    count = 1
    for f in families:
        count *= f
    return tuple(tuple(below(draw, count * rows) for _ in range(rows)) for _ in range(count))


def _draw_mutations(draw: DrawFn, plan: DrawPlan) -> tuple[Mutation, ...]:
    if not plan.strikes:
        return ()
    found = []
    for _ in range(pick(draw, MUTATIONS_OF_8)):
        kind, inputs = pick(draw, plan.strikes)
        found.append(Mutation(kind, inputs, below(draw, CHOICES), below(draw, CHOICES)))
    return tuple(found)


def _draw_omitted(draw: DrawFn, plan: DrawPlan) -> tuple[str, ...]:
    if not plan.structure or below(draw, ONE_IN) < ONE_IN - 1:
        return ()
    return (pick(draw, plan.structure).label,)
