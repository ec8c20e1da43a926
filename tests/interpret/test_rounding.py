"""The rounding radius against sixty digits: the true error never exceeds it, and it is not wildly larger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.functions import ELEMENTWISE
from lemmax.expr.nodes import Apply
from lemmax.interpret import Evaluator, MpArithmetic, Rounded, RoundingArithmetic
from tests.interpret.test_values import DOMAINS

ROUNDING, EXACT = RoundingArithmetic(), MpArithmetic(60)
n, k = lx.sizes("n k")
x, b, c = lx.tensor("x", n), lx.tensor("b", n), lx.tensor("c", n)
A, C = lx.tensor("A", n, n), lx.tensor("C", n, k)
Arrays = dict[str, np.ndarray]


def errors(tensors: Sequence[lx.Tensor], arrays: Arrays) -> Iterator[tuple[int, np.ndarray, Rounded]]:
    """Yield position, true error and computed value of each tensor; infinite and equal counts as no error."""
    evaluator = Evaluator(tensors)
    pairs = zip(
        evaluator.run(arrays, arithmetic=ROUNDING), evaluator.run(arrays, arithmetic=EXACT), strict=True
    )
    for position, (computed, exact) in enumerate(pairs):
        error = [
            0.0 if e == v else abs(e - float(v)) for v, e in zip(computed.value.flat, exact.flat, strict=True)
        ]
        yield position, np.array(error, dtype=object).reshape(computed.value.shape), computed


def check(tensors: Sequence[lx.Tensor], arrays: Arrays) -> list[float]:
    """Check all radii; return the ratios of radius to error where both are positive and finite."""
    ratios: list[float] = []
    for position, error, computed in errors(tensors, arrays):
        for e, r, v in zip(error.flat, computed.radius.flat, computed.value.flat, strict=True):
            assert e <= r, f"tensor {position}: error {float(e):.3g} beyond radius {r:.3g} at value {v!r}"
            if e > 0 and np.isfinite(r):
                ratios.append(float(r / e))
    return ratios


def typical(ratios: list[float]) -> None:
    assert ratios
    assert np.median(ratios) <= 1e4


# -- entrywise -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_functions_of_exact_arguments(name: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(*DOMAINS.get(name, (-1, 1)), 300)
    spread = points if name in DOMAINS else points * 10.0 ** rng.uniform(-3, 2, 300)
    ratios = check([getattr(lx, name)(x)], {"x": spread})
    if name not in ("abs", "sign", "relu", "floor", "ceil"):
        typical(ratios)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_functions_of_rounded_arguments(name: str) -> None:
    """The argument b c + x cancels to different degrees, so that its radius is of any relative size."""
    rng = np.random.default_rng(1)
    target = rng.uniform(*DOMAINS.get(name, (-3, 3)), 300)
    first, second = rng.standard_normal((2, 300)) * 10.0 ** rng.uniform(-2, 8, 300)
    argument = b * c + x
    arrays = {"b": first, "c": second, "x": target - first * second}
    exact = np.array([float(e) for e in Evaluator([argument]).run(arrays, arithmetic=EXACT)[0]])
    low, high = {"log": (0, np.inf), "sqrt": (0, np.inf)}.get(name, DOMAINS.get(name, (-np.inf, np.inf)))
    keep = (exact > low) & (exact < high)
    assert keep.sum() > 50
    check([getattr(lx, name)(argument)], {key: v[keep] for key, v in arrays.items()})


def test_rounded_arguments_at_the_edge_of_a_domain_are_undecided() -> None:
    argument = b * c + x
    arrays = {"b": np.array([1 / 3]), "c": np.array([3.0]), "x": np.array([-1.0])}
    for name in ("log", "sqrt"):
        result = lx.evaluate(getattr(lx, name)(argument), arrays, arithmetic="rounding")
        assert result.radius[0] > 1e-9
    edge = lx.evaluate(lx.arcsin(b * c), b=[1 / 3], c=[3.0 + 1e-15], arithmetic="rounding")
    assert np.isfinite(edge.value[0])
    assert edge.radius[0] > 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = {name: rng.standard_normal(100) * 10.0 ** rng.uniform(-3, 2, 100) for name in "xbc"}
    arrays["c"][:5] = 0.0
    sum_ = x * b + c
    root = lx.sqrt(x**2 + b**2 + c**2)
    powers = (x * x + b * b) ** sp.Rational(1, 3) + (x * x + b * b) ** (c / 100)
    ratios = check(
        [sum_, sum_ * sum_ - x * x * b * b, root, x / b + b / root, x**5 - b**-3, powers, x * 0.1 - sp.pi],
        arrays,
    )
    typical(ratios)


def test_underflow_and_overflow() -> None:
    tiny = np.array([1e-200, -3e-170, 2e-308, 5e-324, 0.0])
    huge = np.array([1e200, -3e170, 1e308, 1.0, 7.0])
    check([x * x, x * b, x * x * b * b, x**3, 1 / b**2, lx.sqnorm(x), lx.exp(-b * b)], {"x": tiny, "b": huge})
    result = lx.evaluate(x * x - x * x, x=huge, arithmetic="rounding")
    assert np.isinf(result.radius[0])
    assert not np.isnan(result.value).any()


def test_overflow_is_undecided_in_whatever_comes_after() -> None:
    huge = {"A": np.array([[1e200, -1e200], [1.0, 2.0]]), "M": np.array([[0.0, -np.inf], [0.0, 0.0]])}
    square = A * A * A + lx.tensor("M", n, n)
    soft = lx.evaluate(lx.softmax(square), huge, arithmetic="rounding")
    assert list(soft.radius[0]) == [1.0, 1.0]
    assert soft.radius[1].max() < 1e-14
    for tensor in (lx.max(square), lx.logsumexp(square), lx.sum(square), lx.max(square, axis=1)[0]):
        assert np.isinf(lx.evaluate(tensor, huge, arithmetic="rounding").radius)
    choice = lx.where(lx.max(square).ge(lx.sum(A**3)), 1 + 0 * lx.sum(A), 2 + 0 * lx.sum(A))
    assert lx.evaluate(choice, huge, arithmetic="rounding").radius >= 1.0


def test_exact_zeros_stay_exact() -> None:
    result = lx.evaluate(lx.sum(x * b), x=[0.0, 0.0], b=[1.0, 2.0], arithmetic="rounding")
    assert (result.value, result.radius) == (0.0, 0.0)


# -- choices -----------------------------------------------------------------------------------------------
def test_doubtful_choices_cover_both_branches() -> None:
    """1/3 times 3 less 1 is 0 in floating point, and not 0 for the float nearest to 1/3."""
    argument = b * c + x
    arrays = {"b": np.full(2, 1 / 3), "c": np.full(2, 3.0), "x": np.array([-1.0, -2.0])}
    choice = lx.where(argument.gt(0), argument + 5, argument - 7)
    result = lx.evaluate(choice, arrays, arithmetic="rounding")
    assert result.radius[0] >= 12
    assert result.radius[1] < 1e-14
    jump = lx.evaluate(lx.sign(argument), arrays, arithmetic="rounding")
    assert jump.radius[0] == 2.0
    assert jump.radius[1] < 1e-14


def test_ties_of_extremes() -> None:
    mask = Apply("argmax_mask", (x * b,), x.shape, {"axes": (0,)})
    result = lx.evaluate(mask, x=[1 / 3, 1.0, 0.2], b=[3.0, 1.0, 1.0], arithmetic="rounding")
    assert list(result.radius) == [1.0, 1.0, 0.0]
    plain = Apply("argmax_mask", (x,), x.shape, {"axes": (0,)})
    exact = lx.evaluate(plain, x=[1.0, 1.0, 0.2], arithmetic="rounding")
    assert list(exact.value) == [1.0, 0.0, 0.0]
    assert not exact.radius.any()
    rng = np.random.default_rng(0)
    for _ in range(20):
        arrays = {name: np.round(rng.standard_normal(6), 1) for name in "xbc"}
        product = x * b * c
        check([lx.max(product), lx.min(product), lx.maximum(x * b, b * c), lx.minimum(x * b, b * c)], arrays)


# -- along axes ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(8))
def test_softmax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3.5)
    arrays = {"A": scale * rng.standard_normal((5, 5)), "C": rng.standard_normal((5, 5))}
    if seed % 2:
        arrays["A"][np.arange(5), rng.permutation(5)] = -np.inf
    logits = A * lx.exp(lx.sum(C) / 1000)
    soft = lx.softmax(logits)
    pulled = Apply("softmax_pullback", (soft, C), A.shape, {"axis": 1})
    check([lx.softmax(A), soft, soft @ C, lx.logsumexp(logits, axis=1), lx.logsumexp(A), pulled], arrays)


def test_products_along_axes() -> None:
    rng = np.random.default_rng(0)
    check([lx.prod(A), lx.prod(A * A, axis=0)], {"A": rng.standard_normal((4, 4))})


# -- matrices ------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(12))
def test_matrices(seed: int) -> None:
    """From well conditioned to nearly singular, at all scales."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    a = rng.standard_normal((size, size))
    if size > 1 and seed % 3:
        a[1] = a[0] + 10.0 ** rng.uniform(-17, 0) * rng.standard_normal(size)
    arrays = {"A": a * 10.0 ** rng.uniform(-3, 2), "C": rng.standard_normal((size, int(rng.integers(1, 5))))}
    gram = A @ A.T + C @ C.T * 1e-3
    functionals = [lx.sigma_min, lx.spectral_norm, lx.nuclear_norm, lx.lambda_min, lx.lambda_max]
    tensors = [f(m) for m in (A, A @ A, gram) for f in [*functionals, lx.det, lx.inv, lx.cond]]
    check([*tensors, lx.logdet(gram), lx.sigma(C, 2), lx.nuclear_norm(C)], arrays)


