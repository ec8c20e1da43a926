"""Hypothesis strategies: random expressions with the arrays they stand for.

What is drawn is a recipe, a short list of steps; the expression and its NumPy twin are built from it by a
pure function. A failing example therefore shrinks to few steps and prints as a recipe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lemmax as lx
from tests.operations import ALL, PAIRS, SINGLE, Operation, softmax

n, k, h = lx.sizes("n k h")
SIZES = {"n": 3, "k": 2, "h": 2}
INPUTS: tuple[lx.Tensor, ...] = (
    lx.tensor("A", n, k),
    lx.tensor("B", k, n),
    lx.tensor("C", n, n),
    lx.tensor("E", k, k),
    lx.tensor("T", h, n, k),
    lx.tensor("u", n),
    lx.tensor("v", k),
    lx.tensor("s"),
)
LARGEST = 4  # axes that a tensor of a random expression has at most


@dataclass(frozen=True)
class Recipe:
    """How a random expression is made.

    Attributes:
        steps: name of an operation and two numbers that choose its operands; 0 is what was made last.
        names: positions of the steps whose result gets a name.
        seed: seed of the arrays.
    """

    steps: tuple[tuple[str, int, int], ...]
    names: frozenset[int] = frozenset()
    seed: int = 0


@dataclass
class Expression:
    """What a recipe makes.

    Attributes:
        tensors: all tensors, the inputs first.
        arrays: the array of each tensor.
    """

    tensors: list[lx.Tensor] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)

    @property
    def made(self) -> list[lx.Tensor]:
        return self.tensors[len(INPUTS) :]

    def loss(self) -> tuple[lx.Tensor, np.ndarray]:
        """Return a scalar that depends on the last three tensors made."""
        total: lx.Tensor | None = None
        value: Any = 0.0
        for p, (t, x) in enumerate(list(zip(self.tensors, self.arrays, strict=True))[:-4:-1]):
            summand = lx.sum(lx.sin(t + p) / (p + 1))
            total = summand if total is None else total + summand
            value = value + (np.sin(x + p) / (p + 1)).sum()
        assert total is not None
        return total, value


def draw_inputs(seed: int) -> dict[str, np.ndarray]:
    """Return an array for each input, by name."""
    rng = np.random.default_rng(seed)
    return {str(t.name): rng.standard_normal([SIZES[str(s)] for s in t.shape]) for t in INPUTS}


def build(recipe: Recipe, inputs: dict[str, np.ndarray] | None = None) -> Expression:
    """Make the expression of a recipe, on its own arrays or on given (complex) ones."""
    arrays = draw_inputs(recipe.seed) if inputs is None else inputs
    made = Expression(list(INPUTS), [np.asarray(arrays[str(t.name)]) for t in INPUTS])
    for position, (name, first, second) in enumerate(recipe.steps):
        operation = ALL[name]
        chosen = _operands(operation, name in PAIRS, first, second, made.tensors)
        if chosen is None:
            continue
        t = operation.tensor(*[made.tensors[p] for p in chosen])
        x = np.asarray(operation.array(*[made.arrays[p] for p in chosen]))
        if t.ndim > LARGEST:
            continue
        if operation.margin is not None and operation.margin(*[made.arrays[p] for p in chosen]) < 1e-6:
            continue  # at a kink any subgradient is right
        if position in recipe.names and not isinstance(t, lx.Input) and t.name is None and t.operands:
            t = t.named(f"V_{position}")
        made.tensors.append(t)
        made.arrays.append(x)
    return made


def _operands(
    operation: Operation, two: bool, first: int, second: int, pool: list[lx.Tensor]
) -> tuple[int, ...] | None:
    """Choose operands by number; the second is the next one that fits the first."""
    count = len(pool)
    for start in range(count):
        a = count - 1 - (first + start) % count
        if not two:
            if operation.applies(pool[a]):
                return (a,)
            continue
        for shift in range(count):
            b = count - 1 - (second + shift) % count
            if operation.applies(pool[a], pool[b]):
                return (a, b)
    return None


@st.composite
def recipes(draw: st.DrawFn, smooth: bool = False, most: int = 6) -> Recipe:
    """Draw a recipe.

    Args:
        draw: supplied by Hypothesis.
        smooth: leave out operations with kinks.
        most: the largest number of steps.
    """
    names = sorted(name for name, operation in ALL.items() if operation.smooth or not smooth)
    step = st.tuples(st.sampled_from(names), st.integers(0, 11), st.integers(0, 11))
    steps = draw(st.lists(step, min_size=1, max_size=most))
    named = draw(st.frozensets(st.integers(0, most - 1), max_size=2))
    return Recipe(tuple(steps), named, draw(st.integers(0, 9)))


def steps_of_every_operation() -> list[Recipe]:
    """Return one recipe for each operation, applied to the first inputs that it accepts."""
    return [Recipe(((name, 0, 0),)) for name in sorted(ALL)] + [
        Recipe((("tanh", 0, 0), (name, 3, 5), ("multiply", 0, 1)), frozenset({1}), seed=1)
        for name in sorted(SINGLE)
    ]


def same_values(a: Any, b: Any, rtol: float = 1e-12) -> bool:
    """Are two arrays equal up to rounding, relative to the largest entry?"""
    x, y = np.asarray(a), np.asarray(b)
    scale = max(float(np.max(np.abs(y), initial=0.0)), 1.0)
    return x.shape == y.shape and bool(np.all(np.abs(x - y) <= rtol * scale))


def sizes_of(t: lx.Tensor) -> tuple[int, ...]:
    """Return the shape in numbers."""
    return tuple(int(s.xreplace({n: SIZES["n"], k: SIZES["k"], h: SIZES["h"]})) for s in t.shape)


def values_for(t: lx.Tensor, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of the inputs that ``t`` has, by code name."""
    from lemmax.expr.graph import inputs_of

    return {lx.identifier(str(x.name)): arrays[str(x.name)] for x in inputs_of(t)}


def slopes_by_complex_steps(recipe: Recipe, wrt: lx.Tensor, step: float = 1e-40) -> np.ndarray:
    """Return the gradient of the recipe's loss, by complex steps through NumPy."""
    inputs = {name: x.astype(complex) for name, x in draw_inputs(recipe.seed).items()}
    name = str(wrt.name)
    out = np.zeros(inputs[name].shape)
    for at in np.ndindex(out.shape):
        moved = dict(inputs)
        moved[name] = inputs[name].copy()
        moved[name][at] += 1j * step
        out[at] = build(recipe, moved).loss()[1].imag / step
    return out


__all__ = [
    "INPUTS",
    "SIZES",
    "Expression",
    "Recipe",
    "build",
    "draw_inputs",
    "recipes",
    "same_values",
    "sizes_of",
    "slopes_by_complex_steps",
    "softmax",
    "steps_of_every_operation",
    "values_for",
]
