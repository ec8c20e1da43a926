r"""Verdicts, and the witnesses that refutations come with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from lemmax.errors import InvalidArgument

VerdictName: TypeAlias = Literal["proved", "survived", "refuted", "unknown", "vacuous", "not applicable"]
VERDICTS: tuple[VerdictName, ...] = (
    "proved",
    "survived",
    "refuted",
    "unknown",
    "vacuous",
    "not applicable",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of two numbers, as a report shows it.

    Attributes:
        claim: what was compared, in words.
        op: the relation claimed.
        lhs: left side, in digits.
        rhs: right side, in digits.
        index: the entry compared (``()`` for scalars); for a descent the number of the step.
        digits: decimal digits of the arithmetic; 16 is float64.
        holds: ``True``, ``False``, or ``None`` for undecided.
    """

    claim: str
    op: str
    lhs: str
    rhs: str
    index: tuple[int, ...]
    digits: int
    holds: bool | None

    def __str__(self) -> str:
        """Show the two numbers and the outcome."""
        where = f" at entry {self.index}" if self.index else ""
        outcome = {True: "holds", False: "violated", None: "undecided"}[self.holds]
        return f"{self.claim}{where}: {self.lhs} {self.op} {self.rhs} [{outcome}, {self.digits} digits]"


@dataclass(frozen=True, slots=True)
class Witness:
    """An instance that refutes a claim.

    Attributes:
        sizes: value by size name.
        arrays: array (or exact entries) by code name of the input.
        comparisons: the numbers of both sides.
        recipe: how the instance was drawn, if it was.
        snippet: Python text that reproduces it, if there is one.
    """

    sizes: Mapping[str, int]
    arrays: Mapping[str, Any] = field(repr=False, compare=False)  # NumPy arrays have no truth value
    comparisons: tuple[Comparison, ...] = ()
    recipe: str = ""
    snippet: str = field(default="", repr=False)

    def __str__(self) -> str:
        """Show sizes, recipe, both sides and the snippet."""
        lines = ["sizes: " + ", ".join(f"{k} = {v}" for k, v in self.sizes.items())]
        lines += [f"recipe: {self.recipe}"] if self.recipe else []
        lines += [str(c) for c in self.comparisons]
        if self.snippet:
            lines += ["reproduce:", *("    " + line for line in self.snippet.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about a statement.

    Attributes:
        name: one of :data:`VERDICTS`.
        reason: why, in words: the rewrites of a proof, the reason of an ``unknown``.
        witness: what refutes it, for ``refuted``.
        rewrites: names of the identities that a proof of equality uses.
        conditions: what the inputs must satisfy for one side to be defined and not for the other, in words: a
            proof says nothing of other inputs.
    """

    name: VerdictName
    reason: str = ""
    witness: Witness | None = None
    rewrites: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the name; a refutation shows its witness."""
        if self.name not in VERDICTS:
            raise InvalidArgument(f"Verdict({self.name!r}): expected one of {', '.join(VERDICTS)}.")
        if self.name == "refuted" and self.witness is None:
            raise InvalidArgument("a verdict 'refuted' needs a witness.")
        if self.name == "unknown" and not self.reason:
            raise InvalidArgument("a verdict 'unknown' needs a reason.")

    @property
    def holds(self) -> bool:
        """Was the statement proved, or did it survive all tests?"""
        return self.name in ("proved", "survived")

    def __bool__(self) -> bool:
        """Refuse: there are six verdicts, not two."""
        raise InvalidArgument(
            f"the verdict {self.name!r} has no truth value; ask for verdict.name or verdict.holds."
        )

    def __str__(self) -> str:
        """Show the verdict with its reason and witness."""
        text = f"{self.name}: {self.reason}" if self.reason else self.name
        return f"{text}\n{self.witness}" if self.witness else text
