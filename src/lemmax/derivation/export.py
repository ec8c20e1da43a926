r"""A derivation as a document: notation, loss, numbered steps with their rules, result, references."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lemmax._version import __version__
from lemmax.derivation.display import Display
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.statements import rule_reference, rule_statement
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Derivative, Input
from lemmax.expr.tensor import Tensor
from lemmax.typeset.latex import Notation, Order, left_hand_side, notation_table, read
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
    "write_out_definitions": "nothing was left to be written out",
    "inline_block": "what is written out had no name and was printed so before",
    "inline_definitions": "what is written out had no name and was printed so before",
}


def why_unseen(rule: str) -> str:
    """Return what is said of a step whose formula is printed as that of the step before."""
    return _UNSEEN.get(rule, "what changes is not printed")


def derivation_document(
    derivation: Derivation, notation: Notation = "matrix", vec: Order = "row"
) -> Document:
    """Return the derivation as a record of a document; the typesetter makes LaTeX of it."""
    if derivation.blocks:
        from lemmax.derivation.export_second import SecondWriter

        return SecondWriter(derivation, notation, vec).document()
    if derivation.directions:
        from lemmax.derivation.export_product import ProductWriter

        return ProductWriter(derivation, notation).document()
    return Writer(derivation, notation).document()


class Writer:
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
        """Return the right-hand side of a tensor."""
        return read(t, self.letters, by_entries).text

    def left(self, t: Tensor, by_entries: bool) -> str:
        """Return the name of a tensor with its subscripts."""
        return left_hand_side(t, read(t, self.letters, by_entries))

    def definition(self, t: Tensor, label: str | None = None) -> Equation:
        """Return the definition of a named tensor."""
        by_entries = self.notation == "index"
        return Equation(self.left(t, by_entries), (f"= {self.right(t, by_entries)}",), label)

    def slope(self, place: Tensor, by_entries: bool = True) -> str:
        """Return the derivative of the loss in a tensor."""
        return self.right(Derivative(self.loss, self.display(place)), by_entries)

    # -- document ----------------------------------------------------------------------------
    def document(self) -> Document:
        """Return the whole."""
        body = (self.loss_section(), self.steps_section(), self.result_section())
        return Document(
            title=self.title(),
            sections=body,
            notation=tuple(notation_table(self.shown_roots())),
            references=tuple(self.references.values()),
            footnote=(f"Derived and typeset by lemmax {__version__}.",),
        )

    def title(self) -> tuple[Inline, ...]:
        """Return what is derived."""
        what = "gradient" if len(self.derivation.variables) == 1 else "gradients"
        return (f"Derivation of the {what} in ", *listed([self.name(v) for v in self.derivation.variables]))

    def name(self, t: Tensor) -> Math:
        """Return the name of a tensor without subscripts."""
        return Math(self.left(self.display(t), False).split("_{")[0])

    def shown_roots(self) -> list[Tensor]:
        """Return the loss and what is shown as results."""
        return [self.loss, *map(self.display, self.derivation.results)]

    def loss_section(self) -> Section:
        """Show the loss and the tensors that it is made of."""
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
        """Show the steps, under the tensor that they work on."""
        section = SectionBuilder("Derivation")
        section.add(*self.introduction())
        steps = self.derivation.steps
        for number, step in enumerate(steps, 1):
            if number > 1 and _work(step) != (_work(steps[number - 2]) if number > 2 else None):
                section.add(self.heading(step))
            section.add(self.step(number, step))
            last = number == len(steps) or _work(steps[number]) != _work(step)
            if number > 1 and last and self.notation == "matrix":
                section.add(*self.in_matrices(step))
        return section.build()

    def introduction(self) -> list[Block]:
        """Say how the derivation goes."""
        return [
            Paragraph(
                "The adjoint of a tensor is the derivative of the loss in it, of the same shape. Adjoints are"
                " found from the loss to the variables, by reverse accumulation ",
                Cite(("griewank",)),
                ". Each step applies one rule.",
            )
        ]

    def heading(self, step: Step) -> Block:
        """Say what the steps that follow work on."""
        name = self.left(self.display(step.place), False)
        kind = "Gradient in " if step.place in self.derivation.variables else "Adjoint of "
        return Paragraph(kind, Math(name), ".")

    def step(self, number: int, step: Step) -> Statement:
        """Show one step."""
        statement, conditions = rule_statement(step.rule)
        rule = [Math(statement)] if statement.startswith("\\") or "=" in statement else [statement]
        text: list[Inline] = [*rule, f" ({conditions})." if conditions else "."]
        reference = rule_reference(step.rule)
        if reference is not None and _YEAR.search(reference):
            key = f"rule:{step.rule}"
            self.references.setdefault(key, Reference(key, f"Rule {words(step.rule)}: {reference}."))
            text += [" See ", Cite((key,)), "."]
        if step.focus is not None:
            text += [" Here it is applied to ", Math(self.left(self.display(step.focus), False)), "."]
        equation = self.step_equation(step, f"step:{number}")
        shown = self.printed
        if shown is not None and (shown.left, shown.right) == (equation.left, equation.right):
            why = why_unseen(step.rule)
            again = f" {why[:1].upper()}{why[1:]}: the formula is again "
            same = Paragraph(*text, again, Ref(str(shown.label)), ".")
            return Statement("step", (same,), (words(step.rule),), f"rule:{number}")
        self.printed = equation
        return Statement("step", (Paragraph(*text), equation), (words(step.rule),), f"rule:{number}")

    def step_equation(self, step: Step, label: str) -> Equation:
        """Return what one step gives."""
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
        """Return the last step of an adjoint in matrix notation."""
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
        """Show the results, the adjoints that they use, and the layout."""
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


def _work(step: Step) -> tuple[Tensor, Tensor | None]:
    """Return what a step belongs to: the adjoint of a tensor, or its tangent along a variable."""
    return step.place, step.along


def _unnamed(t: Tensor) -> Tensor:
    return t if isinstance(t, Input) or t.name is None else t.named(None)


def words(rule: str) -> str:
    """Return the name of a rule in words."""
    return rule.replace("_", " ")


def listed(items: Sequence[Inline]) -> list[Inline]:
    """Return items with commas and a final 'and'."""
    out: list[Inline] = []
    for p, item in enumerate(items):
        if p:
            out.append(" and " if p == len(items) - 1 else ", ")
        out.append(item)
    return out
