r"""Matrix products, transposes, traces, and matrix functions with a rule instead of a body."""

from __future__ import annotations

import sympy as sp

from lemmax.errors import InvalidArgument, ShapeError
from lemmax.expr.arguments import of_tensors
from lemmax.expr.arithmetic import broadcast_entry, broadcast_shape
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, as_size, same_size
from lemmax.expr.tensor import Tensor


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return ``A @ B``: the matrix product over the last two axes, as in NumPy; vectors as in NumPy.

    Raises:
        ShapeError: the inner sizes differ; both shapes are shown.
    """
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or a.ndim == 0 or b.ndim == 0:
        raise InvalidArgument(
            f"A @ B needs two tensors with at least one axis, got {a!r} and {b!r}; use * for scalars."
        )
    inner_a, inner_b = a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[-1]
    if not same_size(inner_a, inner_b):
        raise ShapeError(
            f"A @ B: inner sizes {inner_a} and {inner_b} differ: {a.label()} @ {b.label()}. The last axis of"
            " A must have the size of the second last axis of B; is a transpose (.T, .mT) missing?"
        )
    lead = broadcast_shape("A @ B, leading axes", _lead(a), _lead(b))
    k = bound_index(0)
    rows, cols = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    shape = lead + rows + cols
    indices = free_indices(len(shape))
    family = indices[: len(lead)]
    row = indices[len(lead) : len(lead) + len(rows)]
    col = indices[len(lead) + len(rows) :]
    expr = _entry(a, family, (*row, k)) * _entry(b, family, (k, *col))
    return Lambda(shape, indices, (Term(((k, inner_a),), expr),))


def _lead(t: Tensor) -> Tensor:
    """A stand-in with the leading axes of ``t``, for broadcasting them."""
    return Lambda(t.shape[:-2] if t.ndim > 2 else (), free_indices(max(t.ndim - 2, 0)), ())


def _entry(t: Tensor, family: tuple[sp.Symbol, ...], core: tuple[sp.Expr, ...]) -> sp.Expr:
    lead = family[len(family) - (t.ndim - len(core)) :]
    zero = [sp.S.Zero if s == 1 else i for s, i in zip(t.shape, lead, strict=False)]
    return t.entry(*zero, *core)


@of_tensors
def transpose(a: Tensor) -> Tensor:
    """Return the transpose of a matrix; scalars and vectors are returned as they are.

    Raises:
        ShapeError: there are more than two axes: say ``.mT`` (last two) or ``lx.permute``.
    """
    if a.ndim > 2:
        raise ShapeError(
            f".T of {a.label()} is ambiguous: use .mT for the last two axes or lx.permute(A, axes)."
        )
    return permute(a, tuple(reversed(range(a.ndim))))


@of_tensors
def matrix_transpose(a: Tensor) -> Tensor:
    """Return ``A`` with its last two axes exchanged."""
    if a.ndim < 2:
        raise ShapeError(f".mT needs at least two axes, got {a.label()}.")
    return permute(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))


@of_tensors
def permute(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return ``A`` with its axes in the order ``axes`` (NumPy's ``transpose``)."""
    if sorted(axes) != list(range(a.ndim)):
        raise InvalidArgument(f"permute: {axes} is no order of the {a.ndim} axes of {a.label()}.")
    if list(axes) == list(range(a.ndim)):
        return a
    indices = free_indices(a.ndim)
    old = [indices[axes.index(axis)] for axis in range(a.ndim)]
    return Lambda(tuple(a.shape[axis] for axis in axes), indices, (Term((), a.entry(*old)),))


def square_size(what: str, a: Tensor) -> Size:
    """Return the size of square matrices.

    Raises:
        ShapeError: the last two axes differ or there are fewer than two.
    """
    if a.ndim < 2 or not same_size(a.shape[-1], a.shape[-2]):
        raise ShapeError(f"{what} needs square matrices in the last two axes, got {a.label()}.")
    return a.shape[-1]


