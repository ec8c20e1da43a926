r"""From the value of a formula to a tensor: the order of free indices, and the shape that is asked for.

Free indices are the leading axes, rows and columns the last ones.  The order of the indices is
the one given, where a colon stands for rows or columns; or the one that fits the shape given,
alphabetical where several fit; or alphabetical.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import sympy as sp

from lemmax.expr.indices import fresh
from lemmax.expr.sizes import Size, is_one, same_size
from lemmax.expr.tensor import Tensor
from lemmax.parse.context import Context, Letter
from lemmax.parse.failure import Failure
from lemmax.parse.forms import Form, described, is_row, lambda_of

Shape = tuple[Size, ...]
Axis = tuple[sp.Symbol, Size]
_MOST_LETTERS = 6  # whose order is found by trying all


def expect_letters(ctx: Context, indices: Sequence[str], shape: Shape | None) -> None:
    """Make the free indices that the caller lists, with ranges from the shape; axes of size 1 have none."""
    sizes = [s for s in shape if not is_one(s)] if shape is not None else []
    end = len(ctx.source)
    letters = [text for text in indices if text != ":"]
    if len(set(letters)) != len(letters):
        raise Failure((0, end), f"indices={list(indices)} lists an index twice.")
    if shape is not None and len(indices) > len(sizes):
        raise Failure((0, end), f"{len(indices)} indices for the shape {_shown(shape)}.", is_shape=True)
    for position, text in enumerate(indices):
        if text != ":":
            ctx.free[text] = ctx.new_letter(text, (0, end), sizes[position] if shape is not None else None)


def tensor_of(ctx: Context, form: Form, shape: Shape | None, indices: Sequence[str] | None) -> Tensor:
    """Return the value of a formula as a tensor.

    Raises:
        Failure: it does not have the shape asked for, or a size is open.
    """
    if form.is_zero and shape is not None:
        return lambda_of(fresh(len(shape)), shape, sp.S.Zero)
    is_placed = indices is not None and ":" in indices
    if shape is not None and not is_placed:
        _fit(ctx, form, shape)
    row, column = fresh(2)
    core: list[Axis] = [(row, form.rows), (column, form.columns)]
    core = [(i, s) for i, s in core if not ctx.is_trivial(s)]
    axes = _axes(ctx, form, core, shape, indices)
    if shape is None:
        sizes = [ctx.unknowns.finish(s) for _, s in axes]
        if is_row(ctx, form) and not is_placed:  # a row keeps its one row
            axes.insert(len(axes) - 1, (fresh()[0], sp.S.One))
            sizes.insert(len(sizes) - 1, sp.S.One)
        shape = tuple(sizes)
    else:
        axes = _along(ctx, form, axes, shape)
    ctx.unknowns.check()
    at = [
        sp.S.Zero if ctx.is_trivial(s) else i
        for i, s in zip((row, column), (form.rows, form.columns), strict=True)
    ]
    return lambda_of(tuple(i for i, _ in axes), shape, form.entry(*at))


def _axes(
    ctx: Context, form: Form, core: list[Axis], shape: Shape | None, indices: Sequence[str] | None
) -> list[Axis]:
    """Return the axes of the result in order, those of size 1 left out."""
    if indices is None:
        letters = [x for _, x in sorted(ctx.free.items())]
        if shape is not None:
            letters = _order(ctx, form, letters, core, shape)
        return [*((x.symbol, ctx.ranges[x.symbol]) for x in letters), *core]
    extra = sorted(ctx.free.keys() - set(indices))
    whole = (0, len(ctx.source))
    if extra:
        raise Failure(
            whole,
            f"the index {extra[0]} is free, but indices={list(indices)} does not list it.",
            is_shape=True,
        )
    marks = list(indices) if ":" in indices else [*indices, *[":"] * len(core)]
    if marks.count(":") != len(core):
        raise Failure(
            whole,
            f"indices={list(indices)} has {marks.count(':')} axes for rows and columns, but the formula is"
            f" {described(ctx, form)}.",
            is_shape=True,
        )
    rest = iter(core)
    free = ctx.free
    return [next(rest) if m == ":" else (free[m].symbol, ctx.ranges[free[m].symbol]) for m in marks]


def _along(ctx: Context, form: Form, axes: list[Axis], shape: Shape) -> list[Axis]:
    """Return one axis per axis of the shape; those of size 1 get an index of their own."""
    if len(axes) != sum(not is_one(s) for s in shape):
        raise _misfit(ctx, form, shape)
    rest = iter(axes)
    found: list[Axis] = []
    for size in shape:
        axis = (fresh()[0], size) if is_one(size) else next(rest)
        ctx.unknowns.same(axis[1], size, _misfit(ctx, form, shape))
        found.append(axis)
    return found


def _fit(ctx: Context, form: Form, shape: Shape) -> None:
    """Give rows and columns the sizes of the last axes."""
    failure = _misfit(ctx, form, shape)
    if ctx.is_trivial(form.rows) and ctx.is_trivial(form.columns):
        return
    is_column = ctx.is_trivial(form.columns)
    if is_column and shape and (len(shape) == 1 or not is_one(shape[-1])):
        if len(shape) > 1 and is_one(shape[-2]):
            raise failure  # that is a row
        ctx.fit(form.rows, shape[-1], failure)
        return
    if len(shape) < 2:
        raise failure
    ctx.fit(form.rows, shape[-2], failure)
    ctx.fit(form.columns, shape[-1], failure)


def _order(ctx: Context, form: Form, letters: list[Letter], core: list[Axis], shape: Shape) -> list[Letter]:
    """Return the letters in the order of the axes; alphabetical among axes of one size."""
    lead = [s for s in shape if not is_one(s)]
    lead = lead[: len(lead) - len(core)] if core else lead
    whole = (0, len(ctx.source))
    if len(lead) != len(letters):
        raise _misfit(ctx, form, shape)
    if len(letters) > _MOST_LETTERS:
        raise Failure(whole, f"{len(letters)} free indices: list them in indices=, in the order of the axes.")
    found: list[tuple[Letter, ...]] = []
    for order in itertools.permutations(letters):
        sizes = [ctx.unknowns.value(ctx.ranges[x.symbol]) for x in order]
        if all(same_size(a, b) or not ctx.unknowns.is_known(a) for a, b in zip(sizes, lead, strict=True)):
            found.append(order)
    if not found:
        raise _misfit(ctx, form, shape)
    unknown = [x for x in letters if not ctx.unknowns.is_known(ctx.ranges[x.symbol])]
    if len({tuple(order.index(x) for x in unknown) for order in found}) > 1:
        texts = ", ".join(x.text for x in unknown)
        raise Failure(
            whole, f"which axis the index {texts} belongs to does not follow; list the axes in indices=."
        )
    return list(found[0])


def _misfit(ctx: Context, form: Form, shape: Shape) -> Failure:
    own = described(ctx, form)
    if ctx.free:
        listed = ", ".join(f"{t} ({ctx.shown(ctx.ranges[x.symbol])})" for t, x in sorted(ctx.free.items()))
        own += f" with the free indices {listed}"
    return Failure(
        form.span, f"the formula is {own}, which does not fit the shape {_shown(shape)}.", is_shape=True
    )


def _shown(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})" if shape else "of a scalar"
