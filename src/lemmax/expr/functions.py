r"""Entrywise functions: lemmax's names for SymPy's, and four that SymPy lacks."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from sympy.logic.boolalg import Boolean

from lemmax.errors import InvalidArgument
from lemmax.expr.arithmetic import as_number, as_tensor, elementwise
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

    @classmethod
    def eval(cls, x: sp.Expr) -> sp.Expr | None:
        """Return the value at a real number; anything else stays as it is."""
        return (x if x > 0 else sp.S.Zero) if x.is_number and x.is_extended_real else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative ``step(x)``."""
        return step(self.args[0])


class step(sp.Function):  # type: ignore[misc]
    r"""The function :math:`1[x > 0]`, which is 0 at 0: the subgradient of relu that lemmax chooses."""

    nargs = 1
    is_real = True

    @classmethod
    def eval(cls, x: sp.Expr) -> sp.Expr | None:
        """Return the value at a real number; anything else stays as it is."""
        return sp.Integer(bool(x > 0)) if x.is_number and x.is_extended_real else None

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
    "floor": sp.floor,
    "ceil": sp.ceiling,
}
"""Entrywise functions by the name under which ``lx`` has them."""


def apply_function(name: str, value: Tensor | Scalar) -> Tensor | sp.Expr:
    """Apply an entrywise function to a tensor, or to a number or a size (which stays a SymPy expression)."""
    if isinstance(value, Tensor):
        return of_tensor(name, value)
    result = ELEMENTWISE[name](as_number(value, infinite=True))
    if result.has(sp.nan, sp.zoo, sp.I):
        raise InvalidArgument(f"{name}({value}) is no real number.")
    return result


def of_tensor(name: str, value: Tensor) -> Tensor:
    """Apply an entrywise function to a tensor."""
    return elementwise(name, ELEMENTWISE[name], value)


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
floor, ceil = _make("floor"), _make("ceil")
erf, sigmoid_, softplus_, relu_ = (_make(n) for n in ("erf", "sigmoid", "softplus", "relu"))


def maximum(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor | sp.Expr:
    """Return the larger of two entries, entry by entry; not smooth where they are equal."""
    return _of_two("maximum", sp.Max, a, b)


def minimum(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor | sp.Expr:
    """Return the smaller of two entries, entry by entry; not smooth where they are equal."""
    return _of_two("minimum", sp.Min, a, b)


def arctan2(y: Tensor | Scalar, x: Tensor | Scalar) -> Tensor | sp.Expr:
    """Return the angle of the point (x, y) from the first axis, in (-pi, pi], entry by entry; 0 at (0, 0)."""
    return _of_two("arctan2", sp.atan2, y, x)


def _of_two(
    name: str, body: Callable[..., sp.Expr], a: Tensor | Scalar, b: Tensor | Scalar
) -> Tensor | sp.Expr:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return elementwise(name, body, a, b)
    return body(as_number(a), as_number(b))  # in the body of an index lambda


_COMPARE: dict[str, type[sp.Rel]] = {"==": sp.Eq, ">=": sp.Ge, "<=": sp.Le, ">": sp.Gt, "<": sp.Lt}


def where(condition: Relation | Boolean, a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor | sp.Expr:
    """Return entries of ``a`` where the relation holds, else of ``b``; others have no influence.

    Inside the body of an index lambda the condition is a SymPy relation between entries or indices.

    Raises:
        InvalidArgument: the condition is no relation; ``A == B`` is ``False`` or ``True``, and compares
            how two tensors are made; say ``A.eq(B)``.
    """
    if isinstance(condition, Relation):
        compare = _COMPARE[condition.op]
        return elementwise(
            "where",
            lambda left, right, x, y: _choose(compare(left, right), x, y),
            condition.lhs,
            condition.rhs,
            as_tensor(a, infinite=True),
            as_tensor(b, infinite=True),
        )
    if isinstance(condition, Boolean) and not isinstance(a, Tensor) and not isinstance(b, Tensor):
        return _choose(condition, as_number(a, infinite=True), as_number(b, infinite=True))
    raise InvalidArgument(
        f"where: the condition {condition!r} is no relation between tensors: expected one such as A > 0, or"
        " A.eq(B) (A == B compares how two tensors are made)."
    )


def _choose(condition: sp.Basic, x: sp.Expr, y: sp.Expr) -> sp.Expr:
    return sp.Piecewise((x, condition), (y, True))
