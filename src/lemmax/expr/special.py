r"""More entrywise functions: SymPy's that NumPy has in another form, and those that SciPy has.

The first kind is written by functions that every reading knows (:math:`\sec x = 1/\cos x`).  The second is a
table of records; a generated file that uses one imports ``scipy.special``.  Functions with an order (Bessel,
polygamma, exponential integral) take a number as order.  Where a value would be complex there is none; the
cosine integrals are those of the absolute value, as in SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp
from sympy.codegen import cfunctions

from lemmax.errors import InvalidArgument
from lemmax.expr.arithmetic import as_number, elementwise
from lemmax.expr.special_classes import (
    OF_SYMPY,
    beta_by_gammas,
    confluent,
    elliptic_first,
    elliptic_second,
    hurwitz,
    hypergeometric,
    incomplete_beta,
    lambert_w,
    lower_gamma,
    sine_integral,
    spherical_bessel,
    upper_gamma,
)
from lemmax.expr.tensor import Scalar, Tensor


@dataclass(frozen=True, slots=True)
class Special:
    """A function of one real argument, with orders or parameters (numbers) before it or without.

    Attributes:
        name: under which ``lx`` has it.
        function: SymPy's class.
        code: text in NumPy and ``scipy.special``, of ``{x}`` and ``{k}``.
        low: below this argument it is undefined.
        high: above this argument it is undefined.
        orders: how many orders there are.
    """

    name: str
    function: type[sp.Function]
    code: str
    low: float = float("-inf")
    high: float = float("inf")
    orders: int = 0


_LAMBERT_W = "np.where((principal := special.lambertw({x})).imag == 0, principal.real, np.nan)"

SPECIAL: dict[str, Special] = {
    row.name: row
    for row in [
        Special("expm1", cfunctions.expm1, "np.expm1({x})"),
        Special("log1p", cfunctions.log1p, "np.log1p({x})", low=-1.0),
        Special("erfc", sp.erfc, "special.erfc({x})"),
        Special("erfi", sp.erfi, "special.erfi({x})"),
        Special("erfinv", sp.erfinv, "special.erfinv({x})"),
        Special("erfcinv", sp.erfcinv, "special.erfcinv({x})"),
        Special("gamma", sp.gamma, "special.gamma({x})"),
        Special("loggamma", sp.loggamma, "special.loggamma({x})", low=0.0),
        Special("digamma", sp.digamma, "special.digamma({x})"),
        Special("polygamma", sp.polygamma, "special.polygamma({k}, {x})", orders=1),
        Special("besselj", sp.besselj, "special.jv({k}, {x})", orders=1),
        Special("bessely", sp.bessely, "special.yv({k}, {x})", low=0.0, orders=1),
        Special("besseli", sp.besseli, "special.iv({k}, {x})", orders=1),
        Special("besselk", sp.besselk, "special.kv({k}, {x})", low=0.0, orders=1),
        Special("spherical_jn", spherical_bessel, "special.spherical_jn({k}, {x})", orders=1),
        Special("airyai", sp.airyai, "special.airy({x})[0]"),
        Special("airyaiprime", sp.airyaiprime, "special.airy({x})[1]"),
        Special("airybi", sp.airybi, "special.airy({x})[2]"),
        Special("airybiprime", sp.airybiprime, "special.airy({x})[3]"),
        Special("expi", sp.Ei, "special.expi({x})"),
        Special("expn", sp.expint, "special.expn({k}, {x})", low=0.0, orders=1),
        Special("sinint", sine_integral, "special.sici({x})[0]"),
        Special("cosint", sp.Ci, "special.sici({x})[1]"),
        Special("sinhint", sp.Shi, "special.shichi({x})[0]"),
        Special("coshint", sp.Chi, "special.shichi({x})[1]"),
        Special("fresnels", sp.fresnels, "special.fresnel({x})[0]"),
        Special("fresnelc", sp.fresnelc, "special.fresnel({x})[1]"),
        Special("lambertw", lambert_w, _LAMBERT_W, low=-0.36787944117144233),
        Special("gammainc", lower_gamma, "special.gammainc({k}, {x})", low=0.0, orders=1),
        Special("gammaincc", upper_gamma, "special.gammaincc({k}, {x})", low=0.0, orders=1),
        Special("betainc", incomplete_beta, "special.betainc({k}, {x})", low=0.0, high=1.0, orders=2),
        Special("zeta", sp.zeta, "special.zeta({x})"),
        Special("harmonic", sp.harmonic, "(special.digamma({x} + 1) + np.euler_gamma)"),
        Special("hurwitz_zeta", hurwitz, "special.zeta({k}, {x})", low=0.0, orders=1),
        Special("hyp1f1", confluent, "special.hyp1f1({k}, {x})", orders=2),
        Special("hyp2f1", hypergeometric, "special.hyp2f1({k}, {x})", high=1.0, orders=3),
        Special("ellipkinc", elliptic_first, "special.ellipkinc({x}, {k})", orders=1),
        Special("ellipeinc", elliptic_second, "special.ellipeinc({x}, {k})", orders=1),
        Special("elliptic_k", sp.elliptic_k, "special.ellipk({x})"),
        Special("elliptic_e", sp.elliptic_e, "special.ellipe({x})"),
    ]
}
"""Functions that have readings of their own, by their names in ``lx``."""

SPECIAL_CLASSES: dict[type[sp.Basic], Special] = {row.function: row for row in SPECIAL.values()} | {
    sp.LambertW: SPECIAL["lambertw"],
    sp.jn: SPECIAL["spherical_jn"],
    sp.Si: SPECIAL["sinint"],
}
"""The same by the class of SymPy's function."""

