r"""Inverses: :math:`M^{-1} W_1 = (I - \sum_{r>1} c_r M^{-1} W_r) / c_1` for :math:`M = \sum_r c_r W_r`.

The same holds from the right.  Pseudo-inverses give the four equations of Penrose (1955), at any rank.

Each inverse gives such rules on words, oriented so that the longest word goes; what follows from two rules by
overlapping them is added on demand (a bounded Buchberger procedure in a free algebra, after Mora 1986).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import sympy as sp

from lemmax.calculus.rewriting.conditions import is_generic
from lemmax.calculus.rewriting.dummies import text_of
from lemmax.calculus.rewriting.projections import canonical
from lemmax.calculus.rewriting.records import TooLarge
from lemmax.calculus.rewriting.words import (
    Alphabet,
    Graph,
    Letter,
    Path,
    Word,
    graph_of,
    inverse_operand,
    path_through,
    without_path,
)
from lemmax.calculus.terms import has_indices
from lemmax.expr.indices import fresh
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.engine import Engine, Ranges

Polynomial: TypeAlias = dict[Word, sp.Expr]
_LONGEST = 8
_MOST_OVERLAPS = 60
_MOST_RULES = 40
_MOST_WORDS = 200
_LONGEST_COEFFICIENT = 16  # summands


def polynomial_of(t: Tensor, alphabet: Alphabet) -> Polynomial | None:
    """Return a matrix as a sum of words, or ``None`` if a summand is no product of matrices."""
    if t.ndim != 2:
        return None
    if not isinstance(t, Lambda):
        i, j = fresh(2)
        return {(alphabet.edge(t.entry(i, j), i, j, {i: t.shape[0], j: t.shape[1]}),): sp.S.One}
    i, j = t.indices
    free = dict(zip(t.indices, t.shape, strict=True))
    total: Polynomial = {}
    for term in t.terms:
        word = _word_between(term, i, j, free, alphabet)
        if word is None:
            return None
        total[word[0]] = total.get(word[0], sp.S.Zero) + word[1]
    return total


def only_word(poly: Polynomial | None) -> tuple[Word, sp.Expr] | None:
    """Return the word and the coefficient of a matrix that is one product, else ``None``."""
    return next(iter(poly.items())) if poly is not None and len(poly) == 1 else None


def _word_between(
    term: Term, i: sp.Symbol, j: sp.Symbol, free: dict[sp.Symbol, Size], alphabet: Alphabet
) -> tuple[Word, sp.Expr] | None:
    ranges = {**free, **dict(term.bound)}
    delta = sp.KroneckerDelta(i, j)
    factors = sp.Mul.make_args(term.expr)
    if delta in factors:
        rest = sp.Mul(*[f for f in factors if f != delta])
        graph = graph_of(Term(term.bound, rest))
        if graph.bound or graph.edges or graph.others or set(graph.weights) - {i, j}:
            return None
        if j in graph.weights:
            graph.weights[i] = graph.weights.get(i, sp.S.One) * graph.weights[j].xreplace({j: i})
        word = (alphabet.weight(graph.weights[i], i, ranges),) if i in graph.weights else ()
        return word, sp.Mul(*graph.coefficient)
    graph = graph_of(term)
    if not graph.bound:
        if graph.others or len(graph.edges) != 1 or graph.weights:
            return None
        return (alphabet.edge(graph.edges[0][2], i, j, ranges),), sp.Mul(*graph.coefficient)
    if not graph.at(i):
        return None
    path = path_through(graph, graph.at(i)[0], alphabet, ranges)
    rest = without_path(graph, path)
    if {path.start, path.end} != {i, j} or rest.bound or has_indices(rest.expr):
        return None
    return (path.word if path.start == i else alphabet.turned(path.word)), rest.expr


class InverseRules:
    """Rules on words for all inverses that have been met.

    Attributes:
        alphabet: the letters.
        rules: leading word with what it is replaced by.
        projections: products of a matrix and its pseudo-inverse, both ways to write them with the chosen one.
    """

    def __init__(self) -> None:
        """Start without rules."""
        self.alphabet = Alphabet()
        self.rules: dict[Word, Polynomial] = {}
        self.projections: dict[Word, Word] = {}
        self._seen: set[str] = set()

    # -- rules ------------------------------------------------------------------------------------
    def meet(self, word: Word) -> bool:
        """Make rules for the inverses in a word; is there any inverse?"""
        found = False
        for name, _ in word:
            operand = inverse_operand(self.alphabet.letters[name], others=True)
            if operand is None:
                continue
            found = True
            if name in self._seen:
                continue
            self._seen.add(name)
            poly = polynomial_of(operand, self.alphabet)
            if poly is None:
                continue
            matrix = self.alphabet.letters[name]
            letter = (name, bool(matrix.expr.indices[0] != sp.Symbol("_p", integer=True)))
            if _is(matrix.expr, "pinv"):
                self._of_pseudo_inverse(letter, poly)
            elif _is(matrix.expr, "matrix_power"):
                only = only_word(poly)
                if only is not None and len(only[0]) == 1:  # a power stands before its matrix
                    self._store((*only[0], letter), {(letter, *only[0]): sp.S.One})
            else:
                self._of_inverse(letter, poly)
            for inner in list(poly):
                self.meet(inner)
        return found

    def _of_inverse(self, letter: Letter, poly: Polynomial) -> None:
        lead = self._leading(poly)
        if lead is None:
            return
        c = poly[lead]
        rest = {w: v for w, v in poly.items() if w != lead}
        for left, right in (((letter,), ()), ((), (letter,))):
            tail: Polynomial = {(): 1 / c}
            for w, v in rest.items():
                _add(tail, left + w + right, -v / c)
            self._store(left + lead + right, tail)

    def _of_pseudo_inverse(self, letter: Letter, poly: Polynomial) -> None:
        r"""Add :math:`A A^+ A = A`, :math:`A^+ A A^+ = A^+` and that both products are symmetric."""
        only = only_word(poly)
        if only is None or not only[0]:
            return
        word, c = only
        own, turn = (letter,), self.alphabet.turned
        for a, b in ((word, own), (own, word)):
            self._store(a + b + a, {a: 1 / c})
            self._store(turn(a) + a + b, {turn(a): 1 / c})
            self._store(b + turn(b) + turn(a), {b: 1 / c})
            if len(word) == 1:
                self.projections |= {a + b: a + b, turn(b) + turn(a): a + b}

    def _leading(self, poly: Polynomial) -> Word | None:
        # what is divided by must not vanish identically
        numbers = [w for w in poly if poly[w].is_Rational and w]
        candidates = numbers or [w for w in poly if w and is_generic(poly[w])]
        return max(candidates, key=_size) if candidates else None

    def _store(self, lead: Word, tail: Polynomial) -> bool:
        new = False
        turn = self.alphabet.turned
        if turn(lead) in tail:  # a symmetric product: as a rule it would lead back; see projections
            return False
        for word, rest in ((lead, tail), (turn(lead), {turn(w): c for w, c in tail.items()})):
            if word not in self.rules and len(self.rules) < _MOST_RULES:
                self.rules[word] = rest
                new = True
        return new

    # -- reduction -----------------------------------------------------------------------------------
    def reduce(self, poly: Polynomial) -> Polynomial:
        """Replace leading words until none is left."""
        done: Polynomial = {}
        todo = dict(poly)
        for _ in range(400):
            if not todo:
                return done
            word, c = todo.popitem()
            step = self._step(word)
            if step is None:
                _add(done, word, c)
                continue
            left, tail, right = step
            for w, v in tail.items():
                _add(todo, left + w + right, _bounded(sp.expand(c * v)))
            if len(todo) + len(done) > _MOST_WORDS:
                raise TooLarge
        for w, c in todo.items():
            _add(done, w, c)
        return done

    def _step(self, word: Word) -> tuple[Word, Polynomial, Word] | None:
        for length in range(min(len(word), _LONGEST), 1, -1):
            for at in range(len(word) - length + 1):
                tail = self.rules.get(word[at : at + length])
                if tail is not None:
                    return word[:at], tail, word[at + length :]
        return None

    def changes(self, word: Word) -> bool:
        """Does a rule apply to the word?"""
        return self._step(word) is not None

    # -- completion -------------------------------------------------------------------------------------
    def complete(self) -> Iterator[None]:
        """Add what follows from overlaps of rules, shortest first, within bounds; pauses after additions."""
        done: set[tuple[Word, Word, int]] = set()
        while len(done) < _MOST_OVERLAPS:
            pairs = [p for p in self._overlaps() if p not in done]
            if not pairs:
                break
            a, b, k = min(pairs, key=lambda p: (len(p[0]) + len(p[1]) - p[2], p))
            done.add((a, b, k))
            total: Polynomial = {}
            for w, c in self.rules[a].items():
                _add(total, w + b[k:], c)
            for w, c in self.rules[b].items():
                _add(total, a[: len(a) - k] + w, -c)
            rest = self.reduce(total)
            lead = self._leading(rest)
            if lead is None or len(lead) > _LONGEST or len(rest) > 8:
                continue
            c = rest.pop(lead)
            if self._store(lead, {w: sp.cancel(-v / c) for w, v in rest.items()}):
                yield

    def _overlaps(self) -> list[tuple[Word, Word, int]]:
        return [
            (a, b, k)
            for a in self.rules
            for b in self.rules
            for k in range(1, min(len(a), len(b)))
            if a[len(a) - k :] == b[:k] and len(a) + len(b) - k <= _LONGEST
        ]


def _add(total: Polynomial, word: Word, c: sp.Expr) -> None:
    value = total.get(word, sp.S.Zero) + c
    value = value if value.is_number else sp.expand(value)
    if value == 0:
        total.pop(word, None)
    else:
        total[word] = value


def _bounded(c: sp.Expr) -> sp.Expr:
    if len(sp.Add.make_args(c)) > _LONGEST_COEFFICIENT:
        raise TooLarge
    return c


def _size(word: Word) -> tuple[int, Word]:
    return len(word), word


_LETTERS = {"inv": "inverse", "pinv": "pseudo-inverse", "matrix_power": "power of a matrix"}
"""Functions whose values are letters with rules, and the identity that the rules come from."""


def _is(expr: sp.Expr, function: str) -> bool:
    """Is an entry that of a function's value?"""
    return isinstance(t := expr.base.label.tensor, Apply) and t.function == function


