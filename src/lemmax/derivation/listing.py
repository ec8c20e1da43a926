r"""A derivation as plain text: the loss, each step with its rule and place, the result, all in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator

from lemmax.derivation.display import Display
from lemmax.derivation.export import derivation_document
from lemmax.derivation.record import Derivation
from lemmax.typeset.records import Block, Equation, Statement


def listing(derivation: Derivation) -> str:
    """Return the derivation as lines of text."""
    return "\n".join(_lines(derivation))


def _lines(derivation: Derivation) -> Iterator[str]:
    loss, derived, result = derivation_document(derivation).sections
    yield from (_text(block) for block in loss.body if isinstance(block, Equation))
    display = Display(derivation)
    statements = [block for block in derived.body if isinstance(block, Statement)]
    for number, (step, statement) in enumerate(zip(derivation.steps, statements, strict=True), 1):
        place = derivation.loss if number == 1 else step.place
        yield f"{number:3}. {step.rule}, at {display(place).name}"
        yield from (f"       {_text(block)}" for block in statement.body if isinstance(block, Equation))
    yield from (_text(block) for block in result.body if isinstance(block, Equation))


def _text(equation: Block) -> str:
    assert isinstance(equation, Equation)
    return " ".join((equation.left, *equation.right))
