r"""Determinants: of products, multiples, inverses, diagonal matrices, Kronecker products, and of sums.

A sum is moved by :math:`\det(I + A B) = \det(I + B A)`, by transposing, and by
:math:`\det M = \det(A)\det(A^{-1} M)` to the smallest form that these moves
reach, so that both sides of Sylvester's identity and of the determinant lemma come to the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from lemmax.calculus.rewriting.conditions import is_generic
from lemmax.calculus.rewriting.inverses import Polynomial, polynomial_of
from lemmax.calculus.rewriting.kronecker import kronecker_factors, rank_one_parts
from lemmax.calculus.rewriting.words import Alphabet, P, Word, inverse_operand
from lemmax.expr import linalg
from lemmax.expr.indices import free_indices, fresh
from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.reductions import prod
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.engine import Engine

_MOST_FORMS = 60


def determinant(engine: Engine, m: Tensor) -> list[tuple[Tensor, sp.Expr]] | None:
    """Return scalars with exponents whose product is ``det m``; ``None`` if it is as simple as it gets."""
    if m.ndim != 2:
        return None
    size = m.shape[0]
    if isinstance(m, Input) and {"lower_triangular", "diagonal"} & set(m.assumptions):
        engine.ledger.note("det of a diagonal")
        return [(prod(linalg.diag(m)), sp.S.One)]
    if isinstance(m, Apply) and m.function == "inv":
        engine.ledger.note("det of an inverse")
        return [(linalg.det(m.operands[0]), -sp.S.One)]
    if isinstance(m, Apply) and m.function == "merge":
        factors = kronecker_factors(m)
        if factors is None:
            return None
        engine.ledger.note("Kronecker det")
        a, b = factors
        return [(linalg.det(a), b.shape[0]), (linalg.det(b), a.shape[0])]
    if not isinstance(m, Lambda):
        return None
    poly = polynomial_of(m, engine.inverse_rules.alphabet)
    if not poly:
        parts = rank_one_parts(m)
        if parts is None:
            return None
        a, u, v = parts
        if not engine.may_invert(a):
            engine.ledger.miss("det lemma")
            return None
        engine.ledger.note("det lemma")
        return [(linalg.det(a), sp.S.One), (1 + linalg.dot(v, linalg.inv(a) @ u), sp.S.One)]
    alphabet = engine.inverse_rules.alphabet
    if len(poly) == 1:
        return _of_word(engine, *next(iter(poly.items())), alphabet, size, m)
    if all(_is_diagonal(w, alphabet) for w in poly):
        engine.ledger.note("det of a diagonal")
        return [(prod(linalg.diag(m)), sp.S.One)]
    return _of_sum(engine, poly, alphabet, size, m)


def _is_diagonal(word: Word, alphabet: Alphabet) -> bool:
    return all(alphabet.letters[name].diagonal for name, _ in word)


def _constant(c: sp.Expr) -> Tensor:
    return Lambda((), (), (Term((), c),))


def _of_word(
    engine: Engine, word: Word, c: sp.Expr, alphabet: Alphabet, size: Size, m: Lambda
) -> list[tuple[Tensor, sp.Expr]] | None:
    found: list[tuple[Tensor, sp.Expr]] = []
    if c != 1:
        engine.ledger.note("det of a multiple")
        found.append((_constant(c), size))
    if _is_diagonal(word, alphabet):
        if not word:
            return found or [(_constant(sp.S.One), sp.S.One)]
        engine.ledger.note("det of a diagonal")
        (name, _), *_rest = word
        (i,) = free_indices(1)
        entries = Lambda((size,), (i,), (Term((), alphabet.letters[name].expr.xreplace({P: i})),))
        return [*found, (prod(entries), sp.S.One)]
    if all(alphabet.is_square(letter) for letter in word):
        if len(word) == 1 and not found and not word[0][1]:
            return None
        engine.ledger.note("det of a product" if len(word) > 1 else "det of a transpose")
        return [*found, *((_det_of(alphabet, name), sp.S.One) for name, _ in word)]
    if not found:
        return None
    return [*found, (_built(alphabet, {word: sp.S.One}, size), sp.S.One)]


def _det_of(alphabet: Alphabet, name: str) -> Tensor:
    return linalg.det(alphabet.tensor_of((name, False)))


def _built(alphabet: Alphabet, poly: Polynomial, size: Size) -> Tensor:
    i, j = fresh(2)
    terms = []
    for word, c in poly.items():
        term = alphabet.write(word, i, j)
        terms.append(Term(term.bound, c * term.expr))
    return linalg.det(Lambda((size, size), (i, j), tuple(terms)))


# -- sums -----------------------------------------------------------------------------------------
def _of_sum(
    engine: Engine, poly: Polynomial, alphabet: Alphabet, size: Size, m: Lambda
) -> list[tuple[Tensor, sp.Expr]] | None:
    """Move a sum to the smallest form that the moves reach; what was divided out stands beside it."""
    scale = poly.get((), sp.S.One)
    if not is_generic(scale):
        return None
    if scale != 1:
        engine.ledger.note("det of a multiple")
        poly = {w: sp.cancel(c / scale) for w, c in poly.items()}
    start = tuple(sorted(poly.items()))
    best: dict[tuple[tuple[Word, sp.Expr], ...], tuple[dict[str, int], Size]] = {start: ({}, size)}
    todo = [start]
    rules = engine.inverse_rules
    for word in poly:
        rules.meet(word)
    while todo and len(best) < _MOST_FORMS:
        form = todo.pop(0)
        outside, rows = best[form]
        for new, letter, sign, new_rows in _moves(dict(form), alphabet, rows):
            reduced = rules.reduce(new)
            key = tuple(sorted(reduced.items(), key=lambda item: item[0]))
            if key in best or not key:
                continue
            changed = dict(outside)
            if letter is not None:
                changed[letter] = changed.get(letter, 0) + sign
            best[key] = (changed, new_rows)
            todo.append(key)
    chosen = min(best, key=lambda form: _weight(form, alphabet))
    if chosen == start and scale == 1:
        return None
    outside, rows = best[chosen]
    engine.ledger.note("det lemma" if any(outside.values()) else "Sylvester")
    return [
        *([(_constant(scale), size)] if scale != 1 else []),
        (_built(alphabet, dict(chosen), rows), sp.S.One),
        *((_det_of(alphabet, name), sp.Integer(e)) for name, e in sorted(outside.items()) if e),
    ]


def _weight(form: tuple[tuple[Word, sp.Expr], ...], alphabet: Alphabet) -> tuple[int, int, str]:
    inverses = sum(
        inverse_operand(alphabet.letters[name]) is not None for word, _ in form for name, _ in word
    )
    return inverses, sum(len(word) for word, _ in form), str(form)


def _moves(
    poly: Polynomial, alphabet: Alphabet, rows: Size
) -> list[tuple[Polynomial, str | None, int, Size]]:
    """Return what one move makes of a sum: the new sum, a letter divided out, its exponent, the new size."""
    moves: list[tuple[Polynomial, str | None, int, Size]] = []
    moves.append(({alphabet.turned(w): c for w, c in poly.items()}, None, 0, rows))
    identity = poly.get((), None)
    others = [w for w in poly if w]
    if identity is not None and others and identity == 1:
        first = {w[0] for w in others}
        if len(first) == 1 and all(len(w) > 1 for w in others):
            letter = next(iter(first))
            size = alphabet.rows(others[0][1])
            moves.append(({(): sp.S.One, **{(*w[1:], letter): poly[w] for w in others}}, None, 0, size))
    # multiply by a letter whose inverse leads or ends a word
    for word in others:
        for name, flip in {word[0], word[-1]}:
            operand = inverse_operand(alphabet.letters[name])
            if operand is None:
                continue
            inner = polynomial_of(operand, alphabet)
            if inner is None or len(inner) != 1:
                continue
            (factor, c), *_ = inner.items()
            if len(factor) != 1 or c != 1 or alphabet.letters[factor[0][0]].diagonal:
                continue
            if flip != (alphabet.letters[name].expr.indices[0].name != "_p"):
                factor = alphabet.turned(factor)
            ahead = word[0][0] == name
            moved = {(factor + w if ahead else w + factor): v for w, v in poly.items()}
            moves.append((moved, factor[0][0], -1, rows))
    return moves
