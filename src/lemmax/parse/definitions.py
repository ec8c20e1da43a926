r"""Definitions after a formula: ``..., \text{where } S_{ih} = \operatorname{softmax}(A_{ih})``.

They are read from the last to the first, since a definition uses those that follow it.
"""

from __future__ import annotations

import itertools
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
from lemmax.parse.reach import children, free_letters
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import joined, letter_text, letters_in
from lemmax.parse.symbols import Written, written
from lemmax.parse.target import expect_letters, tensor_of
from lemmax.parse.unknowns import Unknowns


def with_definitions(ctx: Context, definitions: Sequence[r.Definition]) -> Context:
    """Return the context in which defined names are known.

    Raises:
        Failure: the left side of a definition is no name with indices, or the name is given already.
    """
    for definition in reversed(definitions):
        define(ctx, definition)
    return ctx


def define(ctx: Context, definition: r.Definition) -> list[Named]:
    """Make a defined name known; return it, with the name of the matrix of which it is the row.

    A definition whose sizes follow only from where it is used is kept as written, and nothing is returned.

    Raises:
        Failure: the left side is no name with indices, or the name is given already.
    """
    letters, key = defined(ctx, definition)
    own = replace(
        ctx, unknowns=Unknowns(), ranges={}, free={}, scope={}, guarded=frozenset(), fits_target=True
    )
    expect_letters(own, letters, None)
    form = mean(own, definition.right)
    try:
        tensor = tensor_of(own, form, None, letters)
    except Failure as failure:
        if letters or not failure.is_open or free_letters(definition.right):
            raise
        ctx.names.open[key] = ctx.source, definition.right
        return []
    except LemmaxError as error:
        raise Failure(definition.span, str(error)) from error
    return _define(ctx, key, tensor, definition)


def defined(ctx: Context, definition: r.Definition) -> tuple[list[str], Key]:
    """Return the indices and the name on the left side of a definition.

    Raises:
        Failure: it is no name with indices.
    """
    left = _joined(definition.left)
    name = written(left)
    if name is None or name.primes or name.extra:
        raise Failure(
            definition.left.span, f"{ctx.text(definition.left)}: expected a name, with indices at most."
        )
    letters, key = _left(ctx, name, left)
    if letters and not set(letters) & _mentioned(definition.right):
        return [], Key(key.base, (joined(name.sub),), key.sup)  # A in J_A is no index, but part of the name
    return letters, key


def _mentioned(part: r.Part) -> set[str]:
    """Return all letters of a part that may be indices, free or bound."""
    found: set[str] = set()
    stack = [part]
    while stack:
        p = stack.pop()
        stack += children(p)
        text = letter_text(p)
        found |= {text} if text is not None else set()
        if isinstance(p, r.Scripted):
            found |= letters_in([*_as_subscript(p.sub), *_as_subscript(p.sup)])
            found |= free_letters(p)
    return found


def _as_subscript(tokens: r.Script) -> list[object]:
    if not tokens:
        return []
    from lark import Token

    return [Token("SUBSCRIPT", tokens)]


def _joined(left: r.Part) -> r.Part:
    """Return letters side by side, as in ``JA``, as one name; the last one may carry scripts."""
    if not isinstance(left, r.Product):
        return left
    *first, last = left.parts
    base = last.base if isinstance(last, r.Scripted) else last
    letters = [*first, base]
    if not all(isinstance(p, r.Symbol) and len(p.text) == 1 for p in letters):
        return left
    if any(p.span[1] != q.span[0] for p, q in itertools.pairwise(letters)):
        return left
    word = r.Symbol(
        (left.span[0], base.span[1]), 1, "".join(p.text for p in letters if isinstance(p, r.Symbol))
    )
    return replace(last, span=left.span, base=word) if isinstance(last, r.Scripted) else word


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


def _define(ctx: Context, key: Key, tensor: Tensor, definition: r.Definition) -> list[Named]:
    names = ctx.names
    if any(n.key == key for n in names.by_base.get(key.base, [])):
        raise Failure(definition.left.span, f"{ctx.text(definition.left)} is defined here and given as well.")
    found = [Named(key, tensor, key.text)]
    # rows of a matrix are defined by its small letter: s_i is row i of S
    capital = Key(_capital(key.base), key.sub, key.sup)
    if capital.row == key.base and not names.by_base.get(capital.base):
        found.append(Named(capital, tensor, capital.text))
    names.include(found)
    return found


def _capital(base: str) -> str:
    head = base.rstrip("}")
    return (
        head[:-1] + head[-1].upper() + base[len(head) :]
        if (head and not head.startswith("\\")) or "{" in head
        else base
    )
