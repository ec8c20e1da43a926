r"""Constructors for matrices whose rows or columns stand for a pair of indices: Kronecker products, vec, K.

Trees know one order of a pair only, the row-major one (the last index runs fastest).  The
column-major reading of a matrix :math:`H_{(ab),(ce)}` is the row-major one of
:math:`H_{(ba),(ec)}`, so that nothing but the signs vec and K depends on the order when a tree is
printed: :math:`\mathrm{vec}_{col}(A) = \mathrm{vec}_{row}(A^\top)`, and
:math:`K^{col}_{pq} = K^{row}_{qp}`.

Source: J. R. Magnus, H. Neudecker, *Matrix Differential Calculus*, 3rd ed., Wiley, 2019,
chapters 2 and 3 (there in column-major order).
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import UNIT, bare, chain, eye, linear, ones, product, scale, transpose
from lemmax.typeset.node import ONE, Node, is_column, is_row, is_scalar, make


def kron(*xs: Node) -> Node:
    r"""Return the Kronecker product; numbers and scalars go in front.

    A column beside a row is their outer product: :math:`v \otimes w^\top = w^\top \otimes v = v w^\top`.
    """
    coefficient: sp.Expr = ONE
    scalars: list[Node] = []
    parts: list[Node] = []
    for x in xs:
        c, more, rest = bare(x)
        coefficient *= c
        scalars += more
        if is_scalar(rest):
            scalars.append(rest)
            continue
        for y in rest.args if rest.op == "kron" else (rest,):
            parts[-1:] = _side_by_side(parts[-1:], y)
    scalars = [s for s in scalars if s != UNIT]
    if not parts:
        return linear([(coefficient, scale(scalars, UNIT))], (ONE, ONE))
    node = parts[0] if len(parts) == 1 else make("kron", tuple(parts), (), _shape(parts))
    return linear([(coefficient, scale(scalars, node) if scalars else node)], node.shape)


def _side_by_side(left: list[Node], right: Node) -> list[Node]:
    """Return two neighbours of a Kronecker product as one where that is shorter."""
    if not left:
        return [right]
    (x,) = left
    if x.op == right.op == "eye":
        return [eye(sp.expand(x.shape[0] * right.shape[0]))]
    if x.op == right.op == "ones":
        return [ones(sp.expand(x.shape[0] * right.shape[0]))]
    if is_column(x) and is_row(right):
        return [product(x, right)]
    if is_row(x) and is_column(right):
        return [product(right, x)]
    return [x, right]


def _shape(parts: Iterable[Node]) -> tuple[Size, Size]:
    parts = list(parts)
    return sp.expand(sp.Mul(*[p.shape[0] for p in parts])), sp.expand(sp.Mul(*[p.shape[1] for p in parts]))


def vec(x: Node) -> Node:
    r"""Return the entries of a matrix as a column, row by row; of :math:`v w^\top` they are v ⊗ w."""
    if is_column(x):
        return x
    if is_row(x):
        return transpose(x)
    c, scalars, x = bare(x)
    if c != 1 or scalars:
        inner = vec(x)
        return linear([(c, scale(scalars, inner))], inner.shape)
    factors = chain(x)
    for at in range(1, len(factors)):
        if is_column(factors[at - 1]):
            return kron(product(*factors[:at]), transpose(product(*factors[at:])))
    return make("call", (x,), ("vec",), (sp.expand(x.shape[0] * x.shape[1]), ONE))


def commutation(p: Size, q: Size) -> Node:
    r"""Return the matrix with :math:`K_{pq} \mathrm{vec}(A) = \mathrm{vec}(A^\top)` for A of shape p x q."""
    n = sp.expand(p * q)
    return eye(n) if ONE in (p, q) else make("commutation", (), (p, q), (n, n))
