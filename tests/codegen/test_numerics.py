"""Functions at the edge of floating point: no overflow, no lost digits, no warning (warnings are errors)."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import lemmax as lx

n, L = lx.sizes("n L")
x = lx.tensor("x", n)
A = lx.tensor("A", n, L)
M = lx.tensor("M", n, L)

POINTS = [-1e4, -745.2, -700.0, -40.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 40.0, 700.0, 1e4]

FORMS: dict[str, tuple[lx.Tensor, Callable[[mpmath.mpf], mpmath.mpf]]] = {
    "sigmoid": (lx.sigmoid(x), lambda t: 1 / (1 + mpmath.exp(-t))),
    "softplus": (lx.softplus(x), lambda t: mpmath.log1p(mpmath.exp(t)) if t > -50 else mpmath.exp(t)),
    "log sigmoid": (
        lx.log(lx.sigmoid(x)),
        lambda t: -mpmath.log1p(mpmath.exp(-t)) if t < 50 else -mpmath.exp(-t),
    ),
    "tanh": (lx.tanh(x), mpmath.tanh),
}


@pytest.mark.parametrize("name", FORMS)
def test_full_accuracy_everywhere(name: str) -> None:
    t, exact = FORMS[name]
    values = lx.compile(t)(np.array(POINTS))
    with mpmath.workdps(60):
        for point, value in zip(POINTS, values, strict=True):
            expected = exact(mpmath.mpf(point))
            # below the smallest normal number the result is rounded to a multiple of 5e-324
            assert abs(mpmath.mpf(float(value)) - expected) <= 4e-16 * abs(expected) + mpmath.mpf(1e-307)


def test_derivatives_of_sigmoid_and_softplus() -> None:
    total = lx.sum(lx.softplus(x) + lx.sigmoid(x))
    slope = lx.compile(lx.gradient(total, x))(np.array(POINTS))
    with mpmath.workdps(60):
        for point, value in zip(POINTS, slope, strict=True):
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(point)))
            expected = p + p / (1 + mpmath.exp(mpmath.mpf(point)))
            assert abs(mpmath.mpf(float(value)) - expected) <= 1e-15 * abs(expected) + mpmath.mpf(1e-307)


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
def test_softmax_and_logsumexp_of_large_logits(scale: float) -> None:
    rng = np.random.default_rng(0)
    logits = scale * rng.uniform(-1, 1, (5, 4))
    S, lse, log_S, cross = lx.compile(
        [lx.softmax(A), lx.logsumexp(A, axis=-1), lx.log_softmax(A), lx.log(lx.softmax(A).named("S"))]
    )(logits)
    with mpmath.workdps(60):
        for row in range(5):
            exact = [mpmath.exp(mpmath.mpf(float(a))) for a in logits[row]]
            total = mpmath.fsum(exact)
            log_total = mpmath.log(total)
            assert abs(lse[row] - log_total) <= 4e-16 * (abs(log_total) + 1)
            for column in range(4):
                share = exact[column] / total
                # exp turns half a unit in the last place of the logits into a relative error
                assert abs(S[row, column] - share) <= 4e-16 * (1 + scale) * share + mpmath.mpf(1e-307)
                for value in (log_S[row, column], cross[row, column]):
                    log_share = mpmath.mpf(float(logits[row, column])) - log_total
                    assert abs(value - log_share) <= 4e-16 * (scale + abs(log_share))


def test_equal_huge_logits() -> None:
    logits = np.full((2, 3), -1e4)
    S, lse = lx.compile([lx.softmax(A), lx.logsumexp(A, axis=1)])(logits)
    np.testing.assert_allclose(S, 1 / 3, rtol=1e-15)
    np.testing.assert_allclose(lse, -1e4 + np.log(3), rtol=1e-15)


def test_masks() -> None:
    fn = lx.compile([lx.softmax(A + M), lx.logsumexp(A + M, axis=-1), lx.exp(A + M)])
    a = np.array([[1.0, 2.0, 3.0], [0.0, 1e4, -1e4]])
    mask = np.array([[0.0, -np.inf, 0.0], [-np.inf, -np.inf, 0.0]])
    S, lse, kernel = fn(A=a, M=mask)
    np.testing.assert_allclose(S, [[1 / (1 + np.e**2), 0, 1 / (1 + np.e**-2)], [0, 0, 1]], rtol=1e-15)
    np.testing.assert_allclose(lse, [np.log(np.e + np.e**3), -1e4], rtol=1e-15)
    np.testing.assert_allclose(kernel[0], [np.e, 0, np.e**3], rtol=1e-15)
    assert kernel[1].tolist() == [0, 0, 0]


def test_a_row_that_is_masked_throughout() -> None:
    a, mask = np.zeros((2, 3)), np.array([[0.0, 0, 0], [-np.inf] * 3])
    with pytest.raises(ValueError, match="-inf throughout; a mask must keep one entry per row"):
        lx.compile(lx.softmax(A + M))(A=a, M=mask)
    with pytest.raises(ValueError, match="-inf throughout"):
        lx.compile(lx.softmax(A))(A=mask)
    with pytest.raises(ValueError, match="-inf throughout"):
        lx.compile(lx.softmax(lx.concat([A, M], axis=1)[:, :3]))(A=mask, M=mask)
    assert lx.compile(lx.logsumexp(A + M, axis=-1))(A=a, M=mask).tolist() == [np.log(3), -np.inf]


def test_masked_entries_have_no_gradient() -> None:
    T = lx.tensor("T", n, L)
    loss = lx.sqnorm(lx.softmax(A + M) - T)
    a, t = np.array([[1.0, 2.0, 3.0]]), np.array([[0.1, 0.2, 0.3]])
    mask = np.array([[0.0, -np.inf, 0.0]])
    gradient = lx.compile(lx.gradient(loss, A))(A=a, M=mask, T=t)
    reduced = lx.compile(lx.gradient(loss, A))(A=a[:, [0, 2]], M=np.zeros((1, 2)), T=t[:, [0, 2]])
    np.testing.assert_allclose(gradient[:, [0, 2]], reduced, rtol=1e-14)
    assert gradient[0, 1] == 0


def test_branches_that_are_not_chosen_have_no_influence() -> None:
    t = lx.where(x.gt(0), lx.log(x), lx.where(x.lt(-1), 1 / (x + 1), lx.sqrt(-x)))
    values = lx.compile(t)(np.array([-2.0, -1.0, 0.0, 1.0, np.e]))
    np.testing.assert_allclose(values, [-1, 1, 0, 0, 1], atol=1e-15)


def test_branches_through_a_named_tensor() -> None:
    logarithm = lx.log(x).named("V")
    fn = lx.compile(lx.where(x.gt(0), logarithm, 0))
    np.testing.assert_allclose(fn(np.array([-1.0, 0.0, 1.0, np.e])), [0, 0, 0, 1], atol=1e-15)
    deep = lx.where(x.gt(0), (logarithm + 1).named("U"), 0)
    np.testing.assert_allclose(lx.compile(deep)(np.array([-1.0, 0.0, 1.0])), [0, 0, 1], atol=1e-15)
    # used outside of the branch as well, the logarithm warns as it should
    both = lx.compile([lx.where(x.gt(0), logarithm, 0), logarithm])
    with pytest.warns(RuntimeWarning):
        both(np.array([-1.0]))


def test_logdet_of_a_matrix_without_one() -> None:
    B = lx.tensor("B", n, n)
    fn = lx.compile(lx.logdet(B))
    assert fn(np.diag([2.0, 3.0])) == pytest.approx(np.log(6))
    with pytest.raises(ValueError, match="determinant is not positive"):
        fn(np.diag([2.0, -3.0]))
    slope = fn(np.diag([2.0, 3.0]) + 1e-30j * np.eye(2)).imag / 1e-30
    assert slope == pytest.approx(1 / 2 + 1 / 3)
