r"""Text of users in LaTeX: every character stands for itself."""

from __future__ import annotations

import unicodedata

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textquoteleft{}",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\dots{}",
    "½": r"$\frac12$",
    "²": r"$^2$",
    "³": r"$^3$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "−": r"$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "∈": r"$\in$",
    "→": r"$\to$",
    "√": r"$\surd$",
    "‖": r"$\|$",
    "⊙": r"$\odot$",
    "⊗": r"$\otimes$",
    "∂": r"$\partial$",
    "∇": r"$\nabla$",
    "Σ": r"$\Sigma$",
}


def escape(text: str) -> str:
    r"""Return text in which LaTeX sees no command; characters without a glyph appear by number.

    >>> escape(r"100% of W^Q_h & \input{x}")
    '100\\% of W\\textasciicircum{}Q\\_h \\& \\textbackslash{}input\\{x\\}'
    """
    return "".join(map(_escape_character, " ".join(text.split())))


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character if character.isprintable() else ""
    greek = _greek(character)
    if greek:
        return greek
    if "LATIN" in unicodedata.name(character, "") and ord(character) < 0x180:
        return character  # letters with accents, which every engine's fonts hold
    return rf"\texttt{{U+{ord(character):04X}}}"


def _greek(character: str) -> str:
    """Return a Greek letter as mathematics."""
    name = unicodedata.name(character, "").split()
    if len(name) == 4 and name[0] == "GREEK" and name[2] == "LETTER" and name[1] in ("SMALL", "CAPITAL"):
        word = {"LAMDA": "LAMBDA"}.get(name[3], name[3])
        if word in ("OMICRON", "FINAL") or (name[1] == "CAPITAL" and word not in _CAPITALS):
            return ""
        return f"$\\{word.capitalize() if name[1] == 'CAPITAL' else word.lower()}$"
    return ""


_CAPITALS = frozenset(
    ["GAMMA", "DELTA", "THETA", "LAMBDA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA"]
)
