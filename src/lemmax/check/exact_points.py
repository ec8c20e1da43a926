r"""Points with exact entries at which two sides are compared: small sizes, fractions, structure obeyed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from lemmax.check.points import size_symbols
from lemmax.check.structures import obey
from lemmax.expr.graph import inputs_of
from lemmax.expr.tensor import Tensor, identifier

MOST_POINTS = 14
_SPREADS = ("mixed", "positive", "near identity", "negative")
_ONE_NEGATIVE = {6: -1, 9: 0}
"""Attempts in which one entry is negative and all others positive: a logarithm may not see that one."""


@dataclass(frozen=True, slots=True)
class ExactPoint:
    """Sizes and arrays of numbers that are exact: dyadic floats, or fractions.

    Attributes:
        sizes: value by size name.
        arrays: array by code name of the input.
    """

    sizes: Mapping[str, int]
    arrays: Mapping[str, np.ndarray]

    @property
    def entries(self) -> dict[str, Any]:
        """The entries as fractions in nested lists."""
        return {name: fractions_of(array) for name, array in self.arrays.items()}


def exact_points(left: Tensor, right: Tensor, seed: int) -> Iterator[ExactPoint]:
    """Yield points, small sizes first; each obeys the assumptions of the inputs.

    The first ones draw all inputs alike; later ones draw each in its own way, so that the logarithm of one
    is defined while another is negative.
    """
    rng = np.random.default_rng(seed)
    symbols = size_symbols(left, right)
    for attempt in range(MOST_POINTS):
        most = 2 + attempt // 3
        sizes = {s: int(rng.integers(1, min(most, 4) + 1)) if attempt else 2 for s in symbols}
        if attempt == 2:  # all different, as far as that goes
            sizes = {s: 1 + (p + 1) % 3 for p, s in enumerate(symbols)}
        arrays = {}
        for t in inputs_of(left, right):
            shape = tuple(int(sp.sympify(s).subs(sizes)) for s in t.shape)
            spread = _SPREADS[attempt % 3] if attempt < 6 else _SPREADS[int(rng.integers(len(_SPREADS)))]
            if attempt in _ONE_NEGATIVE:
                spread = "positive"
            x = _drawn(shape, "positive" if "positive" in t.assumptions else spread, rng)
            if attempt in _ONE_NEGATIVE and "positive" not in t.assumptions and x.size > 1:
                x.flat[_ONE_NEGATIVE[attempt]] *= -1
            orthogonal = "orthogonal" in t.assumptions
            x = draw_rational_orthogonal(rng, shape) if orthogonal else obey(t, x, rng)
            arrays[identifier(str(t.name))] = x
        yield ExactPoint({str(s): k for s, k in sizes.items()}, arrays)


def _drawn(shape: tuple[int, ...], spread: str, rng: np.random.Generator) -> np.ndarray:
    x = rng.integers(-8, 9, size=shape) / 4.0
    if spread == "positive":
        x = np.abs(x) + 0.25  # logarithms and roots live here
    elif spread == "negative":
        x = -np.abs(x) - 0.25
    elif spread == "near identity" and len(shape) >= 2 and shape[-1] == shape[-2]:
        x = x / 8 + np.eye(shape[-1])
    return np.asarray(x)


def draw_rational_orthogonal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw orthogonal matrices of fractions: signed permutations times rotations by (3/5, 4/5)."""
    size = shape[-1]
    result = np.empty(shape, dtype=object)
    for at in np.ndindex(shape[:-2]):
        signs = rng.choice([-1, 1], size=size)
        order = rng.permutation(size)
        q = [[Fraction(int(signs[i])) * int(j == order[i]) for j in range(size)] for i in range(size)]
        for a in range(size - 1):
            c, s = (
                (Fraction(3, 5), Fraction(4, 5))
                if rng.random() < 0.5
                else (Fraction(5, 13), Fraction(12, 13))
            )
            q[a], q[a + 1] = (
                [c * x - s * y for x, y in zip(q[a], q[a + 1], strict=True)],
                [s * x + c * y for x, y in zip(q[a], q[a + 1], strict=True)],
            )
        result[at] = np.array(q, dtype=object)
    return result


def fractions_of(array: np.ndarray) -> Any:
    """Return the entries as exact fractions, in nested lists."""
    return np.frompyfunc(_text, 1, 1)(array).tolist() if array.ndim else _text(array.item())


def _text(x: Any) -> str:
    return str(x if isinstance(x, Fraction) else Fraction(float(x)))
