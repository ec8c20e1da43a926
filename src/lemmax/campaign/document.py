r"""A theorem as a document: sizes, hypotheses, conclusion, false variants, definitions, reference.

What is printed is read off the same record that is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import sympy as sp

from lemmax._version import __version__
from lemmax.expr.relation import Relation
from lemmax.expr.tensor import Tensor
from lemmax.statement.conditions import Claim, Condition, tensors_of
from lemmax.statement.convergence import BACKTRACKING, Convergence
from lemmax.statement.theorem import Theorem
from lemmax.typeset.breaking import LINE, width
from lemmax.typeset.latex import Notation, definitions, latex, latex_relation, notation_table
from lemmax.typeset.names import latex_expression
from lemmax.typeset.records import (
    Block,
    Cite,
    Document,
    Equation,
    Inline,
    Math,
    Paragraph,
    Reference,
    Section,
    Statement,
)

DISPLAYED = LINE / 3
"""Width from which a formula in a text is displayed."""

RELATIONS = {"<=": r"\le", ">=": r"\ge", "<": "<", ">": ">", "==": "=", "!=": r"\ne"}
SCRIPTED = re.compile(r"(?<![\w\\^])(sigma|[A-Za-z])((?:[\^_](?:\{[^}]*\}|-?\w))+)(?!\w)")
BOUNDS = {
    "tight": "The bound is tight: equality occurs.",
    "lower": "It is a lower bound.",
    "upper": "It is an upper bound.",
}


_INITIALS = {"pl": "PL"}
"""Words in names of theorems that are initials: Polyak-Lojasiewicz."""


def theorem_document(theorem: Theorem, notation: Notation = "matrix") -> Document:
    """Return a theorem as a document.

    Args:
        theorem: the theorem.
        notation: ``matrix`` or ``index``.
    """
    title = " ".join(_INITIALS.get(word, word) for word in theorem.name.split("_"))
    roots = [t for part in (*theorem.hypotheses, *theorem.claims) for t in tensors_of(part)]
    sections = [Section("Statement", tuple(_statement(theorem, notation)))]
    defined = definitions(roots, notation)
    if defined:
        equations = [Equation(left, (f"= {right}",)) for left, right in defined]
        sections.append(Section("Definitions", tuple(equations)))
    if theorem.mutants:
        sections.append(Section("False variants", tuple(_variants(theorem, notation))))
    return Document(
        title=(title[:1].upper() + title[1:],),
        sections=tuple(sections),
        notation=tuple(notation_table(roots)),
        references=(Reference("source", theorem.reference),),
        footnote=(f"Written by lemmax {__version__}.",),
    )


def _statement(theorem: Theorem, notation: Notation) -> Iterator[Block]:
    body: list[Block] = []
    if theorem.sizes:
        body.append(Paragraph("Sizes: ", *_joined([Math(size_relation(c)) for c in theorem.sizes]), "."))
    for number, hypothesis in enumerate(theorem.hypotheses, 1):
        body += _hypothesis(number, hypothesis, notation)
    body.append(Paragraph("Then" if theorem.hypotheses or theorem.sizes else "It is claimed that"))
    for claim in theorem.claims:
        body += claim_blocks(claim, notation)
    if theorem.bound is not None:
        body.append(Paragraph(BOUNDS[theorem.bound]))
    if theorem.statement:
        yield from words(theorem.statement)
    yield Statement("theorem", tuple(body), (theorem.name,), "theorem")
    if theorem.expected == "refuted":
        yield Paragraph(
            "This claim is false: the expected verdict is ", "refuted. See ", Cite(("source",)), "."
        )
    else:
        yield Paragraph("The expected verdict is ", "holds. See ", Cite(("source",)), ".")


def _hypothesis(number: int, hypothesis: Condition, notation: Notation) -> list[Block]:
    name = f"Hypothesis {number}, {hypothesis.name}"
    if isinstance(hypothesis, Relation):
        return [Paragraph(f"{name}:"), Equation(latex_relation(hypothesis, notation))]
    inputs = _joined([Math(latex(t)) for t in hypothesis.inputs])
    return [Paragraph(f"{name}: ", *inputs, " lie outside some set of measure zero.")]


def claim_blocks(claim: Claim, notation: Notation) -> list[Block]:
    """Return a claim as displayed formulas."""
    if isinstance(claim, Relation):
        return [Equation(latex_relation(claim, notation))]
    return list(_convergence(claim, notation))


def _convergence(claim: Convergence, notation: Notation) -> Iterator[Block]:
    variables = _joined([Math(latex(v)) for v in claim.variables])
    intro: tuple[Inline, ...] = ("Gradient descent on ", *variables, ", all else held fixed, ")
    if claim.step == BACKTRACKING:
        yield Paragraph(*intro, "with steps found by backtracking,")
    else:
        yield Paragraph(*intro, "with the step")
        yield Equation(r"\eta", (f"= {_scalar(claim.step, notation)}",))
    loss = rf"f = {latex(claim.loss, notation)}"
    yield Paragraph("has losses ", Math("f_t"), " of ", Math(loss), " with")
    if claim.rate is not None:
        yield Equation("f_t", (rf"\le \rho^t f_0, \quad 1 \le t \le {claim.steps},",))
        yield Equation(r"\rho", (f"= {_scalar(claim.rate, notation)}",))
    else:
        yield Equation(
            f"f_{{{claim.steps}}}", (rf"\le {latex_expression(sp.nsimplify(claim.reaches))}\, f_0",)
        )


def _scalar(value: object, notation: Notation) -> str:
    if isinstance(value, Tensor):
        return latex(value, notation)
    return latex_expression(sp.sympify(value) if isinstance(value, int | float | sp.Expr) else sp.Symbol("?"))


def _variants(theorem: Theorem, notation: Notation) -> Iterator[Block]:
    yield Paragraph("Each of these is false, and a check must refute it.")
    for number, mutant in enumerate(theorem.mutants, 1):
        yield Paragraph(f"{number}. {mutant.name}: ", *plain_words(f"{mutant.reason.rstrip('.')}."))
        left_out = [_dropped(d) for d in mutant.dropped]
        if left_out:
            yield Paragraph("Left out: ", *_joined(left_out), ".")
        for claim in mutant.claims:
            yield from claim_blocks(claim, notation)


def _dropped(what: str | sp.Rel) -> Inline:
    return what if isinstance(what, str) else Math(size_relation(what))


def size_relation(constraint: sp.Rel) -> str:
    """Return a constraint on sizes as LaTeX."""
    lhs, rhs = latex_expression(constraint.lhs), latex_expression(constraint.rhs)
    return f"{lhs} {RELATIONS[constraint.rel_op]} {rhs}"


def plain_words(text: str) -> Iterator[Inline]:
    """Split a text that is read on the screen too: its names with scripts, as in W^O, become formulas."""
    for piece in pieces(text):
        if isinstance(piece, str):
            yield from _scripted(piece)
        else:
            yield piece


def _scripted(text: str) -> Iterator[Inline]:
    end = 0
    for found in SCRIPTED.finditer(text):
        if found.start() > end:
            yield text[end : found.start()]
        base, scripts = found.group(1), re.findall(r"[\^_](?:\{[^}]*\}|-?\w)", found.group(2))
        formula = rf"\{base}" if len(base) > 1 else base
        for number, script in enumerate(scripts):
            # a second superscript needs braces around the first: {W^{Q}}^{T}
            formula = rf"{{{formula}}}" if number else formula
            formula += script[0] + "{" + script[1:].strip("{}") + "}"
        yield Math(formula)
        end = found.end()
    if text[end:]:
        yield text[end:]


def words(text: str) -> Iterator[Block]:
    """Return a text with formulas as blocks; formulas too long for a line of text are displayed."""
    line: list[Inline] = []
    for piece in pieces(text):
        if isinstance(piece, Math) and width(piece.latex) > DISPLAYED:
            if line:
                yield Paragraph(*line)
            line = []
            yield Equation(piece.latex)
        elif line or not isinstance(piece, str) or piece.strip(" .,;"):
            line.append(piece)
    if line:
        yield Paragraph(*line)


def pieces(text: str) -> Iterator[Inline]:
    r"""Split a text with formulas between dollar signs."""
    for position, part in enumerate(re.split(r"\$([^$]*)\$", text)):
        if position % 2:
            yield Math(part)
        elif part:
            yield part


def _joined(items: Sequence[Inline]) -> list[Inline]:
    joined: list[Inline] = []
    for item in items:
        joined += [", ", item] if joined else [item]
    return joined
