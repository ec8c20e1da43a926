r"""From tokens to records: the grammar in ``grammar.lark`` is parsed by lark's LALR parser.

The records are built bottom-up while parsing, so that no depth of nesting overflows a stack.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from lemmax.parse import records as r
from lemmax.parse.builder import Builder
from lemmax.parse.equations import without_display, without_left_side
from lemmax.parse.failure import Failure
from lemmax.parse.tokens import MOST_CHARACTERS, classified, scan, span_of

if TYPE_CHECKING:
    from lark import Lark, Token

_SHOWN = {
    "NUMBER": "a number",
    "LETTER": "a name",
    "SUBSCRIPT": "a subscript",
    "SUPERSCRIPT": "a superscript",
    "PLUS": "+",
    "MINUS": "-",
    "COMMA": "a comma",
    "RPAR": ")",
    "RBRACKET": "]",
    "RCURLY": "}",
    "RSET": r"\}",
    "RABS": "|",
    "RNORM": r"\|",
    "RANGLE": r"\rangle",
    "RFLOOR": r"\rfloor",
    "AMP": "&",
    "EQUAL": "=",
    "LPAR": "(",
    "LCURLY": "{",
    "$END": "the end",
}
_RAW = ["SCIENTIFIC", "COMMAND", "STYLED", "CALLED", "ENVIRONMENT", "LSIZED", "RSIZED", "BAR", "DOUBLEBAR"]
_RAW += ["LESS", "MORE", "CARET", "UNDERSCORE", "OTHER"]
_STARTS = ("formula", "definition", "exponent", "subscripts")


@cache
def _parser() -> Lark:
    from lark import Lark

    class Keep:
        """Tells lark to keep the raw tokens that the scanner replaces; the scanner itself runs later."""

        always_accept = _RAW

        def process(self, stream: Any) -> Any:
            return stream

    grammar = resources.files("lemmax.parse").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        start=list(_STARTS),
        transformer=Builder(),
        postlex=cast(Any, Keep()),
        maybe_placeholders=False,
    )


def read(source: str, words: Collection[str] = (), any_left: bool = False) -> r.Formula:
    """Return a formula as records.

    Args:
        source: the LaTeX.
        words: upright words that are names and not functions.
        any_left: may anything stand left of an equals sign (which is left out), or a derivative only?

    Raises:
        Failure: the text is no formula.
    """
    if len(source) > MOST_CHARACTERS:
        raise Failure(
            (0, 1), f"the formula has {len(source)} characters; at most {MOST_CHARACTERS} are read."
        )
    tokens = without_left_side(scan(_parser().lex(source), words), any_left)
    formula = cast(r.Formula, _parse(tokens, "formula", (len(source), len(source) + 1)))
    return replace(formula, tokens=tuple(tokens))


def undisplayed(source: str) -> str:
    """Return a text with blanks in place of ``align`` and the like, and of what only places lines in them.

    Raises:
        Failure: an environment is not closed.
    """
    tokens = classified(_parser().lex(source), ())
    kept = {id(t) for t in without_display(tokens)}
    for token in tokens:
        if id(token) not in kept:
            start, end = span_of(token)
            source = f"{source[:start]}{' ' * (end - start)}{source[end:]}"
    return source


def read_definition(source: str, words: Collection[str] = ()) -> tuple[r.Definition, r.Script]:
    """Return a definition, ``left = right``, as a record, and its tokens.

    Raises:
        Failure: the text is no definition.
    """
    tokens = scan(_parser().lex(source), words)
    parsed = _parse(tokens, "definition", (len(source), len(source) + 1))
    return cast(r.Definition, parsed), tuple(tokens)


def read_exponent(tokens: r.Script, end: int) -> r.Exponent:
    """Return what a superscript says; ``end`` is where it ends."""
    return cast(r.Exponent, _parse(cast("list[Token]", list(tokens)), "exponent", (end - 1, end)))


def read_places(tokens: r.Script, end: int) -> r.Places:
    """Return what a subscript says; ``end`` is where it ends."""
    return cast(r.Places, _parse(cast("list[Token]", list(tokens)), "subscripts", (end - 1, end)))


def _parse(tokens: list[Token], start: str, end: tuple[int, int]) -> object:
    from lark import Token
    from lark.exceptions import UnexpectedToken

    state = _parser().parse_interactive(start=start)
    try:
        for token in tokens:
            state.feed_token(token)
        # lark takes the place of the end from a token before it
        return cast(Any, state).feed_eof(tokens[-1] if tokens else Token("$END", "", 0, 1, 1))
    except UnexpectedToken as error:
        token = error.token
        at = end if token.type == "$END" else span_of(token)
        raise Failure(at, _unexpected(token, error.accepts or error.expected)) from None


def _unexpected(token: Token, accepts: Collection[str]) -> str:
    """Return what was found and what could have followed."""
    found = "the formula ends" if token.type == "$END" else f"{_text(token)} is not expected here"
    wanted = sorted({_SHOWN[a] for a in accepts if a in _SHOWN})
    if "LETTER" in accepts:  # an operand is missing: brackets are one more way to begin it
        wanted = ["an operand (a name, a number, a bracket, a function ...)"]
    return f"{found}; expected {', '.join(wanted)}." if wanted else f"{found}."


def _text(token: Token) -> str:
    if token.type in ("SUBSCRIPT", "SUPERSCRIPT"):
        return "this script"
    return repr(str(token))
