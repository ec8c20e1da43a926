r"""Subgradients: what a derivative becomes at points where the function is not differentiable.

A derivative of a singular value, an eigenvalue or a norm exists away from ties or zeros.  By default the
readings refuse such points; a subgradient is a choice, which is made here, in the expression itself.
"""

from __future__ import annotations

import sympy as sp

from lemmax.calculus.terms import entry_tensor, is_monomial, split_factors
from lemmax.expr.graph import transform
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.tensor import Tensor, TensorSymbol


def choose_subgradients(t: Tensor) -> Tensor:
    """Return ``t`` with functions that refuse ties or zeros replaced by ones that choose there."""
    (chosen,) = transform([t], _choose)
    return chosen


def _choose(node: Tensor) -> Tensor:
    if not isinstance(node, Apply) or ("kink", "raise") not in node.params:
        return node
    params = {**dict(node.params), "kink": "choose"}
    return Apply(node.function, node.operands, node.shape, params, node.name)


def is_sum_of_squares(t: Tensor | None) -> bool:
    """Is the tensor visibly a sum of even powers with positive coefficients that can be 0: a squared norm?"""
    if not isinstance(t, Lambda) or not t.terms or any(term.expr.is_positive for term in t.terms):
        return False
    for term in t.terms:
        coefficient, factors = split_factors(term.expr)
        even = all(f.as_base_exp()[1].is_even for f in factors if not isinstance(f, sp.KroneckerDelta))
        if not (coefficient.is_positive and even and is_monomial(term.expr)):
            base = term.expr.as_base_exp() if isinstance(term.expr, sp.Pow) else None
            if base is None or not base[1].is_even:
                return False
    return True


def zero_at_zero(slope: sp.Expr) -> sp.Expr:
    r"""Return the slope of a norm with the subgradient 0 at 0: :math:`s^{-p}` becomes 0 where s = 0.

    Only powers of sums of squares s are meant: :math:`x / \sqrt{s}` is a slope of :math:`\sqrt s`, and 0 is
    in the subdifferential of a norm at 0.
    """
    swap: dict[sp.Basic, sp.Basic] = {}
    for power in sorted(slope.atoms(sp.Pow), key=str):
        base, exponent = power.as_base_exp()
        if exponent.is_Rational and exponent.is_negative and exponent.q == 2 and is_squares(base):
            swap[power] = sp.Piecewise((power, base > 0), (sp.S.Zero, True))
    return slope.xreplace(swap) if swap else slope


def is_squares(base: sp.Expr) -> bool:
    """Is a base an entry of a sum of squares, or one written out?"""
    if is_sum_of_squares(entry_tensor(base)):
        return True
    return bool(base.atoms(TensorSymbol)) and all(
        not part.is_positive
        and part.as_coeff_Mul()[0].is_positive
        and all(f.as_base_exp()[1].is_even for f in _bases(part))
        for part in sp.Add.make_args(base)
    )


def _bases(part: sp.Expr) -> list[sp.Expr]:
    return [f for f in sp.Mul.make_args(part) if f.atoms(TensorSymbol)]
