r"""Classes of special functions that SymPy lacks, or has in a form with a derivative that divides by zero.

Orders and parameters, which are numbers, come first; the argument is last.  Formulas of derivatives: NIST
Digital Library of Mathematical Functions, 8.8.13 (incomplete gamma), 8.17.1 (incomplete beta), 19.2.4 and
19.2.5 (elliptic integrals), 25.11.17 (Hurwitz zeta), 13.3.15 and 15.5.1 (hypergeometric functions).
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp


class lambert_w(sp.Function):  # type: ignore[misc]
    r"""The principal branch W of :math:`W e^W = x`, x at least -1/e; its derivative is finite at 0."""

    nargs = 1
    is_real = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        r"""Return :math:`e^{-W} / (1 + W)`."""
        return sp.exp(-self) / (1 + self)


class spherical_bessel(sp.Function):  # type: ignore[misc]
    r"""The spherical Bessel function :math:`j_k`; :math:`j_0(x) = \sin(x)/x`, which is 1 at 0.

    Its derivative divides by nothing: :math:`j_k' = (k j_{k-1} - (k + 1) j_{k+1}) / (2 k + 1)`
    (NIST Digital Library of Mathematical Functions, 10.51.2).
    """

    nargs = 2
    is_real = True

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        """Return the derivative in the argument."""
        k, x = self.args
        below = k * spherical_bessel(k - 1, x) if k != 0 else sp.S.Zero
        return (below - (k + 1) * spherical_bessel(k + 1, x)) / (2 * k + 1)


class sine_integral(sp.Function):  # type: ignore[misc]
    r"""The integral of :math:`\sin(t)/t` from 0 to x, with a derivative that is finite at 0."""

    nargs = 1
    is_real = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return ``sin(x) / x``."""
        return spherical_bessel(sp.S.Zero, self.args[0])


class lower_gamma(sp.Function):  # type: ignore[misc]
    r"""The regularised incomplete gamma function :math:`P(a, x) = \gamma(a, x) / \Gamma(a)`."""

    nargs = 2
    is_real = True

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        r"""Return :math:`x^{a-1} e^{-x} / \Gamma(a)`."""
        a, x = self.args
        return x ** (a - 1) * sp.exp(-x) / sp.gamma(a)


class upper_gamma(sp.Function):  # type: ignore[misc]
    r"""The regularised incomplete gamma function :math:`Q(a, x) = \Gamma(a, x) / \Gamma(a)`."""

    nargs = 2
    is_real = True

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        r"""Return :math:`-x^{a-1} e^{-x} / \Gamma(a)`."""
        return -lower_gamma(*self.args).fdiff()


class incomplete_beta(sp.Function):  # type: ignore[misc]
    r"""The regularised incomplete beta function :math:`I_x(a, b)`, 0 <= x <= 1."""

    nargs = 3
    is_real = True

    @classmethod
    def eval(cls, a: sp.Expr, b: sp.Expr, x: sp.Expr) -> sp.Expr | None:
        """Return the value at both ends."""
        return x if x in (0, 1) else None

    def fdiff(self, argindex: int = 3) -> sp.Expr:
        r"""Return :math:`x^{a-1} (1-x)^{b-1} / B(a, b)`."""
        a, b, x = self.args
        return x ** (a - 1) * (1 - x) ** (b - 1) / beta_by_gammas(a, b)


class elliptic_first(sp.Function):  # type: ignore[misc]
    r"""The incomplete elliptic integral :math:`F(\varphi \mid m)`, of m and :math:`\varphi`."""

    nargs = 2
    is_real = True

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        r"""Return :math:`(1 - m \sin^2\varphi)^{-1/2}`."""
        m, phi = self.args
        return 1 / sp.sqrt(1 - m * sp.sin(phi) ** 2)


class elliptic_second(sp.Function):  # type: ignore[misc]
    r"""The incomplete elliptic integral :math:`E(\varphi \mid m)`, of m and :math:`\varphi`."""

    nargs = 2
    is_real = True

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        r"""Return :math:`(1 - m \sin^2\varphi)^{1/2}`."""
        m, phi = self.args
        return sp.sqrt(1 - m * sp.sin(phi) ** 2)


class hurwitz(sp.Function):  # type: ignore[misc]
    r"""The Hurwitz zeta function :math:`\zeta(s, x) = \sum_{k \ge 0} (k + x)^{-s}`, s > 1, x > 0."""

    nargs = 2
    is_real = True

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        r"""Return :math:`-s\, \zeta(s + 1, x)`."""
        s, x = self.args
        return -s * hurwitz(s + 1, x)


class confluent(sp.Function):  # type: ignore[misc]
    r"""Kummer's function :math:`{}_1F_1(a; b; x)`."""

    nargs = 3
    is_real = True

    def fdiff(self, argindex: int = 3) -> sp.Expr:
        r"""Return :math:`(a/b)\, {}_1F_1(a + 1; b + 1; x)`."""
        a, b, x = self.args
        return a / b * confluent(a + 1, b + 1, x)


class hypergeometric(sp.Function):  # type: ignore[misc]
    r"""Gauss's function :math:`{}_2F_1(a, b; c; x)`, x < 1."""

    nargs = 4
    is_real = True

    def fdiff(self, argindex: int = 4) -> sp.Expr:
        r"""Return :math:`(a b/c)\, {}_2F_1(a + 1, b + 1; c + 1; x)`."""
        a, b, c, x = self.args
        return a * b / c * hypergeometric(a + 1, b + 1, c + 1, x)


def beta_by_gammas(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    r"""Return :math:`B(a, b) = \Gamma(a) \Gamma(b) / \Gamma(a + b)`."""
    return sp.gamma(a) * sp.gamma(b) / sp.gamma(a + b)


def _hyper(above: sp.Tuple, below: sp.Tuple, x: sp.Expr) -> sp.Expr | None:
    if len(below) != 1 or len(above) not in (1, 2):
        return None
    return confluent(*above, *below, x) if len(above) == 1 else hypergeometric(*above, *below, x)


def _between(a: sp.Expr, b: sp.Expr, low: sp.Expr, high: sp.Expr) -> sp.Expr:
    return incomplete_beta(a, b, high) - incomplete_beta(a, b, low)


OF_SYMPY: dict[type[sp.Basic], Callable[..., sp.Expr | None]] = {
    sp.lowergamma: lambda a, x: sp.gamma(a) * lower_gamma(a, x),
    sp.uppergamma: lambda a, x: sp.gamma(a) * upper_gamma(a, x),
    sp.betainc_regularized: _between,
    sp.betainc: lambda a, b, low, high: beta_by_gammas(a, b) * _between(a, b, low, high),
    sp.elliptic_f: lambda phi, m: elliptic_first(m, phi),
    sp.elliptic_e: lambda phi, *m: elliptic_second(*m, phi) if m else None,
    sp.zeta: lambda s, *x: hurwitz(s, *x) if x else None,
    sp.hyper: _hyper,
    sp.FallingFactorial: lambda x, k: sp.gamma(x + 1) / sp.gamma(x - k + 1),
    sp.dirichlet_eta: lambda s: (1 - 2 ** (1 - s)) * sp.zeta(s),
}
"""How SymPy's functions are written by those above; ``None`` where this number of arguments stays."""
