"""Points at which a value or a derivative does not exist: no reading gives a number there without a word."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.calculus.definedness import conditions_of
from lemmax.expr.domains import NOT_NEGATIVE
from lemmax.interpret import Evaluator

n, m = lx.sizes("n m")
A, B, C = lx.tensor("A", n, n), lx.tensor("B", n, m), lx.tensor("C", n, n)
x, y, s = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("s")
I3, DEFICIENT, REFLECTED = np.eye(3), np.diag([1.0, 2.0, 0.0]), np.diag([1.0, 2.0, -3.0])
SINGULAR = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
WEIGHTS = np.arange(9.0).reshape(3, 3) % 4 + 0.3


def outcome(make: Callable[[], object]) -> object:
    """Return a value, or the error of lemmax that was raised instead; any other error is one of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return make()
        except lx.LemmaxError as error:
            return error


def readings(t: lx.Tensor, arrays: dict[str, np.ndarray]) -> list[object]:
    """Return what evaluation and generated code say at a point."""
    fn = lx.compile(t)
    own = {k: v for k, v in arrays.items() if k in Evaluator([t]).inputs}
    return [
        outcome(lambda: lx.evaluate(t, own)),
        outcome(lambda: fn(**{k: arrays[k] for k in fn.inputs})),
    ]


def is_refused(found: object) -> bool:
    """Was an error raised, or is the entry in question undefined or infinite?"""
    return isinstance(found, lx.LemmaxError) or not np.isfinite(found).all()  # type: ignore[call-overload]


# -- functions of one variable: (function, where its value does not exist, where its slope does not) --------
@dataclass(frozen=True)
class Entrywise:
    f: Callable[[lx.Tensor], lx.Tensor]
    no_value: tuple[float, ...] = ()
    no_slope: tuple[float, ...] = ()


ENTRYWISE = {
    "log": Entrywise(lx.log, (-1.0, -1e-3), (0.0,)),
    "log of a sum": Entrywise(lambda t: lx.log(1 + t), (-2.0,), (-1.0,)),
    "log of a product": Entrywise(lambda t: lx.log(t * y), (-1.0,), (0.0,)),
    "log1p": Entrywise(lx.log1p, (-2.0,), (-1.0,)),
    "x log x": Entrywise(lambda t: t * lx.log(t), (-1.0,), (0.0,)),
    "square root": Entrywise(lx.sqrt, (-1.0,), (0.0,)),
    "cube root": Entrywise(lambda t: t ** sp.Rational(1, 3), (-8.0,), (0.0,)),
    "power 3/2": Entrywise(lambda t: t ** sp.Rational(3, 2), (-1.0,)),
    "power 0.7": Entrywise(lambda t: t**0.7, (-1.0,), (0.0,)),
    "own power": Entrywise(lambda t: t**t, (-1.5,), (0.0,)),
    "reciprocal": Entrywise(lambda t: 1 / t, (0.0,), (0.0,)),
    "quotient": Entrywise(lambda t: t * y / t, (0.0,)),
    "loggamma": Entrywise(lx.loggamma, (-0.5, -1.0, -1.5), (0.0,)),
    "gamma": Entrywise(lx.gamma, (-1.0, -2.0), (0.0,)),
    "digamma": Entrywise(lx.digamma, (-1.0, 0.0), (-1.0, 0.0)),
    "arctanh": Entrywise(lx.arctanh, (2.0, -2.0), (1.0, -1.0)),
    "arcsin": Entrywise(lx.arcsin, (2.0,), (1.0,)),
    "arccos": Entrywise(lx.arccos, (-2.0,), (-1.0,)),
    "arccosh": Entrywise(lx.arccosh, (0.5, -2.0), (1.0,)),
    "erfinv": Entrywise(lx.erfinv, (2.0,), (1.0,)),
    "lambertw": Entrywise(lx.lambertw, (-1.0,)),
    "expn": Entrywise(lambda t: lx.expn(1, t), (-1.0,), (0.0,)),
    "besselk": Entrywise(lambda t: lx.besselk(1, t), (-1.0,), (0.0,)),
    "bessely": Entrywise(lambda t: lx.bessely(0, t), (-1.0,), (0.0,)),
}


