r"""Names of tensors and sizes as LaTeX, with room for subscripts, transposes and powers.

``W^Q`` with the head h and a transpose is ``W^{Q\top}_h``, ``x_1`` with an index i is
``x_{1,i}``: never a double subscript or superscript.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import sympy as sp

from lemmax.typeset.scalars import latex_of_scalar

GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "varepsilon",
        "zeta",
        "eta",
        "theta",
        "vartheta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "pi",
        "rho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "varphi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Xi",
        "Pi",
        "Sigma",
        "Upsilon",
        "Phi",
        "Psi",
        "Omega",
        "ell",
    ]
)
_WORDS = {"lam": r"\lambda", "eps": r"\varepsilon"}
_ACCENT = re.compile(
    r"\\(bar|hat|tilde|dot|ddot|vec|check|breve|widehat|widetilde|overline)\{(.*)\}\Z", re.DOTALL
)
_ROW = re.compile(r"((?:\\[A-Za-z]+\{)?)([A-Z])(\}?)\Z")


@dataclass(frozen=True, slots=True)
class Name:
    r"""A name in parts.

    Attributes:
        base: what carries the scripts, such as ``W`` or ``\bar{S}``.
        sub: own subscripts.
        sup: own superscripts.
    """

    base: str
    sub: tuple[str, ...] = ()
    sup: tuple[str, ...] = ()

    @property
    def row(self) -> Name | None:
        """The lower-case name of a row of the matrix, if the base is one capital letter."""
        match = _ROW.match(self.base)
        return None if match is None else replace(self, base=f"{match[1]}{match[2].lower()}{match[3]}")

    @property
    def letter(self) -> str:
        """The base without accents."""
        match = _ACCENT.match(self.base)
        return match[2] if match else self.base


def script(text: str, mark: str) -> str:
    """Return a script, in braces unless it is one character."""
    return f"{mark}{text}" if len(text) == 1 else f"{mark}{{{text}}}"


def render_name(name: Name, indices: Sequence[str] = (), transposed: bool = False, power: str = "") -> str:
    r"""Return the name with index subscripts, and with ``\top`` or a power if it is to carry one."""
    joined = subscript(indices)
    sub = ",".join([*name.sub, *([joined] if joined else [])])
    own = ",".join(name.sup)
    extra = (r"\top" if transposed else "") + power
    low = script(sub, "_") if sub else ""
    if own:
        high = script(own + extra, "^")
        return f"{name.base}{high}{low}"
    if extra == r"\top":
        return f"{name.base}{low}^\\top"
    return f"{name.base}{low}{script(extra, '^') if extra else ''}"


def is_number(indices: Sequence[str]) -> bool:
    """Is a subscript nothing but a number of several digits, which could be several indices?"""
    return subscript(indices).isdigit() and any(len(i) > 1 for i in indices)


def subscript(indices: Sequence[str]) -> str:
    """Return indices side by side; with commas if one of them is longer than a letter."""
    plain = all(len(i.rstrip("'")) == 1 and i != ":" for i in indices)
    return ("" if plain else ",").join(indices)


@lru_cache(maxsize=4096)
def parse_name(name: str) -> Name:
    r"""Split a name at its top-level ``^`` and ``_``; words become upright, Greek words letters."""
    parts: dict[str, list[str]] = {"": [], "_": [], "^": []}
    depth, mark, piece = 0, "", ""

    def finish() -> None:
        text = piece[1:-1] if mark and piece.startswith("{") and piece.endswith("}") else piece
        if text:
            parts[mark].append(text)

    for character in name:
        if depth == 0 and character in "^_":
            finish()
            mark, piece = character, ""
            continue
        depth += (character == "{") - (character == "}")
        piece += character
    finish()
    base = "".join(parts[""])
    primes = len(base) - len(base.rstrip("'"))
    if primes:
        base = base[:-primes]
        parts["^"].append(r"\prime" * primes)
    accent = _ACCENT.match(base)
    if accent and _balanced(accent[2]):
        inner = parse_name(accent[2])
        return Name(
            rf"\{accent[1]}{{{inner.base}}}",
            (*inner.sub, *_texts(parts["_"])),
            (*inner.sup, *_texts(parts["^"])),
        )
    digits = re.match(r"([A-Za-z]+)(\d+)\Z", base)
    if digits:
        base = digits[1]
        parts["_"].insert(0, digits[2])
    return Name(_base(base), _texts(parts["_"]), _texts(parts["^"]))


def _balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


def _texts(parts: list[str]) -> tuple[str, ...]:
    return tuple(_script_text(p) for p in parts)


def _script_text(text: str) -> str:
    if text in GREEK:
        return "\\" + text
    return rf"\mathrm{{{text}}}" if re.fullmatch(r"[A-Za-z]{3,}", text) else text


def _base(text: str) -> str:
    if text in GREEK:
        return "\\" + text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) == 1 or text.startswith("\\"):
        return text
    return rf"\mathrm{{{text}}}"


def upright(name: str) -> Name:
    """Return a name as one upright word: the way out if two names would look alike."""
    safe = re.sub(r"[^A-Za-z0-9]", "", name)
    return Name(rf"\mathrm{{{safe}}}")


def latex_expression(expr: sp.Expr) -> str:
    """Return an expression in sizes and numbers as LaTeX."""
    return _latex_expression(sp.sympify(expr))


@lru_cache(maxsize=10_000)
def _latex_expression(expr: sp.Expr) -> str:
    symbols = sorted(expr.free_symbols, key=str)
    names = {s: str(s)[1:] if str(s).startswith("$") else render_name(parse_name(str(s))) for s in symbols}
    return latex_of_scalar(expr, names)
