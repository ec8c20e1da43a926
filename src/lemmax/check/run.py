r"""The reading *sample*: a theorem is tried on instances drawn from a seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from lemmax.check.confirm import Confirmed, confirm, is_open, settle_claim
from lemmax.check.decide import CLOSE, FALSE
from lemmax.check.failures import Failures
from lemmax.check.judge import Judge, Judged
from lemmax.check.mutants import ENOUGH_BLOCKS, Track, claims_of, hunt, tracks_of
from lemmax.check.plan import DrawPlan, draw_plan
from lemmax.check.recipe import Recipe
from lemmax.check.settle import DIGITS, hypothesis_state, settle
from lemmax.check.shrink import draw_blocks, run_blocks
from lemmax.check.sweep import small_sizes, sweep
from lemmax.check.tally import Tally
from lemmax.check.verdicts import FAMILY_SHARE, report_of
from lemmax.check.witness import witness_of
from lemmax.errors import EvaluationError, InvalidArgument
from lemmax.expr.relation import Relation
from lemmax.statement.kinds import is_a
from lemmax.statement.report import Report
from lemmax.statement.theorem import Theorem
from lemmax.statement.verdict import Witness

BLOCKS_PER_ROUND = 24
FEWEST_BLOCKS = 4  # in a round
DRAWS_PER_BLOCK = 5  # about; sizes the next round
INSTANCES_PER_SPREAD = 250  # with more instances wanted, several seeds of a recipe are evaluated together
LARGEST_SPREAD = 16
DRAWS_PER_INSTANCE = 20  # draws beyond this many times the instances wanted: acceptance is below 5 %
LATE = 2  # with enough instances accepted, no more draws than this many times the instances wanted
COMFORTABLE = 0.6  # below this share of family sizes a run draws nothing else
FEWEST_DRAWS = 400  # drawn in vain before a theorem is called vacuous
HYPOTHESES_REEXAMINED = 20  # draws per hypothesis that leave it open, evaluated in multiprecision
RANKS_REEXAMINED = 24  # claims per run that hang on a rank which float64 leaves open, likewise
CLAIMS_REEXAMINED = 6  # undecided comparisons per run that are evaluated in multiprecision
SEED_STRIDE = 10_007  # rounds of a run take their seeds this far apart

Progress = Callable[[int, int], None]


def check(
    theorem: Theorem,
    instances: int = 200,
    seed: int = 0,
    *,
    mutants: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Check a theorem on instances drawn at random, and refute its mutants.

    The run follows from ``seed`` alone.  An interruption from the keyboard ends it with a report on what
    is known so far.

    Args:
        theorem: the theorem.
        instances: how many instances must meet all hypotheses.
        seed: seed of all draws.
        mutants: also run the mutants.
        progress: called with the numbers of accepted and of wanted instances.

    Returns:
        The report: verdict, evidence, whether all is as expected.

    Raises:
        InvalidArgument: a bad argument, or no sizes satisfy the theorem's constraints.
    """
    if not is_a(theorem, Theorem):
        raise InvalidArgument(f"check({theorem!r}): expected a lx.Theorem.")
    if is_a(instances, bool) or not is_a(instances, int) or instances < 1:
        raise InvalidArgument(f"check: instances={instances!r}: expected an integer of at least 1.")
    if is_a(seed, bool) or not is_a(seed, int) or seed < 0:
        raise InvalidArgument(f"check: seed={seed!r}: expected a non-negative integer.")
    run = Run(theorem, instances, seed, mutants, progress)
    started = time.process_time()
    interrupted = False
    try:
        run.go()
    except KeyboardInterrupt:
        interrupted = True
    return report_of(
        theorem,
        run.tally,
        instances,
        run.witness,
        tuple(track.outcome() for track in run.tracks),
        time.process_time() - started,
        interrupted,
    )


