r"""Special functions in floats (SciPy), in many digits (mpmath), and to first order (complex steps)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lemmax.errors import UnsupportedYet
from lemmax.expr.special import split_key

Array = npt.NDArray[Any]

_FIRST_ORDER = 1e-10  # imaginary parts up to this are steps; larger ones are complex arguments


def float_function(key: str) -> Callable[[Array], Array] | None:
    """Return a special function of arrays of floats; outside its domain it is undefined (NaN)."""
    found = split_key(key)
    if found is None:
        return None
    row, orders = found
    import scipy.special

    special: Any = scipy.special
    fractions = [Fraction(order) for order in orders]
    ks: list[Any] = [int(f) if f.denominator == 1 else float(f) for f in fractions]
    k = ks[0] if ks else 0
    table: dict[str, Callable[[Array], Any]] = {
        "expm1": np.expm1,
        "log1p": np.log1p,
        "polygamma": lambda x: special.polygamma(k, x),
        "besselj": lambda x: special.jv(k, x),
        "bessely": lambda x: special.yv(k, x),
        "besseli": lambda x: special.iv(k, x),
        "besselk": lambda x: special.kv(k, x),
        "spherical_jn": lambda x: special.spherical_jn(k, x),
        "airyai": lambda x: special.airy(x)[0],
        "airyaiprime": lambda x: special.airy(x)[1],
        "airybi": lambda x: special.airy(x)[2],
        "airybiprime": lambda x: special.airy(x)[3],
        "expn": lambda x: special.expn(k, x),
        "sinint": lambda x: special.sici(x)[0],
        "cosint": lambda x: special.sici(x)[1],
        "sinhint": lambda x: special.shichi(x)[0],
        "coshint": lambda x: special.shichi(x)[1],
        "fresnels": lambda x: special.fresnel(x)[0],
        "fresnelc": lambda x: special.fresnel(x)[1],
        "lambertw": lambda x: np.real(special.lambertw(x)),
        "elliptic_k": special.ellipk,
        "elliptic_e": special.ellipe,
        "gammainc": lambda x: special.gammainc(k, x),
        "gammaincc": lambda x: special.gammaincc(k, x),
        "betainc": lambda x: special.betainc(*ks, x),
        "harmonic": lambda x: special.digamma(x + 1) + np.euler_gamma,
        "hurwitz_zeta": lambda x: special.zeta(k, x),
        "hyp1f1": lambda x: special.hyp1f1(*ks, x),
        "hyp2f1": lambda x: special.hyp2f1(*ks, x),
        "ellipkinc": lambda x: special.ellipkinc(x, k),
        "ellipeinc": lambda x: special.ellipeinc(x, k),
    }
    f = table[row.name] if row.name in table else getattr(special, row.name)

    def within(x: Array) -> Array:
        inside = (np.asarray(x) >= row.low) & (np.asarray(x) <= row.high)
        return np.where(inside, f(np.where(inside, x, max(row.low + 0.5, 0.5))), np.nan)

    return within


def precise_function(key: str, c: Any) -> Callable[[Any], Any] | None:
    """Return a special function of one number of an mpmath context ``c``."""
    found = split_key(key)
    if found is None:
        return None
    row, orders = found
    fractions = [Fraction(order) for order in orders]
    ks = [f.numerator if f.denominator == 1 else c.mpf(f.numerator) / f.denominator for f in fractions]
    k: Any = ks[0] if ks else 0

    def spherical(x: Any) -> Any:
        if x == 0:
            return c.one if k == 0 else c.zero
        value = c.sqrt(c.pi / (2 * abs(x))) * c.besselj(k + c.mpf(1) / 2, abs(x))
        return -value if x < 0 and k % 2 else value

    table: dict[str, Callable[[Any], Any]] = {
        "erfcinv": lambda x: c.erfinv(1 - x),
        "polygamma": lambda x: c.psi(k, x),
        "besselj": lambda x: c.besselj(k, x),
        "bessely": lambda x: c.bessely(k, x),
        "besseli": lambda x: c.besseli(k, x),
        "besselk": lambda x: c.besselk(k, x),
        "spherical_jn": spherical,
        "airyaiprime": lambda x: c.airyai(x, derivative=1),
        "airybiprime": lambda x: c.airybi(x, derivative=1),
        "expi": c.ei,
        "expn": lambda x: c.expint(k, x),
        "sinint": c.si,
        "cosint": lambda x: c.ci(abs(x)),
        "sinhint": c.shi,
        "coshint": lambda x: c.chi(abs(x)),
        "elliptic_k": c.ellipk,
        "elliptic_e": c.ellipe,
        "gammainc": lambda x: c.gammainc(k, 0, x, regularized=True),
        "gammaincc": lambda x: c.gammainc(k, x, regularized=True),
        "betainc": lambda x: c.betainc(*ks, 0, x, regularized=True),
        "hurwitz_zeta": lambda x: c.zeta(k, x),
        "hyp1f1": lambda x: c.hyp1f1(*ks, x),
        "hyp2f1": lambda x: c.hyp2f1(*ks, x),
        "ellipkinc": lambda x: c.ellipf(x, k),
        "ellipeinc": lambda x: c.ellipe(x, k),
    }
    f = table[row.name] if row.name in table else getattr(c, row.name)
    return lambda x: f(x) if row.low <= x <= row.high else c.nan


def first_order(key: str, x: Array) -> Array | None:
    """Return ``f(a) + i b f'(a)`` at ``a + i b`` for small b, with the slope by mpmath's differences.

    Raises:
        UnsupportedYet: an imaginary part is no small step.
    """
    f = float_function(key)
    if f is None:
        return None
    if np.any(np.abs(x.imag) > _FIRST_ORDER):
        raise UnsupportedYet(f"{key} of complex numbers: only of real ones, and to first order around them.")
    import mpmath

    context: Any = mpmath.MPContext()
    context.dps = 40
    exact = precise_function(key, context)
    assert exact is not None

    def slope(a: float) -> float:
        try:
            return float(context.diff(exact, context.mpf(a)))
        except (ValueError, ZeroDivisionError, TypeError):
            return float("nan")

    return np.asarray(f(x.real) + 1j * x.imag * np.vectorize(slope, otypes=[float])(x.real))
