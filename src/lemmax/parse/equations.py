r"""What stands around a formula in a paper: ``\begin{aligned}``, and a left side such as ``\nabla_W f =``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lemmax.parse.failure import Failure
from lemmax.parse.tokens import span_of

if TYPE_CHECKING:
    from lark import Token

_OPENING = frozenset(["LPAR", "LBRACKET", "LCURLY", "LSET", "LANGLE", "LFLOOR", "LABS", "LNORM"])
_CLOSING = frozenset(["RPAR", "RBRACKET", "RCURLY", "RSET", "RANGLE", "RFLOOR", "RABS", "RNORM"])
_BEGIN = frozenset(["BEGIN_MATRIX", "BEGIN_CASES"])
_END = frozenset(["END_MATRIX", "END_CASES"])
_OF_NAMES = frozenset(["LETTER", "GREEK", "WORD", "ACCENT", "SUBSCRIPT", "SUPERSCRIPT", "PRIME", "COMMA"])
_OF_NAMES |= _OPENING | _CLOSING  # G, \\bar{S}_h, H_{AB}, g(w)
_FULL_STOP = frozenset([".", ",", ";"])


def without_left_side(tokens: list[Token], any_left: bool) -> list[Token]:
    r"""Return the tokens right of ``=``, if a derivative (or, on request, anything) stands left of it.

    Raises:
        Failure: a derivative stands anywhere else.
    """
    equals = _first_equals(tokens)
    if equals is not None and (any_left or _holds_derivative(tokens[:equals])):
        left, tokens = tokens[:equals], tokens[equals + 1 :]
        if not _holds_derivative(left) and any(t.type not in _OF_NAMES for t in left):
            span = span_of(left[0])[0], span_of(left[-1])[1]
            raise Failure(span, "a formula left of the equals sign; write a name there, or the claim alone.")
    for token in _all_tokens(tokens):
        if token.type == "DERIVATIVE":
            raise Failure(
                span_of(token),
                f"{token!s} is read left of an equals sign only: nothing is differentiated here; write the"
                " derivative out, or let lemmax.gradient derive it.",
            )
    return tokens


def _first_equals(tokens: list[Token]) -> int | None:
    depth = 0
    for position, token in enumerate(tokens):
        if token.type in _OPENING or token.type in _BEGIN:
            depth += 1
        elif token.type in _CLOSING or token.type in _END:
            depth -= 1
        elif token.type == "WHERE":
            return None
        elif token.type == "EQUAL" and depth == 0:
            return position
    return None


def _holds_derivative(tokens: list[Token]) -> bool:
    return any(token.type == "DERIVATIVE" for token in _all_tokens(tokens))


def _all_tokens(tokens: list[Token]) -> list[Token]:
    """Return tokens and those inside scripts."""
    found: list[Token] = []
    stack = list(reversed(tokens))
    while stack:
        token = stack.pop()
        found.append(token)
        if token.type in ("SUBSCRIPT", "SUPERSCRIPT"):
            stack += reversed(cast("tuple[Token, ...]", token.value))
    return found


def without_display(tokens: list[Token]) -> list[Token]:
    r"""Return tokens without ``align`` and the like, whose ``&`` and ``\\`` only place lines.

    Raises:
        Failure: an environment is closed by another one.
    """
    kept: list[Token] = []
    opened: list[Token] = []
    for token in tokens:
        if token.type in _BEGIN or token.type == "BEGIN_DISPLAY":
            opened.append(token)
        elif token.type in _END or token.type == "END_DISPLAY":
            kind = token.type.removeprefix("END_")
            if not opened or opened[-1].type != f"BEGIN_{kind}":
                raise Failure(span_of(token), f"{str(token)!r} closes nothing.")
            opened.pop()
        elif token.type in ("AMP", "NEWROW") and opened and opened[-1].type == "BEGIN_DISPLAY":
            continue
        if not token.type.endswith("_DISPLAY"):
            kept.append(token)
    if opened and opened[-1].type == "BEGIN_DISPLAY":
        raise Failure(span_of(opened[-1]), f"{str(opened[-1])!r} is opened here and never closed.")
    return kept
