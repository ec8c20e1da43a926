"""Jacobians, Hessian blocks and Hessian-vector products against complex steps and against each other."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import lemmax as lx
from lemmax.expr.graph import inputs_of
from lemmax.interpret import Evaluator
from lemmax.interpret.complexes import ComplexArithmetic

STEP = ComplexArithmetic()

SIZES = {"N": 2, "n": 3, "D": 3, "d": 2, "v": 2, "m": 2, "H": 2, "L": 3, "r": 2, "k": 2}
MODELS = {
    "softmax": lambda: lx.models.attention("softmax"),
    "softmax-causal": lambda: lx.models.attention("softmax", mask="causal"),
    "gaussian": lambda: lx.models.attention("gaussian"),
    "classifier": lambda: lx.models.attention_classifier("separate"),
    "classifier-combined": lambda: lx.models.attention_classifier("combined"),
    "classifier-diagonal": lambda: lx.models.attention_classifier("diagonal"),
}


def draw(*roots: lx.Tensor, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = {}
    for t in inputs_of(*roots):
        shape = tuple(int(s.subs({x: SIZES[str(x)] for x in s.free_symbols})) for s in t.shape)
        arrays[lx.identifier(str(t.name))] = rng.standard_normal(shape)
    return arrays


def value(t: lx.Tensor, arrays: dict[str, np.ndarray], **options: object) -> np.ndarray:
    needed = {lx.identifier(str(x.name)) for x in inputs_of(t)}
    used = {k: a for k, a in arrays.items() if k in needed}
    return np.asarray(lx.evaluate(t, used, sizes=sizes_of(t), **options))


def sizes_of(t: lx.Tensor) -> dict[str, int]:
    from lemmax.expr.graph import topological_order

    names = {str(x) for node in topological_order(t) for s in node.shape for x in s.free_symbols}
    return {name: SIZES[name] for name in names}


def steps(t: lx.Tensor, wrt: lx.Input, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The Jacobian by complex steps through the interpreter."""
    return all_steps([t], wrt, arrays)[0]


