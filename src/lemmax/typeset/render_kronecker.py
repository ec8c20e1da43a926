r"""LaTeX of Kronecker products and commutation matrices."""

from __future__ import annotations

from collections.abc import Callable

from lemmax.typeset.names import latex_expression
from lemmax.typeset.node import Node
from lemmax.typeset.render import ATOM, HADAMARD, POWER, PRODUCT, Scope, latex_node, tex

Rendered = tuple[str, int]
_MOST_BARE = 2  # longer products stand in parentheses, though they bind closer


def tex_kron(x: Node, scope: Scope) -> Rendered:
    r"""Return a Kronecker product: :math:`x x^\top \otimes (A B C)`."""
    return r" \otimes ".join(_operand(a, scope) for a in x.args), HADAMARD


def _operand(a: Node, scope: Scope) -> str:
    short = a.op == "product" and len(a.args) <= _MOST_BARE and all(tex(f, scope)[1] >= POWER for f in a.args)
    return latex_node(a, scope, PRODUCT if short else POWER)


def tex_commutation(x: Node, scope: Scope) -> Rendered:
    """Return a commutation matrix with the shape of the matrix that it transposes."""
    letter = r"\mathrm{K}" if "K" in scope.letters.reserved else "K"
    sizes = reversed(x.data) if scope.column_major else x.data
    shown = [latex_expression(s) for s in sizes]
    plain = all(s.is_Symbol and len(t) == 1 for s, t in zip(x.data, shown, strict=True))
    return f"{letter}_{{{('' if plain else ', ').join(shown)}}}", ATOM


KRONECKER_RULES: dict[str, Callable[[Node, Scope], Rendered]] = {
    "kron": tex_kron,
    "commutation": tex_commutation,
}
