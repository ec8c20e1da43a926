r"""Expressions as short plain text, for messages: ``sum_{k} A[i, k]*B[k, j]``, operands by name or kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sympy as sp
from sympy.printing.str import StrPrinter

from lemmax.expr.indices import bound_index, free_index
from lemmax.expr.tensor import Tensor, TensorSymbol

if TYPE_CHECKING:
    from lemmax.expr.nodes import Lambda, Term

LONGEST = 60  # characters; what is longer is cut
_FREE, _BOUND = "ijlmpq", "kstuvw"


class _Printer(StrPrinter):  # type: ignore[misc]
    """SymPy's text with letters for indices and names or kinds for tensors."""

    printmethod = "_lemmax_text"  # SymPy's entries would else print themselves

    def _print_Symbol(self, expr: sp.Symbol) -> str:
        return _letters().get(expr, str(expr.name))

    def _print_TensorSymbol(self, expr: TensorSymbol) -> str:
        return _short(expr.tensor)

    def _print_Indexed(self, expr: sp.Indexed) -> str:
        label = expr.base.label
        entry = _entry_of_another(label.tensor, expr.indices) if isinstance(label, TensorSymbol) else None
        if entry is not None:
            return str(self._print(entry))
        name = _short(label.tensor) if isinstance(label, TensorSymbol) else str(label)
        return f"{name}[{', '.join(self._print(i) for i in expr.indices)}]"

    def _print_KroneckerDelta(self, expr: sp.Expr) -> str:
        return f"delta[{', '.join(self._print(i) for i in expr.args[:2])}]"


def _letters() -> dict[sp.Symbol, str]:
    pairs = zip((free_index, bound_index), (_FREE, _BOUND), strict=True)
    return {make(p): letter for make, letters in pairs for p, letter in enumerate(letters)}


def _entry_of_another(t: Tensor, indices: Sequence[sp.Expr]) -> sp.Expr | None:
    """Return the entry that an unnamed transpose, slice or the like stands for."""
    terms: Sequence[Term] = () if t.name else getattr(t, "terms", ())
    if len(terms) != 1 or terms[0].bound or not isinstance(terms[0].expr, sp.Indexed):
        return None
    return terms[0].expr.xreplace({free_index(p): i for p, i in enumerate(indices)})


def _short(t: Tensor) -> str:
    return t.name or t.describe_kind()


def describe_lambda(t: Lambda) -> str:
    """Return the body of an index lambda, cut if long."""
    text = " + ".join(_term(term) for term in t.terms).replace("((...))", "(...)") or "0"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def describe_application(function: str, operands: Sequence[Tensor]) -> str:
    """Return a function with the names or kinds of its operands."""
    if function == "on_domain":
        return operands[0].describe()
    return f"{function}({', '.join(_short(t) for t in operands)})".replace("((...))", "(...)")


def _term(term: Term) -> str:
    body = _Printer().doprint(term.expr)
    if not term.bound:
        return str(body)
    letters = _letters()
    over = ", ".join(letters.get(index, str(index)) for index, _ in term.bound)
    return f"sum_{{{over}}} {f'({body})' if term.expr.is_Add else body}"
