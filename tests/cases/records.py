"""Records of derivative cases, and how one is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lemmax as lx
from lemmax.expr.graph import inputs_of
from lemmax.interpret import Evaluator

SIZES = {"n": 3, "m": 2, "d": 4, "K": 3, "N": 2, "P": 2, "p": 5, "j": 3}
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Case:
    """A loss, the variable, the right gradient; the loss once more in NumPy.

    Attributes:
        loss: what is differentiated.
        wrt: the variable.
        right: the right gradient as a formula.
        value: the loss by NumPy, of arrays by name.
        wrong: a claim that somebody made, which must be refuted.
        proved: must ``lx.equal`` prove the formula? If not, it must at least not refute it.
        scale: what random arrays are multiplied by, by name.
    """

    loss: lx.Tensor
    wrt: lx.Tensor
    right: lx.Tensor
    value: Callable[..., Any]
    wrong: lx.Tensor | None = None
    proved: bool = True
    scale: Mapping[str, float] = field(default_factory=dict)


def draw(tensors: list[lx.Tensor], rng: np.random.Generator, scale: Mapping[str, float]) -> dict[str, Array]:
    """Return random arrays for all inputs."""
    arrays = {}
    for t in inputs_of(*tensors):
        assert isinstance(t, lx.Input)
        shape = tuple(int(s.subs({q: SIZES[str(q)] for q in s.free_symbols})) for s in t.shape)
        x = rng.standard_normal(shape) * scale.get(str(t.name), 1.0)
        if len(shape) >= 2 and shape[-1] == shape[-2]:
            x = x + 2 * np.eye(shape[-1])  # invertible, with a positive determinant
            x = x if np.linalg.det(x).min() > 0 else draw([t], rng, scale)[str(t.name)]
        if "positive" in t.assumptions:
            x = np.abs(x) + 0.5
        if {"symmetric", "positive_definite"} & set(t.assumptions):
            x = x @ np.swapaxes(x, -1, -2)
        arrays[lx.identifier(str(t.name))] = np.asarray(x)
    return arrays


def slopes(value: Callable[..., Any], arrays: Mapping[str, Array], name: str, h: float = 2e-3) -> Array:
    """Return central differences of order four of ``value`` in each entry of one array, on leading axes."""
    at = arrays[name]
    rows = []
    for entry in np.ndindex(at.shape):
        total: Any = 0.0
        for k, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            moved = at.copy()
            moved[entry] += k * h
            total = total + weight * np.asarray(value(**{**arrays, name: moved}))
        rows.append(total / (12 * h))
    return np.asarray(rows).reshape(at.shape + np.shape(rows[0]))


def values(t: lx.Tensor, arrays: Mapping[str, Array]) -> Array:
    """Return the value by the interpreter; generated code must agree, where arrays determine all sizes."""
    evaluator = Evaluator([t])
    given = {name: arrays[name] for name in evaluator.inputs}
    sizes = {name: SIZES[name] for name in evaluator.sizes}
    found = np.asarray(lx.evaluate(t, given, sizes=sizes))
    shapes = {str(q) for v in inputs_of(t) for s in v.shape for q in s.free_symbols}
    if set(sizes) <= shapes:
        agree(np.asarray(lx.compile(t)(**given)), found, 1e-11)
    return found


def agree(found: Array, expected: Array, tolerance: float = 1e-8) -> None:
    """Compare with differences: relative to the largest entry."""
    assert found.shape == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def check(case: Case, seed: int = 0) -> None:
    """Check the formula, the values against differences, code against interpreter, the wrong claim."""
    g = lx.gradient(case.loss, case.wrt)
    assert g.shape == case.wrt.shape
    verdict = lx.equal(g, case.right)
    assert verdict.name == "proved" if case.proved else verdict.name != "refuted", verdict
    rng = np.random.default_rng(seed)
    for _ in range(2):
        arrays = draw([case.loss, case.wrt], rng, case.scale)
        found = values(g, arrays)
        agree(values(case.right, arrays), found, 1e-11)
        agree(found, slopes(case.value, arrays, lx.identifier(str(case.wrt.name))))
    if case.wrong is not None:
        assert lx.equal(g, case.wrong).name == "refuted"
