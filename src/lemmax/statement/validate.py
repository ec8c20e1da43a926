r"""Checks that a theorem is complete; each message says what is missing and how to give it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.relation import Relation
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import identifier
from lemmax.statement.conditions import Claim, Generic
from lemmax.statement.convergence import Convergence
from lemmax.statement.instances import Instances
from lemmax.statement.kinds import is_a

if TYPE_CHECKING:
    from lemmax.statement.theorem import Mutant, Theorem

MUTANTS_NEEDED = 3
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*_of_[a-z0-9_]+\Z")


def as_claims(what: str, given: object) -> tuple[Claim, ...]:
    """Return one claim or a sequence of claims as a tuple.

    Raises:
        InvalidArgument: something is no claim, or there is none.
    """
    items = (given,) if isinstance(given, Relation | Convergence) else given
    if not isinstance(items, tuple | list) or not items:
        raise InvalidArgument(
            f"{what}: expected a relation (a >= b, a.eq(b)), a Convergence, or a list of them, got {given!r}."
        )
    for item in items:
        if not isinstance(item, Relation | Convergence):
            raise InvalidArgument(
                f"{what}: {item!r} is neither a relation (a >= b, a.eq(b)) nor a Convergence."
            )
    return tuple(items)


def check_theorem(theorem: Theorem) -> None:
    """Check that a theorem is complete.

    Raises:
        InvalidArgument: something is missing, misnamed or of the wrong kind.
    """
    what = f"theorem {theorem.name!r}"
    if not is_a(theorem.name, str) or not _NAME.match(theorem.name):
        raise InvalidArgument(
            f"{what}: a name says conclusion_of_hypotheses in lower case, "
            "such as 'pl_value_weights_of_full_row_rank'."
        )
    if not is_a(theorem.reference, str) or not theorem.reference.strip():
        raise InvalidArgument(
            f"{what}: no reference; say where it comes from, or 'folklore', or 'derived here'."
        )
    if theorem.expected not in ("holds", "refuted"):
        raise InvalidArgument(f"{what}: expected={theorem.expected!r}: expected 'holds' or 'refuted'.")
    if theorem.bound not in ("tight", "lower", "upper", None):
        raise InvalidArgument(f"{what}: bound={theorem.bound!r}: expected 'tight', 'lower', 'upper' or None.")
    _check_hypotheses(what, theorem)
    _check_inputs(what, theorem)
    _check_sizes(what, theorem)
    if theorem.expected == "holds" and len(theorem.mutants) < MUTANTS_NEEDED:
        raise InvalidArgument(
            f"{what}: {len(theorem.mutants)} mutants; a theorem expected to hold lists at least "
            f"{MUTANTS_NEEDED} false variants of its claim, as lx.Mutant(name, claim, reason)."
        )
    names = [mutant.name for mutant in theorem.mutants]
    if len(set(names)) != len(names):
        raise InvalidArgument(f"{what}: two mutants share a name: {', '.join(names)}.")
    for mutant in theorem.mutants:
        _check_mutant(what, theorem, mutant)


def _check_hypotheses(what: str, theorem: Theorem) -> None:
    names: list[str] = []
    for hypothesis in theorem.hypotheses:
        if not isinstance(hypothesis, Relation | Generic):
            raise InvalidArgument(f"{what}: hypothesis {hypothesis!r} is neither a relation nor a Generic.")
        if not hypothesis.name:
            raise InvalidArgument(
                f"{what}: a hypothesis has no name; give it one: (a > 0).named('a is positive')."
            )
        names.append(hypothesis.name)
    if len(set(names)) != len(names):
        raise InvalidArgument(f"{what}: two hypotheses share a name: {', '.join(names)}.")


def _check_inputs(what: str, theorem: Theorem) -> None:
    inputs = theorem.inputs
    if not inputs:
        raise InvalidArgument(f"{what}: the conclusion depends on no input, there is nothing to draw.")
    codes: dict[str, Input] = {}
    for t in inputs:
        code = identifier(str(t.name))
        if not code or codes.setdefault(code, t) != t:
            raise InvalidArgument(
                f"{what}: the name of input {t.label()} gives {code!r} in code, empty or taken."
            )
    _check_instances(what, theorem, theorem.instances)


def _check_instances(what: str, theorem: Theorem, instances: Instances) -> None:
    for t in instances.named_inputs:
        if t not in theorem.inputs:
            raise InvalidArgument(f"{what}: instances mention {t!r}, which is no input of the theorem.")
    for t, value in instances.derived.items():
        if not all(same_size(a, b) for a, b in zip(t.shape, value.shape, strict=True)):
            raise InvalidArgument(f"{what}: derived input {t.label()} cannot take the value {value.label()}.")
    tokens = instances.tokens
    if tokens is not None and tokens.ndim < 2:
        raise InvalidArgument(f"{what}: tokens={tokens.label()} has no rows; tokens are rows of (..., n, D).")
    for symbol in instances.sizes:
        _check_known(what, f"the range of {symbol}", {symbol}, set(theorem.size_symbols))


def _check_sizes(what: str, theorem: Theorem) -> None:
    known = set(theorem.size_symbols)
    for constraint in theorem.sizes:
        if not isinstance(constraint, sp.Rel):
            raise InvalidArgument(
                f"{what}: size constraint {constraint!r} is no relation between sizes, "
                "such as N * n <= H * D; equality is sympy.Eq(a, b)."
            )
        _check_known(what, f"the size constraint {constraint}", constraint.free_symbols, known)


def _check_known(what: str, where: str, symbols: set[sp.Symbol], known: set[sp.Symbol]) -> None:
    unknown = sorted(symbols - known, key=str)
    if unknown:
        raise InvalidArgument(
            f"{what}: {where} speaks of {unknown[0]}, which is the size of no axis of an input; "
            f"sizes are {', '.join(sorted(map(str, known)))}."
        )


def _check_mutant(what: str, theorem: Theorem, mutant: Mutant) -> None:
    if not is_a(mutant.reason, str) or not mutant.reason.strip():
        raise InvalidArgument(f"{what}: mutant {mutant.name!r} gives no reason why it is false.")
    if not mutant.claims and not mutant.dropped:
        raise InvalidArgument(f"{what}: mutant {mutant.name!r} changes nothing; give claim= or drop=.")
    if mutant.instances is not None:
        _check_instances(f"{what}, mutant {mutant.name!r}", theorem, mutant.instances)
    names = [hypothesis.name for hypothesis in theorem.hypotheses]
    for dropped in mutant.dropped:
        if dropped not in names and dropped not in theorem.sizes:
            raise InvalidArgument(
                f"{what}: mutant {mutant.name!r} drops {dropped!r}, which is neither the name of a "
                f"hypothesis ({', '.join(map(str, names)) or 'there are none'}) nor a size constraint."
            )
