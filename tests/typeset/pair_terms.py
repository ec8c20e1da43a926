"""Random sums of products with three or four free indices, and how one reads the text of their matrix."""

from __future__ import annotations

import random

import sympy as sp

import lemmax as lx
from lemmax.expr.nodes import Lambda
from lemmax.expr.tensor import Tensor
from lemmax.typeset.latex import Formula
from tests.typeset.random_terms import FAMILY, Graph, arbitrary, random_term


def between_pairs(rng: random.Random, free: int) -> tuple[Graph, list[sp.Symbol]]:
    """Start from a few edges between terminals; subdivide, double, hang on."""
    g = Graph(rng)
    terminals = [g.new() for _ in range(free)]
    possible = [(u, w) for p, u in enumerate(terminals) for w in terminals[p + 1 :]]
    edges = rng.sample(possible, rng.choice([0, 1, 1, 2, 2, 2, 3]))
    nodes = list(terminals)
    for _ in range(rng.randint(0, 4)):
        kind = rng.choice("SSPH")
        if kind == "H" or not edges:
            leaf = g.new()
            edges.append((rng.choice(nodes), leaf))
            nodes.append(leaf)
        elif kind == "S":
            edge = rng.choice(edges)
            middle = g.new()
            nodes.append(middle)
            edges.remove(edge)
            edges += [(edge[0], middle), (middle, edge[1])]
        else:
            edges.append(rng.choice(edges))
    g.factors = [tuple(rng.sample(e, 2)) for e in edges]
    g.factors += [(rng.choice(nodes),) for _ in range(rng.randint(0, 3))]
    loose = [t for t in terminals if not any(t in f for f in g.factors)]
    g.factors += [(t,) for t in loose if rng.random() < 0.8]
    return g, terminals


def random_pairs(seed: int, planar: bool, terms: int = 1) -> tuple[Tensor, int]:
    """Return a sum of random products over three or four axes, and how many of them are rows."""
    rng = random.Random(seed)
    count = rng.choice([3, 4, 4, 4])
    g, free = (between_pairs if planar else arbitrary)(rng, count)
    i, h = sp.symbols("fi fh", integer=True)
    lead = [h] if rng.random() < 0.2 else []
    found = [random_term(rng, g, [*free, *lead], [i, h]) for _ in range(terms)]
    rows = 2 if count == 4 else rng.choice([1, 2])
    shape = (*[FAMILY for _ in lead], *[g.sizes[u] for u in free])
    at = rows + len(lead) if rows == 2 else rows
    indices = (*lead, *free)
    if lead and rows == 1:  # a family before a single row has no place of its own
        indices, shape = (*free[:1], *lead, *free[1:]), (shape[1], FAMILY, *shape[2:])
    return Lambda(shape, indices, tuple(found)), at


def as_matrix(t: Tensor, formula: Formula) -> tuple[Tensor, list[str] | None]:
    """Return the matrix that the text of a tensor stands for, and the letters of its leading axes."""
    assert formula.layout is not None
    single = [p for p in range(t.ndim) if p not in formula.layout.axes and t.shape[p] == 1]
    fixed = [p for p in range(t.ndim) if p not in formula.layout.axes and t.shape[p] != 1]
    moved = lx.permute(t, (*single, *fixed, *formula.layout.axes))[(0,) * len(single)]
    groups = [(p,) for p in range(len(fixed))]
    for axes in (formula.layout.rows, formula.layout.columns):
        start = sum(map(len, groups))
        groups += [tuple(range(start, start + len(axes)))] if axes else []
    letters = [formula.scope.at[i] for p in fixed if (i := formula.slots[p]) is not None]
    return lx.merge(moved, *groups), letters or None
