r"""``lemmax derive``: gradients of a model's loss, derived step by step and typeset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from lemmax.cli.params import FILE, MODEL, common, inputs_named, loss_of, notation_option
from lemmax.cli.screen import emit_json
from lemmax.errors import UnsupportedYet

if TYPE_CHECKING:
    from lemmax.derivation import Derivation

LAYOUT = "A gradient has the shape of its variable; leading axes (sample, head) are subscripts."


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
@notation_option
@click.option("--steps", is_flag=True, help="Also print each step with its rule.")
@click.option("--inline", is_flag=True, help="Put the definitions of named tensors in their place.")
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
    order: int,
    notation: Literal["matrix", "index"],
    steps: bool,
    inline: bool,
    nonsmooth: Literal["raise", "subgradient"],
    tex: Path | None,
    pdf: Path | None,
    as_json: bool,
) -> None:
    """Derive gradients of a model's loss and print them as LaTeX.

    Named tensors (the attention matrix S, the residual R, adjoints with a bar) are kept and defined
    below the result. Documents hold the derivation with all steps.
    """
    if order > 1:
        raise UnsupportedYet(
            "derive --order 2: printing second derivatives is not supported yet; --order 1 is. "
            "In Python, lemmax.hessian gives them as tensors."
        )
    from lemmax.cli.documents import write_documents
    from lemmax.derivation import derive as derive_gradient

    loss = loss_of(model)
    derivation = derive_gradient(loss, tuple(inputs_named(loss, wrt)), nonsmooth)
    written = write_documents(lambda: derivation.latex(notation), tex, pdf)
    if as_json:
        emit_json(
            {"model": model} | derivation_json(derivation, notation, inline, steps) | {"files": written}
        )
        return
    click.echo("\n".join(text_of(model, derivation, notation, inline, steps)))
    for file in written:
        click.echo(f"wrote {file}")


def text_of(
    model: str, derivation: Derivation, notation: Literal["matrix", "index"], inline: bool, steps: bool
) -> Iterator[str]:
    """Return the lines that are printed."""
    data = derivation_json(derivation, notation, inline, steps)
    yield f"loss of {model}"
    yield f"  f = {data['loss']}"
    for found in data["gradients"]:
        yield f"gradient in {found['wrt']}, shape {found['shape']}"
        yield f"  {found['left']} = {found['latex']}"
    if data["definitions"]:
        yield "where"
        yield from (f"  {d['left']} = {d['right']}" for d in data["definitions"])
    yield f"layout: {LAYOUT}"
    if steps:
        yield f"steps: {len(data['steps'])}"
        for number, step in enumerate(data["steps"], 1):
            yield f"{number:3}. {step['rule']}, at {step['place']}"
            yield f"       {step['before']}"
            yield f"     = {step['after']}"


def derivation_json(
    derivation: Derivation, notation: Literal["matrix", "index"], inline: bool, steps: bool
) -> dict[str, Any]:
    """Return loss, gradients, definitions and, if asked for, steps as JSON-ready data."""
    from lemmax.typeset import definitions, latex

    results = list(derivation.results)
    data: dict[str, Any] = {
        "notation": notation,
        "layout": LAYOUT,
        "loss": latex(derivation.loss, notation, inline=inline),
        "gradients": [
            {
                "wrt": str(v.name),
                "shape": f"({', '.join(map(str, v.shape))})",
                "left": _left(g, str(v.name), notation, inline),
                "latex": latex(g, notation, inline=inline),
            }
            for v, g in zip(derivation.variables, results, strict=True)
        ],
        "definitions": []
        if inline
        else [
            {"left": a, "right": b} for a, b in reversed(definitions([derivation.loss, *results], notation))
        ],
    }
    if steps:
        data["steps"] = [
            {
                "rule": step.rule,
                "place": str(step.place.name) if step.place.name else step.place.label(),
                "before": latex(step.before, notation),
                "after": latex(step.after, notation),
            }
            for step in derivation.steps
        ]
    return data


def _left(gradient: Any, variable: str, notation: Literal["matrix", "index"], inline: bool) -> str:
    """Return the left-hand side of a gradient, with the subscripts of its right-hand side."""
    from lemmax.typeset.latex import inlined, read
    from lemmax.typeset.letters import Letters
    from lemmax.typeset.names import render_name

    shown = inlined(gradient) if inline else gradient
    letters = Letters(shown)
    indices = read(shown, letters, by_entries=notation == "index").indices
    return rf"\partial f / \partial {render_name(letters.name(variable), indices)}"
