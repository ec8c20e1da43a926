r"""Sums of nodes: equal ones are added up, common factors are pulled out.

A *handle* is a way in which a node shows a part that others may share: its first or last factor,
an entrywise factor, a scalar, the sum or the function around it.  The handle that most summands
share is pulled out, and so on: :math:`X^\top X W - X^\top Y = X^\top (X W - Y)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import sympy as sp

from lemmax.expr.sizes import Size
from lemmax.typeset.algebra import (
    chain,
    diag,
    diagonal,
    eye,
    family_sum,
    hadamard,
    linear,
    outer_ones,
    power,
    product,
    scale,
    trace,
    transpose,
)
from lemmax.typeset.kronecker import kron
from lemmax.typeset.node import ONE, Node, is_row, is_scalar, make, text_of

Item = tuple[sp.Expr, Node]
"""A coefficient and what it multiplies."""


class Style(NamedTuple):
    """How a sum is written, where several ways are equal.

    Attributes:
        positive: choose the sign of a bracket so that its first summand with a plus sign comes
            first; else its smallest summand is positive, which lets equal brackets meet.
        bare: let a whole summand be an entrywise factor, so that p - p * p is p * (1 - p).
        apart: summands share scalars only.
    """

    positive: bool = True
    bare: bool = False
    apart: bool = False


class Handle(NamedTuple):
    """A part of a node that another node may share: a kind from the table below, and the part."""

    kind: str
    part: object

    @property
    def key(self) -> tuple[int, str]:
        """Order among handles that equally many summands share."""
        part = self.part
        return _RANK[self.kind], part.key if isinstance(part, Node) else text_of(part)


_RANK = {
    name: rank
    for rank, name in enumerate(
        ("sum", "scalar", "around", "left", "right", "kron left", "kron right", "inner", "entrywise")
    )
}
_THROUGH = ("left", "right", "kron left", "kron right")
"""Kinds that a summand shows behind its scalars as well."""
_AROUND: dict[str, Callable[[Node], Node]] = {
    "diag": diag,
    "diagonal": diagonal,
    "transpose": transpose,
    "trace": trace,
}


def handles(x: Node, style: Style) -> list[Handle]:
    """Return the handles of a node."""
    if style.apart:
        return [Handle("scalar", a) for a in x.args[:-1]] if x.op == "scale" else []
    factors = chain(x)
    plain = x.op == "eye" or _is_plain_ones(x)
    found = [] if plain else [Handle("left", factors[0]), Handle("right", factors[-1])]
    if x.op == "hadamard":
        found += [Handle("entrywise", _base(a)) for a in x.args]
    elif (style.bare or x.op == "power") and not is_scalar(x) and not _is_plain_ones(x):
        found.append(Handle("entrywise", _base(x)))  # p - p * p is p * (1 - p)
    if x.op in _AROUND:
        found.append(Handle("around", (x.op, x.args[0].shape)))
    if x.op == "inner":
        found += [Handle("inner", a) for a in x.args]
    if x.op == "scale":
        found += [Handle("scalar", a) for a in x.args[:-1]]
        body = x.args[-1]
        if body.op in ("product", "kron") and not is_scalar(x):
            found += [h for h in handles(body, Style()) if h.kind in _THROUGH and h.part != body]
    if x.op == "sum":
        found.append(Handle("sum", x.data))
    if x.op == "kron":
        found += [Handle("kron left", x.args[0]), Handle("kron right", x.args[-1])]
    return found


def _is_repeated(x: Node) -> bool:
    return x.op == "power" and bool(x.data[0].is_Integer and x.data[0] >= 2)


def _base(x: Node) -> Node:
    return x.args[0] if _is_repeated(x) else x


def _is_plain_ones(x: Node) -> bool:
    """Constants are no factors to pull out: ``a + 1`` stays so."""
    return all(
        f.op in ("ones", "number") or (f.op == "transpose" and f.args[0].op == "ones") for f in chain(x)
    )


def _side_by_side(factors: tuple[Node, ...]) -> Node:
    """Return a part of a product as it is: where Diag(s) s was written out, it stays."""
    if len(factors) == 1:
        return factors[0]
    return make("product", factors, (), (factors[0].shape[0], factors[-1].shape[1]))


def strip(x: Node, handle: Handle) -> Node:
    """Return what is left of a node without the part of one of its handles."""
    factors = chain(x)
    if x.op == "scale" and handle.kind in _THROUGH:
        return scale(x.args[:-1], strip(x.args[-1], handle))
    if handle.kind == "left":
        return _side_by_side(factors[1:]) if factors[1:] else eye(x.shape[1])
    if handle.kind == "right":
        return _side_by_side(factors[:-1]) if factors[:-1] else eye(x.shape[0])
    if handle.kind == "scalar":
        scalars = list(x.args[:-1])
        scalars.remove(handle.part)  # type: ignore[arg-type]
        return scale(scalars, x.args[-1])
    if handle.kind in ("kron left", "kron right"):
        return kron(*(x.args[1:] if handle.kind == "kron left" else x.args[:-1]))
    if handle.kind == "inner":
        return x.args[1] if x.args[0] == handle.part else x.args[0]
    if handle.kind == "entrywise":
        if x == handle.part:
            return outer_ones(*x.shape)
        rest = list(x.args) if x.op == "hadamard" else [x]
        position = next(p for p, a in enumerate(rest) if _base(a) == handle.part)
        whole = rest.pop(position)
        if _is_repeated(whole):
            rest.append(power(whole.args[0], whole.data[0] - 1))
        return hadamard(*rest)
    return x.args[0]


def join(handle: Handle, body: Node) -> Node:
    """Return a body with the part of a handle put back."""
    part = handle.part
    if handle.kind == "left":
        return product(part, body)  # type: ignore[arg-type]
    if handle.kind == "right":
        return product(body, part)  # type: ignore[arg-type]
    if handle.kind == "kron left":
        return kron(part, body)  # type: ignore[arg-type]
    if handle.kind == "kron right":
        return kron(body, part)  # type: ignore[arg-type]
    if handle.kind == "entrywise":
        return hadamard(part, body)  # type: ignore[arg-type]
    if handle.kind == "scalar":
        return scale([part], body)  # type: ignore[list-item]
    if handle.kind == "inner":
        assert isinstance(part, Node)
        return make("inner", tuple(sorted((part, body), key=lambda x: x.key)), (), (ONE, ONE))
    if handle.kind == "sum":
        return family_sum(body, part)  # type: ignore[arg-type]
    assert isinstance(part, tuple)
    return _AROUND[part[0]](body)


def combine(items: list[Item], shape: tuple[Size, Size], style: Style) -> tuple[sp.Expr, Node | None]:
    """Return a sum as ``(coefficient, node)``; the node is ``None`` if all cancels.

    Args:
        items: the summands.
        shape: shape of the sum.
        style: how to write it.
    """
    merged: dict[Node, sp.Expr] = {}
    for c, x in items:
        merged[x] = merged.get(x, sp.S.Zero) + c
    left = [(c, x) for x, c in merged.items() if c != 0]
    if not left:
        return sp.S.Zero, None
    if len(left) == 1:
        return left[0]
    # the sign of a bracket must not depend on the order in which its summands came
    ordered = left if style.positive else sorted(left, key=_sign_order)
    c0 = common_coefficient([c for c, _ in ordered], style.positive)
    found = pull_out([(c / c0, x) for c, x in left], shape, style)
    if found.op == "linear" and len(found.args) == 1:
        return c0 * found.data[0], found.args[0]
    return c0, found


def _sign_order(item: Item) -> tuple[int, str]:
    x = item[1]
    column = transpose(x) if is_row(x) else x  # so that a row gets the sign of its column
    return column.weight, column.key


def common_coefficient(coefficients: list[sp.Expr], positive: bool) -> sp.Expr:
    """Return a factor to pull out of a sum: what all agree on up to sign, or common symbols."""
    first = coefficients[0]
    if positive:
        first = next((c for c in coefficients if not c.could_extract_minus_sign()), first)
    ratios = [c / first for c in coefficients]
    if all(r in (1, -1) for r in ratios):
        return first
    if first.free_symbols and all(r.is_Rational for r in ratios):
        return first * sp.Rational(sp.igcd(*[r.p for r in ratios]), sp.ilcm(*[r.q for r in ratios]))
    return -ONE if all(c.could_extract_minus_sign() for c in coefficients) else ONE


def pull_out(items: list[Item], shape: tuple[Size, Size], style: Style) -> Node:
    """Return a sum of different nodes with shared handles pulled out."""
    if len(items) == 1:
        return linear(items, shape)
    counts: dict[Handle, int] = {}
    for _, x in items:
        for h in dict.fromkeys(handles(x, style)):
            counts[h] = counts.get(h, 0) + 1
    shared = [h for h, count in counts.items() if count > 1]
    if not shared:
        return linear(reading_order(items), shape)
    best = min(shared, key=lambda h: (-counts[h], h.key))
    inside = [best in handles(x, style) for _, x in items]
    stripped = [(c, strip(x, best)) for (c, x), has in zip(items, inside, strict=True) if has]
    c, body = combine(stripped, stripped[0][1].shape, style)
    left: list[Item] = []
    for (k, x), has in zip(items, inside, strict=True):
        if not has:
            left.append((k, x))
        elif body is not None:  # the joined summand stands where its first part stood
            left.append((c, join(best, body)))
            body = None
    return pull_out(left, shape, style) if left else linear([], shape)


def reading_order(items: list[Item]) -> list[Item]:
    """Return summands as they came, but start with a positive one and put entries in brackets last."""
    ordered = sorted(items, key=lambda item: item[1].op == "blocks")
    first = next((p for p, (c, _) in enumerate(ordered) if not c.could_extract_minus_sign()), 0)
    return [ordered[first], *ordered[:first], *ordered[first + 1 :]]