WRITTEN: dict[str, Callable[..., sp.Expr]] = {
    "sec": lambda x: 1 / sp.cos(x),
    "csc": lambda x: 1 / sp.sin(x),
    "cot": lambda x: sp.cos(x) / sp.sin(x),
    "arcsec": lambda x: sp.acos(1 / x),
    "arccsc": lambda x: sp.asin(1 / x),
    "arccot": lambda x: sp.atan(1 / x),
    "sech": lambda x: 1 / sp.cosh(x),
    "csch": lambda x: 1 / sp.sinh(x),
    "coth": lambda x: 1 / sp.tanh(x),
    "arcsech": lambda x: sp.acosh(1 / x),
    "arccsch": lambda x: sp.asinh(1 / x),
    "arccoth": lambda x: sp.atanh(1 / x),
    "log2": lambda x: sp.log(x) / sp.log(2),
    "log10": lambda x: sp.log(x) / sp.log(10),
    "exp2": lambda x: sp.exp(x * sp.log(2)),
    "cbrt": lambda x: x ** sp.Rational(1, 3),
    "sinc": lambda x: spherical_bessel(sp.S.Zero, x),
    "factorial": lambda x: sp.gamma(x + 1),
    "hypot": lambda x, y: sp.sqrt(x**2 + y**2),
    "logaddexp": lambda x, y: y + _softplus(x - y),
    "beta": beta_by_gammas,
    "poch": lambda x, y: sp.gamma(x + y) / sp.gamma(x),
    "binom": lambda x, y: sp.gamma(x + 1) / (sp.gamma(y + 1) * sp.gamma(x - y + 1)),
}
"""Functions that are written by others, by their names in ``lx``."""

_CLASSES: dict[type[sp.Basic], str] = {
    sp.sec: "sec", sp.csc: "csc", sp.cot: "cot", sp.asec: "arcsec", sp.acsc: "arccsc", sp.acot: "arccot",
    sp.sech: "sech", sp.csch: "csch", sp.coth: "coth", sp.asech: "arcsech", sp.acsch: "arccsch",
    sp.acoth: "arccoth", cfunctions.log2: "log2", cfunctions.log10: "log10", cfunctions.exp2: "exp2",
    cfunctions.Cbrt: "cbrt", cfunctions.hypot: "hypot", sp.sinc: "sinc", sp.factorial: "factorial",
    sp.beta: "beta", sp.RisingFactorial: "poch", sp.binomial: "binom",
}  # fmt: skip


_IN_BODIES: dict[type[sp.Basic], Callable[..., sp.Expr | None]] = {
    **{kind: WRITTEN[name] for kind, name in _CLASSES.items()},
    sp.erf2: lambda x, y: sp.erf(y) - sp.erf(x),
    sp.li: lambda x: sp.Ei(sp.log(x)),
    sp.frac: lambda x: x - sp.floor(x),
    sp.Mod: lambda x, y: x - y * sp.floor(x / y),
    sp.Heaviside: lambda x, at_zero: (1 + sp.sign(x)) / 2 + (at_zero - sp.S.Half) * (1 - sp.sign(x) ** 2),
    **OF_SYMPY,
}
"""How bodies of index lambdas that hold other functions of SymPy are written; ``None``: left as they are."""


