import click
from lemmax.cli.params import common


@click.command("list")
@common
def list_(as_json: bool) -> None:
    """List."""
