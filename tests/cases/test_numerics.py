"""Values where other tools return NaN or garbage: masks, unselected branches, removable singularities."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.check import check_gradient, taylor_slope
from tests.cases.registry import covers

n, m, N, d = lx.sizes("n m N d")
x, y, g, mask = (lx.tensor(c, n) for c in ("x", "y", "g", "mask"))
t, u = lx.tensor("t"), lx.tensor("u")
Array = np.ndarray[Any, np.dtype[np.float64]]
INF = np.inf


def both(e: lx.Tensor, **arrays: Any) -> Array:
    """Return the value by the interpreter; generated code must agree, without a warning."""
    given = {name: np.asarray(a, dtype=float) for name, a in arrays.items()}
    found = lx.evaluate(e, given)
    with np.errstate(all="raise", under="ignore"):
        by_code = lx.compile(e)(**given)
    np.testing.assert_allclose(by_code, found, rtol=1e-13, atol=1e-15)
    return np.asarray(by_code)


def slope(f: lx.Tensor, wrt: lx.Tensor, kinks: bool = False) -> lx.Tensor:
    return lx.gradient(f, wrt, nonsmooth="subgradient" if kinks else "raise")


@covers("N02")
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_norm_at_zero_has_no_gradient_and_a_subgradient_on_request(size: int) -> None:
    zero = np.zeros(size)
    with pytest.raises(
        lx.EvaluationError, match=r"is 0: there a norm or root has no derivative.*subgradient"
    ):
        lx.evaluate(slope(lx.norm(x), x), x=zero)
    with pytest.raises(FloatingPointError, match=r"does not exist at 0.*subgradient"):
        lx.compile(slope(lx.norm(x), x))(x=zero)
    assert not both(slope(lx.norm(x), x, kinks=True), x=zero).any()


@covers("N03")
@pytest.mark.parametrize("length", [0.5, 2.0])
def test_mixed_second_derivative_of_the_gaussian_kernel_at_equal_points(length: float) -> None:
    """It is 2 I / l^2, whether the squared distance is written by a norm or by a sum."""
    for squared in (lx.norm(x - y) ** 2, lx.sqnorm(x - y), lx.sum((x - y) ** 2), lx.norm(y - x) ** 2):
        mixed = lx.hessian(lx.exp(-squared / t**2), x, y)
        found = both(mixed, x=[0.3, -1, 2], y=[0.3, -1, 2], t=length)
        np.testing.assert_allclose(found, 2 / length**2 * np.eye(3), rtol=1e-15)


@covers("N03")
def test_gaussian_kernel_matrices_have_finite_derivatives_on_the_diagonal() -> None:
    X = lx.tensor("X", N, d)
    differences = X[:, None, :] - X[None, :, :]
    loss = lx.sum(lx.exp(-lx.sum(differences**2, axis=-1)) * lx.tensor("w", N, N))
    points = np.random.default_rng(0).standard_normal((3, 2))
    points[2] = points[0]
    H = lx.hessian(loss, X)
    weights = np.ones((3, 3))
    assert np.isfinite(both(H, X=points, w=weights)).all()
    assert taylor_slope(loss, slope(loss, X), X, X=points, w=weights) == pytest.approx(2, abs=0.1)


@covers("N05")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_unselected_branch_that_overflows(dtype: type) -> None:
    """The other branch has no influence, neither where it overflows nor where it is out of its domain."""
    f = lx.where(t <= 0, lx.exp(t), 1 + t)
    code = lx.compile(slope(f, t))  # the branches meet with equal values and slopes
    with np.errstate(all="raise"):
        assert code(t=dtype(100)) == 1
        assert code(t=dtype(1e4)) == 1
        assert code(t=dtype(-1)) == pytest.approx(np.exp(-1), rel=1e-6)
    assert lx.evaluate(slope(f, t), t=1e4) == 1
    with pytest.raises(lx.NonSmooth):
        lx.hessian(f, t)


@covers("N06")
def test_an_unselected_branch_outside_its_domain() -> None:
    for inner, expected in ((lx.sqrt(x), 0.25), (lx.log(x), 0.25), (x**1.5, 3.0)):
        f = lx.sum(lx.where(x > 0, inner, x))
        found = both(slope(f, x, kinks=True), x=[-1, -4, 4])
        np.testing.assert_allclose(found, [1, 1, expected], rtol=1e-15)


@covers("N07")
def test_masked_softmax() -> None:
    """Its sum is constant, so the gradient of the sum is 0; masked entries get none and give none."""
    logits, dropped = [1, 1, 100], [0, 0, -INF]
    assert not both(slope(lx.sum(lx.softmax(x + mask)), x), x=logits, mask=dropped).any()
    kept = lx.softmax(lx.where(mask > 0, x, -sp.oo))
    assert not both(slope(lx.sum(kept), x), x=logits, mask=[1, 1, 0]).any()
    weighted = slope(lx.sum(g * kept), x)
    found = both(weighted, x=logits, mask=[1, 1, 0], g=[1, 3, 7])
    np.testing.assert_allclose(found, [-0.5, 0.5, 0], rtol=1e-15)
    J = both(lx.jacobian(lx.softmax(x + mask), x), x=logits, mask=dropped)
    np.testing.assert_allclose(J, [[0.25, -0.25, 0], [-0.25, 0.25, 0], [0, 0, 0]], atol=1e-17)


@covers("N08")
def test_log_sum_exp_with_masked_entries() -> None:
    f = lx.logsumexp(x + mask)
    assert both(f, x=[0, 100], mask=[0, -INF]) == 0
    assert both(slope(f, x), x=[0, 100], mask=[0, -INF]).tolist() == [1, 0]
    assert not both(lx.hessian(f, x), x=[0, 100], mask=[0, -INF]).any()
    f = lx.logsumexp(lx.where(mask > 0, x, -sp.oo))
    assert both(slope(f, x), x=[0, 100], mask=[1, 0]).tolist() == [1, 0]
    A = lx.tensor("A", n, m)
    for axis in (0, 1):
        rows = lx.sum(lx.logsumexp(A, axis=axis))
        found = both(slope(rows, A), A=[[0, -INF], [0, 0]] if axis else [[0, 0], [-INF, 0]])
        np.testing.assert_allclose(found, [[1, 0], [0.5, 0.5]] if axis else [[1, 0.5], [0, 0.5]])


@covers("N10")
def test_log_sum_exp_of_nothing_is_minus_infinity_and_not_differentiable() -> None:
    assert both(lx.logsumexp(x), x=[-INF, -INF]) == -INF
    g = slope(lx.logsumexp(lx.stack([t, t + u]) + y[:2]), u)
    with pytest.raises(lx.EvaluationError, match="-inf throughout"):
        lx.evaluate(g, t=-INF, u=3.0, y=np.zeros(2))
    with pytest.raises(ValueError, match="-inf throughout"):
        lx.compile(g)(t=-INF, u=3.0, y=np.zeros(2))
    assert both(g, t=-1e6, u=3.0, y=np.zeros(2)) == pytest.approx(1 / (1 + np.exp(-3)))


@covers("N16")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_second_derivative_of_a_product_does_not_divide(dtype: type) -> None:
    H = lx.compile(lx.hessian(4000 * lx.prod(x), x))
    assert H(x=np.array([0.03, 1, 1, 1], dtype))[0, 1] == 4000
    assert H(x=np.array([0, 0, 1, 1], dtype))[0, 1] == 4000
    assert H(x=np.array([0, 0, 1, 1], dtype))[2, 3] == 0


@covers("N18", "N25")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layer_normalisation_of_constant_features(dtype: type) -> None:
    centred = x - lx.mean(x)
    eps = lx.tensor("eps", positive=True)
    normalised = centred / lx.sqrt(lx.mean(centred**2) + eps)
    in_gain = lx.compile(slope(lx.sum(g * normalised * y), g))
    for features in (np.full(1, 1e6, dtype), np.full(4, 1e6, dtype), np.full(4, 2.0, dtype)):
        ones = np.ones(len(features), dtype)
        assert not in_gain(x=features, y=ones, eps=dtype(1e-5)).any()
    f = lx.sum(g * normalised)
    found = both(slope(f, x), x=[2, 2, 2], g=[1, 2, 3], eps=1e-4)
    np.testing.assert_allclose(found, [-100, 0, 100], atol=1e-12)
    outside = centred / (lx.sqrt(lx.mean(centred**2)) + eps)  # the root is not smooth: refused, not NaN
    with pytest.raises(lx.EvaluationError, match=r"root of .* is 0"):
        lx.evaluate(slope(lx.sum(g * outside), x), x=[2, 2, 2], g=[1, 2, 3], eps=1e-4)
    with pytest.raises(FloatingPointError, match=r"root of .* is 0"):
        lx.compile(slope(lx.sum(g * outside), x))(x=np.full(3, 2.0), g=np.arange(3.0), eps=1e-4)


@covers("N22")
@pytest.mark.parametrize("at", [-820.0, -30.0, 0.0, 30.0, 820.0])
def test_logarithm_of_the_logistic_function(at: float) -> None:
    with mpmath.workdps(30):
        value, derivative = -mpmath.log1p(mpmath.exp(-at)), 1 / (1 + mpmath.exp(at))
    assert lx.compile(lx.log(lx.sigmoid(t)))(t=at) == pytest.approx(float(value), rel=1e-14)
    assert both(slope(lx.log(lx.sigmoid(t)), t), t=at) == pytest.approx(
        float(derivative), rel=1e-14, abs=1e-320
    )


@covers("I10")
def test_a_right_gradient_has_slope_two_and_one_that_is_three_percent_off_has_slope_one() -> None:
    X, w = lx.tensor("X", n, m), lx.tensor("w", m)
    f = lx.sum(lx.softplus(-y * (X @ w)))
    derived = slope(f, w)
    rng = np.random.default_rng(0)
    arrays = {"X": rng.standard_normal((4, 3)), "y": rng.standard_normal(4), "w": rng.standard_normal(3)}
    assert taylor_slope(f, derived, w, **arrays) == pytest.approx(2, abs=0.05)
    assert taylor_slope(f, 1.03 * derived, w, **arrays) == pytest.approx(1, abs=0.05)

    def mine(X: Array, y: Array, w: Array) -> Array:
        return np.asarray(X.T @ (-y / (1 + np.exp(y * (X @ w)))))

    assert check_gradient(mine, derived, **arrays).agrees
    assert not check_gradient(lambda **a: 1.03 * mine(**a), derived, **arrays).agrees


@covers("E10")
@pytest.mark.parametrize("scale", [1.0, 50.0, 1e4])
def test_softmax_with_a_one_in_its_denominator(scale: float) -> None:
    """Shifting by the maximum shifts the one as well: it is a softmax over one more logit, which is 0."""
    one_more = lx.softmax(lx.concat([x, lx.zeros(1)]))[:-1]
    largest = lx.max(x)
    shifted = lx.exp(x - largest) / (lx.exp(-largest) + lx.sum(lx.exp(x - largest)))
    kept = lx.exp(x - largest) / (1 + lx.sum(lx.exp(x - largest)))
    plain = lx.exp(x) / (1 + lx.sum(lx.exp(x)))
    assert lx.equal(plain, shifted).name != "refuted"
    assert lx.equal(plain, one_more).name != "refuted"
    assert lx.equal(plain, kept).name == "refuted"
    point = scale * np.random.default_rng(3).standard_normal(5)
    exact = lx.evaluate(plain, x=point, arithmetic="mpmath", digits=30).astype(float)
    np.testing.assert_allclose(both(one_more, x=point), exact, rtol=1e-13, atol=1e-300)


@covers("E01")
def test_third_order_iteration_for_a_pseudo_inverse() -> None:
    """The next residual is a polynomial in the residual R = I - A Z that begins with its cube."""
    A, Z = lx.tensor("A", n, n), lx.tensor("Z", n, n)
    I, AZ = lx.eye(n), A @ Z  # noqa: E741
    following = Z @ (13 * I - AZ @ (15 * I - AZ @ (7 * I - AZ))) / 4
    R = I - AZ
    cubic = (3 * (R @ R @ R) + R @ R @ R @ R) / 4
    assert lx.equal(I - A @ following, cubic).name == "proved"
    misplaced = Z @ (13 * I - AZ @ (15 * I - AZ) @ (7 * I - AZ)) / 4
    assert lx.equal(I - A @ misplaced, cubic).name == "refuted"
    step = lx.compile([following, lx.norm(R)])
    rng = np.random.default_rng(0)
    a = rng.random((4, 4)) + 4 * np.eye(4)
    z, residuals = a.T / (np.abs(a).sum(0).max() * np.abs(a).sum(1).max()), []
    for _ in range(8):
        z, residual = step(A=a, Z=z)
        residuals.append(residual)
    assert residuals[-1] < 1e-14
    small = [(r, s) for r, s in pairwise(residuals) if 1e-4 < r < 0.3]
    assert small and all(s < r**3 for r, s in small)
    np.testing.assert_allclose(lx.evaluate(lx.pinv(A), A=a), z, rtol=1e-12, atol=1e-13)


@covers("E07")
def test_partial_products_of_online_softmax() -> None:
    """softmax(S) V is exp(S - m) V divided by the row sums, not times them; parts of it join."""
    S, V = lx.tensor("S", n, m), lx.tensor("V", m, d)
    largest = lx.tensor("largest", n)
    kernel = lx.exp(S - largest[:, None])
    sums = lx.sum(kernel, axis=1)
    whole = lx.softmax(S, axis=1) @ V
    assert lx.equal(whole, lx.inv(lx.diag(sums)) @ (kernel @ V)).name != "refuted"
    assert lx.equal(whole, (kernel @ V) / sums[:, None]).name != "refuted"
    assert lx.equal(whole, lx.diag(sums) @ (kernel @ V)).name == "refuted"
    rng = np.random.default_rng(0)
    s, v = 30 * rng.standard_normal((3, 6)), rng.standard_normal((6, 2))
    blocks: tuple[slice, slice] = (slice(0, 4), slice(4, 6))
    code = lx.compile(
        [
            lx.max(S, axis=1),
            lx.sum(lx.exp(S - lx.max(S, axis=1)[:, None]), axis=1),
            lx.exp(S - lx.max(S, axis=1)[:, None]) @ V,
        ]
    )
    parts = [code(S=s[:, b], V=v[b]) for b in blocks]
    top = np.maximum(parts[0][0], parts[1][0])
    scale = [np.exp(p[0] - top) for p in parts]
    total = sum(c * p[1] for c, p in zip(scale, parts, strict=True))
    joined = sum(c[:, None] * p[2] for c, p in zip(scale, parts, strict=True)) / total[:, None]
    np.testing.assert_allclose(joined, lx.evaluate(whole, S=s, V=v), rtol=1e-14)


@covers("E09")
def test_forward_differences_of_second_order() -> None:
    """Two of the four terms missing make a formula whose error does not vanish with the step."""
    z = lx.tensor("z", 2)
    f = lx.exp(z[0]) * lx.sin(z[1]) + z[0] * z[1] ** 2
    H = lx.hessian(f, z)
    point, value = np.array([0.3, -0.7]), lx.compile(f)

    def difference(h: float, j: int, k: int, all_terms: bool) -> float:
        e = h * np.eye(2)
        both_moved, first, second, none = (value(z=point + v) for v in (e[j] + e[k], e[j], e[k], np.zeros(2)))
        kept = both_moved - first - second + none if all_terms else both_moved - first
        return float(kept / h**2)

    table = lx.evaluate(H, z=point)
    for j, k in ((0, 0), (0, 1), (1, 0), (1, 1)):
        errors = [abs(difference(h, j, k, True) - table[j, k]) for h in (1e-2, 1e-3)]
        assert errors[1] < 0.15 * errors[0] < 0.1
        assert abs(difference(1e-3, j, k, False) - table[j, k]) > 1
    np.testing.assert_array_equal(table, table.T)
