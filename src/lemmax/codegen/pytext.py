r"""Python text with precedences, so that parentheses stand exactly where they are needed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sympy as sp

from lemmax.errors import UnsupportedYet
from lemmax.expr.functions import relu, sigmoid, softplus, step
from lemmax.expr.special import special_of

ATOM: Final = 100
POWER: Final = 90
UNARY: Final = 80
PRODUCT: Final = 70
SUM: Final = 60
AND: Final = 55
OR: Final = 53
COMPARISON: Final = 50


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of an expression and how tightly its outermost operation binds."""

    text: str
    binds: int = ATOM

    def at(self, binds: int) -> str:
        """Return the text as an operand of an operation that binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def call(function: str, *args: str) -> Text:
    """Return a call."""
    return Text(f"{function}({', '.join(args)})")


def tuple_text(items: list[str] | tuple[str, ...]) -> str:
    """Return a tuple: ``(n,)``, ``(n, D)``."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def comma_list(head: str, items: Sequence[str], tail: str, width: int = 106) -> list[str]:
    """Return ``head items tail`` on one line or, if that is too long, with the items on their own lines."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= width:
        return [line]
    text = ", ".join(items) + ","
    wrapped = textwrap.wrap(text, max(width, 106) - 8, break_long_words=False, break_on_hyphens=False)
    return [head, *[f"    {part}" for part in wrapped], tail.removeprefix(",")]


_CONSTANTS = {sp.pi: "np.pi", sp.E: "np.e", sp.oo: "np.inf", sp.nan: "np.nan"}
_FUNCTIONS: dict[type[sp.Basic], str] = {
    sp.exp: "exp", sp.log: "log", sp.Abs: "abs", sp.sin: "sin", sp.cos: "cos", sp.tan: "tan",
    sp.sinh: "sinh", sp.cosh: "cosh", sp.tanh: "tanh", sp.sign: "sign",
    sp.atan: "arctan", sp.asin: "arcsin", sp.acos: "arccos",
    sp.asinh: "arcsinh", sp.acosh: "arccosh", sp.atanh: "arctanh", sp.floor: "floor", sp.ceiling: "ceil",
}  # fmt: skip
_FORMS: dict[type[sp.Basic], str] = {
    relu: "max({}, 0)",
    step: "float({} > 0)",
    sigmoid: "float(np.exp(-np.logaddexp(0, -({}))))",
    softplus: "float(np.logaddexp(0, {}))",
}


def number_text(expr: sp.Expr, sizes: Mapping[sp.Symbol, str]) -> Text:
    """Return a number or an expression in sizes as plain Python arithmetic (no array, no NumPy scalar).

    Raises:
        UnsupportedYet: a function has no Python form here.
    """
    if expr in _CONSTANTS:
        return Text(_CONSTANTS[expr])
    if expr == -sp.oo:
        return Text("-np.inf", UNARY)
    if expr.is_Integer:
        return Text(str(int(expr)), ATOM if expr >= 0 else UNARY)
    if expr.is_Rational:
        return Text(f"{int(expr.p)} / {int(expr.q)}", PRODUCT)
    if expr.is_Float:
        return Text(repr(float(expr)), ATOM if expr >= 0 else UNARY)
    if isinstance(expr, sp.Symbol):
        return Text(sizes[expr])
    if isinstance(expr, sp.Add):
        return _sum(expr, sizes)
    if isinstance(expr, sp.Mul):
        return _product(expr, sizes)
    if isinstance(expr, sp.Pow) and not isinstance(expr, sp.exp):
        base, exponent = number_text(expr.base, sizes), expr.exp
        if exponent.could_extract_minus_sign():
            return Text(f"1 / {number_text(1 / expr, sizes).at(POWER)}", PRODUCT)
        power = "0.5" if exponent == sp.S.Half else number_text(exponent, sizes).at(UNARY)
        return Text(f"{base.at(ATOM)} ** {power}", POWER)
    if isinstance(expr, sp.Min | sp.Max):
        name = "min" if isinstance(expr, sp.Min) else "max"
        return call(name, *sorted(number_text(a, sizes).text for a in expr.args))
    if type(expr) in _FUNCTIONS:
        inner = number_text(expr.args[0], sizes).text
        return call("float", f"np.{_FUNCTIONS[type(expr)]}({inner})")
    if isinstance(expr, sp.erf):
        return call("math.erf", number_text(expr.args[0], sizes).text)
    special = special_of(expr)
    if special is not None:
        row, orders, argument = special
        k = ", ".join(map(str, orders))
        return call("float", row.code.format(x=number_text(argument, sizes).text, k=k))
    if type(expr) in _FORMS:
        return Text(_FORMS[type(expr)].format(number_text(expr.args[0], sizes).text))
    raise UnsupportedYet(f"code for the number {expr}: {type(expr).__name__} has no Python form here.")


def _sum(expr: sp.Add, sizes: Mapping[sp.Symbol, str]) -> Text:
    parts = expr.as_ordered_terms()
    parts.sort(key=lambda p: bool(p.could_extract_minus_sign()))  # stable: what is added first
    text = number_text(parts[0], sizes).at(SUM)
    for part in parts[1:]:
        if part.could_extract_minus_sign():
            text += f" - {number_text(-part, sizes).at(PRODUCT)}"
        else:
            text += f" + {number_text(part, sizes).at(SUM)}"
    return Text(text, SUM)


def _product(expr: sp.Mul, sizes: Mapping[sp.Symbol, str]) -> Text:
    if expr.could_extract_minus_sign():
        return Text(f"-{number_text(-expr, sizes).at(UNARY)}", UNARY)
    top, bottom = sp.fraction(expr)
    above = [number_text(f, sizes).at(PRODUCT) for f in _ordered(top)] or ["1"]
    text = " * ".join(above)
    if bottom == 1:
        return Text(text, PRODUCT)
    below = number_text(bottom, sizes)
    return Text(f"{text} / {below.at(POWER)}", PRODUCT)


def _ordered(expr: sp.Expr) -> list[sp.Expr]:
    return [f for f in expr.as_ordered_factors() if f != 1] if expr != 1 else []
