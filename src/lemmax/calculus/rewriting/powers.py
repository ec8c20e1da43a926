r"""Powers of matrices with symbolic exponents: of transposes and multiples, exponents apart by a number.

Of all powers :math:`A^{k + c}` of one matrix in a statement the least is a letter, and the others are
products of it with A.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import sympy as sp

from lemmax.calculus.rewriting.conditions import is_generic
from lemmax.calculus.rewriting.inverses import only_word, polynomial_of
from lemmax.expr import arithmetic, linalg
from lemmax.expr.matrix_functions import matrix_power
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.tensor import Tensor

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.engine import Engine

Least: TypeAlias = dict[sp.Expr, int]
"""Symbolic part of an exponent to the least number that is added to it."""

_FARTHEST = 8


def least_exponents(nodes: Iterable[Tensor]) -> Least:
    """Return the least offsets of the exponents that occur."""
    found: Least = {}
    for node in nodes:
        if isinstance(node, Apply) and node.function == "matrix_power":
            offset, symbolic = _exponent(node).as_coeff_Add()
            if offset.is_Integer:
                found[symbolic] = min(found.get(symbolic, int(offset)), int(offset))
    return found


def rewrite_power(engine: Engine, node: Apply) -> Tensor | None:
    """Return a power in simpler terms, or ``None``."""
    a, exponent = node.operands[0], _exponent(node)
    if a.ndim != 2:
        return None
    offset, symbolic = exponent.as_coeff_Add()
    more = int(offset) - engine.least.get(symbolic, int(offset)) if offset.is_Integer else 0
    if symbolic != 0 and 0 < more <= _FARTHEST:
        engine.ledger.note("power of a matrix")
        power = matrix_power(a, exponent - more)
        for _ in range(more):
            power = power @ a
        return power
    if not isinstance(a, Lambda):
        return None
    alphabet = engine.inverse_rules.alphabet
    only = only_word(polynomial_of(a, alphabet))
    if only is None:
        return None
    word, c = only
    if c != 1 and is_generic(c):
        engine.ledger.note("power of a matrix")
        scaled: Tensor = matrix_power(engine.tensor(a / c), exponent) * arithmetic.as_tensor(c) ** exponent
        return scaled
    if len(word) == 1 and word[0][1]:
        engine.ledger.note("power of a matrix")
        return linalg.matrix_transpose(matrix_power(alphabet.tensor_of((word[0][0], False)), exponent))
    return None


def _exponent(node: Apply) -> sp.Expr:
    return sp.sympify(node.param("k"))
