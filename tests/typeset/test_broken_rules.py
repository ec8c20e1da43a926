"""The checks of values notice broken rules of the reduction and of the constructors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.tensor import Tensor
from lemmax.typeset import algebra, choice, factoring, graph, numeric
from lemmax.typeset.node import Node, make
from tests.typeset.everyday import everyday
from tests.typeset.random_terms import random_tensor
from tests.typeset.values import check_printed

X, w = lx.tensor("X", *lx.sizes("n m")), lx.tensor("w", lx.size("m"))
strip = factoring.strip
SEEDS = range(40)
EVERYDAY = everyday()
NAMES = (
    "ridge, gradient",
    "norm, gradient",
    "variance",
    "two layers, gradient in W",
    "inner product",
    "trace",
)


def notices() -> bool:
    """Does some check of a random term fail?"""
    found: list[Tensor] = [lx.sqnorm(2 * X.T @ (X @ w))]
    found += [random_tensor(seed, planar=True, terms=1 + seed % 3) for seed in SEEDS]
    for t in [*found, *(EVERYDAY[name] for name in NAMES)]:
        try:
            check_printed(t)
        except (AssertionError, ValueError):
            return True
    return False


def lost_vector(self: graph.IndexGraph, index: Any, v: Node) -> None:
    self.vectors.setdefault(index, v)


def lost_transpose(self: graph.Edge, index: Any) -> Node:
    return self.matrix


def lost_coefficient(x: Node) -> tuple[Any, list[Node], Node]:
    _, scalars, rest = algebra.bare(x)
    return sp.S.One, scalars, rest


def swapped_product(x: Node, instance: numeric.Instance) -> Any:
    swapped = make("product", x.args[::-1], (), x.shape)
    return numeric._product(swapped, instance)


def wrong_side(x: Node, handle: factoring.Handle) -> Node:
    kind = {"left": "right", "right": "left"}.get(handle.kind, handle.kind)
    return strip(x, factoring.Handle(kind, handle.part))


BREAKS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "a vector on an index is lost": (graph.IndexGraph, "_add_vector", lost_vector),
    "an edge is never transposed": (graph.Edge, "seen_from", lost_transpose),
    "coefficients of operands are lost": (choice, "bare", lost_coefficient),
    "a common factor is taken from the wrong side": (factoring, "strip", wrong_side),
    "sums of entries forget the middle": (graph, "hadamard", lambda *xs: xs[0]),
    "inner products forget a factor": (graph, "inner", lambda x, y: algebra.inner(x, x)),
    "traces lose a factor": (graph, "trace", lambda x: algebra.number(1)),
}


def test_unbroken_rules_pass() -> None:
    assert not notices()


@pytest.mark.parametrize("name", BREAKS)
def test_broken_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, replacement = BREAKS[name]
    monkeypatch.setattr(owner, attribute, replacement)
    assert notices()


def test_wrong_reading_of_products_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(numeric._RULES, "product", swapped_product)
    assert notices()
