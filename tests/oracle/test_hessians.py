"""Derived Hessians against every oracle file in full, and Hessian-vector products on random shapes."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import mpmath
import numpy as np
import pytest

import lemmax as lx
from lemmax.interpret import Evaluator, MpArithmetic
from lemmax.interpret.complexes import ComplexArithmetic
from tests.models import reference
from tests.oracle import instances
from tests.oracle.test_gradients import shipped_model

CASES = instances.names()
DIGITS = 60
SATURATED = "o12_exp_KQ_saturated"


def stored(name: str) -> np.ndarray:
    with np.load(instances.DATA / f"{name}.npz", allow_pickle=False) as file:
        return np.asarray(file["hess"])


@functools.cache
def trained(name: str) -> tuple[Any, tuple[lx.Tensor, ...], tuple[int, ...]]:
    case, model = instances.load(name), shipped_model(name)
    by_name = {w.name: w for w in model.weights}
    weights = tuple(by_name[w.name] for w in case.trained)
    return case, weights, tuple(case.arrays[lx.identifier(w.name)].size for w in weights)


def assembled(values: list[Any], sizes: tuple[int, ...]) -> np.ndarray:
    """Put blocks of all pairs, each once, into the whole symmetric matrix."""
    count, given = len(sizes), iter(values)
    rows: list[list[Any]] = [[None] * count for _ in sizes]
    for p in range(count):
        for q in range(p, count):
            rows[p][q] = np.asarray(next(given)).reshape(sizes[p], sizes[q])
            rows[q][p] = rows[p][q].T
    return np.block(rows)


@pytest.mark.parametrize("name", CASES)
def test_generated_hessians_in_full(name: str) -> None:
    case, weights, sizes = trained(name)
    loss = shipped_model(name).loss
    blocks = [lx.hessian(loss, a, b) for p, a in enumerate(weights) for b in weights[p:]]
    matrix = assembled(list(lx.compile(blocks)(**case.arrays)), sizes)
    reference_matrix = stored(name)
    largest = np.abs(reference_matrix).max()
    np.testing.assert_allclose(matrix, reference_matrix, rtol=0, atol=1e-12 * largest)
    diagonal = np.cumsum((0, *sizes))
    for start, stop in itertools.pairwise(diagonal):
        block = matrix[start:stop, start:stop]
        np.testing.assert_allclose(block, block.T, rtol=0, atol=1e-12 * largest)
    for at, digits in case.digits["hess"].items():
        if "," in at:
            p, q = map(int, at.split(","))
            assert abs(matrix[p, q] - float(mpmath.mpf(digits))) <= 1e-12 * largest


@pytest.mark.parametrize("name", ["o01_softmax_H1_all", "o11_exp_W", SATURATED])
def test_hessians_in_multiprecision(name: str) -> None:
    """The derived Hessian itself, free of rounding, has the digits that were computed elsewhere."""
    case = instances.load(name)
    blocks = [lx.hessian(case.loss, a, b) for p, a in enumerate(case.trained) for b in case.trained[p:]]
    kept = 2 * DIGITS if case.saturated else DIGITS
    parts = Evaluator(blocks).run(case.arrays, arithmetic=MpArithmetic(kept))
    matrix = assembled(parts, trained(name)[2])
    reference_matrix = stored(name)
    largest = np.abs(reference_matrix).max()
    np.testing.assert_allclose(matrix.astype(float), reference_matrix, rtol=0, atol=1e-13 * largest)
    count = 0
    with mpmath.workdps(kept):
        for at, digits in case.digits["hess"].items():
            if "," in at:
                p, q = map(int, at.split(","))
                assert abs(matrix[p, q] - mpmath.mpf(digits)) <= mpmath.mpf(10) ** -46 * mpmath.mpf(largest)
                count += 1
    assert count >= 5


@pytest.mark.parametrize("name", ["o03_softmax_H2_QK", "o07_gauss_H2_Q_DgeNn", "o11_exp_W", SATURATED])
def test_generated_hessian_vector_products(name: str) -> None:
    case, weights, sizes = trained(name)
    directions = tuple(lx.tensor(f"U{p}", *w.shape) for p, w in enumerate(weights))
    rng = np.random.default_rng(0)
    arrays = {
        f"U{p}": rng.standard_normal(case.arrays[lx.identifier(w.name)].shape) for p, w in enumerate(weights)
    }
    products = lx.hvp(shipped_model(name).loss, weights, directions)
    flat = np.concatenate([part.ravel() for part in lx.compile(list(products))(**case.arrays, **arrays)])
    wanted = stored(name) @ np.concatenate([arrays[f"U{p}"].ravel() for p in range(len(weights))])
    assert len(wanted) == sum(sizes)
    np.testing.assert_allclose(
        flat, wanted, rtol=0, atol=1e-12 * np.abs(stored(name)).max() * len(wanted) ** 0.5
    )


def test_row_sums_are_not_good_enough_for_the_saturated_case() -> None:
    case, (a, b), sizes = trained(SATURATED)
    loss = shipped_model(SATURATED).loss
    blocks = [lx.hessian(loss, a), lx.hessian(loss, a, b), lx.hessian(loss, b)]
    fn = lx.compile(blocks, softmax_gradient="rowsum")
    matrix = assembled(list(fn(**case.arrays)), sizes)
    assert np.abs(matrix - stored(SATURATED)).max() > 0.1 * np.abs(stored(SATURATED)).max()


# -- random shapes --------------------------------------------------------------------------------
def random_attention(kernel: str, mask: str | None, seed: int) -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(s) for s in rng.integers(1, 5, size=7))
    arrays = reference.draw_attention(rng, mask, sizes)
    return lx.models.attention(kernel, mask), arrays


def random_classifier(weights: str, seed: int) -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(s) for s in rng.integers(2, 5, size=4))
    return lx.models.attention_classifier(weights), reference.draw_classifier(rng, weights, sizes)


RANDOM = [
    *(("attention", "softmax", mask) for mask in reference.MASKS),
    *(("attention", "gaussian", mask) for mask in (None, "additive")),
    *(("classifier", weights, None) for weights in reference.WEIGHTS),
]


@functools.cache
def compiled(kind: str, which: str, mask: str | None) -> tuple[Any, Any, Evaluator]:
    """Loss, gradients and products with directions U as code; and the gradients in the interpreter."""
    model = lx.models.attention(which, mask) if kind == "attention" else lx.models.attention_classifier(which)
    directions = tuple(lx.tensor(f"U{p}", *w.shape) for p, w in enumerate(model.weights))
    gradients = lx.gradient(model.loss, model.weights)
    products = lx.hvp(model.loss, model.weights, directions)
    return model, lx.compile([model.loss, *gradients, *products]), Evaluator(list(gradients))


@pytest.mark.parametrize(("kind", "which", "mask"), RANDOM)
def test_products_agree_with_complex_steps_and_the_taylor_remainder_has_slope_three(
    kind: str, which: str, mask: str | None
) -> None:
    seen = 0
    for seed in range(3):
        _, arrays = (
            random_attention(which, mask, seed) if kind == "attention" else random_classifier(which, seed)
        )
        model, fn, evaluator = compiled(kind, which, mask)
        names = [lx.identifier(w.name) for w in model.weights]
        rng = np.random.default_rng(seed)
        # small steps, so that exponentials of exponentials stay in the range where Taylor's series is seen
        moves = {name: rng.standard_normal(arrays[name].shape) / np.sqrt(arrays[name].size) for name in names}
        directions = {f"U{p}": moves[name] for p, name in enumerate(names)}
        value, *rest = fn(**arrays, **directions)
        gradients, products = rest[: len(names)], rest[len(names) :]
        largest = max(float(np.abs(p).max()) for p in products)

        stepped = {key: a.astype(complex) for key, a in arrays.items()}
        for name in names:
            stepped[name] = stepped[name] + 1e-30j * moves[name]
        for product, moved in zip(
            products, evaluator.run(stepped, arithmetic=ComplexArithmetic()), strict=True
        ):
            wanted = np.imag(moved) / 1e-30
            np.testing.assert_allclose(product, wanted, rtol=0, atol=1e-12 * max(largest, 1e-3))

        slope = sum(float(np.sum(g * moves[name])) for g, name in zip(gradients, names, strict=True))
        curvature = sum(float(np.sum(p * moves[name])) for p, name in zip(products, names, strict=True))
        remainders = []
        for t in (2.0**-6, 2.0**-7):
            moved_arrays = {key: a + t * moves[key] if key in moves else a for key, a in arrays.items()}
            moved_value = fn(**moved_arrays, **directions)[0]
            remainders.append(moved_value - value - t * slope - t * t * curvature / 2)
        noise = 1e-14 * max(abs(float(value)), 1.0)
        if abs(remainders[1]) > 100 * noise:
            seen += 1
            assert 6.0 < remainders[0] / remainders[1] < 10.5, (seed, remainders)
    assert seen


@pytest.mark.parametrize(
    ("kind", "which"), [("attention", "softmax"), ("attention", "gaussian"), ("classifier", "separate")]
)
def test_mixed_blocks_are_transposes_of_each_other(kind: str, which: str) -> None:
    model, arrays = random_attention(which, None, 1) if kind == "attention" else random_classifier(which, 1)
    weights = model.weights[:2]
    there, back = (lx.hessian(model.loss, *pair) for pair in (weights, weights[::-1]))
    first, second = lx.compile([there, back])(**arrays)
    axes = (*range(first.ndim // 2, first.ndim), *range(first.ndim // 2))
    np.testing.assert_allclose(first, second.transpose(axes), rtol=0, atol=1e-13 * np.abs(first).max())
