r"""A derivation as plain text: the loss, each step with its rule and place, the result, all in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lemmax.derivation.display import Display
from lemmax.derivation.export import derivation_document, why_unseen
from lemmax.derivation.record import Derivation
from lemmax.typeset.records import Block, Equation, Statement


def listing(derivation: Derivation) -> str:
    """Return the derivation as lines of text."""
    return "\n".join(_lines(derivation))


def _lines(derivation: Derivation) -> Iterator[str]:
    loss, _, result = derivation_document(derivation).sections
    yield from (_text(block) for block in loss.body if isinstance(block, Equation))
    for number, step in enumerate(listed_steps(derivation), 1):
        yield f"{number:3}. {step.rule}, at {step.place}"
        yield f"       {step.unseen or step.latex}"
    yield from (_text(block) for block in result.body if isinstance(block, Equation))


@dataclass(frozen=True, slots=True)
class ListedStep:
    """A step as it is listed.

    Attributes:
        rule: name of the rule.
        place: name of the tensor whose adjoint is worked on.
        latex: the formula that the step gives.
        unseen: why that is printed as the formula of the step before; else empty.
    """

    rule: str
    place: str
    latex: str
    unseen: str = ""


def listed_steps(derivation: Derivation, notation: Literal["matrix", "index"] = "matrix") -> list[ListedStep]:
    """Return the steps with their rules, places and formulas."""
    display = Display(derivation)
    places = [derivation.loss, *(step.place for step in derivation.steps[1:])]
    derived = derivation_document(derivation, notation).sections[1]
    statements = [block for block in derived.body if isinstance(block, Statement)]
    found: list[ListedStep] = []
    for step, place, s in zip(derivation.steps, places, statements, strict=True):
        latex = "; ".join(_text(b) for b in s.body if isinstance(b, Equation))
        unseen = "" if latex else f"as before: {why_unseen(step.rule)}"
        found.append(ListedStep(step.rule, str(display(place).name), latex or found[-1].latex, unseen))
    return found


def _text(equation: Block) -> str:
    assert isinstance(equation, Equation)
    return " ".join((equation.left, *equation.right))
