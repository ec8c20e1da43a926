r"""A derivation as plain text: the loss, each step with its rule and place, the result, all in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lemmax.derivation.display import Display
from lemmax.derivation.export import derivation_document, why_unseen
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.split_rules import SPLIT_RULES
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
    derived = derivation_document(derivation, notation).sections[1]
    statements = [block for block in derived.body if isinstance(block, Statement)]
    found: list[ListedStep] = []
    for step, s in zip(derivation.steps, statements, strict=True):
        latex = "; ".join(_text(b) for b in s.body if isinstance(b, Equation))
        unseen = "" if latex else f"as before: {why_unseen(step.rule)}"
        place = _place(step, display, derivation)
        found.append(ListedStep(step.rule, place, latex or found[-1].latex, unseen))
    return found


def _place(step: Step, display: Display, derivation: Derivation) -> str:
    """Return the name of the tensor that a step works on, and of the variable it is differentiated in."""
    scalar = step.place == derivation.f or (step.rule in SPLIT_RULES and step.along is None)
    place = str(display(derivation.loss if scalar else step.place).name)
    return place if step.along is None else f"{place} along {display(step.along).name}"


def _text(equation: Block) -> str:
    assert isinstance(equation, Equation)
    return " ".join((equation.left, *equation.right))
