r"""``lx.equal``: are two expressions equal for all sizes and values?

*Proved* if their normal forms agree.  *Refuted* if at a point with rational entries the enclosures of
the two sides are disjoint.  Everything else is *unknown*: agreement at any number of points proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lemmax.calculus.definedness import conditions_of
from lemmax.calculus.flatten import flatten
from lemmax.calculus.normal_form import TooLarge, has_floats, is_zero, normal_form
from lemmax.calculus.rewriting.prove import prove_zero
from lemmax.calculus.rewriting.records import Ledger
from lemmax.calculus.rewriting.records import TooLarge as Unproved
from lemmax.check.exact_points import MOST_POINTS, ExactPoint, exact_points
from lemmax.check.refute import Refuter
from lemmax.check.structures import in_free_entries
from lemmax.errors import EvaluationError, ShapeError, UnsupportedYet
from lemmax.expr.arithmetic import as_tensor
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Scalar, Tensor
from lemmax.statement.verdict import Verdict, Witness

_BASIC = ("definitions", "expansion", "delta", "dummies")
_REWRITES = "definitions written out, products multiplied out, deltas contracted, dummies renamed"
_FLOATS = "a float such as 0.1 is the binary number next to 1/10: write Fraction(1, 10) for an exact one"
_FIRST = 3  # points tried before a proof by rewriting is looked for


def equal(a: Tensor | Scalar, b: Tensor | Scalar, seed: int = 0) -> Verdict:
    """Return whether two expressions are equal: proved, refuted with a witness, or unknown.

    Args:
        a: left side.
        b: right side, of the same shape.
        seed: from which points are drawn.

    Raises:
        ShapeError: the shapes differ (which is no statement about values).

    Example:
        >>> import lemmax as lx
        >>> n = lx.size("n")
        >>> A, B = lx.tensor("A", n, n), lx.tensor("B", n, n)
        >>> lx.equal(lx.trace(A @ B), lx.trace(B @ A)).name
        'proved'
        >>> lx.equal(A @ B, B @ A).name
        'refuted'
    """
    left, right = as_tensor(a), as_tensor(b)
    fits = left.ndim == right.ndim and all(
        same_size(x, y) for x, y in zip(left.shape, right.shape, strict=True)
    )
    if not fits:
        raise ShapeError(f"equal: {left.label()} and {right.label()} have different shapes.")
    floats = has_floats(left - right)
    refuter = Refuter(left, right, floats)
    points = exact_points(left, right, seed)
    # most false claims are false everywhere (floats may stand for the decimals that they print)
    tried = _Tried()

    def proved(ledger: Ledger, in_free_entries: bool = False) -> Verdict:
        conditions = _conditions(left, right)
        if conditions and not tried.agreed and _compare(refuter, points, tried, 1):
            return _refuted(tried)
        return _proved(ledger, conditions, tried, in_free_entries)

    if _compare(refuter, itertools.islice(points, 0 if floats else 1), tried):
        return _refuted(tried)
    try:
        if is_zero(normal_form(left - right)):
            return proved(Ledger())
        free = in_free_entries(left - right)
        if free is not None and is_zero(normal_form(free)):
            return proved(Ledger(), in_free_entries=True)
        if floats and is_zero(normal_form(left - right, decimals=True)):
            return Verdict(
                "unknown", f"the sides agree if floats are the decimals that they print; {_FLOATS}"
            )
        reason = "normal forms differ"
    except TooLarge:
        reason = "the normal form is too large to be written out"
    if _compare(refuter, itertools.islice(points, _FIRST), tried):
        return _refuted(tried)
    if not floats:
        ledger = Ledger()
        if _is_proved(left - right, ledger):
            return proved(ledger)
        if ledger.missed:
            reason += f" (not used: {', '.join(map(str, ledger.missed))}: not known to hold)"
    if _compare(refuter, points, tried):
        return _refuted(tried)
    close = f" up to the rounding of constants; {_FLOATS}" if floats else ""
    joined = "but" if tried.agreed else "and nowhere could they be compared:"
    return Verdict("unknown", f"{reason}, {joined} {tried}{close}")


def _conditions(left: Tensor, right: Tensor) -> tuple[str, ...]:
    """Return what is needed for one side to have a value and not for the other, in words."""
    found: list[dict[tuple[str, str], str]] = []
    for t in (left, right):
        flat = [replace(g, tensor=flatten([g.tensor])[0]) for g in conditions_of([t])]
        found.append({(g.tensor.digest, g.condition): str(g) for g in flat})
    one, other = ({key: told for key, told in found[p].items() if key not in found[1 - p]} for p in (0, 1))
    return tuple(dict.fromkeys([*one.values(), *other.values()]))


@dataclass
class _Tried:
    """What points have shown.

    Attributes:
        agreed: at how many points the sides agree.
        outside: at how many a side is undefined, or not decided to be defined.
        why: why the last point was left out.
        witness: the first point at which the sides differ.
    """

    agreed: int = 0
    outside: int = 0
    why: str = ""
    witness: Witness | None = None

    def __str__(self) -> str:
        """Say what was tried."""
        parts = [f"the sides agree at {self.agreed} of {MOST_POINTS} points"]
        if self.outside:
            reason = self.why.rstrip(".")
            parts.append(f"{self.outside} decided nothing, the last one because {reason}")
        return "; ".join(parts)


def _compare(refuter: Refuter, points: Iterable[ExactPoint], tried: _Tried, most: int = MOST_POINTS) -> bool:
    """Compare the sides at points, until they agreed at so many; do they differ at one?"""
    for point in points:
        try:
            tried.witness = refuter.witness(point)
        except (EvaluationError, ArithmeticError, UnsupportedYet) as error:
            # outside the domain of one side; try another point
            tried.outside += 1
            tried.why = str(error) or type(error).__name__
            continue
        if tried.witness is not None:
            return True
        tried.agreed += 1
        if tried.agreed >= most:
            break
    return False


def _refuted(tried: _Tried) -> Verdict:
    return Verdict("refuted", "the sides differ at a point", tried.witness)


def _is_proved(difference: Tensor, ledger: Ledger) -> bool:
    try:
        return prove_zero(difference, ledger)
    except (Unproved, UnsupportedYet, RecursionError):
        return False


def _proved(ledger: Ledger, conditions: tuple[str, ...], tried: _Tried, in_free_entries: bool) -> Verdict:
    extra = [r for r in ledger.used if r.name not in _BASIC]
    how = f", by: {'; '.join(map(str, extra))}" if extra else f" ({_REWRITES})"
    forms = "normal forms in the free entries" if in_free_entries else "normal forms"
    where = " wherever both sides are defined" if extra or conditions else ""
    if conditions:
        if not tried.agreed:
            reason = (
                f"{forms} agree, but at none of {MOST_POINTS} points are both sides defined, which takes: "
            )
            return Verdict("unknown", reason + "; ".join(conditions))
        where += f", which takes: {'; '.join(conditions)}"
    names = (*(("free entries",) if in_free_entries else ()), *_BASIC, *(r.name for r in extra))
    return Verdict("proved", f"{forms} agree{where}{how}", rewrites=names, conditions=conditions)
