r"""``lemmax derive``: gradients of a model's loss, derived step by step and typeset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from lemmax.cli.params import FILE, MODEL, common, inputs_named, loss_of, notation_option
from lemmax.cli.screen import emit_json

if TYPE_CHECKING:
    from lemmax.derivation import Derivation
    from lemmax.expr.tensor import Tensor
    from lemmax.typeset.latex import Formula, MatrixOf, Order
    from lemmax.typeset.records import Block, Equation

Notation = Literal["matrix", "index"]


@click.command()
@click.argument("model", type=MODEL)
@click.option(
    "--wrt",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Weight to differentiate in, W^Q or WQ; may be repeated.",
)
@click.option(
    "--order", type=click.IntRange(1, 2), default=1, show_default=True, help="Order of the derivative."
)
@click.option(
    "--part",
    type=click.Choice(["total", "outer", "functional"]),
    default="total",
    show_default=True,
    help="Of a Hessian: all of it, its outer (Gauss-Newton) or its functional part.",
)
@click.option(
    "--through",
    metavar="NAME",
    help="Of a part: the tensor through which the loss depends on the weights.  [default: chosen]",
)
@notation_option
@click.option(
    "--vec",
    type=click.Choice(["row", "column"]),
    default="row",
    show_default=True,
    help="Of a Hessian block: order of its rows and columns.",
)
@click.option("--steps", is_flag=True, help="Also print each step with its rule.")
@click.option(
    "--inline", is_flag=True, help="Print the results with the definitions of named tensors in their place."
)
@click.option(
    "--nonsmooth",
    type=click.Choice(["raise", "subgradient"]),
    default="raise",
    show_default=True,
    help="What to do at a kink.",
)
@click.option("--tex", type=FILE, metavar="FILE.tex", help="Write the derivation as a LaTeX document.")
@click.option("--pdf", type=FILE, metavar="FILE.pdf", help="Write it as a PDF; needs a LaTeX engine.")
@common
def derive(
    model: str,
    wrt: Sequence[str],
    order: Literal[1, 2],
    part: Literal["total", "outer", "functional"],
    through: str | None,
    notation: Notation,
    vec: Order,
    steps: bool,
    inline: bool,
    nonsmooth: Literal["raise", "subgradient"],
    tex: Path | None,
    pdf: Path | None,
    as_json: bool,
) -> None:
    """Derive gradients of a model's loss, or blocks of its Hessian, and print them as LaTeX.

    With --order 2 the blocks of all pairs of the weights are derived, each pair once.
    Named tensors (the attention matrix S, the residual R, adjoints with a bar) are kept and defined
    below the result. Each step is replayed, by its rule and in numbers, before anything is shown.
    Documents hold the derivation with all steps.
    """
    if order == 1 and (part != "total" or through is not None):
        raise click.UsageError("--part and --through are about a Hessian; add --order 2.")
    if part == "total" and through is not None:
        raise click.UsageError("--through is about a part; add --part outer or --part functional.")
    if order == 1 and vec != "row":
        raise click.UsageError("--vec is the order of a Hessian block; add --order 2.")
    from lemmax.cli.documents import write_documents
    from lemmax.derivation import derive as derive_from

    loss = loss_of(model)
    derivation = derive_from(
        loss, tuple(inputs_named(loss, wrt)), nonsmooth, order=order, part=part, through=through
    )
    derivation.replay()
    written = write_documents(lambda: derivation.latex(notation, vec), tex, pdf)
    if as_json:
        emit_json(
            {"model": model} | derivation_json(derivation, notation, vec, inline, steps) | {"files": written}
        )
        return
    click.echo("\n".join(text_of(model, derivation, notation, vec, inline, steps)))
    for file in written:
        click.echo(f"wrote {file}")


def text_of(
    model: str, derivation: Derivation, notation: Notation, vec: Order, inline: bool, steps: bool
) -> Iterator[str]:
    """Return the lines that are printed."""
    data = derivation_json(derivation, notation, vec, inline, steps)
    yield f"loss of {model}"
    yield f"  {data['loss']}"
    for found in data.get("gradients", ()):
        yield f"gradient in {found['wrt']}, shape {found['shape']}"
        yield f"  {found['latex']}"
    part = {"outer": "outer part of the ", "functional": "functional part of the "}.get(derivation.part, "")
    for found in data.get("blocks", ()):
        yield f"{part}Hessian block in {', '.join(found['wrt'])}, shape {found['shape']}"
        yield f"  {found['latex']}"
    if data["definitions"]:
        yield "where"
        yield from (f"  {definition}" for definition in data["definitions"])
    yield from known_of(data)
    yield f"layout: {data['layout']}"
    yield f"replay: each of the {len(derivation.steps)} steps holds by its rule and in numbers"
    if steps:
        yield f"steps: {len(data['steps'])}"
        for number, step in enumerate(data["steps"], 1):
            yield f"{number:3}. {step['rule']}, at {step['place']}"
            yield f"       {step['as_before'] or step['latex']}"


def derivation_json(
    derivation: Derivation, notation: Notation, vec: Order, inline: bool, steps: bool
) -> dict[str, Any]:
    """Return loss, gradients or blocks, definitions and, if asked for, steps as JSON-ready data."""
    from lemmax.derivation.export import LAYOUT, derivation_document
    from lemmax.derivation.export_second import block_layout
    from lemmax.derivation.listing import listed_steps

    loss, _, result = derivation_document(derivation, notation, vec).sections
    (scalar, *parts), equations = equations_of(loss.body), equations_of(result.body)
    count = len(derivation.results)
    shown = [text_of_equation(e) for e in equations[:count]]
    if inline:
        scalar, parts, shown = _inlined(derivation, notation, vec)
        equations = equations[:count]
    data: dict[str, Any] = {
        "notation": notation,
        "layout": block_layout(notation, vec) if derivation.blocks else LAYOUT,
        "replayed": True,
        "loss": text_of_equation(scalar),
        **results_json(derivation, shown),
        "definitions": [text_of_equation(e) for e in (*equations[count:], *parts)],
    }
    if steps:
        data["steps"] = [
            {"rule": s.rule, "place": s.place, "latex": s.latex, "as_before": s.unseen}
            for s in listed_steps(derivation, notation)
        ]
    return data


def results_json(derivation: Derivation, shown: Sequence[str]) -> dict[str, Any]:
    """Return gradients, or blocks of a Hessian with what is known of them, as JSON-ready data."""
    if not derivation.blocks:
        return {
            "gradients": [
                {"wrt": str(v.name), "shape": shape_text(v), "latex": text}
                for v, text in zip(derivation.variables, shown, strict=True)
            ]
        }
    data: dict[str, Any] = {
        "part": derivation.part,
        "blocks": [
            {"wrt": [str(a.name), str(b.name)], "shape": shape_text(result), "latex": text}
            for (a, b), result, text in zip(derivation.blocks, derivation.results, shown, strict=True)
        ],
    }
    if derivation.middle is not None:
        data["through"] = derivation.middle.name or derivation.middle.describe()
    if derivation.part == "outer":
        data["positive_semidefinite_because"] = derivation.psd_reason
    if derivation.linear_in is not None:
        data["linear_in"] = derivation.linear_in.name or derivation.linear_in.describe()
    return data


def shape_text(t: Tensor) -> str:
    """Return a shape as a tuple of sizes by name."""
    return f"({', '.join(map(str, t.shape))})"


def known_of(data: dict[str, Any]) -> Iterator[str]:
    """Return what is known of a part of a Hessian, in lines."""
    if "through" in data:
        yield f"through: {data['through']}"
    if "positive_semidefinite_because" in data:
        reason = data["positive_semidefinite_because"]
        yield f"positive semidefinite (all blocks together): {reason or 'not shown'}"
    if "linear_in" in data:
        yield f"linear in: {data['linear_in']}"


def equations_of(blocks: Sequence[Block]) -> list[Equation]:
    """Return the displayed formulas among blocks."""
    from lemmax.typeset.records import Equation

    return [block for block in blocks if isinstance(block, Equation)]


def text_of_equation(equation: Equation) -> str:
    """Return a displayed formula in one line."""
    return " ".join((equation.left, *equation.right))


def _inlined(
    derivation: Derivation, notation: Notation, vec: Order
) -> tuple[Equation, list[Equation], list[str]]:
    """Return loss and gradients with the definitions of named tensors in their place."""
    from lemmax.typeset.latex import MatrixOf, inlined, read
    from lemmax.typeset.letters import Letters
    from lemmax.typeset.names import render_name
    from lemmax.typeset.records import Equation

    def right(t: Tensor, matrix: MatrixOf | None = None) -> Formula:
        bare = inlined(t)
        return read(bare, Letters(bare), by_entries=notation == "index", matrix=matrix)

    texts = []
    if derivation.blocks:
        from lemmax.derivation.export_second import SecondWriter

        writer = SecondWriter(derivation, notation, vec)
        for (a, b), result in zip(derivation.blocks, derivation.results, strict=True):
            formula = right(result, MatrixOf(a.ndim, vec))
            texts.append(f"{writer.block_left(a, b, formula)} = {formula.text}")
        return Equation("f", (f"= {right(derivation.f).text}",)), [], texts
    for variable, result in zip(derivation.variables, derivation.results, strict=True):
        formula = right(result)
        name = render_name(formula.scope.letters.name(str(variable.name)), formula.indices)
        texts.append(rf"\frac{{\partial f}}{{\partial {name}}} = {formula.text}")
    return Equation("f", (f"= {right(derivation.loss).text}",)), [], texts
