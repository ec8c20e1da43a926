r"""Proofs of equality: the difference of two expressions is rewritten until nothing is left of it.

What the normal form alone does not see is tried after it, each in turn: overlaps of the rules of inverses,
multiplying by a matrix of which the inverse occurs, a common denominator, writing sums over numbers out.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from lemmax.calculus.rewriting.atoms import atomise
from lemmax.calculus.rewriting.conditions import sees_everything
from lemmax.calculus.rewriting.engine import Engine
from lemmax.calculus.rewriting.powers import least_exponents
from lemmax.calculus.rewriting.records import Ledger, TooLarge
from lemmax.expr import linalg
from lemmax.expr.domains import without_domains
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor

_LARGEST_RANGE = 6
_MOST_FACTORS = 4


def prove_zero(t: Tensor, ledger: Ledger) -> bool:
    """Is ``t`` shown to be zero wherever it is defined?

    Args:
        t: the difference of two sides.
        ledger: notes the identities used, and those left out for want of their conditions.

    Raises:
        TooLarge: it became too large to be rewritten.
    """
    (t,) = without_domains([t])
    engine = _started(t, frozenset(), ledger)
    form = engine.tensor(t)
    for _ in range(2):
        # a logarithm or root that occurs has a positive argument wherever the sides are defined
        if is_zero(form) or not engine.domain.found or not sees_everything(t):
            break
        engine = _started(t, frozenset(engine.domain.positive | engine.domain.found), ledger)
        form = engine.tensor(t)
    if is_zero(form):
        return True
    for attempt in (_cancel, _complete, _common_denominator, _sums_of_fractions, _finite):
        engine.rest()
        before = ledger.mark()
        try:
            if attempt(engine, form):
                return True
        except (TooLarge, RecursionError):
            pass
        ledger.reset(before)
    return False


def _started(t: Tensor, positive: frozenset[str], ledger: Ledger) -> Engine:
    """Return an engine that knows which inverses occur, and so exist wherever ``t`` is defined."""
    engine = Engine(positive, ledger)
    engine.least = least_exponents(topological_order(t))
    for node in topological_order(t):
        if isinstance(node, Apply) and node.function in ("inv", "solve"):
            engine.inverted |= {node.operands[0].digest, engine.tensor(node.operands[0]).digest}
    return engine


def is_zero(t: Tensor) -> bool:
    """Is the normal form the zero tensor?"""
    while isinstance(t, Apply) and t.function == "merge":
        t = t.operands[0]
    return isinstance(t, Lambda) and not t.terms


def _opened(form: Tensor) -> Lambda | None:
    if isinstance(form, Apply) and form.function == "merge":
        form = form.operands[0]
    return form if isinstance(form, Lambda) else None


def _inverses_in(form: Tensor) -> list[Apply]:
    found = {
        node.digest: node
        for node in topological_order(form)
        if isinstance(node, Apply) and node.function == "inv" and node.ndim == 2
    }
    return [found[d] for d in sorted(found)]


def _complete(engine: Engine, form: Tensor) -> bool:
    """Add what follows from overlaps of the rules of inverses, and rewrite again."""
    rules = engine.inverse_rules
    whole = _opened(form)
    if not rules.rules or whole is None:
        return False
    free = dict(zip(whole.indices, whole.shape, strict=True))
    engine.ledger.note("inverse of a sum")
    for _ in rules.complete():
        terms = _collected(engine, whole.terms, free)
        if not terms:
            return True
        whole = Lambda(whole.shape, whole.indices, terms)
    return False


def _collected(engine: Engine, terms: tuple[Term, ...], free: dict[sp.Symbol, sp.Expr]) -> tuple[Term, ...]:
    from lemmax.calculus.rewriting.dummies import collect

    return collect(engine.simplify(terms, free))


def _cancel(engine: Engine, form: Tensor) -> bool:
    """Multiply by matrices whose inverse occurs, from the left or the right, and rewrite again."""
    if form.ndim not in (1, 2) or not isinstance(form, Lambda):
        return False
    seen = {form.digest}
    todo: list[Lambda] = [form]
    for _ in range(_MOST_FACTORS * 3):
        if not todo:
            return False
        current = todo.pop(0)
        for new in _multiplied(current):
            normal = engine.tensor(new)
            if is_zero(normal):
                engine.ledger.note("cancellation")
                return True
            if normal.digest not in seen and isinstance(normal, Lambda) and len(normal.terms) < 200:
                seen.add(normal.digest)
                todo.append(normal)
        todo.sort(key=_simplest_first)
    return False


def _simplest_first(t: Lambda) -> tuple[int, int, str]:
    return len(_inverses_in(t)), sum(len(term.bound) for term in t.terms), t.digest


def _multiplied(t: Lambda) -> Iterator[Tensor]:
    first, last = t.indices[0], t.indices[-1]
    for inverse in _inverses_in(t):
        entries = [
            e for term in t.terms for e in term.expr.atoms(sp.Indexed) if e.base.label.tensor == inverse
        ]
        m = inverse.operands[0]
        if any(e.indices[0] == first for e in entries) and same_size(m.shape[1], t.shape[0]):
            yield m @ t
        if any(e.indices[1] == first for e in entries) and same_size(m.shape[0], t.shape[0]):
            yield linalg.matrix_transpose(m) @ t
        if t.ndim == 2 and any(e.indices[1] == last for e in entries) and same_size(m.shape[0], t.shape[1]):
            yield t @ m
        if t.ndim == 2 and any(e.indices[0] == last for e in entries) and same_size(m.shape[0], t.shape[1]):
            yield t @ linalg.matrix_transpose(m)


def _numerator(expr: sp.Expr) -> sp.Expr:
    return sp.fraction(sp.together(expr))[0]


def _common_denominator(engine: Engine, form: Tensor) -> bool:
    """Bring everything to one denominator and look at the numerator."""
    whole = _opened(form)
    if whole is None or len(whole.terms) > 60:
        return False
    free = dict(zip(whole.indices, whole.shape, strict=True))
    for _ in range(3):
        total = sp.Add(*[atomise(term, free, engine.made) for term in whole.terms])
        above = _numerator(total)
        terms = _collected(engine, tuple(engine.expand(sp.expand(above), free, settled=True)), free)
        if not terms:
            engine.ledger.note("common denominator")
            return True
        new = Lambda(whole.shape, whole.indices, terms)
        if new == whole:
            return False
        whole = new
        if _cancel(engine, whole):
            engine.ledger.note("common denominator")
            return True
    return False


def _sums_of_fractions(engine: Engine, form: Tensor) -> bool:
    """Bring summands with the same sums to one denominator."""
    whole = _opened(form)
    if whole is None or len(whole.terms) > 60:
        return False
    free = dict(zip(whole.indices, whole.shape, strict=True))
    groups: dict[tuple[tuple[sp.Symbol, sp.Expr], ...], list[sp.Expr]] = {}
    for term in whole.terms:
        groups.setdefault(term.bound, []).append(term.expr)
    left: list[Term] = []
    for bound, exprs in groups.items():
        above = _numerator(sp.Add(*exprs))
        ranges = {**free, **dict(bound)}
        if _collected(engine, tuple(engine.expand(sp.expand(above), ranges, settled=True)), ranges):
            return False
        left += [Term(bound, e) for e in exprs]
    engine.ledger.note("common denominator")
    return True


def _finite(engine: Engine, form: Tensor) -> bool:
    """Write out sums and entries over sizes that are small numbers."""
    whole = _opened(form)
    if whole is None:
        return False
    wide = {s for s in whole.shape if s.is_Integer and 1 <= s <= _LARGEST_RANGE}
    nodes = [n for n in topological_order(whole) if isinstance(n, Lambda)]
    sums = any(s.is_Integer and s <= _LARGEST_RANGE for n in nodes for t in n.terms for _, s in t.bound)
    if not wide and not sums:
        return False
    written = Engine(engine.domain.positive, engine.ledger)
    written.largest_range = _LARGEST_RANGE
    engine.ledger.note("finite sum")
    import itertools

    choices = [
        [sp.Integer(p) for p in range(int(s))] if s in wide else [i]
        for i, s in zip(whole.indices, whole.shape, strict=True)
    ]
    for at in itertools.product(*choices):
        kept = [(i, s) for i, s, a in zip(whole.indices, whole.shape, at, strict=True) if a == i]
        swap = {i: a for i, a in zip(whole.indices, at, strict=True) if a != i}
        terms = tuple(Term(t.bound, t.expr.xreplace(swap)) for t in whole.terms)
        entry = Lambda(tuple(s for _, s in kept), tuple(i for i, _ in kept), terms)
        new = written.tensor(entry)
        if not is_zero(new) and not _common_denominator(written, new):
            return False
    return True
