r"""Variables with structure in questions of equality: exact points, and the same in free entries."""

from __future__ import annotations

import numpy as np

from lemmax.calculus.structured import restrict, structure_of
from lemmax.check.generators import draw_orthogonal
from lemmax.errors import UnsupportedYet
from lemmax.expr.graph import inputs_of, substitute
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor


def obey(t: Input, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array of small fractions turned into one with the structure of the variable, exactly."""
    held = t.assumptions
    if "orthogonal" in held:
        return draw_orthogonal(rng, x.shape)
    swapped = np.swapaxes(x, -1, -2) if x.ndim > 1 else x
    if "positive_definite" in held:
        x = (x @ swapped) / 4 + np.eye(x.shape[-1]) / 2
    elif "symmetric" in held:
        x = (x + swapped) / 2
    if "diagonal" in held:
        x = x * np.eye(x.shape[-1])
    if "lower_triangular" in held:
        x = np.tril(x)
    return x


def in_free_entries(t: Tensor) -> Tensor | None:
    r"""Return an expression with its structured variables written in variables whose entries are free.

    A symmetric S is :math:`(S' + S'^\top)/2`, and every symmetric matrix is one of these; a positive definite
    one is written likewise, so that what holds of all symmetric ones holds of it.  Orthogonal variables
    stay.  ``None`` is returned if there is nothing to write.
    """
    swap: dict[Tensor, Tensor] = {}
    for v in inputs_of(t):
        try:
            structure = structure_of(v)
        except UnsupportedYet:
            continue
        if structure not in (None, "orthogonal"):
            kept = tuple(a for a in v.assumptions if a == "positive" and structure == "symmetric")
            free = Input(str(v.name), v.shape, kept)
            swap[v] = restrict(free, v, "subspace")
    return substitute(t, swap) if swap else None
