r"""A derivation as plain text: the loss, each step with its rule and place, the result, all in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from lemmax.derivation.display import Display
from lemmax.derivation.export import derivation_document
from lemmax.derivation.record import Derivation
from lemmax.typeset.records import Block, Equation, Statement


def listing(derivation: Derivation) -> str:
    """Return the derivation as lines of text."""
    return "\n".join(_lines(derivation))


def _lines(derivation: Derivation) -> Iterator[str]:
    loss, _, result = derivation_document(derivation).sections
    yield from (_text(block) for block in loss.body if isinstance(block, Equation))
    for number, (rule, place, latex) in enumerate(listed_steps(derivation), 1):
        yield f"{number:3}. {rule}, at {place}"
        yield f"       {latex}"
    yield from (_text(block) for block in result.body if isinstance(block, Equation))


def listed_steps(
    derivation: Derivation, notation: Literal["matrix", "index"] = "matrix"
) -> list[tuple[str, str, str]]:
    """Return of each step the rule, the name of the tensor whose adjoint is worked on, and what it gives."""
    display = Display(derivation)
    places = [derivation.loss, *(step.place for step in derivation.steps[1:])]
    derived = derivation_document(derivation, notation).sections[1]
    statements = [block for block in derived.body if isinstance(block, Statement)]
    return [
        (step.rule, str(display(place).name), "; ".join(_text(b) for b in s.body if isinstance(b, Equation)))
        for step, place, s in zip(derivation.steps, places, statements, strict=True)
    ]


def _text(equation: Block) -> str:
    assert isinstance(equation, Equation)
    return " ".join((equation.left, *equation.right))
