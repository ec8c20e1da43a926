r"""Long formulas in lines: breaks at + and -, or at least between factors.

Widths are estimated from the visible glyphs of a formula, in em of the text font; the estimate
is meant to be a little too large, so that what is said to fit fits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE = 38.0
"""Width of a line of a display, in em, with room for its number."""

_TOKEN = re.compile(
    r"\\begin\{(?P<begin>\w+)\}|\\end\{(?P<end>\w+)\}|\\(?P<word>[A-Za-z]+\*?)|\\(?P<sign>.)"
    r"|(?P<char>\S)|(?P<space>\s+)",
    re.DOTALL,
)
_SIZING = ("left", "right", "Bigl", "Bigr", "bigl", "bigr")
_FONTS = ("mathrm", "operatorname", "operatorname*", "mathbf", "mathcal", "text", "displaystyle")
_ACCENTS = ("bar", "hat", "tilde", "dot", "ddot", "vec", "check", "breve", "widehat", "widetilde", "overline")
_INVISIBLE = frozenset([*_SIZING, *_FONTS, *_ACCENTS])
_OPERATORS = {
    "exp": 1.7,
    "log": 1.5,
    "det": 1.5,
    "max": 1.9,
    "min": 1.8,
    "sin": 1.3,
    "cos": 1.5,
    "tan": 1.6,
    "sinh": 1.9,
    "cosh": 2.1,
    "tanh": 2.2,
    "arcsin": 2.7,
    "arccos": 2.9,
    "arctan": 3.0,
    "sum": 1.6,
    "prod": 1.5,
    "arg": 1.6,
}
_BINARY = frozenset(["odot", "oslash", "otimes", "cdot", "times", "circ"])
_RELATION = frozenset(["le", "ge", "ne", "to", "in"])
_OPEN, _CLOSE = frozenset("(["), frozenset(")]")
_SCRIPT = 0.75


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a formula that is not broken.

    Attributes:
        text: its LaTeX.
        width: estimated width in em.
        penalty: how bad a break before it is: 0 at an outer plus sign, more inside brackets.
    """

    text: str
    width: float
    penalty: int


def width(formula: str) -> float:
    """Return an estimate of the width of a formula in em."""
    return _measure(_tokens(formula))


def _tokens(formula: str) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(formula))


def _group(tokens: list[re.Match[str]], start: int) -> int:
    """Return the position after the argument that starts at ``start`` (a group or one token)."""
    while start < len(tokens) and tokens[start]["space"]:
        start += 1
    if start >= len(tokens) or tokens[start]["char"] != "{":
        return min(start + 1, len(tokens))
    depth = 0
    for position in range(start, len(tokens)):
        depth += (tokens[position]["char"] == "{") - (tokens[position]["char"] == "}")
        if depth == 0:
            return position + 1
    return len(tokens)


def _measure(tokens: list[re.Match[str]], scale: float = 1.0, display: bool = True) -> float:
    total = 0.0
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token["char"] in ("^", "_"):
            # sub- and superscript stand above one another: the wider one counts
            widest = 0.0
            start = position
            while position < len(tokens) and tokens[position]["char"] in ("^", "_"):
                end = _group(tokens, position + 1)
                widest = max(widest, _measure(tokens[position + 1 : end], scale * _SCRIPT, False))
                position = end
            under = display and _limits(tokens, start)
            total += max(0.0, widest - 1.5 * scale) if under else widest + 0.05 * scale
            continue
        if token["word"] in ("frac", "sqrt"):
            first = _group(tokens, position + 1)
            fraction = token["word"] == "frac"
            shrunk = scale * (0.85 if fraction and not display else 1)
            above = _measure(tokens[position + 1 : first], shrunk, display and not fraction)
            if token["word"] == "sqrt":
                total += above + 0.9 * scale
                position = first
                continue
            second = _group(tokens, first)
            total += max(above, _measure(tokens[first:second], shrunk, False)) + 0.3 * scale
            position = second
            continue
        if token["begin"]:
            end = _environment_end(tokens, position)
            total += _matrix(tokens[position + 1 : end], scale)
            position = end + 1
            continue
        total += _glyph(token) * scale
        position += 1
    return total


def _limits(tokens: list[re.Match[str]], position: int) -> bool:
    """Do the scripts at a position stand below and above a big operator?"""
    before = position - 1
    while before >= 0 and tokens[before]["space"]:
        before -= 1
    return before >= 0 and tokens[before]["word"] in ("sum", "prod", "max", "min")


def _environment_end(tokens: list[re.Match[str]], start: int) -> int:
    depth = 0
    for position in range(start, len(tokens)):
        depth += bool(tokens[position]["begin"]) - bool(tokens[position]["end"])
        if depth == 0:
            return position
    return len(tokens) - 1


def _matrix(tokens: list[re.Match[str]], scale: float) -> float:
    """Return the width of a matrix or case distinction: the widest cell of each column."""
    columns: list[float] = [0.0]
    column, start, depth = 0, 0, 0
    for position, token in enumerate([*tokens, None]):
        if token is not None:
            depth += (token["char"] == "{") - (token["char"] == "}")
            depth += bool(token["begin"]) - bool(token["end"])
        if token is None or (depth == 0 and (token["char"] == "&" or token["sign"] == "\\")):
            columns[column] = max(columns[column], _measure(tokens[start:position], scale, False))
            start = position + 1
            column = column + 1 if token is not None and token["char"] == "&" else 0
            if column == len(columns):
                columns.append(0.0)
    return sum(columns) + 1.1 * scale * len(columns) + 1.2 * scale


