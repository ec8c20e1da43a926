r"""Sums of products: the order in which factors are multiplied and indices summed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.errors import UnsupportedYet
from lemmax.interpret.entries import LETTERS
from lemmax.interpret.frame import Frame
from lemmax.interpret.parts import Part, Run, Scope
from lemmax.interpret.protocol import Value

NOMINAL = 8  # every size counts as this when the order is chosen, so that one order serves all sizes


@dataclass(frozen=True, slots=True)
class Step:
    """One product: operands by position in the list of values, which the result joins at its end."""

    operands: tuple[int, ...]
    subscripts: str
    summed: tuple[sp.Symbol, ...]


def plan(factors: Sequence[tuple[sp.Symbol, ...]], output: tuple[sp.Symbol, ...]) -> list[Step]:
    """Choose pairs greedily by the number of multiplications; indices are summed as soon as possible.

    Args:
        factors: the indices of each factor by axis, repetitions allowed.
        output: the indices of the result, each of which occurs in a factor.
    """
    names: dict[sp.Symbol, str] = {}
    for index in [*output, *(i for f in factors for i in f)]:
        if index not in names and len(names) == len(LETTERS):
            raise UnsupportedYet(f"a product over more than {len(LETTERS)} indices cannot be evaluated.")
        if index not in names:
            names[index] = LETTERS[len(names)]
    live: list[tuple[int, tuple[sp.Symbol, ...]]] = list(enumerate(factors))
    steps: list[Step] = []
    count = len(factors)
    while len(live) > 1 or not steps:
        if len(live) <= 2:
            chosen = list(range(len(live)))
        else:
            pairs = list(itertools.combinations(range(len(live)), 2))
            costs = [_cost(live[a][1], live[b][1]) for a, b in pairs]
            chosen = list(pairs[costs.index(min(costs))])
        taken = [live[c] for c in chosen]
        live = [item for p, item in enumerate(live) if p not in chosen]
        needed = set(output) if not live else {*output, *(i for _, f in live for i in f)}
        inside = tuple(dict.fromkeys(i for _, f in taken for i in f))
        kept = output if not live else tuple(i for i in inside if i in needed)
        left = ",".join("..." + "".join(names[i] for i in f) for _, f in taken)
        steps.append(
            Step(
                operands=tuple(position for position, _ in taken),
                subscripts=f"{left}->..." + "".join(names[i] for i in kept),
                summed=tuple(i for i in inside if i not in needed),
            )
        )
        live.append((count, kept))
        count += 1
    return steps


def _cost(a: tuple[sp.Symbol, ...], b: tuple[sp.Symbol, ...]) -> tuple[int, int]:
    joint = len({*a, *b})
    return NOMINAL**joint, joint - len(set(a) & set(b))


def contraction(
    factors: Sequence[tuple[tuple[sp.Symbol, ...], Run]], output: tuple[sp.Symbol, ...], scope: Scope
) -> Part:
    """Return the part that multiplies factors and sums all indices that are not in ``output``."""
    runs = [run for _, run in factors]
    if len(factors) == 1 and factors[0][0] == output:
        return Part(output, runs[0])
    steps = plan([indices for indices, _ in factors], output)
    ranges = [[scope.ranges[i] for i in step.summed] for step in steps]

    def run(frame: Frame) -> Value:
        values = [factor(frame) for factor in runs]
        for step, sizes in zip(steps, ranges, strict=True):
            count = 1
            for size in sizes:
                count *= size(frame.sizes)
            values.append(
                frame.arithmetic.contract(step.subscripts, [values[p] for p in step.operands], count)
            )
        return values[-1]

    return Part(output, run)
