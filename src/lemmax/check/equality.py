r"""``lx.equal``: are two expressions equal for all sizes and values?

*Proved* if their normal forms agree.  *Refuted* if at a point with rational entries the enclosures of
the two sides are disjoint.  Everything else is *unknown*: agreement at any number of points proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

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
    agreed, witness = _compared(refuter, itertools.islice(points, 0 if floats else 1))
    if witness is not None:
        return _refuted(witness)
    try:
        if is_zero(normal_form(left - right)):
            return Verdict("proved", f"normal forms agree ({_REWRITES})", rewrites=_BASIC)
        free = in_free_entries(left - right)
        if free is not None and is_zero(normal_form(free)):
            reason = f"normal forms in the free entries agree ({_REWRITES})"
            return Verdict("proved", reason, rewrites=("free entries", *_BASIC))
        if floats and is_zero(normal_form(left - right, decimals=True)):
            return Verdict(
                "unknown", f"the sides agree if floats are the decimals that they print; {_FLOATS}"
            )
        reason = "normal forms differ"
    except TooLarge:
        reason = "the normal form is too large to be written out"
    more, witness = _compared(refuter, itertools.islice(points, _FIRST))
    agreed += more
    if witness is not None:
        return _refuted(witness)
    if not floats:
        ledger = Ledger()
        if _is_proved(left - right, ledger):
            return _proved(ledger)
        if ledger.missed:
            reason += f" (not used: {', '.join(map(str, ledger.missed))}: not known to hold)"
    more, witness = _compared(refuter, points)
    if witness is not None:
        return _refuted(witness)
    agreed += more
    close = f" up to the rounding of constants; {_FLOATS}" if floats else ""
    return Verdict("unknown", f"{reason}, but the sides agree at {agreed} of {MOST_POINTS} points{close}")


def _compared(refuter: Refuter, points: Iterable[ExactPoint]) -> tuple[int, Witness | None]:
    """Return at how many points the sides agree, and the first at which they differ."""
    agreed = 0
    for point in points:
        try:
            witness = refuter.witness(point)
        except (EvaluationError, ArithmeticError, UnsupportedYet):
            continue  # outside the domain of one side; try another point
        if witness is not None:
            return agreed, witness
        agreed += 1
    return agreed, None


def _refuted(witness: Witness) -> Verdict:
    return Verdict("refuted", "the sides differ at a point", witness)


def _is_proved(difference: Tensor, ledger: Ledger) -> bool:
    try:
        return prove_zero(difference, ledger)
    except (Unproved, UnsupportedYet, RecursionError):
        return False


def _proved(ledger: Ledger) -> Verdict:
    extra = [r for r in ledger.used if r.name not in _BASIC]
    how = f", by: {'; '.join(map(str, extra))}" if extra else f" ({_REWRITES})"
    text = f"normal forms agree wherever both sides are defined{how}"
    return Verdict("proved", text, rewrites=(*_BASIC, *(r.name for r in extra)))
