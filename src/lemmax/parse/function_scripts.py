r"""What scripts on the name of a function say: the base of a logarithm, orders, derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable

import sympy as sp

from lemmax.expr.special import SPECIAL, write_out
from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure
from lemmax.parse.scripts import joined


def base_of(ctx: Context, part: r.Call) -> sp.Expr:
    r"""Return the base of a logarithm, from its subscript."""
    assert part.head is not None
    text = joined(part.head.sub)
    if text == "e" and not ctx.names.is_given("e"):
        return sp.E
    if not re.fullmatch(r"\d+", text) or int(text) < 2:
        raise Failure(part.span, f"{ctx.text(part)}: expected a whole number from 2 on as base.")
    return sp.Integer(text)


def slope(ctx: Context, part: r.Call, body: Callable[..., sp.Expr]) -> Callable[..., sp.Expr]:
    r"""Return the derivative that a prime on a function says, :math:`\tanh'(x) = 1 - \tanh^2 x`."""
    assert part.head is not None
    x = sp.Dummy("x", real=True)
    derived = write_out(sp.diff(body(x), x, part.head.primes))
    if derived.has(sp.Derivative, sp.Subs, sp.DiracDelta, sp.Heaviside):
        raise Failure(part.span, f"{ctx.text(part)}: this derivative has no formula; write it out.")
    return lambda entry: derived.xreplace({x: entry})


def of_orders(ctx: Context, part: r.Call) -> Callable[[sp.Expr], sp.Expr]:
    r"""Return the function of an entry that a subscript with orders says, as in ``besselj_2(x)``."""
    order = joined(part.head.sub) if part.head is not None else ""
    numbers = order.split(",")
    wanted = SPECIAL[part.function].orders
    if len(numbers) != wanted or not all(re.fullmatch(r"-?\d+(/[1-9]\d*)?", text) for text in numbers):
        many = "a number" if wanted == 1 else f"{wanted} numbers, with commas between,"
        raise Failure(
            part.span, rf"{ctx.text(part)}: expected {many} as subscript, the order of the function."
        )
    orders = [sp.Rational(text) for text in numbers]
    return lambda x: SPECIAL[part.function].function(*orders, x)
