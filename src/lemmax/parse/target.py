r"""From the value of a formula to a tensor: the order of free indices, and the shape that is asked for.

Free indices are the leading axes, rows and columns the last ones.  The order of the indices is
the one given; or the one that fits the shape given, alphabetical where several fit; or alphabetical.
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
from lemmax.parse.forms import Form, described, lambda_of

Shape = tuple[Size, ...]


def expect_letters(ctx: Context, indices: Sequence[str], shape: Shape | None) -> None:
    """Make the free indices that the caller lists, with ranges from the shape; axes of size 1 have none."""
    sizes = [s for s in shape if not is_one(s)] if shape is not None else []
    end = len(ctx.source)
    if shape is not None and len(indices) > len(sizes):
        raise Failure((0, end), f"{len(indices)} indices for the shape {_shown(shape)}.", is_shape=True)
    for position, text in enumerate(indices):
        size = sizes[position] if shape is not None else None
        ctx.free[text] = ctx.new_letter(text, (0, end), size)


def tensor_of(ctx: Context, form: Form, shape: Shape | None, indices: Sequence[str] | None) -> Tensor:
    """Return the value of a formula as a tensor.

    Raises:
        Failure: it does not have the shape asked for, or a size is open.
    """
    if form.is_zero and shape is not None:
        return lambda_of(fresh(len(shape)), shape, sp.S.Zero)
    if shape is not None:
        form = _fitted(ctx, form, shape)
    letters = _used(ctx) if indices is None else _listed(ctx, indices)
    core = [s for s in (form.rows, form.columns) if not ctx.is_trivial(s)]
    if shape is None:
        order = sorted(letters, key=lambda x: x.text) if indices is None else letters
        rows, columns = (ctx.unknowns.finish(s) for s in (form.rows, form.columns))
        last = (rows, columns) if not is_one(columns) else () if is_one(rows) else (rows,)
        return _built(ctx, form, order, (*(ctx.unknowns.finish(ctx.ranges[x.symbol]) for x in order), *last))
    lead = [s for s in shape if not is_one(s)]
    lead = lead[: len(lead) - len(core)] if core else lead
    if len(lead) != len(letters):
        raise _misfit(ctx, form, letters, shape)
    order = letters if indices is not None else _order(ctx, form, letters, lead, shape)
    for letter, size in zip(order, lead, strict=True):
        ctx.unknowns.same(ctx.ranges[letter.symbol], size, _misfit(ctx, form, letters, shape))
    return _built(ctx, form, order, shape)


def _fitted(ctx: Context, form: Form, shape: Shape) -> Form:
    """Give rows and columns the sizes of the last axes."""
    failure = _misfit(ctx, form, [], shape)
    trivial = ctx.is_trivial(form.rows), ctx.is_trivial(form.columns)
    if trivial == (True, True):
        return form
    if (trivial == (False, True) and len(shape) == 1) or (trivial == (False, True) and not is_one(shape[-1])):
        wanted: tuple[Size, Size] = (shape[-1], sp.S.One) if shape else (sp.S.One, sp.S.One)
    elif len(shape) >= 2:
        wanted = shape[-2], shape[-1]
    else:
        raise failure
    for own, size in zip((form.rows, form.columns), wanted, strict=True):
        ctx.fit(own, size, failure)
    return form


def _used(ctx: Context) -> list[Letter]:
    """Return the free letters, in the order of the alphabet."""
    return [x for _, x in sorted(ctx.free.items())]


def _listed(ctx: Context, indices: Sequence[str]) -> list[Letter]:
    extra = [x.text for x in _used(ctx) if x.text not in indices]
    if extra:
        raise Failure(
            (0, len(ctx.source)),
            f"the index {extra[0]} is free, but indices={list(indices)} does not list it.",
        )
    return [ctx.free[text] for text in indices]


def _order(ctx: Context, form: Form, letters: list[Letter], lead: list[Size], shape: Shape) -> list[Letter]:
    """Return the letters in the order of the axes; alphabetical among axes of one size."""
    found: list[tuple[Letter, ...]] = []
    for order in itertools.permutations(sorted(letters, key=lambda x: x.text)):
        sizes = [ctx.unknowns.value(ctx.ranges[x.symbol]) for x in order]
        if all(same_size(a, b) or not ctx.unknowns.is_known(a) for a, b in zip(sizes, lead, strict=True)):
            found.append(order)
    if not found:
        raise _misfit(ctx, form, letters, shape)
    unknown = [x for x in letters if not ctx.unknowns.is_known(ctx.ranges[x.symbol])]
    places = {tuple(order.index(x) for x in unknown) for order in found}
    if len(places) > 1:
        texts = ", ".join(x.text for x in unknown)
        raise Failure(
            (0, len(ctx.source)),
            f"which axis the index {texts} belongs to does not follow; list them in indices=.",
        )
    return list(found[0])


def _built(ctx: Context, form: Form, order: Sequence[Letter], shape: Shape) -> Tensor:
    ctx.unknowns.check()
    pair = fresh(2)
    row, column = (
        sp.S.Zero if ctx.is_trivial(s) else i for i, s in zip(pair, (form.rows, form.columns), strict=True)
    )
    symbols = iter([x.symbol for x in order] + [s for s in (row, column) if s != 0])
    indices = []
    left = len(order) + sum(s != 0 for s in (row, column))
    for size in shape:
        if is_one(size) and left < len(shape):
            indices.append(fresh()[0])
        else:
            indices.append(next(symbols))
    return lambda_of(tuple(indices), shape, form.entry(row, column))


def _misfit(ctx: Context, form: Form, letters: Sequence[Letter], shape: Shape) -> Failure:
    own = f"{described(ctx, form)}"
    if letters:
        listed = ", ".join(f"{x.text} ({ctx.shown(ctx.ranges[x.symbol])})" for x in letters)
        own += f" with the free indices {listed}"
    return Failure(
        form.span, f"the formula is {own}, which does not fit the shape {_shown(shape)}.", is_shape=True
    )


def _shown(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})" if shape else "of a scalar"