def test_rank_is_undecided_where_rounding_leaves_it_open() -> None:
    full, radius = lx.evaluate(lx.rank(A), A=np.eye(3), arithmetic="rounding")
    assert (full, radius) == (3, 0)
    deficient, radius = lx.evaluate(lx.rank(A), A=np.ones((3, 3)), arithmetic="rounding")
    assert (deficient, radius) == (1, 2)
    nothing, radius = lx.evaluate(lx.rank(A), A=np.zeros((3, 3)), arithmetic="rounding")
    assert (nothing, radius) == (0, 0)


def test_singular_matrices_are_undecided_not_wrong() -> None:
    shifted = A + lx.tensor("B", n, n) - 1
    arrays = {"A": np.array([[1.0, 2.0], [0.5, 1.0]]), "B": np.full((2, 2), 1.0 + 2**-52)}
    for tensor in (lx.inv(shifted), lx.logdet(shifted)):
        assert np.isinf(lx.evaluate(tensor, arrays, arithmetic="rounding").radius).any()


# -- losses --------------------------------------------------------------------------------------
def attention(kernel: str) -> list[lx.Tensor]:
    """Return quantities of an attention layer, its gradients written out by hand."""
    N, t, D, d, v, m, H = lx.sizes("N t D d v m H")
    X, Y = lx.tensor("X", N, t, D), lx.tensor("Y", N, t, m)
    WQ, WK = lx.tensor("WQ", H, D, d), lx.tensor("WK", H, D, d)
    WV, WO = lx.tensor("WV", H, D, v), lx.tensor("WO", H, v, m)
    Q, K = lx.einsum("ika,hab->ihkb", X, WQ), lx.einsum("ija,hab->ihjb", X, WK)
    if kernel == "gaussian":
        gap = Q[:, :, :, None, :] - K[:, :, None, :, :]
        logits = -lx.sum(gap**2, axis=-1) / sp.sqrt(d)
        S = lx.exp(logits + lx.causal_mask(t))
    else:
        logits = lx.einsum("ihkb,ihjb->ihkj", Q, K) / sp.sqrt(d)
        S = lx.softmax(logits + lx.causal_mask(t) if kernel == "causal" else logits)
    R = lx.einsum("ihkj,ija,hab,hbc->ikc", S, X, WV, WO) - Y
    f = lx.sqnorm(R) / 2
    B = lx.merge(lx.einsum("ihkj,ija->ikha", S, X), (0, 1), (2, 3))
    gV = lx.einsum("ihkj,ija,ikc,hbc->hab", S, X, R, WO)
    P = lx.einsum("ikc,hbc,hab,ija->ihkj", R, WO, WV, X)
    pulled = S * P if kernel == "gaussian" else Apply("softmax_pullback", (S, P), S.shape, {"axis": 3})
    gQ = lx.einsum("ika,ihkj,ijc,hcb->hab", X, pulled, X, WK) / sp.sqrt(d)
    bound = 2 * lx.sigma(B, N * t) ** 2 * lx.min(lx.sigma(WO, m), axis="H") ** 2 * f
    return [
        S,
        f,
        B,
        gQ,
        lx.sqnorm(gQ),
        lx.sqnorm(gV),
        bound,
        lx.sigma(B, N * t),
        lx.nuclear_norm(B),
        lx.cond(B),
    ]


