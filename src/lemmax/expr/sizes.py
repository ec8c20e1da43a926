r"""Sizes: positive integers, symbolic or concrete, as SymPy expressions."""

from __future__ import annotations

import numbers
import re
from typing import TypeAlias

import sympy as sp

from lemmax.errors import InvalidArgument

Size: TypeAlias = sp.Expr
"""A size is an expression in positive integer symbols, such as ``n``, ``N*n`` or ``8``."""

_NAME = re.compile(r"[A-Za-z](\w|[\\^{}])*\Z")


def size(name: str) -> sp.Symbol:
    """Return the symbolic size called ``name``, a positive integer."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidArgument(
            f"size({name!r}): a size needs a name that starts with a letter, such as 'n' or 'n_1'."
        )
    return sp.Symbol(name, integer=True, positive=True)


def sizes(names: str) -> tuple[sp.Symbol, ...]:
    """Return one symbolic size per word of ``names``, as in ``N, n = lx.sizes("N n")``."""
    words = names.replace(",", " ").split() if isinstance(names, str) else []
    if not words:
        raise InvalidArgument(f"sizes({names!r}): expected names separated by blanks, such as 'N n D'.")
    return tuple(size(word) for word in words)


def as_size(value: object) -> Size:
    """Return ``value`` as a size; integers must be at least 1.

    Raises:
        InvalidArgument: ``value`` is no positive integer and no expression in sizes.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral | sp.Expr):
        raise InvalidArgument(
            f"{value!r} is no size: expected a positive integer or an expression in sizes from lx.sizes(...)."
        )
    expr = value if isinstance(value, sp.Expr) else sp.Integer(int(value))
    if expr.is_nonpositive:
        raise InvalidArgument(f"size {expr} is not positive: sizes are at least 1.")
    if expr.is_integer is not True or not all(s.is_positive and s.is_integer for s in expr.free_symbols):
        raise InvalidArgument(
            f"{expr} is not known to be a positive integer: build sizes from lx.sizes(...) and integers."
        )
    return expr


def same_size(a: Size, b: Size) -> bool:
    """Are two sizes equal for all values of their symbols?"""
    return bool(a == b or sp.expand(a - b) == 0)


def is_one(a: Size) -> bool:
    """Is the size the number 1?"""
    return bool(a == sp.S.One)


def product(items: tuple[Size, ...]) -> Size:
    """Return the product of sizes (1 if there are none)."""
    return sp.Mul(*items) if items else sp.S.One
