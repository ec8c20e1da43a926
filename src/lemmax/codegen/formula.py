r"""Definitions as one line of plain text, for docstrings and comments.

Index notation, such as ``R[i, k, p] = sum_{h, j} S[i, h, k, j] V[h, j, p] - Y[i, k, p]``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import entry_tensor, indices_of, split_factors
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor

LETTERS = "ijklpqrstuabcefghowxyz"

DEEPEST = 4
"""Most levels of unnamed tensors that are written out within one another; below stand dots."""
LONGEST = 400
"""Most characters of a formula; longer ones are written out less deeply, and cut at last."""

NameOf = Callable[[Tensor], str | None]
"""The name of a tensor in the text; tensors without one are written out."""


class FormulaWriter:
    """Writes definitions with given names; operands without a name are written out in place."""

    def __init__(self, name_of: NameOf, variable_of: NameOf, taken: Collection[str]) -> None:
        """Write with these names; letters in ``taken`` are not used for indices.

        Args:
            name_of: names that readers know.
            variable_of: variables, for what is nested too deeply to be written out.
            taken: letters that mean something else.
        """
        self.name_of = name_of
        self.variable_of = variable_of
        self._deepest = DEEPEST
        self.letters = [c for c in LETTERS if c not in taken] + [f"i{p}" for p in range(99)]

    def definition(self, t: Tensor, name: str) -> str:
        """Return ``name[i, j] = ...``."""
        letters = self.letters[: t.ndim]
        left = f"{name}[{', '.join(letters)}] = " if letters else f"{name} = "
        chosen = ""
        for self._deepest in range(DEEPEST + 1):
            text = left + self._right(t, letters, frozenset(letters), 0)
            if len(text) > LONGEST:
                break
            chosen = text
        return chosen or f"{text[:LONGEST]} ..."

    def _right(self, t: Tensor, letters: Sequence[str], used: frozenset[str], depth: int) -> str:
        """Return the right-hand side of a definition at index letters, ``used`` ones not taken again."""
        if isinstance(t, Apply):
            return self._applied(t, depth + 1)
        if not isinstance(t, Lambda):
            return str(t.name)
        at = dict(zip(t.indices, letters, strict=True))
        parts = [self._term(term, at, used, depth + 1) for term in t.terms]
        return " + ".join(parts).replace("+ -", "- ") if parts else "0"

    def _term(self, term: Term, at: dict[sp.Symbol, str], used: frozenset[str], depth: int) -> str:
        unused = (c for c in self.letters if c not in used)
        bound = [next(unused) for _ in term.bound]
        at = {**at, **{i: letter for (i, _), letter in zip(term.bound, bound, strict=True)}}
        coefficient, factors = split_factors(term.expr)
        text = self._product(coefficient, factors, _Place(at, used.union(bound), depth))
        if not bound:
            return text
        sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
        return f"{sign}sum_{{{', '.join(bound)}}} {text}"

    def _applied(self, t: Apply, depth: int) -> str:
        operands = [self._operand(o, depth) for o in t.operands]
        params = dict(t.params)
        if t.function == "softmax":
            return f"softmax of {operands[0]} over axis {params['axis']}"
        if t.function == "softmax_pullback":
            return f"softmax Jacobian at {operands[0]} applied to {operands[1]} over axis {params['axis']}"
        extra = "".join(f"; {key}={value}" for key, value in params.items() if key in ("axes", "axis", "k"))
        return f"{t.function}({', '.join(operands)}{extra})"

    def _operand(self, t: Tensor, depth: int) -> str:
        """Return an operand as a whole: by its name, or as what its entries are."""
        letters = self.letters[: t.ndim]
        if depth > self._deepest:
            return self.name_of(t) or self.variable_of(t) or "..."
        return self.name_of(t) or self._right(t, letters, frozenset(letters), depth)

    def _product(self, coefficient: sp.Expr, factors: Sequence[sp.Expr], place: _Place) -> str:
        body = " ".join(self._factor(f, place) for f in factors)
        if not body:
            return str(coefficient)
        if coefficient in (1, -1):
            return body if coefficient == 1 else f"-{body}"
        top, bottom = sp.fraction(coefficient)
        sign = "-" if top.could_extract_minus_sign() else ""
        top = -top if sign else top
        front = "" if top == 1 else f"{top} "
        below = f"({bottom})" if isinstance(bottom, sp.Mul) else str(bottom)
        return f"{sign}{front}{body}" + ("" if bottom == 1 else f" / {below}")

    def _factor(self, expr: sp.Expr, place: _Place) -> str:
        """Return one factor: an entry, a power, or a function."""
        t = entry_tensor(expr)
        if t is not None:
            return self._entry(t, indices_of(expr), place)
        if isinstance(expr, sp.Pow) and entry_tensor(expr.base) is not None and not expr.exp.free_symbols:
            exponent = str(expr.exp) if expr.exp.is_Integer and expr.exp > 0 else f"({expr.exp})"
            return f"{self._factor(expr.base, place)}^{exponent}"
        swap: dict[sp.Basic, sp.Basic] = {}
        for entry in sorted(expr.atoms(sp.Indexed, sp.Symbol), key=str):
            t = entry_tensor(entry)
            if t is not None and len(indices_of(entry)) == t.ndim:
                swap[entry] = sp.Symbol(self._entry(t, indices_of(entry), place))
            elif isinstance(entry, sp.Symbol) and is_index(entry):
                swap[entry] = sp.Symbol(place.letters.get(entry, str(entry)))
        text = str(expr.xreplace(swap))
        return f"({text})" if isinstance(expr, sp.Add) else text

    def _entry(self, t: Tensor, indices: Sequence[sp.Expr], place: _Place) -> str:
        letters = [place.letters.get(i, str(i)) if isinstance(i, sp.Symbol) else str(i) for i in indices]
        name = self.name_of(t) or (self.variable_of(t) if place.depth > self._deepest else None)
        if name is not None:
            return f"{name}[{', '.join(letters)}]" if letters else name
        if place.depth > self._deepest:
            return "(...)"
        text = self._right(t, letters, place.used, place.depth)
        return text if text.isidentifier() or (text.endswith(")") and " " not in text) else f"({text})"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a factor stands: letters of its indices, letters in use, and how deep it is nested."""

    letters: Mapping[sp.Symbol, str]
    used: frozenset[str]
    depth: int
