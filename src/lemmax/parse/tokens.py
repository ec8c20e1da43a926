r"""From text to tokens: commands get their kinds, bars their sides, and each script becomes one token.

A bar closes a pair whenever one is open between the same brackets and an operand stands before
it, else it opens one: ``|a| |b|`` are two absolute values.  What is meant otherwise is written
with ``\lvert ... \rvert``, ``\Bigl| ... \Bigr|`` or brackets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from lemmax.parse.failure import Failure, Span
from lemmax.parse.words import BIG, COMMANDS, FUNCTIONS, TEXT, UPRIGHT

if TYPE_CHECKING:
    from lark import Token

MOST_CHARACTERS = 100_000
MOST_TOKENS = 30_000
DEEPEST = 48
"""Limits on what is read; formulas that people can read are far below."""

_PAIRS = {
    "LPAR": "RPAR",
    "LBRACKET": "RBRACKET",
    "LCURLY": "RCURLY",
    "LSET": "RSET",
    "LANGLE": "RANGLE",
    "LFLOOR": "RFLOOR",
    "LCEIL": "RCEIL",
    "LABS": "RABS",
    "LNORM": "RNORM",
    "BEGIN_MATRIX": "END_MATRIX",
    "BEGIN_CASES": "END_CASES",
}
_CLOSING = frozenset(_PAIRS.values())
_OPERANDS = _CLOSING | {"NUMBER", "LETTER", "GREEK", "WORD", "ONES", "INFINITY", "DOTS"}
_OPERANDS |= {"SUBSCRIPT", "SUPERSCRIPT", "PRIME", "BANG"}
_BARS = {"BAR": ("LABS", "RABS"), "DOUBLEBAR": ("LNORM", "RNORM")}
_SCRIPTS = {"UNDERSCORE": "SUBSCRIPT", "CARET": "SUPERSCRIPT"}
_STYLED = re.compile(r"\\([A-Za-z]+\*?)\s*(.*)\Z", re.DOTALL)
_MATRICES = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"])
_DISPLAYS = frozenset(
    ["aligned", "align", "split", "equation", "gather", "gathered", "multline", "displaymath"]
)


def span_of(token: Token) -> Span:
    """Return the place of a token in the formula."""
    start = token.start_pos or 0
    return start, token.end_pos if token.end_pos is not None else start + 1


def scan(raw: Iterable[Token], words: Collection[str] = ()) -> list[Token]:
    """Return the tokens of a formula: classified, bars sided, scripts collapsed.

    Args:
        raw: what the lexer gives.
        words: upright words that are names and not functions.

    Raises:
        Failure: brackets do not match, or the formula is too long or too deep.
    """
    from lemmax.parse.equations import without_display

    return _Scanner(without_display(classified(raw, words))).run()


def classified(raw: Iterable[Token], words: Collection[str]) -> list[Token]:
    """Return tokens by their kinds.

    Raises:
        Failure: a command or character has no meaning, or there are too many tokens.
    """
    tokens: list[Token] = []
    for token in raw:
        if len(tokens) >= MOST_TOKENS:
            raise Failure(
                span_of(token), f"the formula has more than {MOST_TOKENS} symbols; give its parts names."
            )
        tokens.append(_classified(token, words))
    return tokens


class _Scanner:
    """One pass over the tokens, with a stack of brackets instead of recursion."""

    def __init__(self, tokens: list[Token]) -> None:
        self._rest = list(reversed(tokens))
        self._opened: list[tuple[Token, Token | None]] = []  # a bracket, and the ^ or _ before it
        self._outputs: list[list[Token]] = [[]]

    def run(self) -> list[Token]:
        """Return the finished tokens."""
        while self._rest:
            token = self._rest.pop()
            if token.type in _SCRIPTS:
                self._begin_script(token)
                continue
            if token.type in _BARS:
                token = self._sided(token)
            elif token.type == "ARG":
                token = self._joined(token)
            elif token.type == "COMMA" and self._next() in ("AMP", "NEWROW", "END_CASES"):
                continue  # punctuation of a case
            elif token.type == "ACCENT" and token == r"\vec" and self._next() in ("LPAR", "LBRACKET", "LSET"):
                token = _as("FUNCTION", token, "vec")  # an arrow over a bracket makes no sense
            elif token.type == "MAXMIN":
                called = self._next() in ("LPAR", "LBRACKET", "LSET", "LCURLY")
                token = _as("FUNCTION" if called else "BIG", token, str(token)[1:])
            elif token.type == "FRACTION":
                self._split_digits()
            if token.type in _PAIRS:
                self._open(token, None)
            elif token.type in _CLOSING and self._close(token):
                continue
            self._outputs[-1].append(token)
        if self._opened:
            token = self._opened[-1][0]
            raise Failure(span_of(token), f"{str(token)!r} is opened here and never closed.")
        return self._outputs[0]

    def _next(self) -> str:
        return self._rest[-1].type if self._rest else "end"

    def _open(self, token: Token, mark: Token | None) -> None:
        if len(self._opened) >= DEEPEST:
            raise Failure(
                span_of(token), f"brackets are nested deeper than {DEEPEST}; give inner parts names."
            )
        self._opened.append((token, mark))

    def _close(self, token: Token) -> bool:
        """Close a bracket; a script becomes one token (and then the answer is yes)."""
        if not self._opened:
            raise Failure(span_of(token), f"{str(token)!r} closes nothing.")
        opening, mark = self._opened.pop()
        if _PAIRS[opening.type] != token.type:
            raise Failure(
                (span_of(opening)[0], span_of(token)[1]),
                f"{str(opening)!r} is closed by {str(token)!r} here.",
            )
        if mark is None:
            return False
        inside = self._outputs.pop()
        self._outputs[-1].append(_script(mark, inside, span_of(token)[1]))
        return True

    def _begin_script(self, mark: Token) -> None:
        if not self._rest:
            raise Failure(span_of(mark), f"a script is missing after {str(mark)!r}.")
        token = self._rest.pop()
        if token.type == "LCURLY":
            self._open(token, mark)
            self._outputs.append([])
            return
        if token.type in _CLOSING or token.type in _SCRIPTS or token.type == "AMP":
            raise Failure(span_of(token), f"a script is missing after {str(mark)!r}.")
        end = span_of(token)[1]
        if token.type == "NUMBER" and len(token) > 1:
            base, digits = str(mark), str(token)
            raise Failure(
                (span_of(mark)[0], end),
                f"LaTeX reads {base}{digits} as a script of one digit and a number; say which is meant.",
                [f"{base}{{{digits}}}", f"{base}{{{digits[0]}}} \\cdot {digits[1:]}"],
            )
        if token.type == "MAXMIN":
            token = _as("WORD", token, str(token)[1:])
        self._outputs[-1].append(_script(mark, [token], end))

    def _sided(self, token: Token) -> Token:
        left, right = _BARS[token.type]
        before = self._outputs[-1][-1].type if self._outputs[-1] else "start"
        # a pair of plain bars; those with a size match only each other
        is_open = (
            bool(self._opened) and self._opened[-1][0].type == left and str(self._opened[-1][0]) == str(token)
        )
        return _as(right if is_open and before in _OPERANDS else left, token)

    def _joined(self, token: Token) -> Token:
        if self._next() != "MAXMIN":
            raise Failure(span_of(token), r"\arg is read before \max and \min only.")
        which = self._rest.pop()
        joined = _as("BIG", token, f"arg{str(which)[1:]}")
        joined.end_pos = which.end_pos
        return joined

    def _split_digits(self) -> None:
        r"""``\frac12`` is one half."""
        if self._next() == "NUMBER" and self._rest[-1].isdigit() and len(self._rest[-1]) == 2:
            token = self._rest.pop()
            first, second = (_as("NUMBER", token, digit) for digit in token)
            first.end_pos = second.start_pos = span_of(token)[0] + 1
            self._rest += [second, first]


def _as(kind: str, token: Token, value: object = None) -> Token:
    from lark import Token

    return Token.new_borrow_pos(kind, str(token) if value is None else value, token)


def _script(mark: Token, inside: list[Token], end: int) -> Token:
    if not inside:
        raise Failure((span_of(mark)[0], end), f"the script after {str(mark)!r} is empty.")
    if mark.type == "UNDERSCORE":
        inside = _with_colons(inside)
    token = _as(_SCRIPTS[mark.type], mark, tuple(inside))
    token.end_pos = end
    return token


def _with_colons(places: list[Token]) -> list[Token]:
    r"""Return a subscript with ``A_{i \cdot}`` written as ``A_{i :}``: a dot that multiplies nothing."""
    ends = {-1, len(places), *(p for p, t in enumerate(places) if t.type == "COMMA")}
    return [
        _as("COLON", t, ":") if t == r"\cdot" and {p - 1, p + 1} & ends else t for p, t in enumerate(places)
    ]


# -- kinds -------------------------------------------------------------------------------------
def _classified(token: Token, words: Collection[str]) -> Token:
    if token.type == "COMMAND":
        return _command(token, words)
    if token.type == "STYLED":
        return _styled(token, words)
    if token.type == "CALLED":
        return _as("FUNCTION", token, f"{FUNCTIONS[str(token)]} {token}")  # the word is kept
    if token.type == "ENVIRONMENT":
        return _environment(token)
    if token.type in ("LSIZED", "RSIZED"):
        double = "Vert" in token or r"\|" in token
        return _as(token.type[0] + ("NORM" if double else "ABS"), token)
    if token.type in ("LESS", "MORE"):
        return _as("RELATION", token)
    if token.type == "SCIENTIFIC":
        mantissa, letter, exponent = re.split("([eE])", str(token))
        raise Failure(
            span_of(token),
            f"{token}: a power of ten, or the letter {letter}.",
            [
                rf"{mantissa} \cdot 10^{{{exponent.removeprefix('+')}}}",
                rf"{mantissa} \cdot {letter} {exponent}",
            ],
        )
    if token.type == "OTHER":
        raise Failure(
            span_of(token), f"the character {str(token)!r} has no meaning in a formula that lemmax reads."
        )
    return token


def _command(token: Token, words: Collection[str]) -> Token:
    word = str(token)[1:]
    if word in ("max", "min"):
        return _as("MAXMIN", token)
    if word in COMMANDS:
        return _as(COMMANDS[word], token)
    if word in BIG:
        return _as("BIG", token, BIG[word])
    if word in FUNCTIONS and word not in words:
        return _as("FUNCTION", token, FUNCTIONS[word])
    raise Failure(
        span_of(token),
        rf"the command \{word} is not known: expected LaTeX of a formula, without macros of one's own; an"
        rf" upright name is written \mathrm{{{word}}}.",
    )


def _styled(token: Token, words: Collection[str]) -> Token:
    match = _STYLED.match(token)
    assert match is not None
    font, content = match[1], match[2]
    inside = content[1:-1] if content.startswith("{") else content
    text = re.sub(r"\\[,;:! ]|\s|~", "", inside)
    if not text:
        raise Failure(span_of(token), "the text is empty.")
    if text == "1" and font != "text":
        return _as("ONES", token)
    if text == "0":
        return _as("NUMBER", token, "0")
    starred = font.endswith("*")
    if font.rstrip("*") in UPRIGHT:
        if text == "T" and font in ("mathsf", "textsf"):
            return _as("TOP", token)
        if text in TEXT and text not in words:
            return _as(TEXT[text], token)
        if starred and text in BIG:
            return _as("BIG", token, BIG[text])
        if text in FUNCTIONS and (text not in words or font == "operatorname"):
            return _as("FUNCTION", token, FUNCTIONS[text])
    return _as("WORD", token, rf"\{font}{{{text}}}")


def _environment(token: Token) -> Token:
    which, name = [*re.findall(r"[A-Za-z]+", token), ""][:2]
    if name == "cases":
        kind = "CASES"
    elif name in _MATRICES:
        kind = "MATRIX"
    elif name in _DISPLAYS:
        kind = "DISPLAY"
    else:
        raise Failure(
            span_of(token),
            f"the environment {name!r} is not read: expected bmatrix, pmatrix, cases or aligned.",
        )
    return _as(f"{which.upper()}_{kind}", token)