def _glyph(token: re.Match[str]) -> float:
    if token["space"] or token["char"] in ("{", "}", "&"):
        return 0.0
    word = token["word"]
    if word is not None:
        if word in _OPERATORS:
            return _OPERATORS[word] + 0.2
        if word in _BINARY:
            return 1.3
        if word in _RELATION:
            return 1.4
        if word in ("quad", "qquad"):
            return 1.0 if word == "quad" else 2.0
        return 0.0 if word in _INVISIBLE else 0.75
    if token["sign"] is not None:
        return {",": 0.2, ";": 0.3, "|": 0.55, "\\": 0.0, "{": 0.5, "}": 0.5, " ": 0.35}.get(
            token["sign"], 0.3
        )
    character = str(token["char"])
    if character in "+-=<>":
        return 1.4
    if character in "()[]|":
        return 0.55
    if character in ",.:;'!":
        return 0.45
    if character in "mwMW":
        return 1.0
    if character.isupper():
        return 0.85
    return 0.6


# -- breaking ----------------------------------------------------------------------------------
def pieces(formula: str) -> list[Piece]:
    """Cut a formula at all places where it may be broken."""
    tokens = _tokens(formula)
    cuts: list[tuple[int, int]] = []  # (token position, penalty)
    braces = brackets = environments = lefts = 0
    before = previous = "start"
    scripted = False  # is the next token a script, which does not change what stands before it
    for position, token in enumerate(tokens):
        if token["space"]:
            continue
        char = token["char"] or ""
        if not (braces or environments or lefts or scripted):
            if char in ("+", "-") and before == "operand":
                cuts.append((position, 10 * brackets))
            elif token["word"] in ("odot", "oslash", "otimes") and before == "operand":
                cuts.append((position, 10 * brackets + 5))
            elif before == "operand" and _starts_factor(tokens, position):
                cuts.append((position, 10 * brackets + 15))
            before = _kind(token, char) if char not in ("^", "_", "{") else before
        scripted = char in ("^", "_") or (scripted and token["space"] is not None)
        braces += (char == "{") - (char == "}")
        environments += bool(token["begin"]) - bool(token["end"])
        lefts += (token["word"] == "left") - (token["word"] == "right")
        brackets += (char in _OPEN) - (char in _CLOSE)
        if token["sign"] == "|" and not (braces or environments or lefts):
            opens = previous != "operand" and not _closes(tokens, position)
            brackets += 1 if opens else -1
            before = "open" if opens else "operand"
        previous = before
    starts = [(0, 0), *cuts]
    ends = [position for position, _ in cuts] + [len(tokens)]
    found = []
    for (start, penalty), end in zip(starts, ends, strict=True):
        part = tokens[start:end]
        text = "".join(t[0] for t in part).strip()
        if text:
            found.append(Piece(text, _measure(part), penalty))
    return found


def _closes(tokens: list[re.Match[str]], position: int) -> bool:
    r"""Does ``\|`` follow ``\Bigr``?"""
    return position > 0 and tokens[position - 1]["word"] in ("Bigr", "bigr")


def _kind(token: re.Match[str], char: str) -> str:
    """Say what a token leaves before the next one."""
    word = token["word"]
    if char and char in "+-=<>,&":
        return "operator"
    if char in _OPEN or word in ("Bigl", "bigl", "left", "Bigr", "bigr", "right"):
        return "open"
    if word in _BINARY | _RELATION or word in ("sum", "prod", "max", "min", "arg"):
        return "operator"
    if word in _OPERATORS or (word is not None and word.startswith("operatorname")):
        return "function"
    return "operand"


def _starts_factor(tokens: list[re.Match[str]], position: int) -> bool:
    """Does a factor start at a position, set off by a blank?"""
    if not position or not tokens[position - 1]["space"]:
        return False
    token = tokens[position]
    if token["char"]:
        return token["char"].isalpha() or token["char"] in _OPEN
    closing = {"Bigr", "bigr", "right", "top", "quad", "circ"}
    return bool(token["word"]) and token["word"] not in _BINARY | _RELATION | closing


def break_lines(formula: str, first: float = LINE, rest: float = LINE) -> list[str]:
    """Return a formula in lines that fit, as far as it can be broken.

    Args:
        formula: LaTeX of a formula.
        first: room on the first line, in em.
        rest: room on the lines that follow.
    """
    if width(formula) <= first:
        return [formula]
    left = pieces(formula)
    lines: list[str] = []
    while left:
        room = first if not lines else rest
        total = 0.0
        fits = 0
        for piece in left:
            if fits and total + piece.width > room:
                break
            total += piece.width
            fits += 1
        if fits < len(left):
            # the mildest place to break among those that fill at least 2/5 of the line
            filled = 0.0
            places = []
            for count in range(1, fits + 1):
                filled += left[count - 1].width
                places.append((left[count].penalty, -filled, count, filled))
            good = [p for p in places if p[3] >= 0.4 * room] or places
            fits = min(good)[2]
        lines.append(" ".join(p.text for p in left[:fits]))
        left = left[fits:]
    return lines
