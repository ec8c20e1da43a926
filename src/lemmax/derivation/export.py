r"""A derivation as a document: notation, loss, numbered steps with their rules, result, references."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lemmax._version import __version__
from lemmax.derivation.display import Display
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.rules import rule_reference, rule_statement
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Derivative, Input
from lemmax.expr.tensor import Tensor
from lemmax.typeset.latex import Notation, left_hand_side, notation_table, read
from lemmax.typeset.letters import Letters
from lemmax.typeset.records import (
    Block,
    Cite,
    Document,
    Equation,
    Inline,
    Math,
    Paragraph,
    Ref,
    Reference,
    Section,
    SectionBuilder,
    Statement,
)

LAYOUT = "A gradient has the shape of its variable; leading axes (samples, heads) are subscripts."

_GRIEWANK = Reference(
    "griewank", "A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM, 2008, chapter 3."
)
_YEAR = re.compile(r"\b(1[89]|20)\d\d\b")
"""What a source has and a word such as "linear" has not."""
_UNSEEN = {
    "collect_like_terms": "no terms merge, only dummy indices and factors change their order",
    "recognise_tensor": "the entries stay, they are read as one tensor",
    "inline_definitions": "what is written out had no name and was printed so before",
}


def why_unseen(rule: str) -> str:
    """Return what is said of a step whose formula is printed as that of the step before."""
    return _UNSEEN.get(rule, "what changes is not printed")


def derivation_document(derivation: Derivation, notation: Notation = "matrix") -> Document:
    """Return the derivation as a record of a document; the typesetter makes LaTeX of it."""
    return _Writer(derivation, notation).document()


class _Writer:
    """Writes one derivation, with the same letters and names throughout."""

    def __init__(self, derivation: Derivation, notation: Notation) -> None:
        self.derivation = derivation
        self.notation: Notation = notation
        self.display = Display(derivation)
        self.loss = self.display(derivation.loss)
        shown = [self.display(s, True) for step in derivation.steps for s in (step.before, step.after)]
        self.letters = Letters(*shown, self.loss)
        self.references: dict[str, Reference] = {_GRIEWANK.key: _GRIEWANK}
        self.printed: Equation | None = None  # the last formula among the steps

    # -- pieces ------------------------------------------------------------------------------
    def right(self, t: Tensor, by_entries: bool) -> str:
        return read(t, self.letters, by_entries).text

    def left(self, t: Tensor, by_entries: bool) -> str:
        return left_hand_side(t, read(t, self.letters, by_entries))

    def definition(self, t: Tensor, label: str | None = None) -> Equation:
        by_entries = self.notation == "index"
        return Equation(self.left(t, by_entries), (f"= {self.right(t, by_entries)}",), label)

    def slope(self, place: Tensor, by_entries: bool = True) -> str:
        return self.right(Derivative(self.loss, self.display(place)), by_entries)

    # -- document ----------------------------------------------------------------------------
    def document(self) -> Document:
        variables = [Math(self.left(v, False).split("_{")[0]) for v in self.derivation.variables]
        what = "gradient" if len(variables) == 1 else "gradients"
        body = (self.loss_section(), self.steps_section(), self.result_section())
        return Document(
            title=(f"Derivation of the {what} in ", *_listed(variables)),
            sections=body,
            notation=tuple(notation_table([self.loss, *map(self.display, self.derivation.results)])),
            references=tuple(self.references.values()),
            footnote=(f"Derived and typeset by lemmax {__version__}.",),
        )

    def loss_section(self) -> Section:
        section = SectionBuilder("The loss")
        section.add(Paragraph("The scalar that is differentiated is"))
        section.add(self.definition(self.loss, "loss"))
        parts = [
            t
            for t in reversed(topological_order(self.loss))
            if t.name is not None and not isinstance(t, Input) and t != self.loss
        ]
        if parts:
            section.add(Paragraph("It is made of"))
            section.add(*[self.definition(t) for t in parts])
        return section.build()

    def steps_section(self) -> Section:
        section = SectionBuilder("Derivation")
        section.add(
            Paragraph(
                "The adjoint of a tensor is the derivative of the loss in it, of the same shape. Adjoints are"
                " found from the loss to the variables, by reverse accumulation ",
                Cite(("griewank",)),
                ". Each step applies one rule.",
            )
        )
        place: Tensor | None = None
        for number, step in enumerate(self.derivation.steps, 1):
            if step.place != place and number > 1:
                place = step.place
                name = self.left(self.display(place), False)
                kind = "Gradient in " if place in self.derivation.variables else "Adjoint of "
                section.add(Paragraph(kind, Math(name), "."))
            section.add(self.step(number, step))
            last = number == len(self.derivation.steps) or self.derivation.steps[number].place != step.place
            if number > 1 and last and self.notation == "matrix":
                section.add(*self.in_matrices(step))
        return section.build()

    def step(self, number: int, step: Step) -> Statement:
        statement, conditions = rule_statement(step.rule)
        rule = [Math(statement)] if statement.startswith("\\") or "=" in statement else [statement]
        text: list[Inline] = [*rule, f" ({conditions})." if conditions else "."]
        reference = rule_reference(step.rule)
        if reference is not None and _YEAR.search(reference):
            key = f"rule:{step.rule}"
            self.references.setdefault(key, Reference(key, f"Rule {_words(step.rule)}: {reference}."))
            text += [" See ", Cite((key,)), "."]
        if step.focus is not None:
            text += [" Here it is applied to ", Math(self.left(self.display(step.focus), False)), "."]
        equation = self.step_equation(step, f"step:{number}")
        shown = self.printed
        if shown is not None and (shown.left, shown.right) == (equation.left, equation.right):
            why = why_unseen(step.rule)
            again = f" {why[:1].upper()}{why[1:]}: the formula is again "
            same = Paragraph(*text, again, Ref(str(shown.label)), ".")
            return Statement("step", (same,), (_words(step.rule),), f"rule:{number}")
        self.printed = equation
        return Statement("step", (Paragraph(*text), equation), (_words(step.rule),), f"rule:{number}")

    def step_equation(self, step: Step, label: str) -> Equation:
        before, after = self.display(step.before, True), self.display(step.after, True)
        if step.before == self.derivation.f:
            return Equation(self.left(self.loss, True), (f"= {self.right(self.loss, True)}",), label)
        if step.rule in ("name_adjoint", "recognise_tensor") and after.name is not None:
            left = self.slope(step.place)
            return Equation(left, (f"= {self.left(after, True)}",), label)
        if isinstance(before, Derivative):
            return Equation(self.slope(step.place), (f"= {self.right(after, True)}",), label)
        return Equation(self.slope(step.place), (f"= {self.right(_unnamed(after), True)}",), label)

    def in_matrices(self, step: Step) -> list[Block]:
        after = self.display(step.after)
        left = self.slope(step.place, by_entries=False)
        if after.name is not None:
            name = self.left(after, False)
            definition = self.right(after, False)
            rights = (f"= {name}",) if step.rule == "recognise_tensor" else (f"= {name}", f"= {definition}")
        else:
            rights = (f"= {self.right(after, False)}",)
        return [Paragraph("In matrix notation,"), Equation(left, rights)]

    def result_section(self) -> Section:
        section = SectionBuilder("Result", "result")
        by_entries = self.notation == "index"
        for number, (variable, result) in enumerate(
            zip(self.derivation.variables, self.derivation.results, strict=True), 1
        ):
            shown = self.display(result)
            left = self.slope(variable, by_entries)
            right = self.right(shown, by_entries) if shown.name is None else self.left(shown, by_entries)
            section.add(Equation(left, (f"= {right}",), f"result:{number}"))
        adjoints = self.adjoints_used()
        if adjoints:
            section.add(Paragraph("with"), *[self.definition(t) for t in adjoints])
        labels = [f"result:{p + 1}" for p in range(len(self.derivation.results))]
        section.add(Paragraph(LAYOUT, " This holds for ", Ref(*labels), "; the loss is ", Ref("loss"), "."))
        return section.build()

    def adjoints_used(self) -> Sequence[Tensor]:
        """Return the named tensors that the results use and the loss does not define."""
        known = {t.digest for t in topological_order(self.loss)}
        results = [self.display(r) for r in self.derivation.results]
        return [
            t
            for t in reversed(topological_order(*results))
            if t.name is not None and not isinstance(t, Input) and t.digest not in known and t not in results
        ]


def _unnamed(t: Tensor) -> Tensor:
    return t if isinstance(t, Input) or t.name is None else t.named(None)


def _words(rule: str) -> str:
    return rule.replace("_", " ")


def _listed(items: Sequence[Inline]) -> list[Inline]:
    """Return items with commas and a final 'and'."""
    out: list[Inline] = []
    for p, item in enumerate(items):
        if p:
            out.append(" and " if p == len(items) - 1 else ", ")
        out.append(item)
    return out
