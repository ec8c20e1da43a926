r"""Options and arguments: those that all commands share, models by name, weights by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lemmax.campaign.names import suggestion

if TYPE_CHECKING:
    from lemmax.expr.nodes import Input
    from lemmax.expr.tensor import Tensor

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


def common(command: Command) -> Command:
    """Add the options that every command has; ``--debug`` is read by ``main``."""
    debug = click.option(
        "--debug", is_flag=True, expose_value=False, help="Show where an error comes from (a traceback)."
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
    return as_json(debug(command))


class ModelName(click.ParamType):  # type: ignore[type-arg]
    """The name of a shipped model."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        from lemmax.models import MODELS

        if value not in MODELS:
            self.fail(f"There is no model called {value}. {suggestion(value, MODELS)}", param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show as MODEL."""
        return "MODEL"


MODEL = ModelName()


def loss_of(model: str) -> Tensor:
    """Return the loss of a model."""
    from lemmax.models import MODELS

    build: Callable[[], Any] = MODELS[model]
    loss: Tensor = build().loss
    return loss


def inputs_named(loss: Tensor, names: Sequence[str]) -> list[Input]:
    """Return inputs of a loss by their names, as written (``W^Q``) or as in code (``WQ``).

    Raises:
        click.BadParameter: there is none of that name, or one is named twice.
    """
    from lemmax.expr.graph import inputs_of
    from lemmax.expr.tensor import identifier

    known = inputs_of(loss)
    by_name = {str(t.name): t for t in known} | {identifier(str(t.name)): t for t in known}
    chosen: list[Input] = []
    for name in names:
        if name not in by_name:
            hint = suggestion(name, [str(t.name) for t in known])
            raise click.BadParameter(f"there is no input called {name}. {hint}", param_hint="'--wrt'")
        if by_name[name] in chosen:
            raise click.BadParameter(f"{name} is given twice.", param_hint="'--wrt'")
        chosen.append(by_name[name])
    return chosen


def notation_option(command: Command) -> Command:
    """Add the option ``--notation``."""
    return click.option(
        "--notation",
        type=click.Choice(["matrix", "index"]),
        default="matrix",
        show_default=True,
        help="Notation of formulas.",
    )(command)
