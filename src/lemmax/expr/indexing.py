r"""Entries, slices, concatenation, stacking and merged axes."""

from __future__ import annotations

import numbers
from typing import Any

import sympy as sp

from lemmax.errors import InvalidArgument, ShapeError
from lemmax.expr.arguments import of_tensors
from lemmax.expr.axes import one_axis
from lemmax.expr.indices import free_indices, is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, as_size, product, same_size
from lemmax.expr.tensor import Tensor


def getitem(t: Tensor, key: Any) -> Tensor | sp.Expr:
    """Return ``t[key]``: a SymPy entry if an index is symbolic, else entries, slices, new axes as in NumPy.

    Raises:
        InvalidArgument: too many indices, an index out of range, or a slice with a step.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, sp.Expr) and any(is_index(s) for s in k.free_symbols) for k in keys):
        if any(isinstance(k, slice) or k is None or k is Ellipsis for k in keys):
            raise InvalidArgument(
                f"{t.label()}: index symbols and slices cannot be mixed; write all indices."
            )
        if len(keys) != t.ndim:
            raise InvalidArgument(f"{t.label()} has {t.ndim} axes; {len(keys)} indices were given.")
        return t.entry(
            *[
                k
                if isinstance(k, sp.Expr) and any(map(is_index, k.free_symbols))
                else _constant_index(t, k, n)
                for k, n in zip(keys, t.shape, strict=True)
            ]
        )
    keys = _expand_ellipsis(t, keys)
    shape: list[Size] = []
    starts: list[sp.Expr] = []
    sliced = False
    axis = 0
    at: list[sp.Expr | None] = []  # per axis of t: a constant index, or None for a kept axis
    new_axes: list[bool] = []  # per axis of the result: is it a new one of size 1
    for k in keys:
        if k is None:
            shape.append(sp.S.One)
            new_axes.append(True)
            continue
        n = t.shape[axis]
        axis += 1
        if isinstance(k, slice):
            start, stop = _slice_bounds(t, k, n)
            sliced = sliced or start != 0 or not same_size(stop, n)
            starts.append(start)
            shape.append(as_size(sp.expand(stop - start)))
            new_axes.append(False)
            at.append(None)
        else:
            at.append(_constant_index(t, k, n))
            starts.append(sp.S.Zero)
    base = t
    if sliced:
        lengths = iter(s for s, new in zip(shape, new_axes, strict=True) if not new)
        inner = tuple(next(lengths) if a is None else n for a, n in zip(at, t.shape, strict=True))
        base = Apply("slice", (t,), inner, {"starts": tuple(starts)})
    if not any(new_axes) and all(a is None for a in at):
        return base
    indices = free_indices(len(shape))
    kept = iter(i for i, new in zip(indices, new_axes, strict=True) if not new)
    return Lambda(
        tuple(shape), indices, (Term((), base.entry(*[next(kept) if a is None else a for a in at])),)
    )


def _expand_ellipsis(t: Tensor, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if used > t.ndim or sum(1 for k in keys if k is Ellipsis) > 1:
        raise InvalidArgument(f"too many indices for {t.label()}: {len(keys)} given, {t.ndim} axes.")
    fill = (slice(None),) * (t.ndim - used)
    if not any(k is Ellipsis for k in keys):
        return (*keys, *fill)
    p = next(p for p, k in enumerate(keys) if k is Ellipsis)
    return (*keys[:p], *fill, *keys[p + 1 :])


def _constant_index(t: Tensor, k: Any, n: Size) -> sp.Expr:
    index = _integer(k)
    if index is None:
        raise InvalidArgument(
            f"{t.label()}[{k!r}]: expected an integer, a slice, an index symbol, None or ..."
        )
    if index.is_negative:
        index = n + index
    if (sp.expand(index - n)).is_nonnegative or index.is_negative:
        raise InvalidArgument(f"index {k} is out of range for an axis of size {n} in {t.label()}.")
    return index


def _integer(k: Any) -> sp.Expr | None:
    """Return an integer, or an integer expression in sizes, as a SymPy expression; else ``None``."""
    if isinstance(k, bool):
        return None
    if isinstance(k, sp.Expr):
        return k if k.is_integer else None
    return sp.Integer(int(k)) if isinstance(k, numbers.Integral) else None


def _slice_bounds(t: Tensor, k: slice, n: Size) -> tuple[sp.Expr, sp.Expr]:
    if k.step not in (None, 1):
        raise InvalidArgument(f"{t.label()}: slices with a step ({k.step}) are not supported.")
    start = sp.S.Zero if k.start is None else _integer(k.start)
    stop = n if k.stop is None else _integer(k.stop)
    if start is None or stop is None:
        raise InvalidArgument(f"{t.label()}[{k.start!r}:{k.stop!r}]: slices need integers or sizes.")
    start, stop = (n + x if x.is_negative else x for x in (start, stop))
    # NumPy cuts bounds to the axis; sizes that are symbols are taken to be large enough
    start, stop = (sp.S.Zero if x.is_negative else n if (x - n).is_positive else x for x in (start, stop))
    if (sp.expand(stop - start)).is_nonpositive:
        raise InvalidArgument(f"{t.label()}: the slice {start}:{stop} is empty; sizes are at least 1.")
    return start, stop


def _tensors(what: str, tensors: Any) -> tuple[Tensor, ...]:
    if not isinstance(tensors, list | tuple) or not tensors:
        raise InvalidArgument(f"{what} needs a list of at least one tensor, got {tensors!r}.")
    for t in tensors:
        if not isinstance(t, Tensor):
            raise InvalidArgument(f"{what}: {t!r} is no tensor; constants are lx.full(value, ...).")
    return tuple(tensors)


def concat(tensors: list[Tensor] | tuple[Tensor, ...], axis: int | str = 0) -> Tensor:
    """Return tensors joined along an existing axis.

    Raises:
        ShapeError: the other sizes differ.
    """
    tensors = _tensors("concat", tensors)
    first = tensors[0]
    a = one_axis("concat", first, axis)
    for t in tensors[1:]:
        fits = t.ndim == first.ndim and all(
            same_size(x, y) for p, (x, y) in enumerate(zip(first.shape, t.shape, strict=True)) if p != a
        )
        if not fits:
            raise ShapeError(f"concat on axis {a}: {first.label()} and {t.label()} differ on another axis.")
    total = sp.expand(sp.Add(*[t.shape[a] for t in tensors]))
    shape = tuple(total if p == a else s for p, s in enumerate(first.shape))
    return Apply("concat", tensors, shape, {"axis": a})


def stack(tensors: list[Tensor] | tuple[Tensor, ...], axis: int = 0) -> Tensor:
    """Return tensors of one shape joined along a new axis."""
    tensors = _tensors("stack", tensors)
    ndim = tensors[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise InvalidArgument(f"stack: axis {axis} does not exist in a result with {ndim} axes.")
    at = axis % ndim
    key = (*(slice(None),) * at, None)
    return concat([getitem(t, key) for t in tensors], axis=at)


@of_tensors
def merge(t: Tensor, *groups: tuple[int, ...]) -> Tensor:
    r"""Return ``t`` with groups of axes merged, row-major.

    ``merge(B, (0, 1), (2, 3))`` of a tensor of shape (N, n, H, D) has shape (N n, H D).

    Raises:
        InvalidArgument: the groups do not list all axes in order.
    """
    groups = tuple(tuple(group) for group in groups)
    if [axis for group in groups for axis in group] != list(range(t.ndim)) or not all(groups):
        raise InvalidArgument(
            f"merge: groups {groups} must list the axes 0..{t.ndim - 1} of {t.label()} once, in order;"
            " permute first."
        )
    shape = tuple(product(tuple(t.shape[a] for a in group)) for group in groups)
    return Apply("merge", (t,), shape, {"groups": groups})


@of_tensors
def split(t: Tensor, groups: tuple[tuple[int, ...], ...], shape: tuple[Size, ...]) -> Tensor:
    """Return the inverse of :func:`merge`: ``split(merge(T, *groups), groups, T.shape)`` is ``T``.

    Raises:
        ShapeError: the sizes of a group do not multiply to the size of the axis that is split.
    """
    sizes = tuple(as_size(s) for s in shape)
    groups = tuple(tuple(group) for group in groups)
    listed = [axis for group in groups for axis in group]
    if len(groups) != t.ndim or listed != list(range(len(sizes))) or not all(groups):
        raise InvalidArgument(
            f"split: groups {groups} must list the axes 0..{len(sizes) - 1} once, in order, one group for"
            f" each axis of {t.label()}."
        )
    for group, s in zip(groups, t.shape, strict=True):
        if not same_size(product(tuple(sizes[a] for a in group)), s):
            raise ShapeError(
                f"split: an axis of size {s} of {t.label()} does not split into"
                f" {' x '.join(str(sizes[a]) for a in group)}."
            )
    return Apply("split", (t,), sizes, {"groups": groups})


@of_tensors
def vec(t: Tensor) -> Tensor:
    """Return all entries as one vector, row-major (last axis fastest)."""
    return merge(t, tuple(range(t.ndim))) if t.ndim > 1 else t


@of_tensors
def kron(a: Tensor, b: Tensor) -> Tensor:
    """Return the Kronecker product of two matrices (or vectors)."""
    if a.ndim != b.ndim or a.ndim not in (1, 2):
        raise ShapeError(f"kron needs two matrices or two vectors, got {a.label()} and {b.label()}.")
    indices = free_indices(2 * a.ndim)
    shape = tuple(s for pair in zip(a.shape, b.shape, strict=True) for s in pair)
    expr = a.entry(*indices[0::2]) * b.entry(*indices[1::2])
    return merge(Lambda(shape, indices, (Term((), expr),)), *[(2 * p, 2 * p + 1) for p in range(a.ndim)])
