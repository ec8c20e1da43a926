r"""Products written out so that they share factors with their neighbours.

:math:`s \odot (G w)` between other factors is :math:`\mathrm{Diag}(s) G w`, and a scalar
:math:`s^\top G w` beside :math:`a s w^\top b` goes to its place, :math:`a s s^\top G w w^\top b`.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import sympy as sp

from lemmax.typeset.algebra import chain, diag, transpose
from lemmax.typeset.choice import Reading
from lemmax.typeset.node import ONE, Node, is_column, is_row, make

_SQUARE = sp.Integer(2)
_QUADRATIC = 3  # factors of a row, a matrix and a column


def widened(r: Reading) -> Reading:
    """Return a reading with its entrywise products of columns as products, and scalars inside."""
    scalars = list(r.scalars)
    matrix = _widened(r.matrix, scalars)
    if matrix == r.matrix:
        return r
    return replace(r, matrix=matrix, scalars=tuple(scalars))


def _widened(x: Node, scalars: list[Node]) -> Node:
    if x.op == "product" and x.args[0].op == "kron":  # with a commutation matrix after it
        return make("product", (_widened(x.args[0], scalars), *x.args[1:]), (), x.shape)
    parts = x.args if x.op == "kron" else (x,)
    lists = [
        [y for factor in chain(a) for y in _split(factor)] if len(chain(a)) > 1 else _squared(a)
        for a in parts
    ]
    _insert(lists, scalars)
    made = [
        make("product", tuple(factors), (), a.shape) if len(factors) > 1 else a
        for factors, a in zip(lists, parts, strict=True)
    ]
    return make("kron", tuple(made), (), x.shape) if x.op == "kron" else made[0]


def _squared(x: Node) -> list[Node]:
    r"""Return :math:`\mathrm{Diag}(v \odot v)` as a product of two."""
    if x.op == "diag" and x.args[0].op == "power" and x.args[0].data[0] == _SQUARE:
        return [diag(x.args[0].args[0])] * 2
    return [x]


def _split(x: Node) -> list[Node]:
    r"""Return :math:`v \odot (A w)` as Diag(v), A, w; a row likewise."""
    if x.op == "transpose":
        return [transpose(a) for a in reversed(_split(x.args[0]))]
    if x.op == "power" and is_column(x) and x.data[0] == _SQUARE:
        return [diag(x.args[0]), x.args[0]]
    if x.op != "hadamard" or not is_column(x):
        return [x]
    products = [a for a in x.args if a.op == "product"]
    plain = [a for a in x.args if a.op != "product"]
    if len(products) != 1 or len(plain) != 1:
        return [x]
    return [diag(plain[0]), *chain(products[0])]


def _insert(lists: list[list[Node]], scalars: list[Node]) -> None:
    """Put quadratic forms between a column and a row, best where these are their own ends."""
    for s in list(scalars):
        found: list[tuple[bool, int, list[Node], int, tuple[Node, ...]]] = []
        for out in lists:
            junctions = [p for p in range(1, len(out)) if is_column(out[p - 1]) and is_row(out[p])]
            for form, p in itertools.product(_chains(s), junctions):
                fits = _fits(form, out[p - 1], out[p])
                if fits or len(form) >= _QUADRATIC:
                    found.append((fits, len(out), out, p, form))
        if found:
            _, _, out, p, form = max(found, key=lambda place: place[:2])
            out[p:p] = form
            scalars.remove(s)


def _fits(form: tuple[Node, ...], left: Node, right: Node) -> bool:
    return transpose(left) == form[0] and transpose(right) == form[-1]


def _chains(s: Node) -> list[tuple[Node, ...]]:
    """Return a scalar as products of a row, matrices and a column."""
    if s.op == "power" and s.args[0].op == "norm" and s.data[0] == sp.Integer(2):
        factors = chain(s.args[0].args[0])
        if not is_column(factors[-1]) or s.args[0].args[0].shape[1] != ONE:
            return []
        whole = tuple(transpose(f) for f in reversed(factors)) + factors
        return [whole]
    if s.op != "product":
        return []
    return [s.args, tuple(transpose(f) for f in reversed(s.args))]
