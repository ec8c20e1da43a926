r"""What a theorem's declaration of instances comes to: the plan from which instances are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from lemmax.check.generators import FREE, default_draw
from lemmax.check.mutations import can_strike
from lemmax.check.sizes import SizeTable, size_table
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import identifier
from lemmax.statement.instances import Draw, Structure
from lemmax.statement.theorem import Theorem


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """Everything needed to draw instances of a theorem.

    Attributes:
        theorem: the theorem.
        table: admissible sizes.
        draws: how each input that is not derived is drawn, in the order of the theorem's inputs.
        tokens: the input with a token-identity table.
        structure: what is built in.
        strikes: mutations that may strike: kind and code names of the inputs.
        family_quarters: how many in four blocks have all family sizes at least 2.
    """

    theorem: Theorem
    table: SizeTable
    draws: Mapping[Input, Draw]
    tokens: Input | None
    structure: tuple[Structure, ...]
    strikes: tuple[tuple[str, tuple[str, ...]], ...]
    family_quarters: int = 3


def draw_plan(theorem: Theorem, dropped: tuple[sp.Rel, ...] = ()) -> DrawPlan:
    """Return the plan of a theorem; if size constraints are dropped, sizes violate one of them.

    Raises:
        InvalidArgument: no sizes satisfy the constraints.
    """
    spec = theorem.instances
    constraints = [c for c in theorem.sizes if c not in dropped]
    table = size_table(theorem.size_symbols, constraints, spec.sizes, dropped)  # type: ignore[arg-type]
    inputs = [t for t in theorem.inputs if t not in spec.derived]
    draws = {t: spec.draw.get(t) or default_draw(t) for t in inputs}
    tokens = spec.tokens
    if tokens is None:
        tokens = next((t for t in inputs if t.name == "X" and t.ndim >= 2), None)
    if tokens in spec.derived or (tokens is not None and draws[tokens].kind not in FREE):  # type: ignore[union-attr]
        tokens = None
    return DrawPlan(theorem, table, draws, tokens, spec.structure, _strikes(theorem, draws))  # type: ignore[arg-type]


def _strikes(theorem: Theorem, draws: Mapping[Input, Draw | str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    spec = theorem.instances
    free = [
        t
        for t, draw in draws.items()
        if (spec.mutate is None or t in spec.mutate)
        and not t.assumptions
        and isinstance(draw, Draw)
        and draw.kind in FREE
        and (draw.kind != "positive" or spec.mutate is not None)
    ]
    code = {t: identifier(str(t.name)) for t in free}
    single = [
        (kind, (code[t],)) for kind in spec.mutations if kind != "tie" for t in free if can_strike(kind, t)
    ]
    if "tie" not in spec.mutations:
        return tuple(single)
    pairs = [(a, b) for p, a in enumerate(free) for b in free[p + 1 :] if a.shape == b.shape and a.ndim]
    return (*single, *[("tie", (code[a], code[b])) for a, b in pairs])
