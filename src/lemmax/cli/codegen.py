r"""``lemmax codegen``: gradients of a model's loss as NumPy source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lemmax.cli.params import FILE, MODEL, common, inputs_named, loss_of
from lemmax.cli.screen import emit_json


@click.command()
@click.argument("model", type=MODEL)
@click.option(
    "--wrt",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Weight to differentiate in, W^Q or WQ; may be repeated.",
)
@click.option("--value", is_flag=True, help="Also return the loss, first.")
@click.option("--batch", is_flag=True, help="Give every array a leading axis of instances.")
@click.option(
    "-o", "--output", type=FILE, metavar="FILE.py", help="File to write; without it the source is printed."
)
@common
def codegen(
    model: str, wrt: Sequence[str], value: bool, batch: bool, output: Path | None, as_json: bool
) -> None:
    """Write NumPy code for the gradients of a model's loss.

    The file needs NumPy only. A file that exists is replaced only by a finished one.
    """
    from lemmax.calculus.gradient import gradient
    from lemmax.cli.files import write_text
    from lemmax.codegen import compile as generate
    from lemmax.expr.tensor import identifier

    loss = loss_of(model)
    variables = inputs_named(loss, wrt)
    gradients = list(gradient(loss, tuple(variables)))
    names = [f"grad_{identifier(str(v.name))}" for v in variables]
    roots = [loss, *gradients] if value else gradients
    outputs = ["loss", *names] if value else names
    stem = ("value_and_gradients" if value else "gradients") if len(roots) > 1 else f"gradient_{names[0][5:]}"
    function = generate(roots if len(roots) > 1 else roots[0], batch=batch, name=stem, outputs=outputs)
    if output is not None:
        write_text(output, function.source)
    if as_json:
        emit_json(
            {
                "model": model,
                "function": function.__name__,
                "inputs": list(function.inputs),
                "outputs": outputs,
                "batch": batch,
                "file": None if output is None else str(output),
                "source": function.source,
            }
        )
    elif output is not None:
        click.echo(f"{output}: {function.__name__}({', '.join(function.inputs)}) -> {', '.join(outputs)}")
    else:
        click.echo(function.source, nl=False)
