r"""Words: chains of matrices read off a summand, with which noncommutative identities are worked out.

A summand is a graph: indices are nodes, factors with two indices are edges, factors with one are weights of
a node.  A path through summed nodes that touch nothing else is a product of matrices, the word of its
letters; a weight on the way is a diagonal matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import sympy as sp

from lemmax.calculus.rewriting.atoms import split_exponentials
from lemmax.calculus.rewriting.dummies import text_of
from lemmax.calculus.terms import split_factors
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor

P, Q = sp.Symbol("_p", integer=True), sp.Symbol("_q", integer=True)

Letter: TypeAlias = tuple[str, bool]
"""Name of a letter, and whether it is transposed."""

Word: TypeAlias = tuple[Letter, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a letter stands for.

    Attributes:
        expr: the entry at (P, Q); for a diagonal matrix the diagonal entry at P.
        rows: number of rows.
        columns: number of columns.
        diagonal: is it a diagonal matrix given by its diagonal?
    """

    expr: sp.Expr
    rows: Size
    columns: Size
    diagonal: bool = False

    @property
    def tensor(self) -> Tensor | None:
        """The tensor, if the letter is one tensor with two axes, all of it."""
        e = self.expr
        if self.diagonal or not isinstance(e, sp.Indexed) or e.indices not in ((P, Q), (Q, P)):
            return None
        t: Tensor = e.base.label.tensor
        sizes = (self.rows, self.columns) if e.indices == (P, Q) else (self.columns, self.rows)
        return t if all(map(same_size, t.shape, sizes)) else None


class Alphabet:
    """Letters by name."""

    def __init__(self) -> None:
        """Start empty."""
        self.letters: dict[str, Matrix] = {}
        self.symmetric: set[str] = set()

    def edge(self, expr: sp.Expr, i: sp.Symbol, j: sp.Symbol, ranges: Mapping[sp.Symbol, Size]) -> Letter:
        """Return the letter of a factor between two indices, read from i to j."""
        # a slice of a matrix is another matrix: the sizes are part of the name
        texts = [
            f"{text_of(expr, {i: '<P>', j: '<Q>'})}|{ranges[i]}|{ranges[j]}",
            f"{text_of(expr, {i: '<Q>', j: '<P>'})}|{ranges[j]}|{ranges[i]}",
        ]
        name = min(texts)
        if name not in self.letters:
            ahead = name == texts[0]
            swap = {i: P, j: Q} if ahead else {i: Q, j: P}
            sizes = (ranges[i], ranges[j]) if ahead else (ranges[j], ranges[i])
            self.letters[name] = Matrix(expr.xreplace(swap), *sizes)
            if texts[0] == texts[1]:
                self.symmetric.add(name)
        return name, name != texts[0]

    def weight(self, expr: sp.Expr, i: sp.Symbol, ranges: Mapping[sp.Symbol, Size]) -> Letter:
        """Return the letter of a diagonal matrix."""
        name = f"diag {text_of(expr, {i: '<P>'})}|{ranges[i]}"
        self.letters.setdefault(name, Matrix(expr.xreplace({i: P}), ranges[i], ranges[i], diagonal=True))
        self.symmetric.add(name)
        return name, False

    def turned(self, word: Word) -> Word:
        """Return the transpose of a word."""
        return tuple((name, not flip and name not in self.symmetric) for name, flip in reversed(word))

    def rows(self, letter: Letter) -> Size:
        """Return the number of rows of a letter."""
        matrix = self.letters[letter[0]]
        return matrix.columns if letter[1] else matrix.rows

    def is_square(self, letter: Letter) -> bool:
        """Has the letter as many rows as columns?"""
        matrix = self.letters[letter[0]]
        return bool(sp.expand(matrix.rows - matrix.columns) == 0)

    def write(self, word: Word, i: sp.Symbol, j: sp.Symbol) -> Term:
        """Return a word as a summand between two indices; the empty word is a Kronecker delta."""
        edges = [p for p, (name, _) in enumerate(word) if not self.letters[name].diagonal]
        inner = fresh(max(len(edges) - 1, 0))
        nodes = [i, *inner, j] if edges else [i, j]
        bound: list[tuple[sp.Symbol, Size]] = []
        factors: list[sp.Expr] = [] if edges else [sp.KroneckerDelta(i, j)]
        at = 0
        for name, flip in word:
            matrix = self.letters[name]
            if matrix.diagonal:
                factors.append(matrix.expr.xreplace({P: nodes[at]}))
                continue
            a, b = nodes[at], nodes[at + 1]
            factors.append(matrix.expr.xreplace({P: b, Q: a} if flip else {P: a, Q: b}))
            at += 1
            if at < len(edges):
                bound.append((b, matrix.rows if flip else matrix.columns))
        return Term(tuple(bound), sp.Mul(*factors))

    def tensor_of(self, letter: Letter, transposed: bool = False) -> Tensor:
        """Return a letter as a tensor with two axes."""
        matrix = self.letters[letter[0]]
        i, j = fresh(2)
        term = self.write((letter,), i, j)
        rows, columns = (matrix.columns, matrix.rows) if letter[1] else (matrix.rows, matrix.columns)
        if matrix.diagonal:
            term = Term((), sp.KroneckerDelta(i, j) * matrix.expr.xreplace({P: i}))
        if matrix.tensor is not None and not letter[1] and matrix.expr.indices == (P, Q):
            return matrix.tensor
        return Lambda((rows, columns), (i, j), (term,))