@pytest.mark.parametrize("name", ENTRYWISE)
def test_functions_of_one_variable(name: str) -> None:
    row = ENTRYWISE[name]
    loss = lx.sum(row.f(x))
    slope = lx.gradient(loss, x)
    for bad in row.no_value:
        point = {"x": np.array([0.5, bad]), "y": np.array([1.0, 1.0])}
        for found in (*readings(loss, point), *readings(slope, point)):
            assert is_refused(found), (bad, found)
    for bad in row.no_slope:
        point = {"x": np.array([0.5, bad]), "y": np.array([1.0, 1.0])}
        for found in readings(slope, point):
            assert is_refused(found), (bad, found)


GOOD = {"arccosh": 1.5, "expn": 0.7}


@pytest.mark.parametrize("name", ENTRYWISE)
def test_away_from_bad_points_all_is_as_before(name: str) -> None:
    loss = lx.sum(ENTRYWISE[name].f(x))
    point = {"x": np.array([0.5, 0.25]) + (1 if name == "arccosh" else 0), "y": np.array([1.5, 2.0])}
    slope, formal = lx.gradient(loss, x), lx.Derivative(loss, x)
    found = readings(slope, point)
    expected = lx.evaluate(formal, {k: point[k] for k in Evaluator([formal]).inputs})
    np.testing.assert_allclose(found[0], expected, rtol=1e-11)
    np.testing.assert_allclose(found[1], expected, rtol=1e-11)


def test_the_point_is_named() -> None:
    slope = lx.gradient(lx.sum(lx.log(x)), x)
    with pytest.raises(lx.EvaluationError, match=r"x\[i\] = -2.0 at \(1,\): log of x is not defined"):
        lx.evaluate(slope, x=[1.0, -2.0])
    with pytest.raises(lx.EvaluationError, match=r"log of x is not defined there, at \(1,\)"):
        lx.compile(slope)(x=[1.0, -2.0])


def test_other_derivatives_are_checked_too() -> None:
    loss, direction = lx.sum(lx.log(x)), lx.tensor("d", n)
    arrays = {"x": np.array([1.0, -2.0]), "d": np.ones(2)}
    for t in (
        lx.jacobian(lx.log(x), x),
        lx.hessian(loss, x),
        lx.hvp(loss, x, direction),
        lx.gradient(lx.sum(lx.gradient(loss, x) ** 2), x),
        3 * lx.gradient(loss, x),
        lx.gradient(loss, x).named("G") + x,
        lx.gradient(loss, x)[0],
    ):
        for found in readings(t, arrays):
            assert isinstance(found, lx.EvaluationError), (t, found)
        for found in readings(t, {**arrays, "x": np.array([1.0, 2.0])}):
            assert np.isfinite(found).all()  # type: ignore[call-overload]


def test_what_is_seen_to_be_in_the_domain_is_not_checked() -> None:
    p = lx.tensor("p", n, positive=True)
    for loss, v in (
        (lx.sum(lx.log(p)), p),
        (lx.sum(lx.log(1 + x**2)), x),
        (lx.sum(lx.log(lx.softmax(B))), B),
        (lx.sum(lx.log(1 - lx.sigmoid(x))), x),
        (lx.log(lx.sum(lx.exp(x))), x),
        (lx.log(lx.sqnorm(x)), x),
        (lx.sum(lx.where(x > 0, lx.log(x), 0)), x),
    ):
        nonsmooth = "subgradient" if loss is not None else "raise"
        source = lx.compile(lx.gradient(loss, v, nonsmooth)).source  # type: ignore[arg-type]
        assert "no value or derivative" not in source, source


def test_a_branch_that_is_not_chosen_is_not_checked() -> None:
    slope = lx.gradient(lx.sum(lx.where(x > 1, lx.log(x), x * 0)), x, "subgradient")
    for found in readings(slope, {"x": np.array([-1.0, 2.0])}):
        np.testing.assert_allclose(found, [0.0, 0.5])  # type: ignore[arg-type]


# -- functions of matrices ---------------------------------------------------------------------------------
def weighted(t: lx.Tensor) -> lx.Tensor:
    return lx.sum(C * t) if t.ndim == 2 else t


