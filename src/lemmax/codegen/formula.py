r"""Definitions as one line of plain text, for docstrings and comments.

Index notation, such as ``R[i, k, p] = sum_{h, j} S[i, h, k, j] V[h, j, p] - Y[i, k, p]``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import sympy as sp

from lemmax.calculus.terms import entry_tensor, indices_of, split_factors
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Input, Lambda
from lemmax.expr.tensor import Tensor, identifier

LETTERS = "ijklpqrstuabcefghowxyz"

NameOf = Callable[[Tensor], str | None]


class FormulaWriter:
    """Writes definitions with given names; unnamed operands are written out in place."""

    def __init__(self, name_of: NameOf, taken: Collection[str]) -> None:
        """Write with these names; letters in ``taken`` are not used for indices."""
        self.name_of = name_of
        self.letters = [c for c in LETTERS if c not in taken] + [f"i{p}" for p in range(40)]

    def definition(self, t: Tensor, name: str) -> str:
        """Return ``name[i, j] = ...``."""
        letters = self.letters[: t.ndim]
        left = f"{name}[{', '.join(letters)}]" if letters else name
        return f"{left} = {self.right(t, letters)}"

    def right(self, t: Tensor, letters: Sequence[str]) -> str:
        """Return the right-hand side of a definition at given index letters."""
        if isinstance(t, Apply):
            return self.applied(t)
        if not isinstance(t, Lambda):
            return str(t.name)
        at = dict(zip(t.indices, letters, strict=True))
        parts = []
        for term in t.terms:
            own = dict(at)
            free = [c for c in self.letters if c not in letters]
            own.update({i: free[p] for p, (i, _) in enumerate(term.bound)})
            coefficient, factors = split_factors(term.expr)
            text = self.product(coefficient, factors, own)
            if term.bound:
                sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
                bound = ", ".join(own[i] for i, _ in term.bound)
                text = f"{sign}sum_{{{bound}}} {text}"
            parts.append(text)
        return " + ".join(parts).replace("+ -", "- ") if parts else "0"

    def applied(self, t: Apply) -> str:
        """Return an applied function of its operands."""
        operands = ", ".join(self.name_of(o) or self._short(o) for o in t.operands)
        params = dict(t.params)
        if t.function == "softmax":
            return f"softmax of {operands} over axis {params['axis']}"
        if t.function == "softmax_pullback":
            at, to = (self.name_of(o) or self._short(o) for o in t.operands)
            return f"softmax Jacobian at {at} applied to {to} over axis {params['axis']}"
        extra = "".join(f"; {k}={v}" for k, v in params.items() if k in ("axes", "axis", "k"))
        return f"{t.function}({operands}{extra})"

    def _short(self, t: Tensor) -> str:
        letters = self.letters[: t.ndim]
        text = self.right(t, letters)
        return text if len(text) <= 40 else f"({', '.join(map(str, t.shape))})-array"

    def product(self, coefficient: sp.Expr, factors: Sequence[sp.Expr], at: Mapping[sp.Symbol, str]) -> str:
        """Return a product with its coefficient."""
        body = " ".join(self.factor(f, at) for f in factors)
        if coefficient == 1:
            return body or "1"
        if not body:
            return str(coefficient)
        if coefficient == -1:
            return f"-{body}"
        top, bottom = sp.fraction(coefficient)
        sign = "-" if top.could_extract_minus_sign() else ""
        top = -top if sign else top
        front = "" if top == 1 else f"{top} "
        below = (
            f" / {bottom}"
            if bottom != 1 and not isinstance(bottom, sp.Mul)
            else f" / ({bottom})"
            if bottom != 1
            else ""
        )
        return f"{sign}{front}{body}{below}"

    def factor(self, expr: sp.Expr, at: Mapping[sp.Symbol, str]) -> str:
        """Return one factor: an entry, a power, or a function."""
        t = entry_tensor(expr)
        if t is not None:
            return self.entry(t, indices_of(expr), at)
        if isinstance(expr, sp.Pow) and entry_tensor(expr.base) is not None and not expr.exp.free_symbols:
            exponent = str(expr.exp) if expr.exp.is_nonnegative else f"({expr.exp})"
            return f"{self.factor(expr.base, at)}^{exponent}"
        swap: dict[sp.Basic, sp.Basic] = {}
        for entry in sorted(expr.atoms(sp.Indexed, sp.Symbol), key=str):
            t = entry_tensor(entry)
            if t is not None and len(indices_of(entry)) == t.ndim:
                swap[entry] = sp.Symbol(self.entry(t, indices_of(entry), at))
            elif isinstance(entry, sp.Symbol) and is_index(entry):
                swap[entry] = sp.Symbol(at.get(entry, str(entry)))
        text = str(expr.xreplace(swap))
        return f"({text})" if isinstance(expr, sp.Add) else text

    def entry(self, t: Tensor, indices: Sequence[sp.Expr], at: Mapping[sp.Symbol, str]) -> str:
        """Return an entry by name, or the body of an unnamed tensor at these indices."""
        letters = [at.get(i, str(i)) if isinstance(i, sp.Symbol) else str(i) for i in indices]
        name = self.name_of(t) or (identifier(str(t.name)) if isinstance(t, Input) else None)
        if name is None and isinstance(t, Lambda) and all(not term.bound for term in t.terms):
            text = self.right(t, letters)
            return text if len(t.terms) == 1 and " " not in text else f"({text})"
        name = name or "t"
        return f"{name}[{', '.join(letters)}]" if letters else name