Edge: TypeAlias = tuple[sp.Symbol, sp.Symbol, sp.Expr]


@dataclass
class Graph:
    """A summand as a graph.

    Attributes:
        coefficient: factors without indices.
        edges: factors with two indices, with these.
        weights: factors by their one index.
        others: factors with three and more indices.
        bound: summed indices with their sizes.
    """

    coefficient: list[sp.Expr] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    weights: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)
    others: list[sp.Expr] = field(default_factory=list)
    bound: dict[sp.Symbol, Size] = field(default_factory=dict)

    def at(self, node: sp.Symbol) -> list[int]:
        """Return the numbers of the edges at a node."""
        return [p for p, (i, j, _) in enumerate(self.edges) if node in (i, j)]

    def passes(self, node: sp.Symbol) -> bool:
        """Is the node summed, with exactly two edges and nothing else but weights?"""
        return (
            node in self.bound
            and len(self.at(node)) == 2
            and not any(node in f.free_symbols for f in self.others)
        )

    def join_parallel(self) -> None:
        """Join edges between the same nodes (a Hadamard product), unless a chain runs there and back."""
        groups: dict[tuple[sp.Symbol, sp.Symbol], list[sp.Expr]] = {}
        for i, j, expr in self.edges:
            groups.setdefault((i, j), []).append(expr)
        joined: list[Edge] = []
        for (i, j), exprs in groups.items():
            if len(exprs) == 2 and (self.passes(i) or self.passes(j)):
                joined += [(i, j, e) for e in exprs]
            else:
                joined.append((i, j, sp.Mul(*exprs)))
        self.edges = joined


def graph_of(term: Term) -> Graph:
    """Return a summand as a graph."""
    graph = Graph(bound=dict(term.bound))
    coefficient, factors = split_factors(term.expr)
    graph.coefficient.append(coefficient)
    for factor in split_exponentials(sp.Mul(*factors)):
        own = sorted((s for s in factor.free_symbols if is_index(s)), key=str)
        if not own:
            graph.coefficient.append(factor)
        elif len(own) == 1:
            graph.weights[own[0]] = graph.weights.get(own[0], sp.S.One) * factor
        elif len(own) == 2:
            graph.edges.append((own[0], own[1], factor))
        else:
            graph.others.append(factor)
    graph.join_parallel()
    return graph


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of matrices in a graph.

    Attributes:
        word: its letters.
        start: index at which it starts.
        end: index at which it ends; the same as ``start`` for a cycle.
        nodes: the indices in between (for a cycle: with the start).
        edges: the numbers of its edges.
    """

    word: Word
    start: sp.Symbol
    end: sp.Symbol
    nodes: tuple[sp.Symbol, ...]
    edges: tuple[int, ...]

    @property
    def cycle(self) -> bool:
        """Is it closed, through summed indices alone?"""
        return self.start in self.nodes


def path_through(graph: Graph, first: int, alphabet: Alphabet, ranges: Mapping[sp.Symbol, Size]) -> Path:
    """Return the longest chain through an edge; a cycle starts at that edge."""
    walk = [*graph.edges[first][:2]]
    used = [first]
    for _ in range(2):  # extend at the end, turn, extend at the other end
        while graph.passes(walk[-1]) and not (len(walk) > 2 and walk[-1] == walk[0]):
            onward = next((e for e in graph.at(walk[-1]) if e not in used), None)
            if onward is None:
                break
            i, j, _expr = graph.edges[onward]
            used.append(onward)
            walk.append(i if j == walk[-1] else j)
        if len(walk) > 2 and walk[-1] == walk[0]:
            break
        walk.reverse()
        used.reverse()
    closed = len(walk) > 2 and walk[-1] == walk[0] and graph.passes(walk[0])
    inner = tuple(walk[:-1]) if closed else tuple(walk[1:-1])
    word: list[Letter] = []
    for a, b, e in zip(walk, walk[1:], used, strict=False):
        if a in inner and a in graph.weights:
            word.append(alphabet.weight(graph.weights[a], a, ranges))
        word.append(alphabet.edge(graph.edges[e][2], a, b, ranges))
    return Path(tuple(word), walk[0], walk[-1], inner, tuple(used))


def without_path(graph: Graph, path: Path) -> Term:
    """Return what is left of a summand when a chain is taken out."""
    inner = set(path.nodes)
    factors = [
        *graph.coefficient,
        *(f for p, (_, _, f) in enumerate(graph.edges) if p not in path.edges),
        *(f for i, f in graph.weights.items() if i not in inner),
        *graph.others,
    ]
    bound = tuple((i, s) for i, s in graph.bound.items() if i not in inner)
    return Term(bound, sp.Mul(*factors))


def inverse_operand(matrix: Matrix, others: bool = False) -> Tensor | None:
    """Return M if the letter is the inverse of M (if others are asked for: its pseudo-inverse, a power)."""
    t = matrix.tensor
    wanted = ("inv", "pinv", "matrix_power") if others else ("inv",)
    return t.operands[0] if isinstance(t, Apply) and t.function in wanted else None