@of_tensors
def trace(a: Tensor) -> Tensor:
    """Return the trace over the last two axes."""
    n = square_size("trace", a)
    indices = free_indices(a.ndim - 2)
    k = bound_index(0)
    return Lambda(a.shape[:-2], indices, (Term(((k, n),), a.entry(*indices, k, k)),))


@of_tensors
def diag(a: Tensor) -> Tensor:
    """Return the diagonal matrix of a vector, or the diagonal of a matrix (last axes)."""
    if a.ndim == 0:
        raise ShapeError("diag needs a vector or a matrix, got a scalar.")
    if a.ndim == 1:
        i, j = free_indices(2)
        return Lambda((a.shape[0], a.shape[0]), (i, j), (Term((), sp.KroneckerDelta(i, j) * a.entry(i)),))
    square_size("diag of a matrix", a)
    indices = free_indices(a.ndim - 1)
    return Lambda(a.shape[:-1], indices, (Term((), a.entry(*indices, indices[-1])),))


def eye(n: Size | int) -> Tensor:
    """Return the identity matrix of size ``n``."""
    i, j = free_indices(2)
    s = as_size(n)
    return Lambda((s, s), (i, j), (Term((), sp.KroneckerDelta(i, j)),))


@of_tensors
def outer(a: Tensor, b: Tensor) -> Tensor:
    """Return all products of an entry of ``a`` with one of ``b``: shape ``a.shape + b.shape``."""
    indices = free_indices(a.ndim + b.ndim)
    expr = a.entry(*indices[: a.ndim]) * b.entry(*indices[a.ndim :])
    return Lambda(a.shape + b.shape, indices, (Term((), expr),))


@of_tensors
def dot(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum of products of entries of two tensors of one shape (Frobenius inner product)."""
    shape = broadcast_shape("dot", a, b)
    ks = tuple(bound_index(p) for p in range(len(shape)))
    bound = tuple(zip(ks, shape, strict=True))
    return Lambda((), (), (Term(bound, broadcast_entry(a, ks) * broadcast_entry(b, ks)),))


@of_tensors
def inv(a: Tensor) -> Tensor:
    """Return the inverse of square matrices."""
    square_size("inv", a)
    return Apply("inv", (a,), a.shape)


@of_tensors
def det(a: Tensor) -> Tensor:
    r"""Return the determinant of square matrices.

    A scalar factor and a power are taken out: :math:`\det(cA) = c^n \det A`,
    :math:`\det(A^k) = (\det A)^k`.
    """
    n = square_size("det", a)
    if isinstance(a, Apply) and a.function == "matrix_power" and a.name is None:
        power = a.param("k")
        assert isinstance(power, sp.Expr)
        base: Tensor = det(a.operands[0])
        return base.__pow__(power)
    scale, rest = _scalar_factor(a)
    if scale is not None:
        return scale.__pow__(n).__mul__(det(rest))
    return Apply("det", (a,), a.shape[:-2])


def _scalar_factor(a: Tensor) -> tuple[Tensor | None, Tensor]:
    """Split ``c B`` into the scalar (or one scalar per matrix of a family) and the matrices."""
    if not isinstance(a, Lambda) or a.name is not None or len(a.terms) != 1 or a.terms[0].bound:
        return None, a
    row, column = a.indices[-2:]
    expr = a.terms[0].expr
    factors = sp.Mul.make_args(expr)
    inside = [f for f in factors if {row, column} & f.free_symbols]
    outside = [f for f in factors if not {row, column} & f.free_symbols]
    if not outside or not inside or any(f.has(sp.oo, -sp.oo) for f in outside):
        return None, a
    lead = a.indices[:-2]
    scale = Lambda(a.shape[:-2], lead, (Term((), sp.Mul(*outside)),))
    entry = inside[0]
    if len(inside) == 1 and isinstance(entry, sp.Indexed) and tuple(entry.indices) == a.indices:
        return scale, entry.base.label.tensor
    return scale, Lambda(a.shape, a.indices, (Term((), sp.Mul(*inside)),))


@of_tensors
def logdet(a: Tensor) -> Tensor:
    """Return the logarithm of the determinant (defined where it is positive)."""
    square_size("logdet", a)
    return Apply("logdet", (a,), a.shape[:-2])
