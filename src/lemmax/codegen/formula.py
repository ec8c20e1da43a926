r"""Definitions as one line of plain text, for docstrings and comments.

Index notation, such as ``R[i, k, p] = sum_{h, j} S[i, h, k, j] V[h, j, p] - Y[i, k, p]``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import sympy as sp

from lemmax.calculus.terms import entry_tensor, indices_of, split_factors
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor

LETTERS = "ijklpqrstuabcefghowxyz"

NameOf = Callable[[Tensor], str | None]
"""The name of a tensor in the text; tensors without one are written out."""


class FormulaWriter:
    """Writes definitions with given names; operands without a name are written out in place."""

    def __init__(self, name_of: NameOf, taken: Collection[str]) -> None:
        """Write with these names; letters in ``taken`` are not used for indices."""
        self.name_of = name_of
        self.letters = [c for c in LETTERS if c not in taken] + [f"i{p}" for p in range(99)]

    def definition(self, t: Tensor, name: str) -> str:
        """Return ``name[i, j] = ...``."""
        letters = self.letters[: t.ndim]
        left = f"{name}[{', '.join(letters)}]" if letters else name
        return f"{left} = {self._right(t, letters, frozenset(letters))}"

    def _right(self, t: Tensor, letters: Sequence[str], used: frozenset[str]) -> str:
        """Return the right-hand side of a definition at index letters, ``used`` ones not taken again."""
        if isinstance(t, Apply):
            return self._applied(t)
        if not isinstance(t, Lambda):
            return str(t.name)
        parts = [self._term(term, dict(zip(t.indices, letters, strict=True)), used) for term in t.terms]
        return " + ".join(parts).replace("+ -", "- ") if parts else "0"

    def _term(self, term: Term, at: dict[sp.Symbol, str], used: frozenset[str]) -> str:
        unused = (c for c in self.letters if c not in used)
        bound = [next(unused) for _ in term.bound]
        at = {**at, **{i: letter for (i, _), letter in zip(term.bound, bound, strict=True)}}
        coefficient, factors = split_factors(term.expr)
        text = self._product(coefficient, factors, at, used.union(bound))
        if not bound:
            return text
        sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
        return f"{sign}sum_{{{', '.join(bound)}}} {text}"

    def _applied(self, t: Apply) -> str:
        operands = [self._operand(o) for o in t.operands]
        params = dict(t.params)
        if t.function == "softmax":
            return f"softmax of {operands[0]} over axis {params['axis']}"
        if t.function == "softmax_pullback":
            return f"softmax Jacobian at {operands[0]} applied to {operands[1]} over axis {params['axis']}"
        extra = "".join(f"; {key}={value}" for key, value in params.items() if key in ("axes", "axis", "k"))
        return f"{t.function}({', '.join(operands)}{extra})"

    def _operand(self, t: Tensor) -> str:
        """Return an operand as a whole: by its name, or as what its entries are."""
        letters = self.letters[: t.ndim]
        return self.name_of(t) or self._right(t, letters, frozenset(letters))

    def _product(
        self,
        coefficient: sp.Expr,
        factors: Sequence[sp.Expr],
        at: Mapping[sp.Symbol, str],
        used: frozenset[str],
    ) -> str:
        body = " ".join(self._factor(f, at, used) for f in factors)
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

    def _factor(self, expr: sp.Expr, at: Mapping[sp.Symbol, str], used: frozenset[str]) -> str:
        """Return one factor: an entry, a power, or a function."""
        t = entry_tensor(expr)
        if t is not None:
            return self._entry(t, indices_of(expr), at, used)
        if isinstance(expr, sp.Pow) and entry_tensor(expr.base) is not None and not expr.exp.free_symbols:
            exponent = str(expr.exp) if expr.exp.is_Integer and expr.exp > 0 else f"({expr.exp})"
            return f"{self._factor(expr.base, at, used)}^{exponent}"
        swap: dict[sp.Basic, sp.Basic] = {}
        for entry in sorted(expr.atoms(sp.Indexed, sp.Symbol), key=str):
            t = entry_tensor(entry)
            if t is not None and len(indices_of(entry)) == t.ndim:
                swap[entry] = sp.Symbol(self._entry(t, indices_of(entry), at, used))
            elif isinstance(entry, sp.Symbol) and is_index(entry):
                swap[entry] = sp.Symbol(at.get(entry, str(entry)))
        text = str(expr.xreplace(swap))
        return f"({text})" if isinstance(expr, sp.Add) else text

    def _entry(
        self, t: Tensor, indices: Sequence[sp.Expr], at: Mapping[sp.Symbol, str], used: frozenset[str]
    ) -> str:
        letters = [at.get(i, str(i)) if isinstance(i, sp.Symbol) else str(i) for i in indices]
        name = self.name_of(t)
        if name is not None:
            return f"{name}[{', '.join(letters)}]" if letters else name
        text = self._right(t, letters, used)
        return text if text.isidentifier() or (text.endswith(")") and " " not in text) else f"({text})"
