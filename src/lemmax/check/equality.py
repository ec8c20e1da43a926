r"""``lx.equal``: are two expressions equal for all sizes and values?

*Proved* if their normal forms agree.  *Refuted* if at a point with rational entries the two sides,
evaluated with 50 and with 100 digits, differ by far more than the two precisions differ from one another.
Everything else is *unknown*: agreement at any number of points proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from lemmax.calculus.normal_form import TooLarge, has_floats, is_zero, normal_form
from lemmax.calculus.rewriting.engine import TooLarge as Unproved
from lemmax.calculus.rewriting.prove import prove_zero
from lemmax.calculus.rewriting.records import Ledger
from lemmax.check.structures import in_free_entries, obey
from lemmax.errors import EvaluationError, ShapeError, UnsupportedYet
from lemmax.expr.arithmetic import as_tensor
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Lambda
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Scalar, Tensor, identifier
from lemmax.interpret import Evaluator
from lemmax.interpret.multiprecision import MpArithmetic
from lemmax.statement.verdict import Comparison, Verdict, Witness

_BASIC = ("definitions", "expansion", "delta", "dummies")
_REWRITES = "definitions written out, products multiplied out, deltas contracted, dummies renamed"
_FLOATS = "a float such as 0.1 is the binary number next to 1/10: write Fraction(1, 10) for an exact one"
_POINTS = 8
_COARSE, _FINE = 50, 100
_MARGIN = 10**10  # the sides must differ by this many times what the two precisions differ
_SHARP = 10.0 ** (-_COARSE // 2)  # relative difference up to which sides agree
_BLURRED = 1e-12  # the same where constants are floats, that is rounded


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
    evaluator = Evaluator([left, right])
    agreed = 0
    for sizes, arrays in _points(left, right, seed):
        try:
            witness = _compare(evaluator, sizes, arrays, _BLURRED if floats else _SHARP)
        except (EvaluationError, ArithmeticError, UnsupportedYet):
            continue  # outside the domain of one side; try another point
        if witness is not None:
            return Verdict("refuted", "the sides differ at a point", witness)
        agreed += 1
    if not floats:
        ledger = Ledger()
        if _is_proved(left - right, ledger):
            return _proved(ledger)
        if ledger.missed:
            reason += f" (not used: {', '.join(map(str, ledger.missed))}: not known to hold)"
    close = f" up to the rounding of constants; {_FLOATS}" if floats else ""
    return Verdict("unknown", f"{reason}, but the sides agree at {agreed} of {_POINTS} points{close}")


def _is_proved(difference: Tensor, ledger: Ledger) -> bool:
    try:
        return prove_zero(difference, ledger)
    except (Unproved, UnsupportedYet):
        return False


def _proved(ledger: Ledger) -> Verdict:
    extra = [r for r in ledger.used if r.name not in _BASIC]
    text = f"normal forms agree wherever both sides are defined, by: {'; '.join(map(str, extra))}"
    return Verdict("proved", text, rewrites=(*_BASIC, *(r.name for r in extra)))


def _points(left: Tensor, right: Tensor, seed: int) -> Iterator[tuple[dict[str, int], dict[str, np.ndarray]]]:
    """Yield sizes and arrays of small fractions, small sizes first."""
    rng = np.random.default_rng(seed)
    symbols = sorted({x for t in topological_order(left, right) for x in _sizes_in(t)}, key=str)
    for attempt in range(_POINTS):
        most = 2 + attempt // 3
        sizes = {s: int(rng.integers(1, most + 1)) if attempt else 2 for s in symbols}
        arrays = {}
        for t in inputs_of(left, right):
            shape = tuple(int(sp.sympify(s).subs(sizes)) for s in t.shape)
            x = rng.integers(-8, 9, size=shape) / 4.0
            if "positive" in t.assumptions or attempt % 3 == 1:
                x = np.abs(x) + 0.25  # logarithms and roots live here
            if attempt % 3 == 2 and len(shape) >= 2 and shape[-1] == shape[-2]:
                x = x / 8 + np.eye(shape[-1])
            x = obey(t, x, rng)
            arrays[identifier(str(t.name))] = x
        yield {str(s): k for s, k in sizes.items()}, arrays


def _sizes_in(t: Tensor) -> set[sp.Symbol]:
    """Return the size symbols of shape and body: a size may be a mere number, as in 1 / sqrt(d)."""
    found = {x for s in t.shape for x in s.free_symbols}
    if isinstance(t, Lambda):
        for term in t.terms:
            symbols = term.expr.free_symbols.union(*(s.free_symbols for _, s in term.bound))
            found |= {x for x in symbols if x.is_integer and x.is_positive and not is_index(x)}
    return found


def _compare(
    evaluator: Evaluator, sizes: dict[str, int], arrays: dict[str, np.ndarray], blur: float
) -> Witness | None:
    coarse = [np.asarray(v) for v in evaluator.run(arrays, sizes=sizes, arithmetic=MpArithmetic(_COARSE))]
    fine = [np.asarray(v) for v in evaluator.run(arrays, sizes=sizes, arithmetic=MpArithmetic(_FINE))]
    for at in np.ndindex(fine[0].shape):
        x, y = fine[0][at], fine[1][at]
        if not _is_finite(x) or not _is_finite(y):
            raise EvaluationError("a side is not finite")
        slip = abs(coarse[0][at] - x) + abs(coarse[1][at] - y)
        if abs(x - y) > _MARGIN * slip and abs(x - y) > blur * (abs(x) + abs(y)):
            numbers = Comparison("the sides", "==", _digits(x), _digits(y), at, _FINE, False)
            entries = {name: _fractions(array) for name, array in arrays.items()}
            return Witness(sizes, entries, (numbers,))
    return None


def _is_finite(x: Any) -> bool:
    return bool(x == x and abs(x) != float("inf"))


def _digits(x: Any) -> str:
    import mpmath

    return str(mpmath.nstr(x, 20))


def _fractions(array: np.ndarray) -> Any:
    """Return the entries as exact fractions, in nested lists."""
    if array.ndim == 0:
        return str(Fraction(float(array)))
    return [_fractions(row) for row in array]
