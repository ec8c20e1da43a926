"""The same formula in other words: sums and products shuffled, expanded, factored, transposed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tests.soundness.formulas import VARIABLES, Formula, at, places, put

Rewording = Callable[[Formula], Formula | None]


def _is_matrix_like(f: Formula) -> bool:
    """Is it an expression whose transpose and products are safe to write (a matrix variable or product)?"""
    return f[0] == "var" and len(VARIABLES[f[1]][0]) == 2


def _commute(f: Formula) -> Formula | None:
    return (f[0], f[2], f[1]) if f[0] in ("add", "had") else None


def _associate(f: Formula) -> Formula | None:
    if f[0] in ("mul", "add") and f[1][0] == f[0]:
        if f[0] == "mul" and not all(map(_is_matrix_like, (f[1][1], f[1][2]))):
            return None  # a vector in the middle does not associate
        return (f[0], f[1][1], (f[0], f[1][2], f[2]))
    return None


def _transpose_twice(f: Formula) -> Formula | None:
    return ("T", ("T", f)) if _is_matrix_like(f) else None


def _transpose_of_product(f: Formula) -> Formula | None:
    if f[0] == "T" and f[1][0] == "mul" and all(map(_is_matrix_like, f[1][1:])):
        return ("mul", ("T", f[1][2]), ("T", f[1][1]))
    if f[0] == "mul" and all(map(_is_matrix_like, f[1:])):
        return ("T", ("mul", ("T", f[2]), ("T", f[1])))
    return None


def _expand(f: Formula) -> Formula | None:
    if f[0] == "mul" and f[1][0] in ("add", "sub"):
        kind, a, b = f[1]
        return (kind, ("mul", a, f[2]), ("mul", b, f[2]))
    if f[0] == "mul" and f[2][0] in ("add", "sub"):
        kind, a, b = f[2]
        return (kind, ("mul", f[1], a), ("mul", f[1], b))
    if f[0] == "scale" and f[2][0] in ("add", "sub"):
        return (f[2][0], ("scale", f[1], f[2][1]), ("scale", f[1], f[2][2]))
    return None


def _factor(f: Formula) -> Formula | None:
    if f[0] in ("add", "sub") and f[1][0] == f[2][0] == "mul":
        if f[1][1] == f[2][1]:
            return ("mul", f[1][1], (f[0], f[1][2], f[2][2]))
        if f[1][2] == f[2][2]:
            return ("mul", (f[0], f[1][1], f[2][1]), f[1][2])
    return None


def _split_number(f: Formula) -> Formula | None:
    if f[0] == "var":
        return ("add", ("scale", Fraction(1, 3), f), ("scale", Fraction(2, 3), f))
    return ("scale", f[1] * 2, ("scale", Fraction(1, 2), f[2])) if f[0] == "scale" else None


def _difference(f: Formula) -> Formula | None:
    if f[0] == "sub":
        return ("add", f[1], ("scale", Fraction(-1), f[2]))
    return ("sub", f[1], ("scale", Fraction(-1), f[2])) if f[0] == "add" else None


def _identity_factor(f: Formula) -> Formula | None:
    if _is_matrix_like(f):
        return ("mul", ("eye", VARIABLES[f[1]][0][0]), f)
    return None


REWORDINGS: tuple[Rewording, ...] = (
    _commute,
    _associate,
    _transpose_twice,
    _transpose_of_product,
    _expand,
    _factor,
    _split_number,
    _difference,
    _identity_factor,
)


def reword(f: Formula, rng: np.random.Generator, times: int) -> Formula:
    """Return a formula with the same value in other words.

    Args:
        f: a formula.
        rng: source of randomness.
        times: how many changes are tried.
    """
    for _ in range(times):
        path = places(f)
        where = path[int(rng.integers(len(path)))]
        change = REWORDINGS[int(rng.integers(len(REWORDINGS)))]
        new = change(at(f, where))
        if new is not None:
            f = put(f, where, new)
    return f
