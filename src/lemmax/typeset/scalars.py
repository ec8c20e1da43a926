r"""Expressions in sizes and numbers as LaTeX: the printer of SymPy, with brackets and numbers as in papers.

SymPy writes :math:`\log{\left(n \right)}`, ``1.0 \cdot 10^{-7}`` and ``\frac{1}{10000000}`` where a
paper has :math:`\log(n)` and :math:`10^{-7}`.
"""

from __future__ import annotations

import re

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE

_TALL = (r"\frac", r"\Bigl", r"\binom")
_LEAST_POWER = 5  # 1000 and 1/1000 are written out
_OPEN, _CLOSED = r"\left(", r"\right)"


def latex_of_scalar(expr: sp.Expr, names: dict[sp.Symbol, str]) -> str:
    """Return an expression as LaTeX; symbols have the given names."""
    text = plain_brackets(_Printer({"symbol_names": names}).doprint(expr))
    return re.sub(r"(^|[({])- ", r"\1-", text)


class _Printer(LatexPrinter):  # type: ignore[misc]
    """Prints powers of ten as such, no factor 1.0, and n - 1 rather than -1 + n."""

    def _print_Add(self, expr: sp.Add, order: str | None = None) -> str:
        terms = sorted(expr.as_ordered_terms(), key=lambda part: bool(part.could_extract_minus_sign()))
        text = str(self._print(terms[0]))
        for part in terms[1:]:
            negative = part.could_extract_minus_sign()
            text += f" {'-' if negative else '+'} {self._print(-part if negative else part)}"
        return text

    def _print_Float(self, expr: sp.Float) -> str:
        text = str(super()._print_Float(expr))
        return re.sub(r"^(-?)1\.0 \\cdot (?=10\^)", r"\1", text)

    def _print_Integer(self, expr: sp.Integer) -> str:
        exponent = _exponent_of_ten(expr)
        return rf"10^{{{exponent}}}" if exponent >= _LEAST_POWER else str(expr)

    def _print_Rational(self, expr: sp.Rational) -> str:
        exponent = _exponent_of_ten(expr.q)
        if exponent < _LEAST_POWER:
            return str(super()._print_Rational(expr))
        sign, p = "-" if expr.p < 0 else "", self._print(sp.Integer(abs(expr.p)))
        return (
            f"{sign}10^{{-{exponent}}}" if abs(expr.p) == 1 else rf"{sign}\frac{{{p}}}{{10^{{{exponent}}}}}"
        )

    def _print_Mul(self, expr: sp.Mul) -> str:
        c, rest = expr.as_coeff_Mul()
        if c.is_Rational and abs(c.p) == 1 and _exponent_of_ten(c.q) >= _LEAST_POWER:
            return f"{self._print(c)} {self.parenthesize(rest, PRECEDENCE['Mul'])}"
        return str(super()._print_Mul(expr))

    def _print_Pow(self, expr: sp.Pow) -> str:
        base, exponent = expr.args
        shown = self._print(base) if base.is_number else ""
        if "^" in shown and not exponent.could_extract_minus_sign():
            return rf"\left({shown}\right)^{{{self._print(exponent)}}}"
        return str(super()._print_Pow(expr))


def _exponent_of_ten(value: object) -> int:
    digits = str(value)
    return len(digits) - 1 if re.fullmatch("10+", digits) else 0


def plain_brackets(text: str) -> str:
    r"""Return LaTeX with round brackets that fit what is in them.

    >>> print(plain_brackets(r"\log{\left(n \right)} \left(n + 1\right) \left(\frac{n}{2} + 1\right)"))
    \log(n) (n + 1) \Bigl( \frac{n}{2} + 1 \Bigr)
    """
    while (end := text.find(_CLOSED)) >= 0:
        start = text.rfind(_OPEN, 0, end)
        inside = text[start + len(_OPEN) : end].strip()
        before, after = text[:start], text[end + len(_CLOSED) :]
        if re.search(r"[A-Za-z}]\{$", before) and after.startswith("}"):  # of a function, not of a script
            before, after = before[:-1], after[1:]
        tall = any(mark in inside for mark in _TALL)
        text = before + (rf"\Bigl( {inside} \Bigr)" if tall else f"({inside})") + after
    return text
