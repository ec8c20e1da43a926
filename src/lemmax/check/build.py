r"""From recipes to arrays: pure functions, the same recipe always gives the same arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import sympy as sp

from lemmax.check.generators import CONTINUOUS, draw_input, random_of
from lemmax.check.mutations import HARMLESS, build_in, mutate
from lemmax.check.plan import DrawPlan
from lemmax.check.recipe import Recipe, Table
from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor, identifier
from lemmax.statement.instances import Arrays


def concrete_size(size: sp.Expr, sizes: Mapping[str, int]) -> int:
    """Return a size as a number.

    Raises:
        InvalidArgument: it is no positive integer for these sizes.
    """
    value = size.xreplace({s: sp.Integer(sizes[str(s)]) for s in size.free_symbols})
    if not value.is_Integer or int(value) < 1:
        raise InvalidArgument(f"the size {size} is {value} at {dict(sizes)}: expected a positive integer.")
    return int(value)


def concrete_shape(t: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of a tensor in numbers."""
    return tuple(sizes[str(s)] if s.is_Symbol else concrete_size(s, sizes) for s in t.shape)


def build(plan: DrawPlan, recipe: Recipe) -> Arrays:
    """Return the arrays of a recipe by code name; derived inputs are not among them."""
    arrays = build_base(plan, recipe)
    build_structure(plan, recipe, arrays)
    return arrays


def build_base(plan: DrawPlan, recipe: Recipe) -> Arrays:
    """Return the drawn and mutated arrays of a recipe, before structure is built in."""
    sizes = dict(recipe.sizes)
    arrays: Arrays = {}
    for t, draw in plan.draws.items():
        arrays[identifier(str(t.name))] = draw_input(t, draw, concrete_shape(t, sizes), recipe.seed)
    if plan.tokens is not None and recipe.tokens is not None:
        name = identifier(str(plan.tokens.name))
        arrays[name] = identify(arrays[name], recipe.tokens)
    for mutation in recipe.mutations:
        mutate(arrays, mutation)
    return arrays


def build_structure(plan: DrawPlan, recipe: Recipe, arrays: Arrays) -> None:
    """Build the structures in, in place in the dictionary, but for those that the recipe omits."""
    for structure in plan.structure:
        if structure.label not in recipe.omitted:
            build_in(arrays, structure, random_of(recipe.seed, structure.label))


def identify(x: npt.NDArray[np.float64], table: Table) -> npt.NDArray[np.float64]:
    """Return tokens of which those with equal numbers in the table are equal."""
    rows = x.reshape(-1, x.shape[-1])
    ids = np.array([i for row in table for i in row])
    return np.asarray(rows[ids % len(rows)].reshape(x.shape))


def is_generic(plan: DrawPlan, recipe: Recipe, inputs: tuple[Input, ...]) -> bool:
    """Were these inputs drawn from continuous distributions, with nothing done to them afterwards?"""
    struck = {name for m in recipe.mutations if m.kind not in HARMLESS for name in m.inputs}
    for structure in plan.structure:
        if structure.label not in recipe.omitted:
            struck |= {identifier(str(t.name)) for t in structure.inputs}
    if recipe.tokens is not None and plan.tokens is not None:
        struck.add(identifier(str(plan.tokens.name)))
    return all(
        t in plan.draws and plan.draws[t].kind in CONTINUOUS and identifier(str(t.name)) not in struck
        for t in inputs
    )
