r"""``lemmax formula``: is a claimed gradient right, and if not, what is wrong with it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lemmax.cli.params import MODEL, common, inputs_named, loss_of
from lemmax.cli.screen import emit_json

if TYPE_CHECKING:
    from lemmax.check.diagnosis import Diagnosis
    from lemmax.expr.tensor import Tensor


EXAMPLES = (
    "\b\n"
    + r"""Examples:
  lemmax formula softmax-attention --wrt W^V '\sum_i X_i^\top S_{ih}^\top R_i W^{O\top}_h'
  lemmax formula --loss '\|X w - y\|^2' --shape X=n,D --shape w=D --shape y=n \
      --wrt w '2 X^\top (X w - y)'
"""
)


@click.command(epilog=EXAMPLES)
@click.argument("words", nargs=-1, required=True, metavar="[MODEL] FORMULA")
@click.option("--wrt", required=True, metavar="NAME", help="Variable of the gradient, W^Q or WQ.")
@click.option("--loss", "loss_text", metavar="LATEX", help="A loss of your own, instead of MODEL.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=SIZES",
    help="Shape of an input of your loss, such as X=n,D (scalars: b=); once per input.",
)
@click.option(
    "--nonsmooth",
    type=click.Choice(["raise", "subgradient"]),
    default="raise",
    show_default=True,
    help="What to do at a kink.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the points tried."
)
@common
def formula(
    words: Sequence[str],
    wrt: str,
    loss_text: str | None,
    shapes: Sequence[str],
    nonsmooth: Any,
    seed: int,
    as_json: bool,
) -> int:
    r"""Say whether a claimed gradient, written in LaTeX, is right.

    FORMULA may use the inputs of the loss, its named tensors (S, R, ...) and the adjoints that
    `lemmax derive` names (\bar{S}, ...). If it is wrong, the smallest witness is shown, and what is wrong if
    one change mends it. The exit code is 0 if the formula is proved, 1 if it is not.
    """
    from lemmax.calculus.gradient import gradient
    from lemmax.check.diagnosis import diagnose
    from lemmax.parse import parse_latex

    loss, text = _loss_and_formula(words, loss_text, shapes)
    (variable,) = inputs_named(loss, [wrt])
    right = gradient(loss, variable, nonsmooth)
    assert not isinstance(right, tuple)
    claim = parse_latex(text, names_of(loss, right))
    found = diagnose(claim, right, seed=seed)
    if as_json:
        emit_json(_data(found, right))
    else:
        click.echo("\n".join(_lines(found, str(variable.name), right)))
    return 0 if found.verdict.name == "proved" else 1


def names_of(loss: Tensor, right: Tensor) -> dict[str, Tensor]:
    """Return what a formula may use by name: inputs and named tensors of the loss, and the adjoints."""
    from lemmax.calculus.flatten import flatten
    from lemmax.expr.graph import topological_order

    # the gradient is made of the flattened forms of S, R ..., so these are what the names mean
    (flat,) = flatten([loss])
    return {str(t.name): t for t in topological_order(flat, right) if t.name is not None and t != flat}


def _loss_and_formula(
    words: Sequence[str], loss_text: str | None, shapes: Sequence[str]
) -> tuple[Tensor, str]:
    """Return the loss, and the text of the formula."""
    if loss_text is None:
        if len(words) != 2 or shapes:
            raise click.UsageError(
                "Expected MODEL and FORMULA, or --loss with --shape for each input and FORMULA alone."
            )
        loss = loss_of(MODEL.convert(words[0], None, click.get_current_context()))
        return loss, words[1]
    if len(words) != 1:
        raise click.UsageError("With --loss give FORMULA alone, in quotes.")
    from lemmax.parse import parse_latex

    inputs = dict(_declared(s) for s in shapes)
    if not inputs:
        raise click.UsageError("--loss needs the shape of each input: --shape X=n,D --shape w=D.")
    loss = parse_latex(loss_text, inputs)
    return loss, words[0]


def _declared(text: str) -> tuple[str, Tensor]:
    from lemmax.errors import InvalidArgument
    from lemmax.expr.notation import tensor
    from lemmax.expr.sizes import size

    name, equals, sizes = text.partition("=")
    parts = [s.strip() for s in sizes.split(",") if s.strip()]
    if not equals:
        raise click.BadParameter(f"{text}: expected NAME=SIZES, such as X=n,D.", param_hint="'--shape'")
    try:
        shape = [int(s) if s.isdigit() else size(s) for s in parts]
        return name.strip(), tensor(name.strip(), *shape)
    except InvalidArgument as error:
        raise click.BadParameter(f"{text}: {error}", param_hint="'--shape'") from error


def _lines(found: Diagnosis, variable: str, right: Tensor) -> list[str]:
    from lemmax.typeset import latex

    verdict = found.verdict
    lines = [f"gradient in {variable}: the formula is {verdict.name} ({verdict.reason})"]
    if verdict.witness is not None:
        lines += [f"  {line}" for line in str(verdict.witness).splitlines()]
    if found.repair is not None:
        lines.append(f"what is wrong ({found.repair.kind}): {found.repair.text}")
    if verdict.name != "proved":
        lines.append(f"derived: {latex(right, where=True)}")
    return lines


def _data(found: Diagnosis, right: Tensor) -> dict[str, Any]:
    from lemmax.typeset import latex

    witness, repair = found.verdict.witness, found.repair
    return {
        "verdict": found.verdict.name,
        "reason": found.verdict.reason,
        "witness": None
        if witness is None
        else {
            "sizes": dict(witness.sizes),
            "arrays": dict(witness.arrays),
            "comparisons": [str(c) for c in witness.comparisons],
        },
        "repair": None if repair is None else {"kind": repair.kind, "text": repair.text},
        "derived": latex(right, where=True),
    }
