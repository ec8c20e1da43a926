"""Entrywise functions beyond the common ones: every reading, against mpmath, NumPy and SymPy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special
import sympy as sp
from sympy.printing import numpy as printers

import lemmax as lx
from lemmax.expr.functions import ELEMENTWISE
from lemmax.expr.special import SPECIAL, WRITTEN, special_of

n, m = lx.sizes("n m")
x, y = lx.tensor("x", n), lx.tensor("y", n)
DOMAINS = {"erfinv": (-0.9, 0.9), "erfcinv": (0.1, 1.9), "elliptic_k": (-0.9, 0.9), "elliptic_e": (-0.9, 0.9)}
DOMAINS |= {name: (0.2, 3.0) for name in ("gamma", "digamma", "polygamma", "harmonic")}
DOMAINS |= {"betainc": (0.1, 0.9), "zeta": (1.2, 4.0), "hyp2f1": (-0.9, 0.9), "ellipkinc": (-1.4, 1.4)}
ORDERS = {
    "betainc": [2, sp.Rational(7, 2)],
    "hyp1f1": [sp.Rational(1, 2), 3],
    "hyp2f1": [1, sp.Rational(5, 2), 3],
    "ellipkinc": [sp.Rational(3, 4)],
    "ellipeinc": [sp.Rational(3, 4)],
    "hurwitz_zeta": [sp.Rational(5, 2)],
    "gammainc": [sp.Rational(5, 2)],
}
RNG = np.random.default_rng(0)


def of(name: str, t: lx.Tensor) -> lx.Tensor:
    """Return the function of a tensor, of order 2 where it has one."""
    function = getattr(lx, name)
    result = function(*ORDERS.get(name, [2] * SPECIAL[name].orders), t)
    assert isinstance(result, lx.Tensor)
    return result


def points(name: str) -> np.ndarray:
    low = max(SPECIAL[name].low, -3.0) + 0.1
    return RNG.uniform(*DOMAINS.get(name, (low, 3.0)), 4)


@pytest.mark.parametrize("name", SPECIAL)
def test_value_and_derivative(name: str) -> None:
    """SciPy, generated code and mpmath agree; so do derived slopes and differences in many digits."""
    t, at = of(name, x), points(name)
    exact = lx.evaluate(t, x=at, arithmetic="mpmath").astype(float)
    np.testing.assert_allclose(lx.evaluate(t, x=at), exact, rtol=1e-13)
    np.testing.assert_allclose(lx.compile(t)(x=at), exact, rtol=1e-13)
    loss = lx.sum(t * t)
    if name == "zeta":  # SciPy has no derivative of it, nor has SymPy
        with pytest.raises(lx.MissingRule, match="not known"):
            lx.gradient(loss, x)
        return
    slopes = lx.evaluate(lx.Derivative(loss, x), x=at, arithmetic="mpmath").astype(float)
    g = lx.gradient(loss, x)
    scale = np.abs(slopes).max()
    np.testing.assert_allclose(lx.evaluate(g, x=at), slopes, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(lx.compile(g)(x=at), slopes, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(lx.evaluate(lx.Derivative(loss, x), x=at), slopes, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_printed_is_read_back(name: str) -> None:
    t = of(name, x)
    assert lx.parse_latex(lx.latex(t), t) == t
    by_entries = lx.latex(lx.sum(t), notation="index")
    assert lx.equal(lx.parse_latex(by_entries, t), lx.sum(t)).name == "proved"


@pytest.mark.parametrize("name", SPECIAL)
def test_outside_its_domain_a_function_has_no_value(name: str) -> None:
    low = SPECIAL[name].low
    if low > -np.inf:
        with pytest.raises(lx.EvaluationError, match="undefined"):
            lx.evaluate(of(name, x), x=[low - 0.5])
        with np.errstate(all="ignore"):
            assert not np.isfinite(lx.compile(of(name, x))(x=np.array([low - 0.5]))).all()


NUMPY = {
    "sec": lambda x: 1 / np.cos(x), "csc": lambda x: 1 / np.sin(x), "cot": lambda x: 1 / np.tan(x),
    "arcsec": lambda x: np.arccos(1 / x), "arccsc": lambda x: np.arcsin(1 / x),
    "arccot": lambda x: np.arctan(1 / x), "sech": lambda x: 1 / np.cosh(x), "csch": lambda x: 1 / np.sinh(x),
    "coth": lambda x: 1 / np.tanh(x), "arcsech": lambda x: np.arccosh(1 / x),
    "arccsch": lambda x: np.arcsinh(1 / x), "arccoth": lambda x: np.arctanh(1 / x),
    "log2": np.log2, "log10": np.log10, "exp2": np.exp2, "cbrt": np.cbrt,
    "sinc": lambda x: np.sinc(x / np.pi),
    "factorial": scipy.special.factorial, "hypot": np.hypot, "logaddexp": np.logaddexp,
    "beta": scipy.special.beta, "poch": scipy.special.poch, "binom": scipy.special.binom,
}  # fmt: skip
TWO = ("hypot", "logaddexp", "beta", "poch", "binom")


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("arithmetic", ["float", "mpmath", "code"])
def test_functions_written_by_others(name: str, arithmetic: str) -> None:
    low, high = (0.1, 0.9) if name == "arcsech" else (1.1, 3.0)
    arrays = {"x": RNG.uniform(low, high, 4), "y": RNG.uniform(0.2, 0.9, 4)}
    if name not in TWO:
        del arrays["y"]
    t = getattr(lx, name)(*[lx.tensor(v, n) for v in arrays])
    expected = NUMPY[name](*arrays.values())
    value = lx.compile(t)(**arrays) if arithmetic == "code" else lx.evaluate(t, arrays, arithmetic=arithmetic)
    np.testing.assert_allclose(np.asarray(value, dtype=float), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        *(sp.sec, sp.csc, sp.cot, sp.asec, sp.acsc, sp.acot, sp.sech, sp.csch, sp.coth, sp.acsch, sp.acoth),
        *(sp.sinc, sp.factorial, sp.LambertW, sp.Si, sp.erfc, sp.gamma, sp.airyai, sp.floor, sp.ceiling),
    ],
)
def test_bodies_in_sympy_functions(function: type[sp.Function]) -> None:
    made = lx.tensor_from(lambda i: function(x[i]) * x[i])
    at = np.array([1.25, 2.5])
    expected = [float(function(sp.Float(v, 30)).evalf(20)) * v for v in at]
    np.testing.assert_allclose(lx.evaluate(made, x=at), expected, rtol=1e-14)
    np.testing.assert_allclose(lx.compile(made)(x=at), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "polynomial",
    [
        lambda v: sp.legendre(3, v),
        lambda v: sp.chebyshevt(4, v),
        lambda v: sp.chebyshevu(3, v),
        lambda v: sp.hermite(3, v),
        lambda v: sp.laguerre(3, v),
        lambda v: sp.assoc_laguerre(2, 1, v),
        lambda v: sp.gegenbauer(2, 3, v),
        lambda v: sp.jacobi(2, 1, 3, v),
    ],
)
def test_orthogonal_polynomials_of_a_degree(polynomial: object) -> None:
    made = lx.tensor_from(lambda i: polynomial(x[i]))  # type: ignore[operator]
    at = np.array([0.3, -0.7])
    expected = [float(polynomial(sp.Rational(str(v)))) for v in at]  # type: ignore[operator]
    np.testing.assert_allclose(lx.compile(made)(x=at), expected, rtol=1e-13)
    t = sp.Symbol("t")
    slopes = [float(polynomial(t).diff(t).subs(t, sp.Rational(str(v)))) for v in at]  # type: ignore[operator]
    np.testing.assert_allclose(lx.evaluate(lx.gradient(lx.sum(made), x), x=at), slopes, rtol=1e-13)


def test_removable_singularities_of_special_functions() -> None:
    zero = np.zeros(1)
    for order in range(4):
        H = lx.hessian(lx.sum(lx.spherical_jn(order, x)), x)
        exact = sp.series(
            sp.expand_func(sp.jn(order, sp.Symbol("z", positive=True))), sp.Symbol("z", positive=True), 0, 4
        )
        expected = exact.removeO().coeff(sp.Symbol("z", positive=True), 2) * 2
        assert lx.evaluate(H, x=zero)[0, 0] == pytest.approx(float(expected), rel=1e-15, abs=1e-300)
        assert lx.compile(H)(x=zero)[0, 0] == pytest.approx(float(expected), rel=1e-15, abs=1e-300)
    g = lx.gradient(lx.sum(lx.lambertw(x)), x)
    assert lx.evaluate(g, x=zero).tolist() == lx.compile(g)(x=zero).tolist() == [1]
    assert lx.compile(lx.gradient(lx.sum(lx.sinint(x)), x))(x=zero).tolist() == [1]


def test_roundings_are_steps() -> None:
    at = np.array([-1.5, 0.25, 2.0])
    for name in ("floor", "ceil"):
        t = getattr(lx, name)(x)
        with pytest.raises(lx.NonSmooth):
            lx.gradient(lx.sum(t * x), x)
        g = lx.gradient(lx.sum(t * x * x), x, nonsmooth="subgradient")
        expected = 2 * getattr(np, name)(at) * at
        np.testing.assert_array_equal(lx.evaluate(g, x=at), expected)
        np.testing.assert_array_equal(lx.compile(g)(x=at), expected)
        value, radius = lx.evaluate(t, x=at, arithmetic="rounding")
        assert value.tolist() == getattr(np, name)(at).tolist() and radius[1] < 1e-10


def test_functions_of_sizes() -> None:
    for made, value in [
        (lx.erf(n / 7), scipy.special.erf(3 / 7)),
        (lx.gamma(n + sp.Rational(1, 2)), scipy.special.gamma(3.5)),
        (lx.factorial(n), 6),
        (lx.besselj(1, n), scipy.special.jv(1, 3)),
        (lx.log2(n), np.log2(3)),
        (lx.sinc(n), np.sin(3) / 3),
        (lx.floor(n / 2) + lx.ceil(n / 2), 3),
    ]:
        at = np.arange(3.0)
        np.testing.assert_allclose(lx.compile(made * x)(x=at), value * at, rtol=1e-14)
        np.testing.assert_allclose(lx.evaluate(made * x, x=at), value * at, rtol=1e-14)


def test_generated_code_says_what_it_imports() -> None:
    assert "scipy" not in lx.compile(lx.erf(x) * lx.expm1(x) * lx.sec(x)).source
    assert "from scipy import special" in lx.compile(lx.gamma(x)).source
    with pytest.raises(lx.InvalidArgument, match="a name that Python or the generated function needs"):
        lx.compile(lx.lambertw(lx.tensor("special", n)))


def test_refusals_say_the_way_out() -> None:
    with pytest.raises(lx.InvalidArgument, match="expected a number, such as 2"):
        lx.besselj(n, x)
    with pytest.raises(lx.UnsupportedYet, match="arithmetic='mpmath'"):
        lx.evaluate(lx.gamma(x), x=[1.0], arithmetic="rounding")
    with pytest.raises(lx.UnsupportedYet, match="to first order"):
        lx.evaluate(lx.gamma(x), x=np.array([1 + 1j]), arithmetic="complex")
    with pytest.raises(lx.ParseError, match="the order of the function"):
        lx.parse_latex(r"\operatorname{besselj}(x)", x)


ALIASES = {"Sqrt", "ln", "isinf", "isnan", "sign", "Ei", "cosm1", "powm1", "logaddexp2", "atan2"}
"""SymPy's other names for what is tested elsewhere; predicates; and what lemmax leaves out:
``cosm1`` and ``powm1`` are differences, ``logaddexp2`` is one of base 2, ``atan2`` has a cut."""


def test_all_functions_that_sympy_prints_for_numpy_and_scipy_are_known() -> None:
    printed = {*printers._known_functions_numpy, *printers._known_functions_scipy_special} - ALIASES
    polynomials = {"jacobi", "gegenbauer", "chebyshevt", "chebyshevu", "legendre", "hermite", "laguerre"}
    known = {*ELEMENTWISE, *SPECIAL, *WRITTEN}
    ours = {"ceiling": "ceil", "LambertW": "lambertw", "RisingFactorial": "poch"}
    ours |= {f"a{f}": f"arc{f}" for f in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}
    missing = {f for f in printed if ours.get(f, f) not in known} - polynomials - {"assoc_laguerre"}
    assert not missing
    assert special_of(sp.exp(sp.Symbol("t"))) is None


def test_more_of_sympy_in_bodies() -> None:
    a, b = np.array([-1.5, 0.0, 0.5, 2.25]), np.array([1.0, 2.0, -0.5, 0.75])
    for body, want in [
        (lambda i: sp.erf2(x[i], y[i]), scipy.special.erf(b) - scipy.special.erf(a)),
        (lambda i: sp.li(y[i] + 2), scipy.special.expi(np.log(b + 2))),
        (lambda i: sp.frac(x[i]), np.mod(a, 1)),
        (lambda i: sp.Mod(x[i], 2), np.mod(a, 2)),
        (lambda i: sp.Heaviside(x[i]), np.heaviside(a, 0.5)),
        (lambda i: sp.Heaviside(x[i], 1), np.heaviside(a, 1)),
    ]:
        t = lx.tensor_from(body)
        arrays = {k: v for k, v in {"x": a, "y": b}.items() if k in lx.compile(t).inputs}
        np.testing.assert_allclose(lx.evaluate(t, arrays), want, rtol=1e-14)
        np.testing.assert_allclose(lx.compile(t)(**arrays), want, rtol=1e-14)
    with pytest.raises(lx.NonSmooth):
        lx.gradient(lx.sum(lx.tensor_from(lambda i: sp.Mod(x[i], 2))), x)
    with pytest.raises(lx.LemmaxError, match="polylog"):
        lx.compile(lx.tensor_from(lambda i: sp.polylog(3, x[i])))


HALF = sp.Rational(1, 2)


def test_a_function_of_sympy_that_is_zero_as_it_is_written_here() -> None:
    made = lx.tensor_from(lambda i: sp.betainc(2, 3, x[i], x[i], evaluate=False) + x[i])
    assert lx.equal(made, x).name == "proved"


@pytest.mark.parametrize(
    "body",
    [
        lambda v: sp.lowergamma(sp.Rational(7, 3), v),
        lambda v: sp.uppergamma(sp.Rational(7, 3), v),
        lambda v: sp.betainc(2, sp.Rational(7, 2), 0, v),
        lambda v: sp.betainc(2, sp.Rational(7, 2), v, 1),
        lambda v: sp.betainc_regularized(2, sp.Rational(7, 2), v**2, v),
        lambda v: sp.elliptic_f(v, HALF),
        lambda v: sp.elliptic_e(v, HALF),
        lambda v: sp.zeta(3, v),
        lambda v: sp.hyper([HALF], [3], v),
        lambda v: sp.hyper([HALF, 2], [3], v),
        lambda v: sp.harmonic(v),
        lambda v: sp.ff(v + 3, HALF),
    ],
)
def test_functions_of_sympy_with_several_arguments(body: object) -> None:
    """Values and slopes by the interpreter and by code, against SymPy's own digits."""
    made = lx.tensor_from(lambda i: body(x[i]))  # type: ignore[operator]
    at = np.array([0.25, 0.625])

    def exact(v: object) -> object:
        return mpmath.mpf(body(sp.Float(v, 120)).evalf(100))  # type: ignore[operator]

    with mpmath.workdps(40):
        expected = [float(exact(mpmath.mpf(a))) for a in at]  # type: ignore[arg-type]
        slopes = [float(mpmath.diff(exact, a)) for a in at]
    np.testing.assert_allclose(lx.evaluate(made, x=at), expected, rtol=1e-13)
    np.testing.assert_allclose(lx.compile(made)(x=at), expected, rtol=1e-13)
    g = lx.gradient(lx.sum(made), x)
    np.testing.assert_allclose(lx.evaluate(g, x=at), slopes, rtol=1e-12)
    np.testing.assert_allclose(lx.compile(g)(x=at), slopes, rtol=1e-12)


