"""Near misses: a true identity with one mistake in it, of the kinds that people make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.soundness.formulas import VARIABLES, Formula, Names, at, build, differ, places, put, variables
from tests.soundness.rewordings import reword
from tests.soundness.true_identities import FAMILIES

Mistake = Callable[[Formula, np.random.Generator], Formula | None]


def _transpose(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] == "T":
        return f[1]
    return ("T", f) if f[0] == "var" and len(VARIABLES[f[1]][0]) == 2 else None


def _factor(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] == "number":
        return None
    return ("scale", (Fraction(2), Fraction(1, 2), Fraction(3))[int(rng.integers(3))], f)


def _sign(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] == "add":
        return ("sub", f[1], f[2])
    if f[0] == "sub":
        return ("add", f[1], f[2])
    return ("scale", Fraction(-1), f)


def _swap_kronecker(f: Formula, rng: np.random.Generator) -> Formula | None:
    return ("kron", f[2], f[1]) if f[0] == "kron" else None


def _swap_factors(f: Formula, rng: np.random.Generator) -> Formula | None:
    return ("mul", f[2], f[1]) if f[0] == "mul" else None


def _shift(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] in ("tail", "head"):
        return ("head" if f[0] == "tail" else "tail", f[1])
    return ("row", 1 - f[1], f[2]) if f[0] == "row" else None


def _drop_sum(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] == "sum" and f[1] is not None:
        return ("row", 0, ("T", f[2]) if f[2][0] == "softmax" else f[2])
    if f[0] == "tr":
        return ("row", 0, ("diag", f[1]))
    if f[0] == "sum":
        return ("row", 0, f[2])
    return f[1] if f[0] in ("add", "sub") else None


def _axis(f: Formula, rng: np.random.Generator) -> Formula | None:
    return (f[0], 0 if f[1] == -1 else -1, f[2]) if f[0] in ("softmax", "lse") else None


def _scale_of_size(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] == "had" and f[1][0] == "size":
        return f[2]
    if f[0] == "size":
        return ("size", f[1], -f[2])
    return None


def _inverse(f: Formula, rng: np.random.Generator) -> Formula | None:
    return f[1] if f[0] == "inv" else None


def _other_variable(f: Formula, rng: np.random.Generator) -> Formula | None:
    if f[0] != "var":
        return None
    others = [x for x, kind in VARIABLES.items() if kind == VARIABLES[f[1]] and x != f[1]]
    return ("var", others[int(rng.integers(len(others)))]) if others else None


MISTAKES: dict[str, Mistake] = {
    "transpose": _transpose,
    "factor": _factor,
    "sign": _sign,
    "Kronecker factors swapped": _swap_kronecker,
    "factors swapped": _swap_factors,
    "index shifted": _shift,
    "sum or summand dropped": _drop_sum,
    "other axis": _axis,
    "power of a size": _scale_of_size,
    "inverse dropped": _inverse,
    "other variable": _other_variable,
}


@dataclass(frozen=True)
class NearMiss:
    """Two formulas that differ by one mistake.

    Attributes:
        family: of the identity.
        kind: of the mistake.
        left: one side, as it should be.
        right: the other side, with the mistake.
        names: names of variables and sizes.
    """

    family: str
    kind: str
    left: Formula
    right: Formula
    names: Names


def near_misses(seed: int) -> Iterator[NearMiss]:
    """Yield near misses without end, kinds and families in turn; NumPy says that the sides differ."""
    rng = np.random.default_rng(seed)
    kinds = list(MISTAKES)
    found = {
        kind: [
            (family, pair, side)
            for family, pairs in FAMILIES.items()
            for pair in pairs
            for side in (0, 1)
            if any(MISTAKES[kind](at(pair[side], p), rng) is not None for p in places(pair[side]))
        ]
        for kind in kinds
    }
    while True:
        for kind in kinds:
            miss = _one(kind, found[kind], rng)
            if miss is not None:
                yield miss


Place = tuple[str, tuple[Formula, Formula], int]
"""A family, one of its identities, and the side in which the mistake is made."""


def _one(kind: str, where: list[Place], rng: np.random.Generator) -> NearMiss | None:
    family, pair, side = where[int(rng.integers(len(where)))]
    right = reword(pair[side], rng, int(rng.integers(4)))
    options = [(p, new) for p in places(right) if (new := MISTAKES[kind](at(right, p), rng)) is not None]
    if not options:
        return None
    path, new = options[int(rng.integers(len(options)))]
    right = put(right, path, new)
    left = reword(pair[1 - side], rng, int(rng.integers(4)))
    if not variables(left) | variables(right) or not differ(left, right, int(rng.integers(2**31))):
        return None
    names = Names(rng)
    try:
        build(left, names), build(right, names)
    except Exception:
        return None
    return NearMiss(family, kind, left, right, names)
