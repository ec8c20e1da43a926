r"""Is an array what its variable was declared to be: symmetric, positive definite, orthogonal, ...?"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lemmax.errors import EvaluationError
from lemmax.expr.nodes import Input

Array: TypeAlias = npt.NDArray[Any]

MASKED = (
    "a masked array was given, whose mask would be lost. Fill it (a.filled(0.0)); a mask of logits is an"
    " array to be added, with -inf where nothing is kept: np.where(a.mask, -np.inf, 0.0)."
)
"""Why masked arrays are refused, and what to do."""

TRUTH_VALUES = (
    "holds truth values; expected numbers. An additive mask has 0 where an entry is kept and -inf elsewhere:"
    " np.where(keep, 0.0, -np.inf)."
)
"""Why arrays of truth values are refused, and what to do."""


def check_assumptions(what: str, node: Input, array: Array) -> None:
    """Check that an array has the properties that its variable was declared with.

    Equality of entries is meant up to 1e-9 of the largest entry (a symmetric matrix that was computed is
    seldom exactly symmetric), and up to 100 units of rounding in single precision.

    Raises:
        EvaluationError: a property is violated.
    """
    if not node.assumptions:
        return
    rounding = 100 * float(np.finfo(array.dtype).eps) if array.dtype.kind in "fc" else 0.0
    tolerance = max(1e-9, rounding)
    x = np.real(array.astype(complex))
    scale = max(float(np.max(np.abs(x), initial=0.0)), np.finfo(float).tiny)
    for assumption in node.assumptions:
        if not _HOLDS[assumption](x, tolerance, scale):
            raise EvaluationError(
                f"{what} was declared {assumption.replace('_', ' ')}, but the array is not."
            )


def _transposed(x: Array) -> Array:
    return np.swapaxes(x, -1, -2) if x.ndim > 1 else x


def _is_symmetric(x: Array, tolerance: float, scale: float) -> bool:
    return bool(np.all(np.abs(x - _transposed(x)) <= tolerance * scale))


def _is_positive_definite(x: Array, tolerance: float, scale: float) -> bool:
    return _is_symmetric(x, tolerance, scale) and bool(np.all(np.linalg.eigvalsh(x) > 0))


def _is_orthogonal(x: Array, tolerance: float, scale: float) -> bool:
    return bool(np.all(np.abs(_transposed(x) @ x - np.eye(x.shape[-1])) <= tolerance))


def _is_lower_triangular(x: Array, tolerance: float, scale: float) -> bool:
    return bool(np.all(np.triu(x, 1) == 0))


def _is_diagonal(x: Array, tolerance: float, scale: float) -> bool:
    return bool(np.all(np.triu(x, 1) == 0) and np.all(np.tril(x, -1) == 0))


_HOLDS = {
    "positive": lambda x, tolerance, scale: bool(np.all(x > 0)),
    "symmetric": _is_symmetric,
    "positive_definite": _is_positive_definite,
    "orthogonal": _is_orthogonal,
    "diagonal": _is_diagonal,
    "lower_triangular": _is_lower_triangular,
}
