r"""Values of special functions by SymPy's own numbers, apart from those that the interpreter uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from lemmax.expr.special import split_key

_BY_SYMPY: dict[str, Callable[..., Any]] = {
    "spherical_jn": sp.jn,
    "lambertw": sp.LambertW,
    "sinint": sp.Si,
    "gammainc": lambda a, x: sp.lowergamma(a, x) / sp.gamma(a),
    "gammaincc": lambda a, x: sp.uppergamma(a, x) / sp.gamma(a),
    "betainc": lambda a, b, x: sp.betainc_regularized(a, b, 0, x),
    "hurwitz_zeta": sp.zeta,
    "hyp1f1": lambda a, b, x: sp.hyper([a], [b], x),
    "hyp2f1": lambda a, b, c, x: sp.hyper([a, b], [c], x),
    "ellipkinc": lambda m, x: sp.elliptic_f(x, m),
    "ellipeinc": lambda m, x: sp.elliptic_e(x, m),
}
"""Special functions whose class is lemmax's own, by SymPy's."""


def by_sympy(key: str) -> Callable[..., Any]:
    """Return a special function of arrays by SymPy's own numbers."""
    found = split_key(key)
    assert found is not None
    row, orders = found
    before = [sp.Rational(order) for order in orders]
    function = _BY_SYMPY.get(row.name, row.function)
    return np.vectorize(lambda v: float(sp.re(function(*before, sp.Float(v, 30)).evalf(20))), otypes=[float])
