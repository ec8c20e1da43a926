r"""Entrywise arithmetic with NumPy's broadcasting."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable

import sympy as sp

from lemmax.errors import InvalidArgument, ShapeError
from lemmax.expr.domains import NOT_ZERO, Guard, on_domain
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.sizes import Size, is_one, same_size
from lemmax.expr.tensor import Scalar, Tensor, TensorSymbol


def as_number(value: Scalar, infinite: bool = False) -> sp.Expr:
    """Return a number, or an expression in sizes, as a SymPy expression.

    Args:
        value: an integer, a fraction, a float, or a SymPy expression in sizes, indices and entries.
        infinite: whether plus and minus infinity are numbers here, as they are in masks.

    Raises:
        InvalidArgument: the value is not real or not finite, or holds symbols that are not sizes.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Rational | float | sp.Expr):
        if getattr(value, "shape", None) == () and hasattr(value, "item"):
            return as_number(value.item(), infinite)  # a NumPy scalar
        raise InvalidArgument(
            f"{value!r} of type {type(value).__name__} cannot be combined with a tensor: expected a tensor, a"
            " number or an expression in sizes. Arrays enter when an expression is evaluated; declare a"
            " lx.tensor for them."
        )
    if isinstance(value, float):
        if not math.isfinite(value):
            expr = sp.nan if math.isnan(value) else sp.oo if value > 0 else -sp.oo
        else:
            # 0.5 means one half; 0.1 stays the floating-point number that it is
            ratio = value.as_integer_ratio()
            expr = sp.Rational(*ratio) if ratio[1] <= 4096 else sp.Float(value)
    elif isinstance(value, sp.Expr):
        expr = value
    else:
        expr = sp.Rational(value.numerator, value.denominator)
    if expr.has(sp.nan, sp.zoo, sp.I):
        raise InvalidArgument(f"the constant {value} is no real number.")
    if not infinite and expr.has(sp.oo, -sp.oo):
        raise InvalidArgument(
            f"the constant {value} is not finite; masks take -inf through lx.where, lx.causal_mask or an"
            " input."
        )
    for symbol in sorted(expr.atoms(sp.Symbol), key=str):
        if isinstance(symbol, TensorSymbol) or is_index(symbol):
            continue
        if not symbol.is_integer:
            raise InvalidArgument(
                f"the symbol {symbol} is neither a size nor a tensor: declare a scalar variable with"
                f" lx.tensor({str(symbol)!r})."
            )
    return expr


def as_tensor(value: Tensor | Scalar, infinite: bool = False) -> Tensor:
    """Return a tensor, or a number as a scalar tensor."""
    if isinstance(value, Tensor):
        return value
    expr = as_number(value, infinite)
    if isinstance(expr, TensorSymbol):
        return expr.tensor
    return Lambda((), (), (Term((), expr),))


def broadcast_shape(what: str, *operands: Tensor) -> tuple[Size, ...]:
    """Return the common shape of operands, axes aligned from the right.

    Raises:
        ShapeError: two sizes differ and neither is 1.
    """
    ndim = max(t.ndim for t in operands)
    shape: list[Size] = []
    for back in range(ndim, 0, -1):
        chosen: Size = sp.S.One
        owner: Tensor | None = None
        for t in operands:
            if t.ndim < back or is_one(t.shape[-back]):
                continue
            if owner is not None and not same_size(chosen, t.shape[-back]):
                raise ShapeError(
                    f"{what}: sizes {chosen} and {t.shape[-back]} clash on axis {-back}: {owner.label()} and"
                    f" {t.label()}. Sizes must be equal, or 1; transpose, or add an axis with A[:, None]."
                )
            if owner is None:
                chosen, owner = t.shape[-back], t
        shape.append(chosen)
    return tuple(shape)


