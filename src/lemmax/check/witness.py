r"""Witnesses: the numbers of a failure, and a snippet that reproduces it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lemmax.check.judge import Judged
from lemmax.statement.instances import Arrays
from lemmax.statement.theorem import Theorem
from lemmax.statement.verdict import Comparison, Witness


def witness_of(one: Judged, comparisons: Sequence[Comparison], theorem: Theorem | None = None) -> Witness:
    """Return the witness that a judged instance is; with the theorem, a snippet comes along."""
    arrays = {name: np.array(value) for name, value in one.arrays.items()}
    snippet = snippet_of(theorem, arrays, one.sizes) if theorem is not None else ""
    return Witness(one.sizes, arrays, tuple(comparisons), str(one.recipe), snippet)


def snippet_of(theorem: Theorem, arrays: Arrays, sizes: dict[str, int]) -> str:
    """Return Python text that evaluates hypotheses and claims of a theorem on given arrays.

    Floats are printed in full: the text gives the same instance, bit by bit.
    """
    lines = ["from numpy import array", "from lemmax.check import check_instance"]
    if theorem.file is not None:
        lines += [
            "from lemmax.statement import load_theorem",
            "",
            f"THEOREM = load_theorem({theorem.file!r})",
        ]
    else:
        lines += ["", f"# THEOREM is the theorem {theorem.name}"]
    lines += ["arrays = {"]
    lines += [f"    {name!r}: array({value.tolist()!r})," for name, value in arrays.items()]
    lines += ["}", f"print(check_instance(THEOREM, arrays, sizes={sizes!r}))"]
    return "\n".join(lines)
