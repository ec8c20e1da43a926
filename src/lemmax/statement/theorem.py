r"""The statement of a theorem: one record, given once, read in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import sympy as sp

from lemmax.expr.graph import inputs_of
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor
from lemmax.statement.conditions import Claim, Condition, tensors_of
from lemmax.statement.instances import Instances

Expected: TypeAlias = Literal["holds", "refuted"]
Bound: TypeAlias = Literal["tight", "lower", "upper"] | None


@dataclass(frozen=True, slots=True)
class Mutant:
    """A false variant of a theorem, which a check must refute.

    Attributes:
        name: what was changed, in a few words.
        claim: the changed conclusion; ``None`` keeps the theorem's.
        reason: why the variant is false, in a sentence.
        drop: hypotheses left out: names of hypotheses, or size constraints as they stand in the theorem.
        instances: how instances are drawn that show it false, where the theorem's do not reach so far.
    """

    name: str
    claim: Claim | Sequence[Claim] | None = None
    reason: str = ""
    drop: str | sp.Rel | Sequence[str | sp.Rel] = ()
    instances: Instances | None = None

    def __post_init__(self) -> None:
        """Turn sequences into tuples."""
        from lemmax.statement.validate import as_claims

        if self.claim is not None:
            object.__setattr__(self, "claim", as_claims(f"mutant {self.name!r}", self.claim))
        lone = isinstance(self.drop, str | sp.Rel)
        object.__setattr__(self, "drop", (self.drop,) if lone else tuple(self.drop))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The changed claims; empty if the theorem's are kept."""
        return self.claim or ()  # type: ignore[return-value]

    @property
    def dropped(self) -> tuple[str | sp.Rel, ...]:
        """The hypotheses and size constraints left out."""
        return self.drop  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Theorem:
    r"""A theorem, complete: what is printed is what is checked.

    Attributes:
        name: says conclusion_of_hypotheses, such as ``pl_value_weights_of_full_row_rank``.
        conclusion: a relation between expressions, several of them, or a :class:`Convergence`.
        reference: where it comes from.
        sizes: constraints on sizes, such as ``N * n <= H * D``.
        hypotheses: named conditions.
        expected: ``holds``, or ``refuted`` for a claim that is known to be false.
        bound: ``tight`` (equality occurs), ``lower``, ``upper``, or ``None`` where that says nothing.
        mutants: false variants with the reason; at least three if the theorem is expected to hold.
        instances: how instances are drawn.
        statement: the theorem in words, if the name is not enough.
        file: the file that holds it, set by :func:`lemmax.statement.load.load_theorem`.
    """

    name: str
    conclusion: Claim | Sequence[Claim]
    reference: str
    sizes: Sequence[sp.Rel] = ()
    hypotheses: Sequence[Condition] = ()
    expected: Expected = "holds"
    bound: Bound = None
    mutants: Sequence[Mutant] = ()
    instances: Instances = field(default_factory=Instances)
    statement: str = ""
    file: str | None = None

    def __post_init__(self) -> None:
        """Normalise sequences to tuples and check that the theorem is complete.

        Raises:
            InvalidArgument: something is missing, misnamed or of the wrong kind.
        """
        from lemmax.statement.validate import as_claims, check_theorem

        set_ = object.__setattr__
        set_(self, "conclusion", as_claims(f"theorem {self.name!r}", self.conclusion))
        lone = isinstance(self.sizes, sp.Basic | bool)
        given = (self.sizes,) if lone else tuple(self.sizes)
        set_(self, "sizes", tuple(r for r in given if r != True))  # noqa: E712 - SymPy's true too
        set_(self, "hypotheses", tuple(self.hypotheses))
        set_(self, "mutants", tuple(self.mutants))
        check_theorem(self)

    def in_file(self, file: str) -> Theorem:
        """Return the theorem with the file that holds it."""
        return replace(self, file=file)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The conclusion as a tuple of claims, all of which are claimed."""
        return self.conclusion  # type: ignore[return-value]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors that hypotheses, conclusion and mutants speak about."""
        mutated = [claim for mutant in self.mutants for claim in mutant.claims]
        return tuple(t for part in (*self.hypotheses, *self.claims, *mutated) for t in tensors_of(part))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """All inputs of the theorem and of its instances, in the order in which a walk meets them."""
        drawn = [self.instances, *(m.instances for m in self.mutants if m.instances is not None)]
        derived = [t for spec in drawn for pair in spec.derived.items() for t in pair]
        return inputs_of(*self.tensors, *derived)

    @property
    def size_symbols(self) -> tuple[sp.Symbol, ...]:
        """Size symbols in the shapes of the inputs, in order of appearance."""
        found: dict[sp.Symbol, None] = {}
        for t in self.inputs:
            for s in t.shape:
                found.update(dict.fromkeys(sorted(s.free_symbols, key=str)))
        return tuple(found)

    def __repr__(self) -> str:
        """Show name and expectation."""
        return f"<Theorem {self.name}, expected {self.expected}>"
