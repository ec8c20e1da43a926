r"""The engine: writes a tensor out as a sum of products, bottom-up, and applies identities on the way.

Two tensors with the same result are equal for all sizes and all values for which both are defined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from lemmax.calculus.rewriting.applied import rewrite_apply
from lemmax.calculus.rewriting.atoms import atomise
from lemmax.calculus.rewriting.conditions import is_invertible_in_general
from lemmax.calculus.rewriting.content import prime_powers
from lemmax.calculus.rewriting.dummies import collect, is_entry
from lemmax.calculus.rewriting.inverses import InverseRules
from lemmax.calculus.rewriting.local import RULES, diagonal_entries, piece_of_concat
from lemmax.calculus.rewriting.merged import open_merged
from lemmax.calculus.rewriting.records import Ledger, TooLarge
from lemmax.calculus.rewriting.scalars import Domain, rewrite_function
from lemmax.calculus.terms import contract_deltas, entry_tensor, has_entries, indices_of, open_lambda
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.rules.definitions import DEFINITIONS

Ranges = Mapping[sp.Symbol, Size]


class Engine:
    """One run of rewriting, with what it has found out so far.

    Attributes:
        ledger: the identities used.
        domain: what is known of signs.
        known: normal forms by digest.
        inverted: digests of matrices whose inverse occurs in what is to be proved.
        least: symbolic part of an exponent of a matrix to the least number that is added to it there.
    """

    most_terms = 4000
    most_steps = 6000
    largest_range = 0  # sums over numbers up to this are written out

    def __init__(self, positive: frozenset[str] = frozenset(), ledger: Ledger | None = None) -> None:
        """Start with nothing but signs that are known."""
        self.ledger = ledger or Ledger()
        self.domain = Domain(positive, self.ledger)
        self.known: dict[str, Tensor] = {}
        self.made: dict[str, Lambda] = {}
        self.inverse_rules = InverseRules()
        self.inverted: set[str] = set()
        self.least: dict[sp.Expr, int] = {}
        self._flat: dict[tuple[sp.Expr, tuple[tuple[sp.Symbol, Size], ...]], sp.Expr] = {}
        self._steps = 0

    def tick(self, terms: int = 0) -> None:
        """Count a step.

        Raises:
            TooLarge: there were too many, or there are too many summands.
        """
        self._steps += 1
        if self._steps > self.most_steps or terms > self.most_terms:
            raise TooLarge

    def may_invert(self, m: Tensor) -> bool:
        """May an identity use the inverse of ``m``: does it occur, or is ``m`` invertible in general?"""
        return (
            m.digest in self.inverted or self.tensor(m).digest in self.inverted or is_invertible_in_general(m)
        )

    def rest(self) -> None:
        """Start counting steps anew."""
        self._steps = 0

    # -- tensors ---------------------------------------------------------------------------------
    def tensor(self, t: Tensor) -> Tensor:
        """Return the normal form of a tensor."""
        if t.digest in self.made:
            return t
        for node in topological_order(t, stop=lambda x: x.digest in self.known or x.digest in self.made):
            if node.digest not in self.known and node.digest not in self.made:
                self.known[node.digest] = new = self._node(node)
                self.known.setdefault(new.digest, new)
        return self.known[t.digest]

    def _node(self, node: Tensor) -> Tensor:
        if isinstance(node, Apply):
            bare = Apply(node.function, tuple(map(self.tensor, node.operands)), node.shape, node.params)
            define = DEFINITIONS.get(node.function)
            if node.function == "cofactors" and not self.may_invert(bare.operands[0]):
                define = None  # they are written with the inverse
            new = define(bare) if define is not None else rewrite_apply(self, bare)
            return bare if new is None else self.tensor(new)
        if not isinstance(node, Lambda):
            return node
        opened = open_merged(node, self.tensor)
        if opened is not None:
            self.ledger.note("merged axes")
        if isinstance(opened, Apply):
            inner = opened.operands[0]
            assert isinstance(inner, Lambda)
            return Apply("merge", (self._lambda(inner),), node.shape, opened.params)
        return self._lambda(opened if isinstance(opened, Lambda) else node)

    def _lambda(self, node: Lambda) -> Tensor:
        free = dict(zip(node.indices, node.shape, strict=True))
        terms = []
        for term in node.terms:
            for part in self.expand(term.expr, {**free, **dict(term.bound)}):
                terms.append(Term(term.bound + part.bound, part.expr))
            self.tick(len(terms))
        return without_wrapping(Lambda(node.shape, node.indices, collect(self.simplify(terms, free))))

    # -- bodies ------------------------------------------------------------------------------------
    def expand(self, expr: sp.Expr, ranges: Ranges, settled: bool = False) -> list[Term]:
        """Return a body as summands without sums: operands written out, products multiplied out.

        Args:
            expr: a body.
            ranges: the sizes of its indices.
            settled: whether functions in it are in normal form already.
        """
        self.tick()
        if isinstance(expr, sp.Add):
            return [t for part in expr.args for t in self.expand(part, ranges, settled)]
        if isinstance(expr, sp.Mul):
            return self._product([self.expand(f, ranges, settled) for f in expr.args])
        if not has_entries(expr):
            expr = prime_powers(expr)
            if isinstance(expr, sp.Pow | sp.Function) and not isinstance(expr, sp.KroneckerDelta):
                return [Term((), part) for part in sp.Add.make_args(sp.expand(expr))]
            return [Term((), expr)]
        if is_entry(expr):
            return self._entry(expr)
        if isinstance(expr, sp.Pow) and expr.exp.is_Integer and expr.exp > 0:
            inner = self.expand(expr.base, ranges, settled)
            if len(inner) == 1 and not inner[0].bound:
                return [Term((), inner[0].expr ** expr.exp)]
            again = [inner] + [[_apart(t) for t in inner] for _ in range(int(expr.exp) - 1)]
            return self._product(again)
        if settled:
            return [Term((), expr)]
        return self.expand(self._function(expr, ranges), ranges, settled=True)

    def _product(self, factors: Sequence[list[Term]]) -> list[Term]:
        result = [Term((), sp.S.One)]
        for terms in factors:
            self.tick(len(result) * len(terms))
            result = [Term(a.bound + b.bound, a.expr * b.expr) for a in result for b in terms]
        return result

    def _entry(self, expr: sp.Expr) -> list[Term]:
        t = entry_tensor(expr)
        assert t is not None
        t = self.tensor(t)
        at = indices_of(expr)
        if isinstance(t, Lambda):
            return open_lambda(t, at)
        piece = piece_of_concat(t, at)
        if piece is not None:
            return self._entry(piece)
        return [Term((), diagonal_entries(self, t, at))]

    def _function(self, expr: sp.Expr, ranges: Ranges) -> sp.Expr:
        if isinstance(expr, sp.Piecewise):
            self.domain.guarded += 1
            branches = [
                (self.flat(value, ranges), self._condition(condition, ranges))
                for value, condition in expr.args
            ]
            self.domain.guarded -= 1
            return sp.Piecewise(*branches)
        return rewrite_function(expr, tuple(self.flat(a, ranges) for a in expr.args), self.domain)

    def _condition(self, condition: sp.Basic, ranges: Ranges) -> sp.Basic:
        entries = [e for e in condition.atoms(sp.Indexed, sp.Symbol) if is_entry(e)]
        return condition.xreplace({e: self.flat(e, ranges) for e in entries})

    def flat(self, expr: sp.Expr, ranges: Ranges, settled: bool = False) -> sp.Expr:
        """Return a body without sums over indices: sums become entries of tensors of their own."""
        if not has_entries(expr):
            return expr
        own = tuple((i, ranges[i]) for i in sorted(expr.free_symbols, key=str) if is_index(i) and i in ranges)
        names = {i: _stand_in(i, expr) for i, _ in own if i.name.startswith("_k")}
        if names:  # a sum inside gets one of these names: it would capture what is free here
            back = {new: old for old, new in names.items()}
            inside = {**ranges, **{new: ranges[old] for old, new in names.items()}}
            return self.flat(expr.xreplace(names), inside, settled).xreplace(back)
        key = (expr, own)
        if key not in self._flat:
            terms = collect(self.simplify(self.expand(expr, ranges, settled), dict(own)))
            self._flat[key] = sp.Add(*[atomise(t, ranges, self.made) for t in terms])
        return self._flat[key]

    # -- summands ------------------------------------------------------------------------------------
    def simplify(self, terms: Sequence[Term], free: Ranges) -> list[Term]:
        """Apply the identities that look at one summand, until none applies."""
        done: list[Term] = []
        todo = list(reversed(terms))
        while todo:
            term = contract_deltas(todo.pop(), free)
            self.tick(len(done) + len(todo))
            if term.expr == 0:
                continue
            if self.largest_range and (written := self._written_out(term)) is not None:
                todo.extend(written)
                continue
            for rule in RULES:
                step = rule(self, term, free)
                if step is not None:
                    todo.extend(reversed(step))
                    break
            else:
                done.append(term)
        return done

    def _written_out(self, term: Term) -> list[Term] | None:
        for i, size in term.bound:
            if size.is_Integer and size <= self.largest_range:
                rest = tuple((k, s) for k, s in term.bound if k != i)
                return [Term(rest, term.expr.xreplace({i: sp.Integer(p)})) for p in range(int(size))]
        return None


def without_wrapping(node: Lambda) -> Tensor:
    """Return the tensor that the lambda merely repeats, if it does."""
    if len(node.terms) == 1 and not node.terms[0].bound and is_entry(node.terms[0].expr):
        t = entry_tensor(node.terms[0].expr)
        if t is not None and indices_of(node.terms[0].expr) == node.indices and t.shape == node.shape:
            return t
    return node


def _stand_in(index: sp.Symbol, expr: sp.Expr) -> sp.Symbol:
    """Return another name for a summed index; the same each time, for the cache."""
    name = sp.Symbol(f"_s{index.name}", integer=True)
    return fresh()[0] if name in expr.free_symbols else name


def _apart(term: Term) -> Term:
    new = fresh(len(term.bound))
    swap = {old: i for (old, _), i in zip(term.bound, new, strict=True)}
    return Term(tuple((i, s) for i, (_, s) in zip(new, term.bound, strict=True)), term.expr.xreplace(swap))
