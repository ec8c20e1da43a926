r"""LaTeX of matrix notation.

Precedence, loosest first: sums; big operators, which reach far to the right; entrywise and
Kronecker products; matrix products; functions and powers; atoms.  An operand looser than its
place allows is put in parentheses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import sympy as sp

from lemmax.errors import MissingRule
from lemmax.expr.indices import is_index
from lemmax.typeset.letters import Letters
from lemmax.typeset.names import latex_expression
from lemmax.typeset.node import Node, binders

SUM, BIG, HADAMARD, PRODUCT, POWER, ATOM = range(6)
"""Precedences."""

_TALL = (r"\frac", r"\sum", r"\max_", r"\min_", r"\prod", r"\begin", r"\Bigl", r"\operatorname*")


@dataclass(frozen=True)
class Scope:
    """What names mean at a place in a formula.

    Attributes:
        letters: names of tensors and the supply of letters.
        at: letter of each index.
        ranges: print sums with their ranges, as index notation does.
        column_major: print vec and commutation matrices in column-major order.
    """

    letters: Letters
    at: Mapping[sp.Symbol, str]
    ranges: bool = False
    column_major: bool = False

    def inside(self, x: Node) -> Scope:
        """Return the scope inside a node that binds indices."""
        bound = binders(x)
        if not bound:
            return self
        at = dict(self.at)
        for i, size in bound:
            at[i] = self.letters.pick(size, set(at.values()))
        return replace(self, at=at)

    def position(self, index: sp.Expr) -> str:
        """Return an index as printed: counted from 1."""
        index = sp.sympify(index)
        if isinstance(index, sp.Symbol) and index in self.at:
            return self.at[index]
        if index.has(sp.floor, sp.Mod):
            return f"{self._from_zero(index)} + 1"
        return latex_expression(sp.expand(self.shifted(index) + 1))

    def _from_zero(self, index: sp.Expr) -> str:
        """Return an index counted from 0, with quotients and remainders written out."""
        if isinstance(index, sp.floor):
            above, below = index.args[0].as_numer_denom()
            return rf"\lfloor ({self._from_zero(above)}) / {latex_expression(below)} \rfloor"
        if isinstance(index, sp.Mod):
            return rf"(({self._from_zero(index.args[0])}) \bmod {latex_expression(index.args[1])})"
        return latex_expression(sp.expand(self.shifted(index)))

    def shifted(self, expr: sp.Expr) -> sp.Expr:
        """Return an expression in indices with indices counted from 1."""
        swap = {i: sp.Symbol("$" + c, integer=True) - 1 for i, c in self.at.items() if i in expr.free_symbols}
        return sp.sympify(expr).subs(swap, simultaneous=True) if swap else expr


def latex_node(x: Node, scope: Scope, at_least: int = SUM) -> str:
    """Return the LaTeX of a node, in parentheses if it is looser than ``at_least``."""
    text, precedence = tex(x, scope)
    return parenthesised(text) if precedence < at_least else text


def tex(x: Node, scope: Scope) -> tuple[str, int]:
    """Return the LaTeX of a node with its precedence.

    Raises:
        MissingRule: the kind of node has no LaTeX.
    """
    from lemmax.typeset.render_rules import RULES

    rule: Callable[[Node, Scope], tuple[str, int]] | None = RULES.get(x.op)
    if rule is None:
        raise MissingRule(f"no LaTeX of {x.op!r}: add it to lemmax/typeset/render_rules.py.")
    return rule(x, scope)


def raised_base(x: Node, scope: Scope) -> str:
    """Return the LaTeX of what gets a superscript: in parentheses if it is no atom, or a name with one."""
    text, precedence = tex(x, scope)
    is_raised = x.op == "atom" and "^" in text
    return text if precedence == ATOM and not is_raised else parenthesised(text)


def is_tall(text: str) -> bool:
    """Is the formula taller than a line?"""
    return any(mark in text for mark in _TALL)


def parenthesised(text: str, left: str = "(", right: str = ")") -> str:
    """Return the text in brackets that fit its height and that a line break may separate."""
    if is_tall(text):
        return rf"\Bigl{left} {text} \Bigr{right}"
    return f"{left}{text}{right}"


def barred(text: str, mark: str, left: str, right: str) -> str:
    """Return the text between bars; bars inside tell which one closes only if the outer ones have sides."""
    if is_tall(text):
        return rf"\Bigl{mark} {text} \Bigr{mark}"
    bars = text if len(mark) > 1 else text.replace(r"\|", "")
    return f"{left} {text} {right}" if mark in bars else f"{mark}{text}{mark}"


def shows_range(body: Node, index: sp.Symbol) -> bool:
    """Does an index stand alone on an axis, so that a reader knows how far it runs?"""
    if body.op == "cases" and any(_restricts(c, index) for c in body.data if isinstance(c, sp.Basic)):
        return False
    if body.op == "atom":
        return any(e == index for e in body.data[1])
    return any(shows_range(a, index) for a in body.args)


def _restricts(condition: sp.Basic, index: sp.Symbol) -> bool:
    """Does a condition compare an index with something else than an index?"""
    return any(index in r.free_symbols and not all(map(is_index, r.args)) for r in condition.atoms(sp.Rel))


def has_index(expr: sp.Basic) -> bool:
    """Does an expression hold an index symbol?"""
    return any(is_index(s) for s in expr.atoms(sp.Symbol))
