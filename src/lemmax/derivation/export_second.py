"""A derivation of blocks of a Hessian as a document: gradients, then tangents, then the blocks."""

from __future__ import annotations

from lemmax.derivation.export import Writer, listed
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.split_rules import SPLIT_RULES, split_of
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Derivative, Input
from lemmax.expr.sizes import is_one
from lemmax.expr.tensor import Tensor
from lemmax.typeset.latex import Formula, MatrixOf, Notation, Order, read
from lemmax.typeset.records import (
    Block,
    Equation,
    Inline,
    Math,
    Paragraph,
    Ref,
    Section,
    SectionBuilder,
)
from lemmax.typeset.render_rules import tex_slice


def block_layout(notation: Notation, vec: Order) -> str:
    """Return how a block of the Hessian is to be read."""
    if notation == "index":
        return (
            "A block of the Hessian has the axes of its first variable, then those of its second. Axes with"
            " a subscript are entries."
        )
    order = "row by row (last axis fastest)" if vec == "row" else "column by column"
    return (
        "A block of the Hessian is a matrix: the entries of its first variable number the rows, those of its"
        f" second the columns, both {order}; leading axes (heads) are subscripts."
    )


_PARTS = {"total": "", "outer": "outer part of the ", "functional": "functional part of the "}


class SecondWriter(Writer):
    """Writes the derivation of blocks of a Hessian, or of one of their parts."""

    def __init__(self, derivation: Derivation, notation: Notation, vec: Order = "row") -> None:
        """Choose names and letters."""
        super().__init__(derivation, notation)
        self.vec: Order = vec
        self.plain = self.display.without_derivatives()
        self.split = None
        if derivation.middle is not None:
            weights = [w for pair in derivation.blocks for w in pair]
            self.split = split_of(derivation.f, weights, derivation.variables, derivation.middle)

    def title(self) -> tuple[Inline, ...]:
        """Return what is derived."""
        blocks = self.derivation.blocks
        names = [self.name(w) for w in dict.fromkeys(w for pair in blocks for w in pair)]
        what = f"{_PARTS[self.derivation.part]}Hessian {'block' if len(blocks) == 1 else 'blocks'}"
        return (f"Derivation of the {what} in ", *listed(names))

    def shown_roots(self) -> list[Tensor]:
        """Return the loss, the middle tensor and the results."""
        middle = [] if self.derivation.middle is None else [self.plain(self.derivation.middle)]
        return [self.loss, *middle, *map(self.plain.body, self.derivation.results)]

    # -- the loss ----------------------------------------------------------------------------
    def loss_section(self) -> Section:
        """Show the loss and the tensors that it is made of."""
        section = super().loss_section()
        if self.split is None:
            return section
        builder = SectionBuilder(section.title)
        builder.add(*section.body)
        held = self.left(self.split.held, False)
        builder.add(
            Paragraph("All dependence on the weights goes through ", Math(held), ", which stands for")
        )
        middle = self.display(self.split.middle)
        by_entries = self.notation == "index"
        if middle.name is None or isinstance(middle, Input):
            builder.add(self.definition(self.plain(self.split.middle).named(self.split.held.name)))
        else:
            builder.add(
                Equation(self.left(self.split.held, by_entries), (f"= {self.left(middle, by_entries)}",))
            )
            builder.add(self.definition(middle))
        known = {t.digest for t in topological_order(self.loss)}
        inner = [t for t in reversed(topological_order(middle)) if t.digest not in known and t != middle]
        builder.add(*[self.definition(t) for t in inner if t.name is not None and not isinstance(t, Input)])
        return builder.build()

    # -- steps -------------------------------------------------------------------------------
    def introduction(self) -> list[Block]:
        """Say how the derivation goes."""
        return [
            *super().introduction(),
            Paragraph(
                "The second derivatives are derivatives of what was found so. They are taken from the"
                " variables to the result, by forward accumulation."
            ),
        ]

    def heading(self, step: Step) -> Block:
        """Say what the steps that follow work on."""
        name = Math(self.left(self.display(step.place), False))
        if step.rule in SPLIT_RULES and step.along is not None:
            along = Math(self.left(self.display(step.along), False))
            return Paragraph(f"The {_PARTS[self.derivation.part]}block in ", name, " and ", along, ".")
        if step.rule in SPLIT_RULES:
            return Paragraph("Pairing with the slope.")
        if step.along is not None:
            along = Math(self.left(self.display(step.along), False))
            return Paragraph("Derivative of ", name, " in ", along, ".")
        if self.split is not None and step.place == self.split.pairing:
            return Paragraph("Pairing with the slope.")
        return super().heading(step)

    def step_equation(self, step: Step, label: str) -> Equation:
        """Return what one step gives."""
        if step.rule == "name_middle_tensor" or (self.split is not None and step.place == self.split.loss):
            return Equation(self.left(self.loss, True), (f"= {self.right(self.loss, True)}",), label)
        if step.along is None:
            return super().step_equation(step, label)
        right = self.right(self.display.body(step.after, True), True)
        if step.rule in SPLIT_RULES:
            left = self.block_left(step.place, step.along, self.entries_of(step.place, step.along))
            if step.rule == "inline_block":
                right = self.right(self.plain.body(step.after, True), True)
        elif step.rule == "write_out_definitions":
            left = self.left(self.display(step.place), True)
        else:
            left = self.right(Derivative(self.display(step.place), self.display(step.along)), True)
        return Equation(left, (f"= {right}",), label)

    def entries_of(self, a: Tensor, b: Tensor) -> Formula:
        """Return indices for the entries of a block."""
        return read(Input("H", a.shape + b.shape), self.letters, True)

    def block_left(self, a: Tensor, b: Tensor, formula: Formula) -> str:
        """Return the second derivative in two variables, with the subscripts of a formula."""
        first, second = self.display(a), self.display(b)
        paired = formula.layout is not None or (a.ndim == b.ndim == 1 and formula.slots == (None, None))
        ones = [] if paired else [p for p, s in enumerate(a.shape + b.shape) if is_one(s)]
        slots = [0 if p in ones else i for p, i in enumerate(formula.slots)]
        below = [
            tex_slice(t, tuple(at), formula.scope)
            for t, at in ((first, slots[: a.ndim]), (second, slots[a.ndim :]))
        ]
        if paired:
            below = [self.variable(name, t) for name, t in zip(below, (a, b), strict=True)]
            below[1] += r"^\top"
        scalar = self.left(self.loss, False)
        text = rf"\frac{{\partial^2 {scalar}}}{{\partial {below[0]} \, \partial {below[1]}}}"
        if self.derivation.part == "total":
            return text
        return rf"\biggl( {text} \biggr)_{{\mathrm{{{self.derivation.part}}}}}"

    def variable(self, name: str, t: Tensor) -> str:
        """Return a variable that numbers rows or columns; of a matrix its entries in their order."""
        if sum(not is_one(s) for s in t.shape[-2:]) == 2:
            return rf"\operatorname{{vec}}({name})"
        return f"({name})" if "^" in name else name

    def block(self, a: Tensor, result: Tensor) -> Formula:
        """Return a block of which ``a`` numbers the rows, read as one matrix or by its entries."""
        matrix = MatrixOf(a.ndim, self.vec)
        return read(result, self.letters, self.notation == "index", matrix=matrix)

    def in_matrices(self, step: Step) -> list[Block]:
        """Return the last step of an adjoint in matrix notation."""
        return super().in_matrices(step) if step.along is None else []

    # -- result ------------------------------------------------------------------------------
    def result_section(self) -> Section:
        """Show the results, the adjoints that they use, and the layout."""
        section = SectionBuilder("Result", "result")
        derivation = self.derivation
        for number, ((a, b), result) in enumerate(zip(derivation.blocks, derivation.results, strict=True), 1):
            formula = self.block(a, self.plain.body(result))
            left = self.block_left(a, b, formula)
            section.add(Equation(left, (f"= {formula.text}",), f"result:{number}"))
        used = self.adjoints_used()
        if used:
            section.add(Paragraph("with"), *[self.definition(t) for t in used])
        section.add(*self.claims())
        labels = [f"result:{p + 1}" for p in range(len(derivation.results))]
        section.add(
            Paragraph(
                block_layout(self.notation, self.vec),
                " This holds for ",
                Ref(*labels),
                "; the loss is ",
                Ref("loss"),
                ".",
            )
        )
        return section.build()

    def claims(self) -> list[Block]:
        """Say what is known of a part."""
        derivation = self.derivation
        if derivation.part == "outer":
            if derivation.psd_reason is None:
                return [Paragraph("It was not shown that this part is positive semidefinite.")]
            return [
                Paragraph(
                    "The outer parts of all blocks together are positive semidefinite, because"
                    f" {derivation.psd_reason}: they are the curvature between a Jacobian and its transpose."
                )
            ]
        if derivation.linear_in is not None:
            shown = self.plain(derivation.linear_in)
            name = Math(self.left(shown, False) if shown.name else self.right(shown, False))
            return [Paragraph("The functional part is linear in ", name, ".")]
        return []

    def adjoints_used(self) -> list[Tensor]:
        """Return the named tensors that the results use and the loss does not define."""
        given = [self.loss] if self.split is None else [self.loss, self.plain(self.split.middle)]
        known = {t.name for t in topological_order(*given)}
        order = topological_order(*map(self.plain.body, self.derivation.results))
        return [t for t in reversed(order) if t.name and not isinstance(t, Input) and t.name not in known]