VALUES = {
    "inverse of a singular matrix": (lx.inv(A), SINGULAR),
    "inverse of a projection": (lx.inv(A), DEFICIENT),
    "power": (lx.matrix_power(A, -2), DEFICIENT),
    "solve": (lx.sum(lx.solve(A, x)), SINGULAR),
    "log det of a reflection": (lx.logdet(A), REFLECTED),
    "log det of a singular matrix": (lx.logdet(A), DEFICIENT),
    "condition": (lx.cond(A), DEFICIENT),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_matrices(name: str) -> None:
    t, at = VALUES[name]
    for found in readings(weighted(t), {"A": at, "C": WEIGHTS, "x": np.ones(3)}):
        assert is_refused(found), found


SLOPES = {
    "pseudo-inverse of a projection": (lx.pinv(A), DEFICIENT),
    "pseudo-inverse of a singular matrix": (lx.pinv(A), SINGULAR),
    "pseudo-inverse of zero": (lx.pinv(A), 0 * I3),
    "log det of a reflection": (lx.logdet(A), REFLECTED),
    "log det of a singular matrix": (lx.logdet(A), SINGULAR),
    "log of a determinant": (lx.log(lx.det(A)), REFLECTED),
    "inverse": (lx.inv(A), DEFICIENT),
    "norm at zero": (lx.norm(A), 0 * I3),
    "spectral norm at zero": (lx.spectral_norm(A), 0 * I3),
    "spectral norm at a tie": (lx.spectral_norm(A), I3),
    "nuclear norm at zero": (lx.nuclear_norm(A), 0 * I3),
    "nuclear norm of a projection": (lx.nuclear_norm(A), DEFICIENT),
    "least singular value at zero": (lx.sigma_min(A), DEFICIENT),
    "second singular value at a tie": (lx.sigma(A, 2), I3),
    "condition at a tie": (lx.cond(A), I3),
    "condition of a projection": (lx.cond(A), DEFICIENT),
    "largest eigenvalue at a tie": (lx.lambda_max(A), I3),
    "least eigenvalue at a tie": (lx.lambda_min(A), np.diag([1.0, 1.0, 2.0])),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_of_matrices(name: str) -> None:
    t, at = SLOPES[name]
    for found in readings(lx.gradient(weighted(t), A), {"A": at, "C": WEIGHTS}):
        assert isinstance(found, lx.LemmaxError) or np.isnan(found).any(), found  # type: ignore[call-overload]


def test_the_jump_of_a_pseudo_inverse_is_named() -> None:
    slope = lx.gradient(weighted(lx.pinv(A)), A)
    told = r"pinv of A jumps where the rank changes.* nonsmooth='subgradient'"
    with pytest.raises(lx.EvaluationError, match=told):
        lx.evaluate(slope, A=DEFICIENT, C=WEIGHTS)
    with pytest.raises(lx.EvaluationError, match="pinv of A jumps where the rank changes"):
        lx.compile(slope)(A=DEFICIENT, C=WEIGHTS)
    tall = lx.gradient(lx.sum(lx.tensor("M", m, n) * lx.pinv(B)), B)
    rng = np.random.default_rng(0)
    arrays = {"B": rng.standard_normal((4, 2)), "M": rng.standard_normal((2, 4))}
    for found in readings(tall, arrays):
        assert np.isfinite(found).all()  # type: ignore[call-overload]
    arrays["B"][:, 1] = arrays["B"][:, 0]
    for found in readings(tall, arrays):
        assert isinstance(found, lx.EvaluationError)


def test_pseudo_inverses_at_constant_rank_are_differentiated_on_request() -> None:
    """u v^T has rank 1 for all u and v, and its pseudo-inverse is v u^T / (|u|^2 |v|^2)."""
    u, v = lx.tensor("u", n), lx.tensor("v", n)
    loss = weighted(lx.pinv(lx.outer(u, v)))
    arrays = {"u": np.array([1.0, 2.0, -1.0]), "v": np.array([0.5, 1.0, 3.0]), "C": WEIGHTS}
    for found in readings(lx.gradient(loss, u), arrays):
        assert isinstance(found, lx.EvaluationError)
    known = weighted(lx.outer(v, u)) / (lx.sqnorm(u) * lx.sqnorm(v))
    expected = lx.evaluate(lx.gradient(known, u), arrays)
    for found in readings(lx.gradient(loss, u, nonsmooth="subgradient"), arrays):
        np.testing.assert_allclose(found, expected, rtol=1e-10)  # type: ignore[arg-type]


def test_each_instance_of_a_batch_stands_for_itself() -> None:
    slope = lx.gradient(lx.sum(lx.log(x)), x)
    found = lx.evaluate(slope, x=np.array([[1.0, 2.0], [1.0, -2.0]]), batch=True)
    np.testing.assert_array_equal(found, [[1.0, 0.5], [math.nan, math.nan]])
    with pytest.raises(lx.EvaluationError, match="log of x"):
        lx.compile(slope, batch=True)(np.array([[1.0, 2.0], [1.0, -2.0]]))


@pytest.mark.parametrize("arithmetic", ["mpmath", "rounding", "complex"])
def test_all_arithmetics_check(arithmetic: str) -> None:
    slope = lx.gradient(lx.sum(lx.log(x)), x)
    with pytest.raises(lx.EvaluationError, match="log of x"):
        lx.evaluate(slope, x=np.array([1.0, -2.0]), arithmetic=arithmetic)


# -- what simplification loses -----------------------------------------------------------------------------
LOST = {
    "x / x": (x / x, [0.0, 1.0]),
    "0 / x": ((0 * y) / x, [0.0, 1.0]),
    "2 x / x": (2 * x / x, [0.0, 1.0]),
    "x^2 / x": (x**2 / x, [0.0, 1.0]),
    "x y / x": (x * y / x, [0.0, 1.0]),
    "1/x - 1/x": (1 / x - 1 / x, [0.0, 1.0]),
    "log x - log x": (lx.log(x) - lx.log(x), [-1.0, 1.0]),
    "exp log x": (lx.exp(lx.log(x)), [-1.0, 1.0]),
    "sqrt(x)^2": (lx.sqrt(x) ** 2, [-1.0, 1.0]),
    "x^(1/2) x^(1/2)": (x ** sp.Rational(1, 2) * x ** sp.Rational(1, 2), [-1.0, 1.0]),
    "norm^2 / norm": (lx.sqnorm(x) / lx.norm(x), [0.0, 0.0]),
}


@pytest.mark.parametrize("name", LOST)
def test_what_cancels_still_must_be_defined(name: str) -> None:
    t, at = LOST[name]
    for found in readings(t, {"x": np.array(at), "y": np.ones(2)}):
        assert is_refused(found), found
    good = readings(t, {"x": np.array([1.5, 2.5]), "y": np.array([2.0, 3.0])})
    np.testing.assert_allclose(good[0], good[1], rtol=1e-12)  # type: ignore[arg-type]


def test_generated_code_divides_the_matrix_that_it_names() -> None:
    with pytest.raises(lx.EvaluationError, match=r"Singular matrix.*inverted are: A") as caught:
        lx.compile(lx.inv(A))(SINGULAR - SINGULAR)
    assert isinstance(caught.value, np.linalg.LinAlgError)


def test_gradients_by_others_are_not_compared_where_there_is_none() -> None:
    slope = lx.gradient(lx.logdet(A), A)
    lx.check_gradient(lambda A: np.linalg.inv(A).T, slope, A=np.diag([1.0, 2.0]))
    with pytest.raises(lx.EvaluationError):
        lx.check_gradient(lambda A: np.linalg.inv(A).T, slope, A=np.diag([1.0, -2.0]))


def test_equality_and_printing_take_the_formula() -> None:
    slope = lx.gradient(lx.sum(lx.log(x)), x)
    assert lx.equal(slope, 1 / x).name == "proved" and lx.equal(slope, 2 / x).name == "refuted"
    assert lx.latex(slope) == lx.latex(1 / x)
    assert lx.derive(lx.sum(lx.log(x)), x).replay().result == slope


def test_samples_in_chunks_are_checked() -> None:
    X, w = lx.tensor("X", m, n), lx.tensor("w", n)
    fn = lx.compile(lx.gradient(lx.sum(lx.log(X @ w)), w), stream="m", chunk=2)
    rows = np.ones((5, 2))
    np.testing.assert_allclose(fn(X=rows, w=np.ones(2)), [2.5, 2.5])
    rows[4] = -1
    with pytest.raises(lx.EvaluationError, match="log of"):
        fn(X=rows, w=np.ones(2))


@pytest.mark.parametrize("start", [x, lx.tensor("p", n, positive=True)])
def test_signs_are_found_once_for_each_tensor_of_a_deep_graph(start: lx.Tensor) -> None:
    """Each layer uses the one before twice: along paths there would be 2^400 questions, 400 calls deep."""
    h = start
    for _ in range(400):
        h = h * 2 + lx.exp(h)
    found = conditions_of([lx.log(h)])
    assert [g.condition for g in found] == ([] if start.entry_assumptions() else [NOT_NEGATIVE])
