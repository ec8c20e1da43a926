r"""``lemmax export``: a model's derivation or a theorem as a document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from lemmax.campaign.names import suggestion
from lemmax.cli.params import FILE, common, notation_option
from lemmax.cli.screen import emit_json

Notation = Literal["matrix", "index"]


@click.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--tex", type=FILE, metavar="FILE.tex", help="LaTeX file to write; without it the text is printed."
)
@click.option("--pdf", type=FILE, metavar="FILE.pdf", help="PDF file to write; needs a LaTeX engine.")
@click.option("--fragment", is_flag=True, help="Only what is to be \\input in one's own paper.")
@notation_option
@common
def export(
    name: str, tex: Path | None, pdf: Path | None, fragment: bool, notation: Notation, as_json: bool
) -> None:
    """Write a model's derivation or a theorem as a LaTeX document.

    NAME is the name of a model (all its weights are derived in), the name of a theorem, or the path of a
    theorem file. A file that exists is replaced only by a finished one.
    """
    from lemmax.cli.documents import write_documents

    if fragment and pdf is not None:
        raise click.UsageError("--fragment gives no document of its own, so --pdf cannot be had of it.")
    kind, make = _found(name, fragment, notation)
    text = make()
    written = write_documents(lambda: text, tex, pdf)
    if as_json:
        emit_json({"name": name, "kind": kind, "fragment": fragment, "files": written, "latex": text})
    elif written:
        for file in written:
            click.echo(f"wrote {file}")
    else:
        click.echo(text, nl=False)


def _found(name: str, fragment: bool, notation: Notation) -> tuple[str, Callable[[], str]]:
    """Return what a name stands for, and what makes its LaTeX.

    Raises:
        DataError: it is neither a model nor a theorem.
    """
    from lemmax.models import MODELS

    if name in MODELS:
        return "derivation", lambda: _derivation(name, fragment, notation)
    from lemmax.campaign.registry import find_files, known_names, load
    from lemmax.errors import DataError

    path = Path(name)
    if not path.exists() and name not in known_names():
        hint = suggestion(name, [*MODELS, *known_names()])
        raise DataError(f"There is neither a model nor a theorem called {name}. {hint}")
    if path.is_dir():
        raise DataError(f"{name} is a folder; give one theorem file, or the name of a model or theorem.")
    (file,) = find_files([name])
    return "theorem", lambda: _theorem(load(file), fragment, notation)


def _derivation(name: str, fragment: bool, notation: Notation) -> str:
    from lemmax.derivation import derive
    from lemmax.models import MODELS

    build: Callable[[], object] = MODELS[name]
    model = build()
    derivation = derive(model.loss, tuple(model.weights))  # type: ignore[attr-defined]
    return derivation.fragment(notation) if fragment else derivation.latex(notation)


def _theorem(theorem: object, fragment: bool, notation: Notation) -> str:
    from lemmax.campaign.document import theorem_document
    from lemmax.typeset.document import render_document, render_fragment

    document = theorem_document(theorem, notation)  # type: ignore[arg-type]
    return render_fragment(document) if fragment else render_document(document)
