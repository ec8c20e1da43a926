r"""Entrywise functions: lemmax's names for SymPy's, and four that SymPy lacks."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from lemmax.expr.arithmetic import as_tensor, elementwise
from lemmax.expr.relation import Relation
from lemmax.expr.tensor import Scalar, Tensor


class sigmoid(sp.Function):  # type: ignore[misc]
    r"""The logistic function :math:`1/(1+e^{-x})`, kept whole so that code can evaluate it stably."""

    nargs = 1
    is_real = True
    is_positive = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative ``sigmoid(x) sigmoid(-x)``."""
        return self * sigmoid(-self.args[0])


class softplus(sp.Function):  # type: ignore[misc]
    r"""The function :math:`\log(1+e^{x})`, kept whole so that code can evaluate it stably."""

    nargs = 1
    is_real = True
    is_positive = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative ``sigmoid(x)``."""
        return sigmoid(self.args[0])


class relu(sp.Function):  # type: ignore[misc]
    r"""The function :math:`\max(x, 0)`; its derivative is :class:`step`, with a kink at 0."""

    nargs = 1
    is_real = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative ``step(x)``."""
        return step(self.args[0])


class step(sp.Function):  # type: ignore[misc]
    r"""The function :math:`1[x > 0]`, which is 0 at 0: the subgradient of relu that lemmax chooses."""

    nargs = 1
    is_real = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative 0 (away from 0)."""
        return sp.S.Zero


ELEMENTWISE: dict[str, Callable[[sp.Expr], sp.Expr]] = {
    "exp": sp.exp,
    "log": sp.log,
    "sqrt": sp.sqrt,
    "abs": sp.Abs,
    "sign": sp.sign,
    "sin": sp.sin,
    "cos": sp.cos,
    "tan": sp.tan,
    "arcsin": sp.asin,
    "arccos": sp.acos,
    "arctan": sp.atan,
    "sinh": sp.sinh,
    "cosh": sp.cosh,
    "tanh": sp.tanh,
    "arcsinh": sp.asinh,
    "arccosh": sp.acosh,
    "arctanh": sp.atanh,
    "erf": sp.erf,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "relu": relu,
}
"""Entrywise functions by the name under which ``lx`` has them."""


def apply_function(name: str, value: Tensor | Scalar) -> Tensor | sp.Expr:
    """Apply an entrywise function to a tensor, or to a number or a size (which stays a SymPy expression)."""
    function = ELEMENTWISE[name]
    if not isinstance(value, Tensor):
        return function(sp.sympify(value)) if isinstance(value, int | sp.Expr) else function(sp.Float(value))
    return elementwise(name, function, value)


def _make(name: str) -> Callable[[Tensor | Scalar], Tensor | sp.Expr]:
    def function(value: Tensor | Scalar) -> Tensor | sp.Expr:
        return apply_function(name, value)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return ``{name}`` of each entry; of a size or number the SymPy expression."
    return function


exp, log, sqrt, abs_, sign = (_make(n) for n in ("exp", "log", "sqrt", "abs", "sign"))
sin, cos, tan = (_make(n) for n in ("sin", "cos", "tan"))
arcsin, arccos, arctan = (_make(n) for n in ("arcsin", "arccos", "arctan"))
sinh, cosh, tanh = (_make(n) for n in ("sinh", "cosh", "tanh"))
arcsinh, arccosh, arctanh = (_make(n) for n in ("arcsinh", "arccosh", "arctanh"))
erf, sigmoid_, softplus_, relu_ = (_make(n) for n in ("erf", "sigmoid", "softplus", "relu"))


def maximum(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return the larger of two entries, entry by entry; not smooth where they are equal."""
    return elementwise("maximum", sp.Max, a, b)


def minimum(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return the smaller of two entries, entry by entry; not smooth where they are equal."""
    return elementwise("minimum", sp.Min, a, b)


_COMPARE: dict[str, type[sp.Rel]] = {"==": sp.Eq, ">=": sp.Ge, "<=": sp.Le, ">": sp.Gt, "<": sp.Lt}


def where(condition: Relation, a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return entries of ``a`` where the relation holds, else of ``b``; others have no influence."""

    def choose(left: sp.Expr, right: sp.Expr, x: sp.Expr, y: sp.Expr) -> sp.Expr:
        return sp.Piecewise((x, _COMPARE[condition.op](left, right)), (y, True))

    return elementwise("where", choose, condition.lhs, condition.rhs, as_tensor(a), as_tensor(b))
