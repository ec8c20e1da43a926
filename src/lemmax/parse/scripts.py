r"""Tokens of subscripts and superscripts as text, to be compared with names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from lemmax.parse import records as r
from lemmax.parse.names import canonical_base, plain
from lemmax.parse.words import UPRIGHT

if TYPE_CHECKING:
    from lark import Token


def joined(tokens: r.Script) -> str:
    """Return the text of a script as names have it: no blanks, braces or upright fonts."""
    return "".join(_text(cast("Token", t)) for t in tokens)


def _text(token: Token) -> str:
    if token.type in ("SUBSCRIPT", "SUPERSCRIPT"):
        return ("_" if token.type == "SUBSCRIPT" else "^") + joined(cast(r.Script, token.value))
    if token.type in ("LCURLY", "RCURLY"):
        return ""
    if token.type == "WORD":
        font = str(token)[1:].partition("{")[0]
        return plain(str(token)) if font in UPRIGHT else canonical_base(str(token))
    if token.type == "TOP":
        return "T" if "T" in token else r"\top"
    if token.type == "PRIME":
        return "'" if token.startswith("\\") else str(token)
    if token.type == "ONES":
        return "1"
    return "".join(str(token.value).split())


def after(tokens: r.Script, own: tuple[str, ...]) -> r.Script | None:
    """Return what follows in a script after a name's own part, or ``None`` if it does not begin with it."""
    if not own:
        return tokens
    wanted = ",".join(own)
    for count in range(1, len(tokens) + 1):
        text = joined(tokens[:count])
        if text == wanted:
            rest = tokens[count:]
            return rest[1:] if rest and cast("Token", rest[0]).type == "COMMA" else rest
        if not wanted.startswith(text):
            return None
    return None


def letter_text(part: r.Part) -> str | None:
    r"""Return the text of a part that can be the letter of an index: ``i``, ``k_1``, ``j'``, ``\alpha``."""
    primes, sub = 0, ""
    if isinstance(part, r.Group) and part.left == "LCURLY" and len(part.parts) == 1:
        return letter_text(part.parts[0])
    if isinstance(part, r.Scripted):
        if part.sup or not isinstance(part.base, r.Symbol):
            return None
        primes, sub = part.primes, joined(part.sub)
        if sub and not sub.isdigit():
            return None
        part = part.base
    if not isinstance(part, r.Symbol):
        return None
    base = canonical_base(part.text)
    if len(plain(base)) != 1 and not (base.startswith("\\") and base[1:].isalpha()):
        return None
    return f"{base}{'_' + sub if sub else ''}{chr(39) * primes}"


def letters_in(tokens: Iterable[object]) -> set[str]:
    """Return all letters that stand in subscripts."""
    found: set[str] = set()
    stack: list[tuple[object, bool]] = [(t, False) for t in tokens]
    while stack:
        token, inside = stack.pop()
        kind, value = cast("Token", token).type, cast("Token", token).value
        if kind in ("SUBSCRIPT", "SUPERSCRIPT"):
            stack += [(t, inside or kind == "SUBSCRIPT") for t in cast(r.Script, value)]
        elif inside and kind in ("LETTER", "GREEK"):
            found.add(canonical_base(str(value)))
    return found