def _softplus(x: sp.Expr) -> sp.Expr:
    from lemmax.expr.functions import softplus

    return softplus(x)


def write_out(expr: sp.Expr) -> sp.Expr:
    """Return a body with SymPy's functions of the first kind written by those that every reading knows."""
    if not any(type(f) in _IN_BODIES for f in expr.atoms(sp.Function)):
        return expr

    def written(node: sp.Basic) -> sp.Basic:
        new = _IN_BODIES[type(node)](*node.args)
        return node if new is None else new

    def is_meant(node: sp.Basic) -> bool:
        # of an index, a remainder says which entry
        return type(node) in _IN_BODIES and (not isinstance(node, sp.Mod) or node.has(sp.Indexed))

    result: sp.Expr = expr.replace(is_meant, written)
    return result


def special_of(expr: sp.Basic) -> tuple[Special, tuple[sp.Expr, ...], sp.Expr] | None:
    """Return the record of a special function with its orders and argument, or ``None`` if it is none.

    SymPy's polygamma of order 0 is the digamma function.
    """
    row = SPECIAL_CLASSES.get(type(expr))
    if row is None or len(expr.args) != 1 + row.orders:
        return None
    *orders, argument = expr.args
    if not all(order.is_Rational or order.is_Float for order in orders):
        return None
    if row.name == "polygamma" and orders[0] == 0:
        return SPECIAL["digamma"], (), argument
    return row, tuple(orders), argument


def key_of(row: Special, orders: tuple[sp.Expr, ...]) -> str:
    """Return a name with its orders, such as ``besselj:1/2``; readings look it up."""
    return f"{row.name}:{','.join(map(str, orders))}" if orders else row.name


def split_key(key: str) -> tuple[Special, tuple[str, ...]] | None:
    """Return the record and the orders (texts) that a name stands for, or ``None``."""
    name, _, orders = key.partition(":")
    return (SPECIAL[name], tuple(orders.split(",")) if orders else ()) if name in SPECIAL else None


_MEANINGS = {
    "expm1": "exp(x) - 1 without cancellation", "log1p": "log(1 + x) without cancellation",
    "erfc": "1 - erf(x), the complementary error function",
    "erfi": "-i erf(i x), the imaginary error function",
    "erfinv": "the inverse of erf", "erfcinv": "the inverse of erfc", "gamma": "the gamma function",
    "loggamma": "log gamma(x), x > 0", "digamma": "the derivative of log gamma",
    "polygamma": "the derivative of digamma of an order", "besselj": "the Bessel function J of an order",
    "bessely": "the Bessel function Y of an order, x > 0",
    "besseli": "the modified Bessel function I of an order",
    "besselk": "the modified Bessel function K of an order, x > 0",
    "spherical_jn": "the spherical Bessel function j of an order", "airyai": "the Airy function Ai",
    "airyaiprime": "the derivative of Ai", "airybi": "the Airy function Bi",
    "airybiprime": "the derivative of Bi",
    "expi": "the exponential integral Ei", "expn": "the exponential integral E of an order, x > 0",
    "sinint": "the sine integral Si", "cosint": "the cosine integral Ci of |x|",
    "sinhint": "the hyperbolic sine integral Shi", "coshint": "the hyperbolic cosine integral Chi of |x|",
    "fresnels": "the integral of sin(pi t^2 / 2) from 0 to x", "fresnelc": "that of cos(pi t^2 / 2)",
    "lambertw": "the W >= -1 with W exp(W) = x",
    "gammainc": "the regularised lower incomplete gamma function P of an order > 0, x >= 0",
    "gammaincc": "the regularised upper incomplete gamma function Q = 1 - P of an order > 0, x >= 0",
    "betainc": "the regularised incomplete beta function of two parameters > 0, 0 <= x <= 1",
    "zeta": "the Riemann zeta function (without derivative)",
    "harmonic": "the harmonic number, digamma(x + 1) plus Euler's constant",
    "hurwitz_zeta": "the Hurwitz zeta function, the sum of (k + x)^-s, of an order s > 1, x > 0",
    "hyp1f1": "the confluent hypergeometric function of two parameters",
    "hyp2f1": "Gauss's hypergeometric function of three parameters, x < 1",
    "ellipkinc": "the incomplete elliptic integral F of an angle, of parameter m before it",
    "ellipeinc": "the incomplete elliptic integral E of an angle, of parameter m before it",
    "elliptic_k": "the complete elliptic integral K of parameter m",
    "elliptic_e": "the complete elliptic integral E of parameter m",
    "sec": "1 / cos(x)", "csc": "1 / sin(x)", "cot": "cos(x) / sin(x)", "arcsec": "arccos(1 / x)",
    "arccsc": "arcsin(1 / x)", "arccot": "arctan(1 / x)", "sech": "1 / cosh(x)", "csch": "1 / sinh(x)",
    "coth": "1 / tanh(x)", "arcsech": "arccosh(1 / x)",
    "arccsch": "arcsinh(1 / x)", "arccoth": "arctanh(1 / x)",
    "log2": "the logarithm to base 2", "log10": "the logarithm to base 10", "exp2": "2 to the power x",
    "cbrt": "x to the power 1/3, x >= 0", "sinc": "sin(x) / x, 1 at 0 (NumPy's sinc is that of pi x)",
    "factorial": "gamma(x + 1)", "hypot": "sqrt(x^2 + y^2)", "logaddexp": "log(exp(x) + exp(y))",
    "beta": "gamma(x) gamma(y) / gamma(x + y)", "poch": "gamma(x + y) / gamma(x), the rising factorial",
    "binom": "gamma(x + 1) / (gamma(y + 1) gamma(x - y + 1)), the binomial coefficient",
}  # fmt: skip


