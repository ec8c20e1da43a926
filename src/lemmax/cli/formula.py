r"""``lemmax formula``: is a claimed gradient or Hessian block right, and if not, what is wrong with it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lemmax.cli.params import FILE, MODEL, common, loss_of
from lemmax.cli.screen import emit_json

if TYPE_CHECKING:
    from lemmax.check.claim import Finding
    from lemmax.expr.tensor import Tensor
    from lemmax.typeset.latex import Order


EXAMPLES = (
    "\b\n"
    + r"""Examples:
  lemmax formula softmax-attention --wrt W^V '\sum_i X_i^\top S_{ih}^\top R_i W^{O\top}_h'
  lemmax formula --loss '\|X w - y\|^2' --shape X=n,D --shape w=D --shape y=n \
      --wrt w '2 X^\top (X w - y)'
  lemmax formula --loss '\|X W\|_F^2' --shape X=n,D --shape W=D,k \
      --wrt W --order 2 '2 X^\top X \otimes I_k'
  lemmax formula --given head.txt --wrt W^V --wrt W^Q '...'

head.txt declares inputs and defines names, one per line, the loss as f:
  X \in \mathbb{R}^{n \times D}
  S = \operatorname{softmax}(X W X^\top)
  f = \frac12 \|S X - Y\|_F^2