def all_steps(roots: list[lx.Tensor], wrt: lx.Input, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The Jacobians of several tensors by complex steps, which share the evaluation."""
    evaluator = Evaluator(roots)
    moved = {k: a.astype(complex) for k, a in arrays.items() if k in evaluator.inputs}
    sizes = {s: SIZES[str(s)] for s in evaluator.sizes.values()}
    name = lx.identifier(str(wrt.name))
    columns = []
    for at in np.ndindex(arrays[name].shape):
        moved[name][at] += 1e-30j
        columns.append([np.imag(v) / 1e-30 for v in evaluator.run(moved, sizes=sizes, arithmetic=STEP)])
        moved[name][at] -= 1e-30j
    shape = arrays[name].shape
    return [np.stack(c, axis=-1).reshape(*c[0].shape, *shape) for c in zip(*columns, strict=True)]


@functools.cache
def hessians(name: str) -> tuple[Any, dict[str, np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """A model, an instance, and all blocks of its Hessian there."""
    model = MODELS[name]()
    arrays = draw(model.loss)
    pairs = [(p, q) for p in range(len(model.weights)) for q in range(len(model.weights))]
    blocks = [lx.hessian(model.loss, model.weights[p], model.weights[q]) for p, q in pairs]
    evaluator = Evaluator(blocks)
    used = {k: a for k, a in arrays.items() if k in evaluator.inputs}
    values = evaluator.run(used, sizes={s: SIZES[str(s)] for s in evaluator.sizes.values()})
    return model, arrays, dict(zip(pairs, map(np.asarray, values), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_all_hessian_blocks_agree_with_complex_steps_over_the_gradient(name: str) -> None:
    model, arrays, blocks = hessians(name)
    gradients = list(lx.gradient(model.loss, model.weights))
    scale = 0.0
    worst = 0.0
    for q, b in enumerate(model.weights):
        for p, reference in enumerate(all_steps(gradients, b, arrays)):
            scale = max(scale, float(np.abs(reference).max()))
            worst = max(worst, float(np.abs(blocks[p, q] - reference).max()))
    assert scale > 1e-3
    assert worst <= 1e-12 * scale


@pytest.mark.parametrize("name", MODELS)
def test_hvp_is_the_hessian_applied_to_the_direction(name: str) -> None:
    model, arrays, blocks = hessians(name)
    directions = tuple(lx.tensor(f"U{p}", *w.shape) for p, w in enumerate(model.weights))
    products = lx.hvp(model.loss, model.weights, directions)
    arrays = {**arrays, **draw(*directions, seed=1)}
    for p, product in enumerate(products):
        total = np.asarray(
            sum(
                np.tensordot(blocks[p, q], arrays[str(u.name)], axes=u.ndim) for q, u in enumerate(directions)
            )
        )
        got = value(product, arrays)
        assert got == pytest.approx(total, rel=1e-10, abs=1e-10 * np.abs(total).max())


def test_jacobian_of_a_tensor_has_the_axes_of_both() -> None:
    n, D, k = lx.sizes("n D k")
    X, W = lx.tensor("X", n, D), lx.tensor("W", D, k)
    J = lx.jacobian(lx.softmax(X @ W), W)
    assert J.shape == (n, k, D, k)
    arrays = draw(J)
    assert value(J, arrays) == pytest.approx(steps(lx.softmax(X @ W), W, arrays), abs=1e-13)


def test_second_derivatives_of_matrix_functions() -> None:
    k = lx.size("k")
    A = lx.tensor("A", k, k)
    arrays = {"A": np.array([[1.3, 0.4], [-0.7, 0.9]])}
    block = value(lx.hessian(lx.det(A), A), arrays)
    eps = np.array([[0.0, 1.0], [-1.0, 0.0]])  # second derivative of a 2 x 2 determinant: eps_ik eps_jl
    assert block == pytest.approx(np.einsum("ik,jl->ijkl", eps, eps), abs=1e-14)
    for f in (lx.logdet(A), lx.trace(lx.inv(A)), lx.logsumexp(A @ A), lx.logsumexp(A, axis=1)[0]):
        g = lx.gradient(f, A)
        assert value(lx.hessian(f, A), arrays) == pytest.approx(steps(g, A, arrays), rel=1e-12, abs=1e-13)


def test_structure_is_carried_through() -> None:
    n, k = lx.sizes("n k")
    A, B = lx.tensor("A", n, k), lx.tensor("B", n, k)
    t = lx.merge(lx.concat([A * B, lx.exp(A)[:1]], axis=0), (0, 1)) ** 2
    arrays = draw(t)
    assert value(lx.jacobian(t, A), arrays) == pytest.approx(steps(t, A, arrays), rel=1e-12, abs=1e-13)


def test_a_tensor_that_does_not_depend_has_the_zero_jacobian_of_the_right_shape() -> None:
    n, k = lx.sizes("n k")
    J = lx.jacobian(lx.tensor("x", n), lx.tensor("A", n, k))
    assert J.shape == (n, n, k)
    assert not np.any(lx.evaluate(J, sizes={"n": 2, "k": 3}))


def test_bad_calls_are_refused() -> None:
    n = lx.size("n")
    x = lx.tensor("x", n)
    with pytest.raises(lx.ShapeError, match="shape of x"):
        lx.hvp(lx.sqnorm(x), x, lx.tensor("u", n, n))
    with pytest.raises(lx.InvalidArgument, match="1 variables, but 2 directions"):
        lx.hvp(lx.sqnorm(x), (x,), (x, x))
    with pytest.raises(lx.MissingRule, match="PULLBACKS"):
        lx.hessian(lx.rank(lx.outer(x, x)), x)
    with pytest.raises(lx.NonSmooth):
        lx.jacobian(lx.relu(x), x)
    with pytest.raises(lx.InvalidArgument, match=r"hessian of .*expected a scalar.*lx\.jacobian\(f, a\)"):
        lx.hessian(lx.exp(x), x)
