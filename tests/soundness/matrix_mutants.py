"""Slips in the rules of functions of matrices; ``gradient_mutants`` installs them."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

import lemmax as lx
from lemmax.expr import linalg, matrix_functions
from lemmax.expr.nodes import Apply
from lemmax.expr.tensor import Tensor
from lemmax.rules import spectra
from lemmax.rules.matrices import over_matrices
from lemmax.rules.pullbacks import PULLBACKS

Pull = Callable[[Apply, Tensor, int], Tensor]
RIGHT: dict[str, Pull] = {function: row.apply for function, row in PULLBACKS.items()}


def solve_with_the_matrix_itself(node: Apply, bar: Tensor, slot: int) -> Tensor:
    side = matrix_functions.solve(node.operands[0], bar)
    if slot == 1:
        return side
    return -linalg.outer(side, node) if node.ndim == 1 else -(side @ node.mT)


def like_full_rank_both_ways(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return -(node.mT @ bar @ node.mT)


def power_with_one_place_only(node: Apply, bar: Tensor, slot: int) -> Tensor:
    k = node.param("k")
    assert isinstance(k, sp.Expr)
    return k * (matrix_functions.matrix_power(node.operands[0].mT, k - 1) @ bar)


def second_cofactors_of_the_transpose(node: Apply, bar: Tensor, slot: int) -> Tensor:
    transposed = Apply("cofactors", (node.operands[0].mT,), node.shape, node.params)
    return RIGHT["cofactors"](transposed, bar, slot)


def one_half_of_a_symmetric_slope(node: Apply, bar: Tensor, slot: int) -> Tensor:
    right = RIGHT[node.function](node, bar, slot)
    return right + (right - right.mT) / 2 if right.shape[-1] == right.shape[-2] else 2 * right


def adjoint_not_made_symmetric(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return RIGHT["eigen_projector"](node, bar, slot) + (bar - bar.mT) / 4


def dyad_of_another_value(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return over_matrices(bar) * spectra.singular_dyad(
        node.operands[0], 1 if node.function != "spectral_norm" else 2
    )


def projector_of_the_other_end(node: Apply, bar: Tensor, slot: int) -> Tensor:
    other = {"lambda_max": "min", "lambda_min": "max"}[node.function]
    return over_matrices(bar) * spectra.eigen_projector(node.operands[0], other)


def polar_scaled(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return over_matrices(bar / node) * node.operands[0]


def polar_without_its_turned_part(node: Apply, bar: Tensor, slot: int) -> Tensor:
    return RIGHT["polar"](node, bar + node @ bar.mT @ node, slot)


def condition_number_without_its_numerator(node: Apply, bar: Tensor, slot: int) -> Tensor:
    (a,) = node.operands
    return over_matrices(bar / lx.sigma_min(a)) * spectra.singular_dyad(a, 1)


MATRIX_SPECIAL: dict[str, list[Pull]] = {
    "solve": [solve_with_the_matrix_itself],
    "pinv": [like_full_rank_both_ways],
    "matrix_power": [power_with_one_place_only],
    "power_derivative": [one_half_of_a_symmetric_slope],
    "cofactors": [second_cofactors_of_the_transpose],
    "spectral_norm": [dyad_of_another_value],
    "nuclear_norm": [polar_scaled],
    "sigma": [dyad_of_another_value],
    "sigma_min": [dyad_of_another_value],
    "cond": [condition_number_without_its_numerator],
    "lambda_max": [projector_of_the_other_end],
    "lambda_min": [projector_of_the_other_end],
    "singular_dyad": [one_half_of_a_symmetric_slope],
    "polar": [polar_without_its_turned_part],
    "eigen_projector": [adjoint_not_made_symmetric],
}