def instance(evaluator: Evaluator, rng: np.random.Generator) -> Arrays:
    """Draw sizes up to 3, weights at scales from 1e-3 to 1e2, and often nearly equal or equal tokens."""
    size = {name: int(rng.integers(1, 4)) for name in evaluator.sizes}
    scale = 10.0 ** rng.uniform(-3, 2)
    arrays = {}
    for name, node in evaluator.inputs.items():
        arrays[name] = rng.standard_normal([size[str(s)] for s in node.shape])
        if name in ("WQ", "WK"):
            arrays[name] *= scale
    arrays["X"] *= 10.0 ** rng.uniform(-1, 1)
    if size["t"] > 1 and rng.random() < 0.4:
        near = 10.0 ** rng.uniform(-17, -3) * rng.standard_normal(size["D"])
        arrays["X"][:, 1] = arrays["X"][:, 0] + near * (rng.random() < 0.8)
    return arrays


@pytest.mark.parametrize("kernel", ["softmax", "causal", "gaussian"])
def test_losses(kernel: str) -> None:
    rng = np.random.default_rng(0)
    tensors = attention(kernel)
    evaluator = Evaluator(tensors)
    ratios: list[float] = []
    for _ in range(40):
        ratios += check(tensors, instance(evaluator, rng))
    assert len(ratios) > 1000
    typical(ratios)


def test_too_small_a_radius_would_be_noticed() -> None:
    """The check is not vacuous: radii smaller by the typical overestimate fail it."""
    rng = np.random.default_rng(0)
    tensors = attention("softmax")
    evaluator = Evaluator(tensors)
    failures = 0
    for _ in range(5):
        for _, error, computed in errors(tensors, instance(evaluator, rng)):
            failures += sum(e > r / 1000 for e, r in zip(error.flat, computed.radius.flat, strict=True))
    assert failures > 10
