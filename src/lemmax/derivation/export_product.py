"""A derivation of Hessian-vector products as a document: gradients, then their change along a line."""

from __future__ import annotations

from lemmax.derivation.export import LAYOUT, listed
from lemmax.derivation.export_second import SecondWriter
from lemmax.derivation.line_rules import LINE_RULES
from lemmax.derivation.record import Step
from lemmax.expr.nodes import Derivative
from lemmax.expr.tensor import Tensor
from lemmax.typeset.latex import read
from lemmax.typeset.records import Block, Equation, Inline, Math, Paragraph, Ref, Section, SectionBuilder


class ProductWriter(SecondWriter):
    """Writes the derivation of the product of a Hessian with directions."""

    def title(self) -> tuple[Inline, ...]:
        """Return what is derived."""
        variables = [self.name(v) for v in self.derivation.variables]
        directions = [self.name(u) for u in self.derivation.directions]
        return ("Derivation of the Hessian in ", *listed(variables), " times ", *listed(directions))

    def introduction(self) -> list[Block]:
        """Say how the derivation goes."""
        return [
            *super().introduction(),
            Paragraph(
                "The product of the Hessian with a direction is the derivative of the gradient along a line"
                " in that direction. Tensors on the line, at the moved variables, carry a hat."
            ),
        ]

    def heading(self, step: Step) -> Block:
        """Say what the steps that follow work on."""
        if step.rule in LINE_RULES:
            return Paragraph(
                "Gradient in ", Math(self.left(self.display(step.place), False)), " on the line."
            )
        return super().heading(step)

    def step_equation(self, step: Step, label: str) -> Equation:
        """Return what one step gives."""
        if step.rule == "move_along_direction":
            right = self.right(self.display.body(step.after, True), True)
            return Equation(self.left(self.display(step.after), True), (f"= {right}",), label)
        if step.rule == "set_step_to_zero":
            right = self.right(self.plain.body(step.after, True), True)
            return Equation(self.product_left(step.place, True), (f"= {right}",), label)
        return super().step_equation(step, label)

    def product_left(self, variable: Tensor, by_entries: bool) -> str:
        """Return the derivative of a gradient in the directions."""
        directions = ", ".join(self.name(u).latex for u in self.derivation.directions)
        slope = self.right(Derivative(self.loss, self.display(variable)), by_entries)
        return rf"\mathrm{{D}}_{{{directions}}} {slope}"

    def result_section(self) -> Section:
        """Show the products, the tensors that they use, and the layout."""
        section = SectionBuilder("Result", "result")
        by_entries = self.notation == "index"
        pairs = list(zip(self.derivation.variables, self.derivation.results, strict=True))
        for number, (variable, result) in enumerate(pairs, 1):
            formula = read(self.plain.body(result), self.letters, by_entries)
            left = self.product_left(variable, by_entries)
            section.add(Equation(left, (f"= {formula.text}",), f"result:{number}"))
        used = self.adjoints_used()
        if used:
            section.add(Paragraph("with"), *[self.definition(t) for t in used])
        labels = [f"result:{p + 1}" for p in range(len(pairs))]
        section.add(
            Paragraph(
                "A product has the shape of its variable, as the gradient. ",
                LAYOUT,
                " This holds for ",
                Ref(*labels),
                "; the loss is ",
                Ref("loss"),
                ".",
            )
        )
        return section.build()
