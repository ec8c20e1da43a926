"""Kronecker products and vec leave derivatives where products of matrices say the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lemmax as lx
from lemmax.calculus.opening import merged_axes

n, m, k = lx.sizes("n m k")
A, B = lx.tensor("A", n, m), lx.tensor("B", m, k)
C, V, x = lx.tensor("C", n, n), lx.tensor("V", n, n), lx.tensor("x", n * n)
SHAPES = {"A": (2, 3), "B": (3, 4), "C": (3, 3), "V": (3, 3), "x": (9,)}

CASES: list[tuple[lx.Tensor, lx.Tensor, str]] = [
    (lx.sqnorm(lx.kron(C, V) @ lx.vec(V) - lx.vec(C)), C, r"2 C (((V V^\top - I_n) - I_n) V V^\top + I_n)"),
    (lx.dot(lx.vec(V.T), lx.kron(V, C) @ lx.vec(C)), C, r"(V^2 + (V^\top)^2) C"),
    (lx.trace(lx.kron(C, V) @ lx.kron(V, C)), C, r"2 \langle C, V^\top \rangle \, V^\top"),
    (lx.sqnorm(lx.kron(A, B)), A, r"2 \|B\|_F^2 \, A"),
]


def arrays_for(*tensors: lx.Tensor) -> dict[str, np.ndarray]:
    from lemmax.expr.graph import inputs_of

    rng = np.random.default_rng(0)
    return {str(t.name): rng.normal(size=SHAPES[str(t.name)]) for t in inputs_of(*tensors)}


@pytest.mark.parametrize(("f", "variable", "expected"), CASES)
def test_gradients_are_products_of_matrices(f: lx.Tensor, variable: lx.Tensor, expected: str) -> None:
    g = lx.gradient(f, variable)
    assert merged_axes([g]) == 0
    assert lx.latex(g) == expected
    assert lx.check_gradient(steps(f, variable), g, rtol=1e-6, **arrays_for(f, g))
    lx.derive(f, variable).replay()


def steps(f: lx.Tensor, variable: lx.Tensor) -> Callable[..., np.ndarray]:
    """Return central differences of the reference interpreter on the loss as it was written."""

    def gradient(**arrays: np.ndarray) -> np.ndarray:
        name, h = str(variable.name), 1e-5
        result = np.zeros_like(arrays[name])
        for at in np.ndindex(result.shape):
            sides = []
            for sign in (1, -1):
                moved = arrays[name].copy()
                moved[at] += sign * h
                sides.append(lx.evaluate(f, {**arrays, name: moved}))
            result[at] = (sides[0] - sides[1]) / (2 * h)
        return result

    return gradient


def test_what_the_user_wrote_is_printed_as_written() -> None:
    assert lx.latex(lx.kron(C, V) @ lx.vec(C)) == r"(C \otimes V) \operatorname{vec}(C)"


@pytest.mark.parametrize("t", [lx.vec(C) + x, lx.kron(C, V), lx.inv(lx.kron(C, V) + 3 * lx.eye(n * n)) @ x])
def test_what_needs_merged_axes_keeps_them(t: lx.Tensor) -> None:
    arrays = arrays_for(t)
    np.testing.assert_allclose(lx.compile(t)(**arrays), lx.evaluate(t, arrays), rtol=1e-12)