def test_angles() -> None:
    """All quadrants and axes, gradients and Hessians against many digits; the origin has no derivative."""
    arrays = {
        "x": np.array([1.0, -1, -1, 0, 0, 2, -0.5, 0]),
        "y": np.array([2.0, 1, -1, 3, -2, 0, 0, 0]),
    }
    t = lx.arctan2(y, x)
    want = np.arctan2(arrays["y"], arrays["x"])
    for got in (lx.evaluate(t, arrays), lx.compile(t)(**arrays), lx.evaluate(t, arrays, arithmetic="mpmath")):
        np.testing.assert_allclose(np.asarray(got, dtype=float), want, rtol=1e-15)
    loss, away = lx.sum(t**3), {k: a[:6] for k, a in arrays.items()}
    for v in (x, y):
        g = lx.gradient(loss, v)
        slopes = lx.evaluate(lx.Derivative(loss, v), away, arithmetic="mpmath").astype(float)
        np.testing.assert_allclose(lx.evaluate(g, away), slopes, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(lx.compile(g)(**away), slopes, rtol=1e-13, atol=1e-13)
        with pytest.raises(lx.EvaluationError):
            lx.evaluate(g, arrays)
        H = lx.hessian(loss, v, x)
        turns = lx.evaluate(lx.Derivative(g, x), away, arithmetic="mpmath").astype(float)
        np.testing.assert_allclose(lx.evaluate(H, away), turns, rtol=1e-12, atol=1e-12)
        for u in (t, loss, g):
            back = lx.parse_latex(lx.latex(u), [x, y], like=u if u.ndim else None)
            assert lx.equal(back, u).name == "proved"
    assert lx.equal(t, lx.arctan2(x, y)).name == "refuted"