def contract_inverses(engine: Engine, term: Term, free: Ranges) -> list[Term] | None:
    """Apply the rules of inverses to the chains of a summand."""
    inverses = [
        e
        for e in term.expr.atoms(sp.Indexed)
        if isinstance(t := e.base.label.tensor, Apply) and t.function in _LETTERS and t.ndim == 2
    ]
    if not inverses:
        return None
    rules = engine.inverse_rules
    graph = graph_of(term)
    ranges = {**free, **dict(term.bound)}
    tried: set[int] = set()
    for edge, (_, _, factor) in enumerate(graph.edges):
        if edge in tried or factor not in inverses:
            continue
        path = path_through(graph, edge, rules.alphabet, ranges)
        tried.update(path.edges)
        if not rules.meet(path.word):
            continue
        for turn in range(len(path.word) if path.cycle else 1):
            turned = path.word[turn:] + path.word[:turn]
            if rules.changes(turned):
                for function, note in _LETTERS.items():
                    if any(_is(e, function) for e in inverses):
                        many = function == "inv" and len(rules.rules) > 4
                        engine.ledger.note("inverse of a sum" if many else note)
                rest = without_path(graph, path)
                return _written(rules, rules.reduce({turned: sp.S.One}), path, turned, rest)
        ends = _ends(graph, path, free)
        found = canonical(path, rules.projections, rules.alphabet, ends)
        if found is not None:
            back, word = found
            engine.ledger.note("pseudo-inverse")
            read = replace(path, start=path.end, end=path.start) if back else path
            return _written(rules, {word: sp.S.One}, read, word, without_path(graph, path))
    return None


def _ends(graph: Graph, path: Path, free: Ranges) -> tuple[str, str] | None:
    """Return texts that tell the ends of a chain apart: free indices, or weights of summed ones."""
    texts = []
    for node in (path.start, path.end):
        if node not in free and (node not in graph.weights or len(graph.at(node)) > 1):
            return None
        texts.append(str(node) if node in free else text_of(graph.weights[node], {node: "<P>"}))
    return texts[0], texts[1]


def _written(rules: InverseRules, poly: Polynomial, path: Path, word: Word, rest: Term) -> list[Term]:
    result = []
    for w, c in sorted(poly.items(), key=lambda item: _size(item[0])):
        start, end, bound = path.start, path.end, rest.bound
        if path.cycle:
            (start,) = fresh(1)
            end, bound = start, (*bound, (start, rules.alphabet.rows(word[0])))
        inner = rules.alphabet.write(w, start, end)
        result.append(Term(bound + inner.bound, rest.expr * c * inner.expr))
    return result
