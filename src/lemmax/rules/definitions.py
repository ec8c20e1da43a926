r"""Functions that are defined by an expression: what they stand for, written with the public builders."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lemmax.expr import reductions
from lemmax.expr.nodes import Apply
from lemmax.expr.tensor import Tensor
from lemmax.rules.matrices import define_cofactors, define_power_derivative, define_solve


def define_softmax_pullback(node: Apply) -> Tensor:
    r"""Return :math:`S \odot G - S \odot \sum (S \odot G)`, the sum along the softmax axis."""
    s, g = node.operands
    axis = node.param("axis")
    assert isinstance(axis, int)
    weighted = s * g
    return weighted - s * reductions.sum(weighted, axis=axis, keepdims=True)


DEFINITIONS: Mapping[str, Callable[[Apply], Tensor]] = {
    "softmax_pullback": define_softmax_pullback,
    "solve": define_solve,
    "cofactors": define_cofactors,
    "power_derivative": define_power_derivative,
}
"""Definitions by function; the normal form writes them out."""