@dataclass(slots=True)
class Run:
    """One run on one theorem."""

    theorem: Theorem
    instances: int
    seed: int
    with_mutants: bool = True
    progress: Progress | None = None
    judge: Judge = field(default_factory=Judge)
    tally: Tally = field(init=False)
    plan: DrawPlan = field(init=False)
    tracks: list[Track] = field(init=False)
    witness: Witness | None = None
    _blocks: int = 0
    _round_seed: int = 0
    _round_blocks: int = FEWEST_BLOCKS
    _seen: dict[Recipe, None] = field(default_factory=dict)
    _hypotheses_left: dict[Relation, int] = field(default_factory=dict)
    _claims_left: int = CLAIMS_REEXAMINED
    _ranks_left: int = RANKS_REEXAMINED
    _suspect: tuple[Judged, Confirmed] | None = None

    def __post_init__(self) -> None:
        """Prepare plan and mutants."""
        self.tally = Tally(self.theorem, self.seed)
        self.plan = draw_plan(self.theorem)
        self.tracks = tracks_of(self.theorem) if self.with_mutants else []

    def go(self) -> None:
        """Draw until enough instances are accepted or a failure is found; then hunt the mutants."""
        for number in range(1 + self._most_draws()):
            if self._finished():
                break
            if self.tally.family < COMFORTABLE * self.tally.accepted:
                self.plan = replace(self.plan, family_quarters=4)
            self._round_seed = self.seed + number * SEED_STRIDE
            missing = self.instances - self.tally.accepted
            per_block = DRAWS_PER_BLOCK * self._spread()
            self._round_blocks = min(BLOCKS_PER_ROUND, max(FEWEST_BLOCKS, missing // per_block + 1))
            run_blocks(self.plan, self._round_blocks, self._round_seed, self._examine, shrink=False)
        if self._suspect is None and self.tally.accepted and not self.tally.seen_both():
            self._hypotheses_left.clear()
            for block in sweep(self.plan, self.seed):
                self._judge(block)
        if self._suspect is None and self.theorem.expected == "refuted":
            for block in chain(small_sizes(self.plan, self.seed), sweep(self.plan, self.seed)):
                self._judge(block)
                if self._suspect is not None:
                    break
        if self._suspect is not None:
            failures = Failures(self.judge, self.theorem, self.plan, self._round_seed, self._round_blocks)
            one, found = self._suspect
            self.witness = witness_of(one, found.comparisons, self.theorem)  # should shrinking be interrupted
            self.witness, digits = failures.smallest(one, found)
            self.tally.digits = max(self.tally.digits, digits)
        for track in self.tracks:
            digits = hunt(self.judge, self.theorem, track, self._more_blocks, self.seed)
            self.tally.digits = max(self.tally.digits, digits)

    def _most_draws(self) -> int:
        return max(DRAWS_PER_INSTANCE * self.instances, FEWEST_DRAWS)

    def _finished(self) -> bool:
        t = self.tally
        enough = t.accepted >= self.instances and t.seen_both() and t.family >= FAMILY_SHARE * t.accepted
        in_vain = t.accepted == 0 and t.draws >= FEWEST_DRAWS
        late = t.accepted >= self.instances and t.draws >= LATE * self.instances
        failed = self._suspect is not None
        return failed or enough or in_vain or late or t.draws >= self._most_draws()

    def _spread(self) -> int:
        """How many seeds each drawn recipe stands for: one, unless thousands of instances are wanted."""
        return min(LARGEST_SPREAD, max(1, self.instances // INSTANCES_PER_SPREAD))

    def _examine(self, block: tuple[Recipe, ...]) -> None:
        """Judge a block of draws, unless enough is known."""
        if self._finished():
            return
        self._judge(tuple(recipe.sibling(k) for recipe in block for k in range(self._spread())))
        if self.progress is not None:
            self.progress(min(self.tally.accepted, self.instances), self.instances)

    def _judge(self, block: tuple[Recipe, ...]) -> None:
        """Judge and count the recipes of a block that were not seen before."""
        fresh = tuple(dict.fromkeys(recipe for recipe in block if recipe not in self._seen))
        if not fresh:
            return
        self._seen.update(dict.fromkeys(fresh))
        self._blocks += 1
        tracks = self._tracks_to_feed()
        claims = tuple(dict.fromkeys([*self.theorem.claims, *claims_of(tracks)]))
        for one in self.judge.judge(self.plan, fresh, self.theorem.hypotheses, claims):
            self._decide_hypotheses(one)
            accepted = self.tally.add(self.plan, one)
            for track in tracks:
                if not track.sizes:
                    track.see(one)
            if accepted:
                self._look_at_claims(one)

    def _tracks_to_feed(self) -> list[Track]:
        open_ = [t for t in self.tracks if not t.sizes]
        done = self._blocks > ENOUGH_BLOCKS and all(t.candidates or t.doubtful for t in open_)
        return [] if done or self._blocks > 4 * ENOUGH_BLOCKS else open_

    def _decide_hypotheses(self, one: Judged) -> None:
        """Re-examine hypotheses that float64 leaves open, as far as the budget goes."""
        relations = [c for c, state in one.conditions.items() if state == CLOSE and isinstance(c, Relation)]
        if one.trouble or not relations or FALSE in one.conditions.values():
            return
        if any(self._hypotheses_left.get(c, HYPOTHESES_REEXAMINED) <= 0 for c in relations):
            return
        for c in relations:
            self._hypotheses_left[c] = self._hypotheses_left.get(c, HYPOTHESES_REEXAMINED) - 1
        try:
            found = settle(self.judge.readers, relations, one.arrays, one.sizes, strict=False)
        except EvaluationError:
            return
        for relation, settled in zip(relations, found, strict=True):
            one.conditions[relation] = hypothesis_state(relation, settled)
            self.tally.digits = max(self.tally.digits, settled.digits)

    def _look_at_claims(self, one: Judged) -> None:
        """Count comparisons; confirm what looks violated, re-examine a few that are close."""
        states = [one.claims[c].state for c in self.theorem.claims]
        if FALSE in states:
            found = self._confirm(one)
            if not found.accepted:  # the hypotheses held to rounding only
                self.tally.accepted -= 1
                self.tally.family -= self.plan.table.family_of(one.sizes)
                self.tally.doubtful += 1
            elif found.state == CLOSE:
                self.tally.undecided += 1
            return
        self.tally.add_claims(one)
        for claim in self.theorem.claims:
            if one.claims[claim].state != CLOSE:
                continue
            open_rank = is_open(one, claim)
            if (self._ranks_left if open_rank else self._claims_left) <= 0:
                continue
            self._ranks_left -= open_rank
            self._claims_left -= not open_rank
            strict = isinstance(claim, Relation) and claim.op in (">", "<")
            levels = DIGITS if open_rank or strict else DIGITS[:1]
            try:
                settled = settle_claim(self.judge, claim, one, levels)
            except EvaluationError:
                continue
            self.tally.reexamined += 1
            self.tally.digits = max(self.tally.digits, settled.digits)
            if settled.state == FALSE:
                self._confirm(one)
            elif settled.state == CLOSE:
                known = self.tally.agreement
                self.tally.agreement = settled.agreement if known is None else min(settled.agreement, known)
                self.tally.strict_ties[self.tally.name_of(claim)] += strict and settled.is_tame

    def _confirm(self, one: Judged) -> Confirmed:
        """Evaluate an instance in multiprecision, and keep it if the claim fails on it."""
        found = confirm(self.judge, one, self.theorem.hypotheses, self.theorem.claims)
        self.tally.digits = max(self.tally.digits, found.digits)
        if self._suspect is None and found.accepted and found.state == FALSE:
            self._suspect = (one, found)
        return found

    def _more_blocks(self, plan: DrawPlan, count: int) -> Iterator[tuple[Recipe, ...]]:
        return draw_blocks(plan, count, self.seed + SEED_STRIDE // 2)
