r"""``lemmax export``: the gradient of a model's loss, exportd and typeset."""

from __future__ import annotations

import click

from lemmax.cli.params import MODEL, common


@click.command()
@click.argument("model", type=MODEL)
@common
def export(model: str, as_json: bool) -> None:
    """Export."""