def _make_special(name: str) -> Callable[..., Tensor | sp.Expr]:
    row = SPECIAL[name]
    if not row.orders:
        return _make_written(name, row.function)

    def with_orders(*arguments: Tensor | Scalar) -> Tensor | sp.Expr:
        if len(arguments) != row.orders + 1:
            raise InvalidArgument(
                f"{name}: {len(arguments)} arguments: expected {row.orders + 1}, {example}."
            )
        *orders, value = arguments
        numbers = [_order(name, order) for order in orders]
        return _applied(name, lambda x: row.function(*numbers, x), value)

    example = f"numbers and then a tensor, as in {name}({', '.join('2' * row.orders)}, x)"
    with_orders.__name__ = with_orders.__qualname__ = name
    numbers = "a number" if row.orders == 1 else "numbers"
    with_orders.__doc__ = f"Return, entry by entry, {_MEANINGS[name]} ({numbers})."
    return with_orders


_POSITIVE = ("gammainc", "gammaincc", "betainc")


def _order(name: str, order: Tensor | Scalar) -> sp.Rational:
    number = None if isinstance(order, Tensor) else as_number(order)
    if number is None or not number.is_Rational:
        raise InvalidArgument(f"{name}: the order {order!r}: expected a number, such as 2.")
    if number < 0 and name in ("polygamma", "spherical_jn", "expn"):
        raise InvalidArgument(f"{name}: the order {order!r}: expected a number, such as 2, not below 0.")
    if number <= (1 if name == "hurwitz_zeta" else 0) and name in (*_POSITIVE, "hurwitz_zeta"):
        raise InvalidArgument(f"{name}: the order {order!r} is too small: it is {_MEANINGS[name]}.")
    return number


def _make_written(name: str, body: Callable[..., sp.Expr]) -> Callable[..., Tensor | sp.Expr]:
    def function(*values: Tensor | Scalar) -> Tensor | sp.Expr:
        return _applied(name, body, *values)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return, entry by entry, {_MEANINGS[name]}."
    return function


def _applied(name: str, body: Callable[..., sp.Expr], *values: Tensor | Scalar) -> Tensor | sp.Expr:
    if any(isinstance(v, Tensor) for v in values):
        return elementwise(name, body, *values)
    return body(*[as_number(v, infinite=True) for v in values])


FUNCTIONS: dict[str, Callable[..., Tensor | sp.Expr]] = {
    **{name: _make_special(name) for name in SPECIAL},
    **{name: _make_written(name, body) for name, body in WRITTEN.items()},
}
"""All of them as functions of tensors, numbers and entries."""


def __getattr__(name: str) -> Callable[..., Tensor | sp.Expr]:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
