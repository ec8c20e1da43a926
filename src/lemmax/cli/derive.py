r"""``lemmax derive``: the gradient of a model's loss, derived and typeset."""

from __future__ import annotations

import click

from lemmax.cli.params import MODEL, common


@click.command()
@click.argument("model", type=MODEL)
@common
def derive(model: str, as_json: bool) -> None:
    """Derive."""
