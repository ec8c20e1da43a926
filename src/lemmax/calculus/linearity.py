r"""Is an expression linear, or affine, in a tensor?  Read off the graph, term by term."""

from __future__ import annotations

import sympy as sp

from lemmax.calculus.normal_form import is_zero
from lemmax.calculus.terms import entry_tensor, indices_of, split_factors
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.tensor import Tensor, TensorSymbol

_LINEAR = {"concat", "slice", "place", "merge", "split"}
"""Functions that are linear in all operands together."""
_LINEAR_IN_SLOT = {"softmax_pullback": 1}
"""Functions that are linear in one operand, the others fixed."""


def is_linear_in(t: Tensor, x: Tensor) -> bool:
    """Is ``t`` linear in ``x``, every other input fixed?  ``False`` means only that this was not seen."""
    return _degree(t, x, constants=False)


def is_affine_in(t: Tensor, x: Tensor) -> bool:
    """Is ``t`` a linear expression in ``x`` plus a constant?  ``False`` as in :func:`is_linear_in`."""
    return _degree(t, x, constants=True)


def _degree(t: Tensor, x: Tensor, constants: bool) -> bool:
    linear: set[str] = {x.digest}
    other: set[str] = set()  # depends on x in a way that was not seen to be linear
    for node in topological_order(t, stop=lambda s: s == x):
        if node == x:
            continue
        moving = [s for s in node.operands if s.digest in linear or s.digest in other]
        if not moving:
            continue
        fine = all(s.digest in linear for s in moving)
        if fine and isinstance(node, Lambda):
            fine = _terms_are_linear(node, linear, constants)
        elif fine and isinstance(node, Apply) and node.function in _LINEAR:
            fine = constants or all(s in moving or is_zero(s) for s in node.operands)
        elif fine and isinstance(node, Apply) and node.function in _LINEAR_IN_SLOT:
            fine = moving == [node.operands[_LINEAR_IN_SLOT[node.function]]]
        else:
            fine = False
        (linear if fine else other).add(node.digest)
    if is_zero(t):
        return True
    return t.digest in linear or (constants and t.digest not in other)


def _terms_are_linear(node: Lambda, linear: set[str], constants: bool) -> bool:
    for term in node.terms:
        factors = [
            f
            for f in sp.Mul.make_args(term.expr)
            if any(s.tensor.digest in linear for s in f.atoms(TensorSymbol))
        ]
        if not factors and constants:
            continue
        if len(factors) != 1 or not _factor_is_linear(factors[0], linear, constants):
            return False
    return True


def _factor_is_linear(factor: sp.Expr, linear: set[str], constants: bool) -> bool:
    """Is a factor an entry of a linear tensor, or a sum of multiples of such?"""
    t = entry_tensor(factor)
    if t is not None:
        return t.digest in linear
    if isinstance(factor, sp.Add):
        parts = [sp.Mul.make_args(part) for part in factor.args]
        for part in parts:
            moving = [f for f in part if any(s.tensor.digest in linear for s in f.atoms(TensorSymbol))]
            if not moving and constants:
                continue
            if len(moving) != 1 or not _factor_is_linear(moving[0], linear, constants):
                return False
        return True
    return False


def multiple_of(t: Tensor) -> tuple[sp.Expr, Tensor]:
    """Return a coefficient and a tensor of which ``t`` is the multiple; 1 and ``t`` if it is none."""
    if isinstance(t, Lambda) and len(t.terms) == 1 and not t.terms[0].bound:
        coefficient, factors = split_factors(t.terms[0].expr)
        if len(factors) == 1:
            inner = entry_tensor(factors[0])
            if inner is not None and inner.shape == t.shape and indices_of(factors[0]) == t.indices:
                return coefficient, inner
    return sp.S.One, t
