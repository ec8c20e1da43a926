"""Random sums of products: graphs of indices, built series-parallel or at random."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import sympy as sp

import lemmax as lx
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.tensor import Tensor

FAMILY = lx.size("F")
SIZES = lx.sizes("p q r")


@dataclass
class Graph:
    """Indices with sizes, and factors as tuples of indices."""

    rng: random.Random
    sizes: dict[sp.Symbol, sp.Symbol] = field(default_factory=dict)
    factors: list[tuple[sp.Symbol, ...]] = field(default_factory=list)

    def new(self, size: sp.Symbol | None = None) -> sp.Symbol:
        index = sp.Symbol(f"u{len(self.sizes)}", integer=True)
        self.sizes[index] = size if size is not None else self.rng.choice(SIZES)
        return index


def series_parallel(rng: random.Random, free: int) -> tuple[Graph, list[sp.Symbol]]:
    """Start from an edge between the free indices; subdivide, double, hang on."""
    g = Graph(rng)
    terminals = [g.new() for _ in range(free)]
    u, w = (*terminals, g.new(), g.new())[:2]
    edges = [(u, w)]
    nodes = [u, w]
    for _ in range(rng.randint(0, 6)):
        edge = rng.choice(edges)
        kind = rng.choice("SSSPH")
        if kind == "S":
            middle = g.new()
            nodes.append(middle)
            edges.remove(edge)
            edges += [(edge[0], middle), (middle, edge[1])]
        elif kind == "P":
            edges.append(edge)
        else:
            leaf = g.new()
            edges.append((rng.choice(nodes), leaf))
            nodes.append(leaf)
    g.factors = [tuple(rng.sample(e, 2)) for e in edges] + [
        (rng.choice(nodes),) for _ in range(rng.randint(0, 2))
    ]
    return g, terminals


def arbitrary(rng: random.Random, free: int) -> tuple[Graph, list[sp.Symbol]]:
    g = Graph(rng)
    terminals = [g.new() for _ in range(free)]
    nodes = terminals + [g.new() for _ in range(rng.randint(2, 5))]
    count = rng.randint(len(nodes) - 1, 2 * len(nodes) - 2)
    g.factors = [tuple(rng.sample(nodes, 2)) for _ in range(count)]
    if rng.random() < 0.15 and len(nodes) > 2:
        g.factors.append(tuple(rng.sample(nodes, 3)))
    g.factors += [(u, u) for u in nodes if rng.random() < 0.05]
    g.factors += [(rng.choice(nodes),) for _ in range(rng.randint(0, 1))]
    return g, terminals


def random_term(rng: random.Random, g: Graph, free: list[sp.Symbol], families: list[sp.Symbol]) -> Term:
    """Put tensors on the factors of a graph; some carry family axes, some are functions of entries."""
    expr: sp.Expr = sp.Rational(rng.choice([1, -1, 2, 3]), rng.choice([1, 2])) * sp.sqrt(
        SIZES[1]
    ) ** rng.choice([0, 0, -1])
    for factor in g.factors:
        sizes = [g.sizes[u] for u in factor]
        if len(factor) == 2 and factor[0] != factor[1] and sizes[0] == sizes[1] and rng.random() < 0.04:
            expr *= sp.KroneckerDelta(*factor)
            continue
        lead = [f for f in families if rng.random() < 0.25]
        # few names: equal factors are common
        name = f"T{''.join(map(str, [FAMILY] * len(lead) + sizes))}{rng.choice('ab')}"
        t = lx.tensor(name, *[FAMILY] * len(lead), *sizes)
        entry = t.entry(*lead, *factor)
        expr *= sp.exp(entry / 2) if rng.random() < 0.06 else entry
    used = expr.free_symbols
    bound = [u for u in g.sizes if u not in free] + [f for f in families if f in used and f not in free]
    return Term(tuple((u, g.sizes.get(u, FAMILY)) for u in bound), expr)


def random_tensor(seed: int, planar: bool, terms: int = 1) -> Tensor:
    """Return a sum of random products; all share one graph, factors differ."""
    rng = random.Random(seed)
    count = rng.choice([0, 1, 2, 2])
    g, free = (series_parallel if planar else arbitrary)(rng, count)
    i, h = sp.symbols("fi fh", integer=True)
    lead = [h] if rng.random() < 0.3 else []
    found = [random_term(rng, g, [*free, *lead], [i, h]) for _ in range(terms)]
    shape = (*[FAMILY for _ in lead], *[g.sizes[u] for u in free])
    return Lambda(shape, (*lead, *free), tuple(found))