def broadcast_entry(t: Tensor, indices: tuple[sp.Symbol, ...]) -> sp.Expr:
    """Return the entry of ``t`` that a result with ``indices`` sees; axes of size 1 are read at 0."""
    own = indices[len(indices) - t.ndim :]
    return t.entry(*[sp.S.Zero if is_one(s) else i for s, i in zip(t.shape, own, strict=True)])


def elementwise(what: str, body: Callable[..., sp.Expr], *values: Tensor | Scalar) -> Tensor:
    """Return ``body`` applied entry by entry, operands broadcast; inside another body, the expression."""
    if any(map(_is_entry, values)):
        return body(*map(_in_body, values))  # type: ignore[no-any-return]
    operands = [as_tensor(v) for v in values]
    shape = broadcast_shape(what, *operands)
    indices = free_indices(len(shape))
    expr = body(*[constant_of(t) if is_constant(t) else broadcast_entry(t, indices) for t in operands])
    return Lambda(shape, indices, (Term((), expr),))


def _is_entry(value: Tensor | Scalar) -> bool:
    return isinstance(value, sp.Expr) and any(map(is_index, value.free_symbols))


def _in_body(value: Tensor | Scalar) -> sp.Expr:
    """Return a scalar as it stands in the body of an index lambda.

    Raises:
        InvalidArgument: a tensor that is no scalar stands beside an entry.
    """
    if not isinstance(value, Tensor):
        return as_number(value, infinite=True)
    if value.ndim:
        raise InvalidArgument(f"{value.label()} stands beside an entry: index it too, as in A[i, j].")
    return constant_of(value) if is_constant(value) else value.symbol


def is_constant(t: Tensor) -> bool:
    """Is the tensor a scalar number (or an expression in sizes)?"""
    return (
        isinstance(t, Lambda) and t.ndim == 0 and not t.operands and all(not term.bound for term in t.terms)
    )


def constant_of(t: Tensor) -> sp.Expr:
    """Return the number that a constant holds."""
    assert isinstance(t, Lambda)
    return sp.Add(*[term.expr for term in t.terms])


def _signed_sum(what: str, left: Tensor | Scalar, right: Tensor | Scalar, sign: int) -> Tensor:
    if _is_entry(left) or _is_entry(right):
        return _in_body(left) + sign * _in_body(right)  # type: ignore[no-any-return]
    a, b = as_tensor(left), as_tensor(right)
    shape = broadcast_shape(what, a, b)
    indices = free_indices(len(shape))
    entry = [constant_of(t) if is_constant(t) else broadcast_entry(t, indices) for t in (a, b)]
    return Lambda(shape, indices, (Term((), entry[0]), Term((), sign * entry[1])))


def add(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return ``a + b``, entry by entry."""
    return _signed_sum("a + b", a, b, 1)


def subtract(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return ``a - b``, entry by entry."""
    return _signed_sum("a - b", a, b, -1)


def multiply(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return ``a * b``, the Hadamard product."""
    return elementwise("a * b", lambda x, y: x * y, a, b)


def divide(a: Tensor | Scalar, b: Tensor | Scalar) -> Tensor:
    """Return ``a / b``, entry by entry.

    Raises:
        InvalidArgument: ``b`` is the number 0.
    """
    if not isinstance(b, Tensor) and as_number(b).is_zero:
        raise InvalidArgument("division by the number 0.")
    quotient = elementwise("a / b", lambda x, y: x / y, a, b)
    if not isinstance(quotient, Tensor) or not isinstance(b, Tensor) or is_constant(b):
        return quotient
    if b in quotient.operands or b.entry_assumptions().get("positive"):
        return quotient
    # SymPy has cancelled the divisor, as in x / x, which still must not be 0
    return on_domain(quotient, [Guard(b, NOT_ZERO, f"{b.name or b.describe()} divides, and is 0")])


def power(a: Tensor | Scalar, exponent: Tensor | Scalar) -> Tensor:
    """Return ``a ** exponent``, entry by entry."""
    return elementwise("a ** b", lambda x, y: x**y, a, exponent)
