r"""Systematic draws: each mutation and omission once on a few sizes; plain draws on all small sizes.

Most false claims fail on small instances, if only all of these are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from lemmax.check.build import concrete_shape
from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Mutation, Recipe
from lemmax.check.strategies import SEEDS

SWEEPS = 3  # sizes on which the sweep is made
SMALL_SIZES = 100  # sizes tried in turn, the smallest first
DRAWS_PER_SIZE = 8


def sweep(plan: DrawPlan, seed: int) -> Iterator[tuple[Recipe, ...]]:
    """Yield blocks of recipes with one mutation or omission each, on small and on middling sizes."""
    table = plan.table
    rows = table.rows[table.is_family] if table.is_family.any() else table.rows
    order = sorted(range(len(rows)), key=lambda p: (int(rows[p].sum()), p))
    for part in range(SWEEPS):
        row = rows[order[(len(order) - 1) * part // SWEEPS]]
        sizes = tuple((name, int(value)) for name, value in zip(table.names, row, strict=True))
        start = seed * SWEEPS + part
        seeds = ((start * 101 + p) % SEEDS for p in range(len(plan.strikes) + len(plan.structure)))
        changed = [
            Recipe(sizes, next(seeds), mutations=(Mutation(kind, inputs, part, part),))
            for kind, inputs in plan.strikes
        ]
        omitted = [Recipe(sizes, next(seeds), omitted=(s.label,)) for s in plan.structure]
        if changed or omitted:
            yield (*changed, *omitted)


def small_sizes(plan: DrawPlan, seed: int, like: Recipe | None = None) -> Iterator[tuple[Recipe, ...]]:
    """Yield a block for each of the smallest sizes, in order: plain draws, and some changed like a recipe."""
    rows = plan.table.rows
    order = sorted(range(len(rows)), key=lambda p: (int(rows[p].max(initial=0)), int(rows[p].sum()), p))
    for part, p in enumerate(order[:SMALL_SIZES]):
        sizes = tuple((name, int(value)) for name, value in zip(plan.table.names, rows[p], strict=True))
        start = (seed * SMALL_SIZES + part) * DRAWS_PER_SIZE
        seeds = [(start + k) % SEEDS for k in range(DRAWS_PER_SIZE)]
        plain = [Recipe(sizes, s) for s in seeds]
        yield tuple([*plain, *(resized(plan, like, sizes, s) for s in seeds)] if like is not None else plain)


def resized(plan: DrawPlan, recipe: Recipe, sizes: tuple[tuple[str, int], ...], seed: int) -> Recipe:
    """Return a recipe with other sizes and another seed, its token table cut to fit."""
    tokens = recipe.tokens
    if tokens is not None and plan.tokens is not None:
        *families, rows, _ = concrete_shape(plan.tokens, dict(sizes))
        count = prod(families)
        tokens = tuple(
            tuple(tokens[i % len(tokens)][j % len(tokens[0])] for j in range(rows)) for i in range(count)
        )
    return replace(recipe, sizes=sizes, seed=seed, tokens=tokens)
