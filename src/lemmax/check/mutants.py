r"""Mutants: each false variant of a theorem must be refuted in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import sympy as sp

from lemmax.check.confirm import confirm, is_open
from lemmax.check.decide import FALSE, TRUE
from lemmax.check.judge import Judge, Judged
from lemmax.check.mutations import DEGENERATE
from lemmax.check.plan import DrawPlan, draw_plan
from lemmax.check.recipe import Recipe
from lemmax.check.search import nearest, search
from lemmax.check.sweep import SWEEPS, small_sizes, sweep
from lemmax.check.witness import witness_of
from lemmax.statement.conditions import Claim, Condition
from lemmax.statement.evidence import MutantOutcome
from lemmax.statement.theorem import Mutant, Theorem
from lemmax.statement.verdict import Witness

KEPT = 4  # candidates kept per mutant, the smallest ones
DOUBTFUL = 12  # instances with an open rank kept per mutant
EXTRA_BLOCKS = 40  # blocks drawn for mutants that the theorem's own instances did not refute
ENOUGH_BLOCKS = 8  # once each mutant has a candidate, mutants are evaluated on no more blocks than this

Blocks = Callable[[DrawPlan, int], Iterator[tuple[Recipe, ...]]]


@dataclass(slots=True)
class Track:
    """A mutant during a run.

    Attributes:
        mutant: the mutant.
        conditions: hypotheses it keeps.
        claims: what it claims.
        sizes: size constraints it drops.
        tried: instances that met its hypotheses.
        candidates: the smallest of those on which it seems to fail.
        doubtful: the smallest of those on which float64 cannot tell a deficient rank.
        witness: the one on which it does.
    """

    mutant: Mutant
    conditions: tuple[Condition, ...]
    claims: tuple[Claim, ...]
    sizes: tuple[sp.Rel, ...]
    tried: int = 0
    candidates: list[Judged] = field(default_factory=list)
    doubtful: list[Judged] = field(default_factory=list)
    witness: Witness | None = None

    def see(self, one: Judged) -> None:
        """Look at a judged instance."""
        if one.trouble or one.state_of(self.conditions) != TRUE:
            return
        if any(c in one.undefined for c in self.claims):
            return
        self.tried += 1
        if any(one.claims[c].state == FALSE for c in self.claims):
            self.candidates = smallest([*self.candidates, one])
        elif any(is_open(one, c) for c in self.claims):
            self.doubtful = various([*self.doubtful, one])

    def outcome(self) -> MutantOutcome:
        """Return what became of the mutant."""
        return MutantOutcome(
            self.mutant.name, self.witness is not None, self.mutant.reason, self.tried, self.witness
        )


def smallest(judged: Sequence[Judged]) -> list[Judged]:
    """Return the few judged instances with the smallest recipes."""
    return sorted(judged, key=lambda one: one.recipe.weight)[:KEPT]


def various(judged: Sequence[Judged]) -> list[Judged]:
    """Return a few judged instances, one per set of mutations: degenerate ones first, then small ones."""
    found: dict[frozenset[tuple[str, tuple[str, ...]]], Judged] = {}
    for one in sorted(judged, key=lambda one: (not is_degenerate(one.recipe), one.recipe.weight)):
        found.setdefault(frozenset((m.kind, m.inputs) for m in one.recipe.mutations), one)
    return list(found.values())[:DOUBTFUL]


def is_degenerate(recipe: Recipe) -> bool:
    """Did something happen to the instance that makes ranks drop exactly, not only nearly?"""
    return bool(recipe.omitted) or any(m.kind in DEGENERATE for m in recipe.mutations)


def tracks_of(theorem: Theorem) -> list[Track]:
    """Return one track per mutant."""
    return [
        Track(
            mutant,
            tuple(h for h in theorem.hypotheses if h.name not in mutant.dropped),
            mutant.claims or theorem.claims,
            tuple(d for d in mutant.dropped if isinstance(d, sp.Rel)),
        )
        for mutant in theorem.mutants
    ]


def claims_of(tracks: Sequence[Track]) -> tuple[Claim, ...]:
    """Return the claims of all mutants that keep the sizes, each once."""
    return tuple(dict.fromkeys(c for track in tracks if not track.sizes for c in track.claims))


def settle_candidates(judge: Judge, track: Track) -> int:
    """Confirm the smallest candidate that really fails; return the digits used."""
    for one in (*track.candidates, *track.doubtful):
        found = confirm(judge, one, track.conditions, track.claims)
        if found.accepted and found.state == FALSE:
            track.witness = witness_of(one, found.comparisons)
            return found.digits
    track.candidates.clear()
    track.doubtful.clear()
    return 0


def hunt(judge: Judge, theorem: Theorem, track: Track, blocks: Blocks, seed: int) -> int:
    """Draw further instances, then search, until the mutant is refuted; return the digits used."""
    digits = settle_candidates(judge, track)
    if track.witness is not None:
        return digits
    if track.mutant.instances is not None:
        theorem = replace(theorem, expected="refuted", instances=track.mutant.instances)
    plan = replace(draw_plan(theorem, track.sizes), family_quarters=1)  # small sizes fail sooner
    closest: list[Judged] = []
    seen: dict[Recipe, None] = {}
    for count, block in enumerate(
        chain(sweep(plan, seed), small_sizes(plan, seed), blocks(plan, EXTRA_BLOCKS))
    ):
        fresh = [recipe for recipe in block if recipe not in seen]
        seen.update(dict.fromkeys(fresh))
        judged = judge.judge(plan, fresh, track.conditions, track.claims) if fresh else []
        for one in judged:
            track.see(one)
        closest = nearest([*closest, *judged], track.conditions, track.claims)
        if (track.candidates or track.doubtful) and count % 4 == SWEEPS - 1:
            digits = settle_candidates(judge, track)
            if track.witness is not None:
                return digits
    for number, start in enumerate(closest):
        found, tried = search(judge, plan, start, track.conditions, track.claims, seed + number)
        track.tried += tried
        track.candidates = smallest([*track.candidates, *found])
        digits = settle_candidates(judge, track)
        if track.witness is not None:
            return digits
    return settle_candidates(judge, track)