"""
)


class _Words(NamedTuple):
    """What was given on the command line: the loss, the formula, and definitions."""

    loss: Tensor
    formula: str
    where: tuple[str, ...]


@click.command(epilog=EXAMPLES)
@click.argument("words", nargs=-1, required=True, metavar="[MODEL] FORMULA")
@click.option(
    "--wrt",
    required=True,
    multiple=True,
    metavar="NAME",
    help="Variable of the gradient, W^Q or WQ; two for a block of the Hessian. Leading axes may be given"
    " letters, W^Q_h.",
)
@click.option(
    "--order",
    type=click.IntRange(1, 2),
    help="2: the block of the Hessian of one variable with itself.",
)
@click.option(
    "--part",
    type=click.Choice(["outer", "functional"]),
    help="The outer (Gauss-Newton) or the functional part of a block alone.",
)
@click.option(
    "--vec",
    type=click.Choice(["row", "column"]),
    default="row",
    show_default=True,
    help="Order of vec in Hessian blocks.",
)
@click.option("--loss", "loss_text", metavar="LATEX", help="A loss of your own, instead of MODEL.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=SIZES",
    help="Shape of an input of your loss, such as X=n,D (scalars: b=); once per input.",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME",
    help="A positive integer that is no size of an input, such as the k of X^k; may be repeated.",
)
@click.option(
    "--given",
    "file",
    type=FILE,
    metavar="FILE",
    help="File of declared inputs and definitions, which loss and formula may use; its f is the loss.",
)
@click.option(
    "--where",
    "where",
    multiple=True,
    metavar="LATEX",
    help=r"A definition that the formula may use, such as 'E_{ih} = S_{ih} \odot P_{ih}'; may be repeated.",
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
    wrt: Sequence[str],
    order: int | None,
    part: Any,
    vec: Any,
    loss_text: str | None,
    shapes: Sequence[str],
    sizes: Sequence[str],
    file: Path | None,
    where: Sequence[str],
    nonsmooth: Any,
    seed: int,
    as_json: bool,
) -> int:
    r"""Say whether a claimed gradient or Hessian block, written in LaTeX, is right.

    FORMULA may use the inputs of the loss, its named tensors (S, R, ...), the adjoints that
    `lemmax derive` names (\bar{S}, ...), and what is defined in it after \text{where}, by --where or in
    the file of --given. A block of the Hessian is a matrix in the order of vec, such as A \otimes B. If the
    formula is wrong, the smallest witness is shown, and what is wrong if one change mends it. The exit code
    is 0 if the formula is proved, 1 if it is not.
    """
    from lemmax.check.claim import check_formula

    given = _given(words, loss_text, shapes, sizes, file)
    names = _variables(given.loss, wrt)
    if len(names) > 2 or (order == 1 and len(names) > 1):
        raise click.BadParameter(
            f"{len(names)} variables for order {order or 1 + (len(names) > 1)}: give one for a gradient,"
            " two for a block of the Hessian.",
            param_hint="'--wrt'",
        )
    found = check_formula(
        given.formula,
        given.loss,
        names,
        order=order,
        where=(*where, *given.where),
        part=part,
        vec=vec,
        nonsmooth=nonsmooth,
        seed=seed,
    )
    if as_json:
        emit_json(_data(found, vec))
    else:
        click.echo("\n".join(_lines(found, vec)))
    return 0 if found.verdict.name == "proved" else 1


def _variables(loss: Tensor, names: Sequence[str]) -> list[str]:
    from lemmax.check.claim.target import variables
    from lemmax.errors import InvalidArgument

    try:
        variables(loss, names)
    except InvalidArgument as error:
        raise click.BadParameter(str(error), param_hint="'--wrt'") from error
    return list(names)


def _given(
    words: Sequence[str],
    loss_text: str | None,
    shapes: Sequence[str],
    sizes: Sequence[str],
    file: Path | None,
) -> _Words:
    """Return the loss, the text of the formula, and definitions."""
    own = loss_text is not None or file is not None
    if not own:
        if len(words) != 2 or shapes or sizes:
            raise click.UsageError(
                "Expected MODEL and FORMULA, or --loss with --shape for each input and FORMULA alone, or"
                " --given FILE and FORMULA alone."
            )
        loss = loss_of(MODEL.convert(words[0], None, click.get_current_context()))
        return _Words(loss, words[1], ())
    if len(words) != 1:
        raise click.UsageError("With --loss or --given give FORMULA alone, in quotes.")
    from lemmax.check.claim.given import given_in
    from lemmax.errors import InvalidArgument
    from lemmax.expr.sizes import size

    try:
        given = given_in(file.read_text(encoding="utf-8") if file is not None else "")
    except (InvalidArgument, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{file}: {error}", param_hint="'--given'") from error
    for name, declared in map(_declared, shapes):
        if name in given.inputs:
            raise click.BadParameter(f"{name} is declared twice.", param_hint="'--shape'")
        given.inputs[name] = declared
    if not given.inputs:
        raise click.UsageError("--loss needs the shape of each input: --shape X=n,D --shape w=D.")
    for name in sizes:
        try:
            size(name)
        except InvalidArgument as error:
            raise click.BadParameter(str(error), param_hint="'--size'") from error
    given = replace(given, sizes=(*given.sizes, *sizes))
    loss, where = given.loss(loss_text)
    return _Words(loss, words[0], where)


def _declared(text: str) -> tuple[str, Any]:
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


def _lines(found: Finding, vec: Order) -> list[str]:
    from lemmax.typeset import latex

    verdict = found.verdict
    lines = [f"{found.words}: the formula is {verdict.name} ({verdict.reason})"]
    lines += [f"note: {found.note}"] if found.note else []
    if verdict.witness is not None:
        lines += [f"  {line}" for line in str(verdict.witness).splitlines()]
        lines += [f"  {name} = {_entries(x)}" for name, x in verdict.witness.arrays.items()]
    if found.repair is not None:
        lines.append(f"what is wrong ({found.repair.kind}): {found.repair.text}")
    if verdict.name != "proved":
        lines.append(f"derived: {latex(found.right, where=True, vec=vec)}")
    return lines


def _entries(x: Any) -> str:
    return f"[{', '.join(_entries(row) for row in x)}]" if isinstance(x, list) else str(x)


def _data(found: Finding, vec: Order) -> dict[str, Any]:
    from lemmax.typeset import latex

    witness, repair = found.verdict.witness, found.repair
    return {
        "claim": found.words,
        "verdict": found.verdict.name,
        "reason": found.verdict.reason,
        "note": found.note,
        "witness": None
        if witness is None
        else {
            "sizes": dict(witness.sizes),
            "arrays": dict(witness.arrays),
            "comparisons": [str(c) for c in witness.comparisons],
        },
        "repair": None if repair is None else {"kind": repair.kind, "text": repair.text},
        "corrected": None if repair is None or not repair.formula else repair.formula,
        "derived": latex(found.right, where=True, vec=vec),
    }
