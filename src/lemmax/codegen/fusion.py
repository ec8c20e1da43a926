r"""Stage 2b: products with one left operand become one product.

:math:`X W^Q`, :math:`X W^K` and :math:`X W^V` are three thin products; side by side,
:math:`X\,[W^Q\; W^K\; W^V]` is one, which reads X once and keeps the matrix kernel busy.  The same holds
backwards: :math:`X^\top [\bar Q\; \bar K\; \bar V]`.  The single results are columns of the common one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.values import Extent, Pool, Value
from lemmax.codegen.views import reachable, rebuilt
from lemmax.expr.sizes import same_size

FEWEST = 3
"""Fewest products that are worth laying their right operands side by side."""
WIDEST = 1024
"""Most columns, at representative sizes, of a product that is called thin."""

Group = tuple[Value, ...]


def fuse_products(
    pool: Pool, roots: Sequence[Value], extent: Extent
) -> tuple[dict[int, Value], list[Choice]]:
    """Replace groups of matrix products by columns of one product.

    Returns:
        The value that takes the place of each value that ``roots`` need, by its number, and the decisions.
    """
    order = reachable(roots)
    groups = _groups(order, extent)
    if not groups:
        return {v.number: v for v in order}, []
    group_of = {v.number: group for group in groups for v in group}
    by_number = {v.number: v for v in order}
    new: dict[int, Value] = {}
    for number in TopologicalSorter(_needs(order, group_of)).static_order():
        group = group_of.get(number)
        if group is None:
            v = by_number[number]
            new[number] = rebuilt(pool, v, [new[a.number] for a in v.args])
        else:
            new.update(_fused(pool, group, new))
    choices = []
    for group in groups:
        chosen = f"{len(group)} products with one left operand are one, of {_width(group)} columns"
        choices.append(Choice("products", chosen, "thin products are bound by reading that operand"))
    return new, choices


def _width(group: Sequence[Value]) -> sp.Expr:
    return sp.expand(sp.Add(*[v.shape[-1] for v in group]))


def _groups(order: Sequence[Value], extent: Extent) -> list[Group]:
    """Return groups of thin products with one left operand, which can be taken at one time."""
    by_left: dict[tuple[int, tuple[sp.Expr, ...]], list[Value]] = {}
    for v in order:
        if v.op == "matmul" and _is_plain(v):
            by_left.setdefault((v.args[0].number, v.args[1].shape[:-1]), []).append(v)
    found: list[Group] = []
    for members in by_left.values():
        if len(members) < FEWEST or extent(_width(members)) > WIDEST:
            continue
        group = tuple(members)
        if _is_acyclic(order, [*found, group]):
            found.append(group)
    return found


def _is_plain(v: Value) -> bool:
    """Is a product one of matrices, family by family, with nothing broadcast?"""
    a, b = v.args
    return a.ndim == b.ndim >= 2 and all(map(same_size, a.shape[:-2], b.shape[:-2]))


def _is_acyclic(order: Sequence[Value], groups: Sequence[Group]) -> bool:
    """Can each group be taken at one time: does no member need another, by way of other groups even?"""
    group_of = {v.number: group for group in groups for v in group}
    try:
        TopologicalSorter(_needs(order, group_of)).prepare()
    except CycleError:
        return False
    return True


def _needs(order: Sequence[Value], group_of: Mapping[int, Group]) -> dict[int, list[int]]:
    """Return what each value needs; a group stands under the number of its first member."""

    def place(v: Value) -> int:
        group = group_of.get(v.number)
        return v.number if group is None else group[0].number

    needs: dict[int, list[int]] = {}
    for v in order:
        needs.setdefault(place(v), []).extend(place(a) for a in v.args)
    return needs


def _fused(pool: Pool, group: Group, new: Mapping[int, Value]) -> dict[int, Value]:
    """Return the members of a group as slices of the common product."""
    left = new[group[0].args[0].number]
    rights = [new[v.args[1].number] for v in group]
    width = _width(group)
    joined = pool.make("concat", rights, (rights[0].ndim - 1,), (*rights[0].shape[:-1], width))
    whole = pool.matmul(left, joined)
    found = {}
    start: sp.Expr = sp.S.Zero
    for v in group:
        stop = sp.expand(start + v.shape[-1])
        bounds = (*[None] * (v.ndim - 1), (start, stop))
        found[v.number] = pool.make("slice", (whole,), bounds, v.shape)
        start = stop
    return found
