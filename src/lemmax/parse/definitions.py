r"""Definitions after a formula: ``..., \text{where } S_{ih} = \operatorname{softmax}(A_{ih})``.

They are read from the last to the first, since a definition uses those that follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lemmax.errors import LemmaxError
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure
from lemmax.parse.integers import split_places
from lemmax.parse.meaning import mean
from lemmax.parse.names import Key, Named
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import joined, letter_text
from lemmax.parse.symbols import Written, written
from lemmax.parse.target import expect_letters, tensor_of
from lemmax.parse.unknowns import Unknowns


def with_definitions(ctx: Context, definitions: Sequence[r.Definition]) -> Context:
    """Return the context in which defined names are known.

    Raises:
        Failure: the left side of a definition is no name with indices, or the name is given already.
    """
    for definition in reversed(definitions):
        name = written(definition.left)
        if name is None or name.primes or name.extra:
            raise Failure(
                definition.left.span, f"{ctx.text(definition.left)}: expected a name, with indices at most."
            )
        letters, key = _left(ctx, name, definition.left)
        own = replace(
            ctx, unknowns=Unknowns(), ranges={}, free={}, scope={}, guarded=frozenset(), fits_target=True
        )
        expect_letters(own, letters, None)
        form = mean(own, definition.right)
        try:
            tensor = tensor_of(own, form, None, letters)
        except LemmaxError as error:
            raise Failure(definition.span, str(error)) from error
        _define(ctx, key, tensor, definition)
    return ctx


def _left(ctx: Context, name: Written, part: r.Part) -> tuple[list[str], Key]:
    """Return the indices and the name on the left side."""
    letters: list[str] = []
    own: tuple[str, ...] = ()
    if name.sub:
        ways = split_places(read_places(name.sub, name.sub_end), len(name.sub))
        texts = [letter_text(p.low) if p.kind == "at" and p.low is not None else None for p in ways[0]]
        if all(t is None for t in texts):
            own = (joined(name.sub),)
        elif any(t is None for t in texts):
            raise Failure(part.span, f"{ctx.text(part)}: expected letters of indices below the name.")
        letters = [t for t in texts if t is not None] if not own else []
    return letters, Key(name.base, own, (joined(name.sup),) if name.sup else ())


def _define(ctx: Context, key: Key, tensor: Tensor, definition: r.Definition) -> None:
    names = ctx.names
    if any(n.key == key for n in names.by_base.get(key.base, [])):
        raise Failure(definition.left.span, f"{ctx.text(definition.left)} is defined here and given as well.")
    names.by_base.setdefault(key.base, []).append(Named(key, tensor, key.text))
    # rows of a matrix are defined by its small letter: s_i is row i of S
    capital = Key(_capital(key.base), key.sub, key.sup)
    if capital.row == key.base and not names.by_base.get(capital.base):
        names.by_base[capital.base] = [Named(capital, tensor, capital.text)]


def _capital(base: str) -> str:
    head = base.rstrip("}")
    return (
        head[:-1] + head[-1].upper() + base[len(head) :]
        if (head and not head.startswith("\\")) or "{" in head
        else base
    )
