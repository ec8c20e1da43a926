r"""Index notation: tensors from bodies, sums over indices, einsum, masks.

Index ranges are inferred from use: ``A[i, j]`` gives ``i`` and ``j`` the sizes of A's axes.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import sympy as sp

from lemmax.errors import InvalidArgument, ShapeError
from lemmax.expr.arithmetic import as_number, constant_of, is_constant
from lemmax.expr.indices import bound_index, free_indices, fresh, is_index
from lemmax.expr.nodes import Input, Lambda, Term
from lemmax.expr.sizes import Size, as_size, same_size
from lemmax.expr.tensor import Tensor, TensorSymbol


def tensor(name: str, *shape: Size | int, **assumptions: bool) -> Input:
    """Declare a variable: ``tensor("X", n, D)``; assumptions by keyword, such as ``positive=True``.

    Raises:
        InvalidArgument: a bad name, size or assumption.
    """
    for key, value in assumptions.items():
        if value is not True:
            raise InvalidArgument(
                f"tensor {name!r}: {key}={value!r}: assumptions are given as {key}=True or left out."
            )
    flat = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return Input(name, tuple(as_size(s) for s in flat), tuple(assumptions))


def tensor_from(
    body: Callable[..., object], shape: tuple[Size | int, ...] | None = None, name: str | None = None
) -> Tensor:
    """Return the tensor with entries ``body(i, j, ...)``.

    Args:
        body: takes one index per axis and returns a SymPy expression (or number).
        shape: sizes of the axes; inferred from the use of the indices if left out.
        name: name of the result, if it is to be kept whole.

    Raises:
        InvalidArgument: a size can neither be inferred nor was given.
        ShapeError: an index is used on axes of different sizes.
    """
    count = _count_of_indices("tensor_from", body)
    if shape is not None and len(shape) != count:
        raise InvalidArgument(f"tensor_from: the body takes {count} indices, shape has {len(shape)} sizes.")
    indices = fresh(count)
    expr = _as_expr(body(*indices))
    ranges = index_ranges(expr)
    if shape is not None:
        for i, s in zip(indices, shape, strict=True):
            given = as_size(s)
            if i in ranges and not same_size(ranges[i], given):
                raise ShapeError(
                    f"tensor_from: an index is used on an axis of size {ranges[i]}, but its size is given as"
                    f" {given}."
                )
            ranges[i] = given
    missing = [p for p, i in enumerate(indices) if i not in ranges]
    if missing:
        raise InvalidArgument(
            f"tensor_from: the size of axis {missing[0]} cannot be inferred from the body; pass shape=(...)."
        )
    return Lambda(
        tuple(ranges[i] for i in indices), indices, to_terms(expr, {i: ranges[i] for i in indices}), name
    )


def _count_of_indices(what: str, body: object) -> int:
    if not callable(body):
        raise InvalidArgument(f"{what}({body!r}): expected a function of indices, such as lambda i: x[i]**2.")
    return len(inspect.signature(body).parameters)


def index_sum(body: Callable[..., object], *sizes: Size | int) -> sp.Expr:
    """Return the sum of ``body(k, ...)`` over indices, as a SymPy ``Sum``; ranges are inferred from use.

    Raises:
        InvalidArgument: a range can neither be inferred nor was given.
    """
    count = _count_of_indices("index_sum", body)
    if sizes and len(sizes) != count:
        raise InvalidArgument(f"index_sum: the body takes {count} indices, {len(sizes)} sizes were given.")
    indices = fresh(count)
    expr = _as_expr(body(*indices))
    ranges = index_ranges(expr)
    ranges.update({i: as_size(s) for i, s in zip(indices, sizes, strict=False)})
    missing = [i for i in indices if i not in ranges]
    if missing:
        raise InvalidArgument(
            "index_sum: a range cannot be inferred from the body; pass the sizes: index_sum(body, n)."
        )
    return sp.Sum(expr, *[(i, 0, ranges[i] - 1) for i in indices])


def _as_expr(value: object) -> sp.Expr:
    if isinstance(value, Tensor):
        if value.ndim:
            raise InvalidArgument(f"a body must be a scalar, got {value.label()}; index it: A[i, j].")
        return constant_of(value) if is_constant(value) else value.symbol
    expr = as_number(value, infinite=True)
    if expr.atoms(sp.Function):
        from lemmax.expr.special import write_out

        return write_out(expr)
    return expr


def index_ranges(expr: sp.Expr) -> dict[sp.Symbol, Size]:
    """Return the size of each index that stands alone on an axis of a tensor in ``expr``.

    An index that stands in a Kronecker delta with another has the size of that one.

    Raises:
        ShapeError: an index stands on axes of different sizes.
    """
    ranges: dict[sp.Symbol, Size] = {}
    for entry in sorted(expr.atoms(sp.Indexed), key=str):
        t = entry.base.label.tensor
        for index, s in zip(entry.indices, t.shape, strict=True):
            if is_index(index) and not same_size(ranges.setdefault(index, s), s):
                raise ShapeError(
                    f"an index runs over axes of sizes {ranges[index]} and {s} (the latter in {t.label()})."
                )
    deltas = sorted(expr.atoms(sp.KroneckerDelta), key=str)
    for _ in deltas:  # once for each, for chains of deltas
        for p, q in (pair for delta in deltas for pair in (delta.args[:2], delta.args[1::-1])):
            if is_index(p) and p not in ranges and q in ranges:
                ranges[p] = ranges[q]
    return ranges


def to_terms(expr: sp.Expr, ranges: dict[sp.Symbol, Size]) -> tuple[Term, ...]:
    """Return a body as terms; a ``Sum`` inside a function becomes an operand of its own."""
    if expr.has(sp.KroneckerDelta):
        expr = expr.replace(lambda e: isinstance(e, sp.Mul | sp.Sum), _multiplied_out)
    return tuple(_term(part, ranges) for part in sp.Add.make_args(expr))


def _multiplied_out(e: sp.Expr) -> sp.Expr:
    r"""Multiply out :math:`\sum_k (\delta_{ik} - 1/n) X_{kj}`: deltas are factors, no summands."""
    if isinstance(e, sp.Sum):
        inner = e.function
        is_split = isinstance(inner, sp.Add) and inner.has(sp.KroneckerDelta) and not inner.has(sp.Sum)
        return sp.Add(*[sp.Sum(part, *e.limits) for part in inner.args]) if is_split else e
    totals = [f for f in e.args if f.is_Add and any(_is_delta(part) for part in f.args)]
    if not totals:
        return e
    rest = sp.Mul(*[f for f in e.args if f not in totals])
    return sp.Add(*[rest * sp.Mul(*parts) for parts in itertools.product(*[f.args for f in totals])])


def _is_delta(part: sp.Expr) -> bool:
    coefficient, rest = part.as_coeff_Mul()
    return bool(coefficient.is_number and isinstance(rest, sp.KroneckerDelta))


def _term(part: sp.Expr, ranges: dict[sp.Symbol, Size]) -> Term:
    bound: list[tuple[sp.Symbol, Size]] = []
    factors: list[sp.Expr] = []
    for factor in sp.Mul.make_args(part):
        if isinstance(factor, sp.Sum):
            new = fresh(len(factor.limits))
            old = [limit[0] for limit in factor.limits]
            inner = factor.function.xreplace(dict(zip(old, new, strict=True)))
            inner_bound = [
                (i, as_size(sp.expand(hi - lo + 1)))
                for i, (_, lo, hi) in zip(new, factor.limits, strict=True)
            ]
            if isinstance(inner, sp.Add) and inner.has(sp.Sum):
                factors.append(_lift(factor, ranges))
                continue
            nested = _term(inner, {**ranges, **dict(inner_bound)})
            bound += [*inner_bound, *nested.bound]
            factors.append(nested.expr)
        elif factor.has(sp.Sum):
            sums = [
                s
                for s in factor.atoms(sp.Sum)
                if not any(s is not o and o.has(s) for o in factor.atoms(sp.Sum))
            ]
            factors.append(factor.xreplace({s: _lift(s, ranges) for s in sums}))
        else:
            factors.append(factor)
    return Term(tuple(bound), sp.Mul(*factors))


def _lift(total: sp.Sum, ranges: dict[sp.Symbol, Size]) -> sp.Expr:
    """Turn a sum that stands inside a function into an entry of a tensor of its own."""
    free = tuple(i for i in ranges if i in total.free_symbols)
    limits = {i: as_size(sp.expand(hi - lo + 1)) for i, lo, hi in total.limits}
    inner = to_terms(total.function, {**ranges, **limits})
    terms = tuple(Term((*limits.items(), *t.bound), t.expr) for t in inner)
    return Lambda(tuple(ranges[i] for i in free), free, terms).entry(*free)


def einsum(subscripts: str, *operands: Tensor) -> Tensor:
    """Return NumPy's ``einsum``: letters repeated and not in the output are summed.

    Raises:
        InvalidArgument: the subscripts do not fit the operands.
    """
    if not isinstance(subscripts, str) or not all(isinstance(t, Tensor) for t in operands):
        raise InvalidArgument("einsum: expected a text such as 'ij,j->i', then tensors.")
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if (
        not arrow
        or len(parts) != len(operands)
        or any(len(p) != t.ndim for p, t in zip(parts, operands, strict=False))
    ):
        raise InvalidArgument(
            f"einsum {subscripts!r}: expected one group of letters per operand, one letter per axis, and an"
            " explicit '->'."
        )
    letters = sorted(set(inputs.replace(",", "")))
    if len(set(output)) != len(output) or not set(output) <= set(letters):
        raise InvalidArgument(
            f"einsum {subscripts!r}: output letters must be different and occur in an operand."
        )
    sizes: dict[str, Size] = {}
    for p, t in zip(parts, operands, strict=True):
        for letter, s in zip(p, t.shape, strict=True):
            if not same_size(sizes.setdefault(letter, s), s):
                raise ShapeError(
                    f"einsum {subscripts!r}: letter {letter} has sizes {sizes[letter]} and {s} (in"
                    f" {t.label()})."
                )
    indices = free_indices(len(output))
    at = dict(zip(output, indices, strict=True))
    summed = [letter for letter in letters if letter not in at]
    at.update({letter: bound_index(p) for p, letter in enumerate(summed)})
    expr = sp.Mul(*[t.entry(*[at[c] for c in p]) for p, t in zip(parts, operands, strict=True)])
    bound = tuple((at[letter], sizes[letter]) for letter in summed)
    return Lambda(tuple(sizes[c] for c in output), indices, (Term(bound, expr),))


def full(value: int | float | sp.Expr, *shape: Size | int) -> Tensor:
    """Return a tensor with all entries equal to a number."""
    sizes = tuple(as_size(s) for s in shape)
    return Lambda(sizes, free_indices(len(sizes)), (Term((), as_number(value)),))


def zeros(*shape: Size | int) -> Tensor:
    """Return the zero tensor of a shape."""
    return full(0, *shape)


def ones(*shape: Size | int) -> Tensor:
    """Return the tensor of ones of a shape."""
    return full(1, *shape)


def causal_mask(n: Size | int, name: str | None = "M") -> Tensor:
    """Return the additive causal mask (n, n): 0 where ``j <= k`` (row k, column j), else -inf."""
    s = as_size(n)
    k, j = free_indices(2)
    return Lambda((s, s), (k, j), (Term((), sp.Piecewise((sp.S.Zero, sp.Le(j, k)), (-sp.oo, True))),), name)


def symbols_of(expr: sp.Expr) -> list[TensorSymbol]:
    """Return the symbols of tensors in an expression, sorted by name and digest."""
    return sorted(expr.atoms(TensorSymbol), key=lambda s: (s.name, s.tensor.digest))
