r"""Applications of functions (softmax, inverse, slices, singular values) as operations on arrays.

One table, from the function's key to a named builder; a function without a row is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from lemmax.codegen.values import Pool, Value
from lemmax.errors import UnsupportedYet
from lemmax.expr.nodes import Apply, Input, Lambda
from lemmax.expr.tensor import Tensor

Builder = Callable[[Pool, Apply, Sequence[Value]], Value]


def build(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Return the value of ``node`` on operands ``args``.

    Raises:
        UnsupportedYet: the function has no NumPy form here.
    """
    if node.function not in _BUILDERS:
        raise UnsupportedYet(
            f"code for {node.function!r} (in {node.label()}): no NumPy form is known. Evaluate it with "
            "lx.evaluate, or compile the parts it is made of; the table is in lemmax/codegen/applied.py."
        )
    return _BUILDERS[node.function](pool, node, args)


def _param(node: Apply, key: str) -> Any:
    return node.param(key)


def softmax(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Softmax; rows that may be masked throughout are checked."""
    return pool.make("softmax", args, (_param(node, "axis"), may_be_masked(node.operands[0])), node.shape)


def may_be_masked(t: Tensor) -> bool:
    """May all entries of a row be -inf for legal inputs: is an input, a mask say, added in entry by entry?"""
    if isinstance(t, Input):
        return t.ndim > 0
    if not isinstance(t, Lambda):
        return isinstance(t, Apply) and t.function in _REARRANGING and any(map(may_be_masked, t.operands))
    for term in t.terms:
        if term.expr.has(sp.oo, -sp.oo, sp.zoo):
            return True
        entries = () if term.bound else term.expr.atoms(sp.Indexed)
        if any(may_be_masked(e.base.label.tensor) for e in entries):
            return True
    return False


_REARRANGING = ("concat", "slice", "merge", "split", "place")


def softmax_pullback(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    r"""The softmax Jacobian at S applied to G, by row sums or by pairwise differences."""
    axis = _param(node, "axis")
    form = dict(node.params).get("form", "rowsum")
    if form == "rowsum":
        return pool.make("pullback_rowsum", args, (axis,), node.shape)
    last = [*[a for a in range(node.ndim) if a != axis], axis]
    moved = [pool.transpose(v, last) for v in args]
    result = pool.make("pullback_pairwise", moved, (), moved[0].shape)
    return pool.transpose(result, [last.index(a) for a in range(node.ndim)])


def logsumexp(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Log-sum-exp, shifted by the maximum."""
    params = (_param(node, "axes"), _param(node, "keepdims"), may_be_masked(node.operands[0]))
    return pool.make("logsumexp", args, params, node.shape)


def reduction(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Maximum, minimum or product over axes."""
    return pool.reduce(node.function, args[0], _param(node, "axes"), _param(node, "keepdims"))


def extremum_mask(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """1 at the first extremum over the axes jointly (row-major), else 0."""
    axes = tuple(_param(node, "axes"))
    rest = [a for a in range(node.ndim) if a not in axes]
    order = [*rest, *axes]
    moved = pool.transpose(args[0], order)
    size = sp.Mul(*[node.shape[a] for a in axes])
    flat = pool.reshape(moved, (*[node.shape[a] for a in rest], size))
    where = "argmax" if node.function == "argmax_mask" else "argmin"
    found = pool.make(where, (flat,), (), (*flat.shape[:-1], sp.S.One))
    mask = pool.make("compare", (pool.arange(size), found), ("==",))
    ones = pool.make("indicator", (mask,))
    back = pool.reshape(ones, tuple(node.shape[a] for a in order))
    return pool.transpose(back, [order.index(a) for a in range(node.ndim)])


def same_shape(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """A function of matrices, by its own key."""
    return pool.make(node.function, args, (), node.shape)


def concat(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Arrays joined along an axis."""
    return pool.make("concat", args, (_param(node, "axis"),), node.shape)


def slice_(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """A rectangular part."""
    starts = tuple(_param(node, "starts"))
    bounds = tuple(
        None if start == 0 and length == full else (start, sp.expand(start + length))
        for start, length, full in zip(starts, node.shape, args[0].shape, strict=True)
    )
    return pool.make("slice", args, bounds, node.shape)


def place(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """An array written into zeros."""
    starts = tuple(_param(node, "starts"))
    bounds = tuple(
        None if start == 0 and length == full else (start, sp.expand(start + length))
        for start, length, full in zip(starts, args[0].shape, node.shape, strict=True)
    )
    return pool.make("place", args, bounds, node.shape)


def reshaped(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Axes merged or split, row-major."""
    return pool.reshape(args[0], node.shape)


def singular_values(pool: Pool, v: Value) -> Value:
    """All singular values of matrices, largest first."""
    rows, columns = v.shape[-2:]
    return pool.make("singular_values", (v,), (), (*v.shape[:-2], sp.Min(rows, columns)))


def sigma(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """The k-th largest singular value, 0 beyond the last."""
    return pool.make("kth", (singular_values(pool, args[0]),), (_param(node, "k"),), node.shape)


def sigma_at(position: str) -> Builder:
    """Builder for the first or the last singular value."""

    def first_or_last(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
        index = sp.S.Zero if position == "first" else sp.S.NegativeOne
        values = singular_values(pool, args[0])
        return pool.take(values, [(values.ndim - 1, index)])

    return first_or_last


def nuclear_norm(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """The sum of singular values."""
    values = singular_values(pool, args[0])
    return pool.reduce("sum", values, [values.ndim - 1])


def _symmetric_part(pool: Pool, v: Value) -> Value:
    swapped = pool.transpose(v, [*range(v.ndim - 2), v.ndim - 1, v.ndim - 2])
    return pool.scale(sp.S.Half, pool.add([v, swapped]))


def eigenvalue(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """An extreme eigenvalue of the symmetric part."""
    v = args[0]
    values = pool.make("eigenvalues", (_symmetric_part(pool, v),), (), v.shape[:-1])
    index = sp.S.Zero if node.function == "lambda_min" else sp.S.NegativeOne
    return pool.take(values, [(values.ndim - 1, index)])


def solve(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Solutions of linear systems; a vector per matrix gets an axis for NumPy."""
    a, b = args
    if b.ndim == a.ndim or a.ndim == 2:
        return pool.make("solve", args, (), node.shape)
    columns = pool.expand(b, [b.ndim])
    return pool.take(pool.make("solve", (a, columns), (), columns.shape), [(b.ndim, sp.S.Zero)])


def with_params(*keys: str) -> Builder:
    """Builder for a function of matrices with parameters."""

    def function_of_matrices(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
        return pool.make(node.function, args, tuple(_param(node, key) for key in keys), node.shape)

    return function_of_matrices


def cofactors(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """Derivatives of the determinant, of first and second order."""
    if _param(node, "order") > 2:
        raise UnsupportedYet(
            f"code for the derivative of order {_param(node, 'order')} of a determinant ({node.label()}):"
            " only the first two have a NumPy form. Evaluate it with lx.evaluate."
        )
    return pool.make("cofactors", args, (_param(node, "order"),), node.shape)


def eigen_projector(pool: Pool, node: Apply, args: Sequence[Value]) -> Value:
    """The outer square of an extreme eigenvector of the symmetric part."""
    params = (_param(node, "which"), _param(node, "kink"))
    return pool.make("eigen_projector", (_symmetric_part(pool, args[0]),), params, node.shape)


_BUILDERS: dict[str, Builder] = {
    "softmax": softmax,
    "softmax_pullback": softmax_pullback,
    "logsumexp": logsumexp,
    "max": reduction,
    "min": reduction,
    "prod": reduction,
    "argmax_mask": extremum_mask,
    "argmin_mask": extremum_mask,
    "inv": same_shape,
    "det": same_shape,
    "logdet": same_shape,
    "rank": same_shape,
    "cond": same_shape,
    "concat": concat,
    "slice": slice_,
    "place": place,
    "merge": reshaped,
    "split": reshaped,
    "sigma": sigma,
    "sigma_min": sigma_at("last"),
    "spectral_norm": sigma_at("first"),
    "nuclear_norm": nuclear_norm,
    "lambda_min": eigenvalue,
    "lambda_max": eigenvalue,
    "solve": solve,
    "pinv": same_shape,
    "matrix_power": with_params("k"),
    "cofactors": cofactors,
    "singular_dyad": with_params("k", "kink"),
    "eigen_projector": eigen_projector,
    "polar": with_params("kink"),
}
"""Function key to builder."""
