r"""Hypothesis strategies for recipes.

What Hypothesis draws is small: sizes, seeds, a token-identity table, named mutations.  Dense arrays
of floats would exhaust its buffer; arrays are built from the recipe by a pure function instead.

All integers stay below 100: from larger ranges Hypothesis may return constants that it found in
the modules that happen to be loaded, and a run would no longer follow from its seed alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Mutation, Recipe, Table

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

DIGIT = 99  # a seed is two numbers up to this
BLOCK = 12  # most recipes in one block (Hypothesis draws about half as many)


def blocks(plan: DrawPlan) -> SearchStrategy[tuple[Recipe, ...]]:
    """Return the strategy of blocks: recipes that share their sizes and are evaluated together."""
    from hypothesis import strategies as st

    @st.composite
    def block(draw: DrawFn) -> tuple[Recipe, ...]:
        sizes = _draw_sizes(draw, plan)
        return tuple(draw(st.lists(variant(sizes), min_size=1, max_size=BLOCK)))

    @st.composite
    def variant(draw: DrawFn, sizes: tuple[tuple[str, int], ...]) -> Recipe:
        seed = draw(st.integers(0, DIGIT)) * (DIGIT + 1) + draw(st.integers(0, DIGIT))
        tokens = _draw_tokens(draw, plan, dict(sizes))
        mutations = _draw_mutations(draw, plan)
        return Recipe(sizes, seed, tokens, mutations, _draw_omitted(draw, plan))

    return block()


def _draw_sizes(draw: DrawFn, plan: DrawPlan) -> tuple[tuple[str, int], ...]:
    from hypothesis import strategies as st

    table = plan.table
    rows = table.rows
    if (
        table.is_family.any()
        and not table.is_family.all()
        and draw(st.integers(0, 3)) >= 4 - plan.family_quarters
    ):
        rows = rows[table.is_family]
    chosen: list[tuple[str, int]] = []
    for column, name in enumerate(table.names):
        options = sorted({int(v) for v in rows[:, column]})
        value = draw(st.sampled_from(options)) if len(options) > 1 else options[0]
        rows = rows[rows[:, column] == value]
        chosen.append((name, value))
    return tuple(chosen)


def _draw_tokens(draw: DrawFn, plan: DrawPlan, sizes: dict[str, int]) -> Table | None:
    from hypothesis import strategies as st

    if plan.tokens is None or draw(st.integers(0, 5)) < 5:
        return None
    from lemmax.check.build import concrete_shape

    *families, rows, _ = concrete_shape(plan.tokens, sizes)
    count = 1
    for f in families:
        count *= f
    ids = st.integers(0, min(count * rows - 1, DIGIT))
    return tuple(tuple(draw(ids) for _ in range(rows)) for _ in range(count))


def _draw_mutations(draw: DrawFn, plan: DrawPlan) -> tuple[Mutation, ...]:
    from hypothesis import strategies as st

    if not plan.strikes:
        return ()
    count = (0, 0, 0, 1, 1, 2)[draw(st.integers(0, 5))]
    found = []
    for _ in range(count):
        kind, inputs = draw(st.sampled_from(plan.strikes))
        found.append(Mutation(kind, inputs, draw(st.integers(0, 11)), draw(st.integers(0, 11))))
    return tuple(found)


def _draw_omitted(draw: DrawFn, plan: DrawPlan) -> tuple[str, ...]:
    from hypothesis import strategies as st

    if not plan.structure or draw(st.integers(0, 5)) < 5:
        return ()
    return (draw(st.sampled_from([s.label for s in plan.structure])),)
