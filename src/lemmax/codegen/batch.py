r"""The instance axis: the same program for many instances at once.

The axis is one more family.  Each tensor that depends on a batched input gets it as axis 0;
index lambdas get one more free index, applied functions have their axes shifted by one.  The
result is again a graph of ordinary tensors, so that all later stages know nothing of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.errors import UnsupportedYet
from lemmax.expr.graph import topological_order
from lemmax.expr.indices import fresh
from lemmax.expr.nodes import Apply, Input, Lambda, Param, Term
from lemmax.expr.sizes import Size, size
from lemmax.expr.tensor import Tensor


def add_instance_axis(roots: Sequence[Tensor], names: frozenset[str]) -> tuple[list[Tensor], sp.Symbol]:
    """Return ``roots`` with a leading instance axis, and the size of that axis.

    Args:
        roots: expressions; roots that depend on no batched input are repeated along the axis.
        names: names of the inputs that get the axis.

    Raises:
        UnsupportedYet: a function does not say how its axes are shifted.
    """
    order = topological_order(*roots)
    axis = _unused_size(order)
    new: dict[str, Tensor] = {}
    carries: dict[str, bool] = {}
    for node in order:
        if isinstance(node, Input):
            carries[node.digest] = node.name in names
            new[node.digest] = with_axis(node, axis) if node.name in names else node
            continue
        carries[node.digest] = any(carries[t.digest] for t in node.operands)
        if not carries[node.digest]:
            new[node.digest] = node
        elif isinstance(node, Lambda):
            new[node.digest] = _shift_lambda(node, new, carries, axis)
        elif isinstance(node, Apply):
            new[node.digest] = _shift_apply(node, new, carries, axis)
        else:
            raise UnsupportedYet(f"batch: no instance axis for {node.label()}.")
    return [new[r.digest] if carries[r.digest] else repeat(new[r.digest], axis, r.name) for r in roots], axis


def _unused_size(order: Sequence[Tensor]) -> sp.Symbol:
    used = {str(s) for node in order for extent in node.shape for s in extent.free_symbols}
    used |= {str(node.name) for node in order}
    name = next(n for n in ("batch", "instances", *(f"batch{p}" for p in range(2, 99))) if n not in used)
    return size(name)


def with_axis(t: Input, axis: Size) -> Input:
    """Return the input with a leading axis."""
    return Input(str(t.name), (axis, *t.shape), t.assumptions)


def repeat(t: Tensor, axis: Size, name: str | None = None) -> Tensor:
    """Return ``t`` repeated along a new first axis."""
    indices = fresh(t.ndim + 1)
    return Lambda((axis, *t.shape), indices, (Term((), t.entry(*indices[1:])),), name)


def _shift_lambda(node: Lambda, new: dict[str, Tensor], carries: dict[str, bool], axis: Size) -> Tensor:
    (instance,) = fresh()
    terms = []
    for term in node.terms:
        swap: dict[sp.Basic, sp.Basic] = {}
        for entry in term.expr.atoms(sp.Indexed, sp.Symbol):
            t = entry_tensor(entry)
            if t is None or len(indices_of(entry)) != t.ndim:
                continue  # an index, a size, or the label inside an Indexed
            lead = (instance,) if carries[t.digest] else ()
            swap[entry] = new[t.digest].entry(*lead, *indices_of(entry))
        terms.append(Term(term.bound, term.expr.xreplace(swap)))
    return Lambda((axis, *node.shape), (instance, *node.indices), tuple(terms), node.name)


def _shift_apply(node: Apply, new: dict[str, Tensor], carries: dict[str, bool], axis: Size) -> Tensor:
    operands = tuple(
        new[t.digest] if carries[t.digest] else repeat(new[t.digest], axis) for t in node.operands
    )
    params = tuple((key, _SHIFTS[key](value)) for key, value in node.params)
    return Apply(node.function, operands, (axis, *node.shape), params, node.name)


def _axis(value: Any) -> Param:
    return int(value) + 1


def _axes(value: Any) -> Param:
    return tuple(a + 1 for a in value)


def _groups(value: Any) -> Param:
    return ((0,), *(tuple(a + 1 for a in group) for group in value))


def _starts(value: Any) -> Param:
    return (sp.S.Zero, *value)


def _same(value: Any) -> Param:
    kept: Param = value
    return kept


_SHIFTS: dict[str, Callable[[Any], Param]] = {
    "axis": _axis,
    "axes": _axes,
    "groups": _groups,
    "starts": _starts,
    "keepdims": _same,
    "form": _same,
    "k": _same,
    "order": _same,
    "kink": _same,
    "which": _same,
}
"""How the parameters of applied functions change when all operands get a leading axis."""
