r"""Derivatives of functions of matrices: determinant, inverse, solves, pseudo-inverse, powers."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import sympy as sp

from lemmax.expr import indexing, linalg, matrix_functions, notation
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size, same_size
from lemmax.expr.tensor import Tensor
from lemmax.rules.records import Pullback, Pushforward, Tangents


def over_matrices(scalar: Tensor) -> Tensor:
    """Give one number per matrix two axes of size 1, so that it multiplies matrices."""
    return indexing.getitem(scalar, (*(slice(None),) * scalar.ndim, None, None))


def only(tangents: Tangents) -> Tensor:
    """Return the tangent of a function's only operand."""
    (tangent,) = tangents
    assert tangent is not None
    return tangent


def with_leading_directions(
    function: Callable[[Tensor], Tensor], dot: Tensor, extra: tuple[Size, ...]
) -> Tensor:
    """Apply a linear function of matrices to a tangent whose directions stand on trailing axes."""
    count = len(extra)
    if not count:
        return function(dot)
    own = dot.ndim - count
    result = function(linalg.permute(dot, (*range(own, dot.ndim), *range(own))))
    return linalg.permute(result, (*range(count, result.ndim), *range(count)))


# -- determinants --------------------------------------------------------------------------------
def pull_det(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return :math:`\bar y \operatorname{adj}(A)^\top`, or :math:`\bar y \det(A) A^{-\top}` (Jacobi)."""
    return over_matrices(bar) * matrix_functions.cofactors(node.operands[0])


def push_det(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`\operatorname{tr}(\operatorname{adj}(A) \dot A)`."""
    return _contracted(matrix_functions.cofactors(node.operands[0]), only(tangents), node.ndim, extra)


def pull_cofactors(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Contract the adjoint with the derivative of the next order."""
    (a,), order = node.operands, _order(node)
    lead = a.ndim - 2
    indices = free_indices(a.ndim)
    inner = tuple(bound_index(p) for p in range(2 * order))
    following = matrix_functions.cofactors(a, order + 1)
    family, at = indices[:lead], indices[lead:]
    expr = bar.entry(*family, *inner) * following.entry(*family, *inner, *at)
    return Lambda(a.shape, indices, (Term(tuple((i, a.shape[-1]) for i in inner), expr),))


def push_cofactors(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Contract the derivative of the next order with the tangent."""
    (a,) = node.operands
    following = matrix_functions.cofactors(a, _order(node) + 1)
    return _contracted(following, only(tangents), a.ndim - 2, extra)


def _order(node: Apply) -> int:
    order = node.param("order")
    assert isinstance(order, int)
    return order


def _contracted(slope: Tensor, dot: Tensor, lead: int, extra: tuple[Size, ...]) -> Tensor:
    """Sum the last two axes of ``slope`` against the matrix axes of ``dot``, after ``lead`` families."""
    kept = slope.ndim - lead - 2
    shape = slope.shape[:-2] + extra
    indices = free_indices(len(shape))
    family, inner, directions = indices[:lead], indices[lead : lead + kept], indices[lead + kept :]
    i, j = bound_index(0), bound_index(1)
    expr = slope.entry(*family, *inner, i, j) * dot.entry(*family, i, j, *directions)
    return Lambda(shape, indices, (Term(((i, slope.shape[-2]), (j, slope.shape[-1])), expr),))


def define_cofactors(node: Apply) -> Tensor:
    r"""Return :math:`\det(A)` times the minor of size k of :math:`A^{-\top}` (Jacobi's identity).

    It is :math:`\det(A) \sum_\pi \operatorname{sgn} \pi \prod_m (A^{-1})_{j_m i_{\pi(m)}}`, for invertible A.
    """
    (a,), order = node.operands, _order(node)
    lead = a.ndim - 2
    indices = free_indices(node.ndim)
    family, rows, columns = indices[:lead], indices[lead::2], indices[lead + 1 :: 2]
    inverse, det = linalg.inv(a), linalg.det(a).entry(*family)
    terms = []
    for permutation in itertools.permutations(range(order)):
        sign = (-1) ** sum(p > q for i, p in enumerate(permutation) for q in permutation[i + 1 :])
        entries = [inverse.entry(*family, columns[m], rows[p]) for m, p in enumerate(permutation)]
        terms.append(Term((), sign * det * sp.Mul(*entries)))
    return Lambda(node.shape, indices, tuple(terms))


def pull_logdet(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return :math:`\bar y A^{-T}`."""
    return over_matrices(bar) * linalg.inv(node.operands[0]).mT


def push_logdet(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`\operatorname{tr}(A^{-1} \dot A)`."""
    return _contracted(linalg.inv(node.operands[0]).mT, only(tangents), node.ndim, extra)


# -- inverses ------------------------------------------------------------------------------------
def pull_inv(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return :math:`-A^{-T} \bar Y A^{-T}`."""
    return -(node.mT @ bar @ node.mT)


def push_inv(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`-A^{-1} \dot A A^{-1}`."""
    dot = only(tangents)
    n = node.shape[-1]
    indices = free_indices(dot.ndim)
    family, (i, j), rest = indices[: node.ndim - 2], indices[node.ndim - 2 : node.ndim], indices[node.ndim :]
    k, m = bound_index(0), bound_index(1)
    expr = -node.entry(*family, i, k) * dot.entry(*family, k, m, *rest) * node.entry(*family, m, j)
    return Lambda(dot.shape, indices, (Term(((k, n), (m, n)), expr),))


def pull_solve(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return :math:`\bar B = A^{-\top} \bar X` for the right side, :math:`-\bar B X^\top` for the matrix."""
    a, _ = node.operands
    side = matrix_functions.solve(a.mT, bar)
    if slot == 1:
        return side
    return -linalg.outer(side, node) if node.ndim == 1 else -(side @ node.mT)


def push_solve(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`A^{-1} (\dot B - \dot A X)`."""
    a, _ = node.operands
    moved, side = tangents
    right: Tensor | None = side
    if moved is not None:
        turned = with_leading_directions(lambda dot: -(dot @ node), moved, extra)
        right = turned if right is None else right + turned
    assert right is not None
    if node.ndim > 1:
        return with_leading_directions(lambda dot: matrix_functions.solve(a, dot), right, extra)

    def of_vectors(dot: Tensor) -> Tensor:
        if dot.ndim == 1:
            return matrix_functions.solve(a, dot)
        columns = indexing.getitem(dot, (..., None))
        assert isinstance(columns, Tensor)
        return indexing.getitem(matrix_functions.solve(a, columns), (..., 0))

    return with_leading_directions(of_vectors, right, extra)


def define_solve(node: Apply) -> Tensor:
    r"""Return :math:`A^{-1} B`."""
    a, b = node.operands
    return linalg.inv(a) @ b


def _projections(a: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the projections on the kernels of the transpose and of the matrix: I - A Y and I - Y A."""
    return linalg.eye(a.shape[-2]) - a @ y, linalg.eye(a.shape[-1]) - y @ a


def pull_pinv(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return the adjoint of Golub and Pereyra's derivative of the pseudo-inverse."""
    (a,) = node.operands
    left, right = _projections(a, node)
    t = node.mT
    return -(t @ bar @ t) + left @ bar.mT @ node @ t + t @ node @ bar.mT @ right


def push_pinv(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return Golub and Pereyra's derivative of the pseudo-inverse."""
    (a,) = node.operands
    left, right = _projections(a, node)
    t = node.mT

    def slope(dot: Tensor) -> Tensor:
        return -(node @ dot @ node) + node @ t @ dot.mT @ left + right @ dot.mT @ t @ node

    return with_leading_directions(slope, only(tangents), extra)


# -- powers --------------------------------------------------------------------------------------
def power_derivative(a: Tensor, e: Tensor, k: sp.Expr) -> Tensor:
    r"""Return the derivative of the k-th power in the direction E, the sum of :math:`A^r E A^{k-1-r}`."""
    if a.ndim < e.ndim:
        a = matrix_functions._repeated(a, e.shape[:-2])
    return Apply("power_derivative", (a, e), e.shape, {"k": k})


def pull_matrix_power(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return :math:`\sum_{r<k} (A^\top)^r \bar Y (A^\top)^{k-1-r}`."""
    (a,), k = node.operands, _exponent(node)
    scale = _multiple_of_identity(bar)
    if scale is not None:
        multiple: Tensor = (scale * k) * matrix_functions.matrix_power(a.mT, k - 1)
        return multiple
    return power_derivative(a.mT, bar, k)


def push_matrix_power(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`\sum_{r<k} A^r \dot A A^{k-1-r}`."""
    (a,), k = node.operands, _exponent(node)
    return with_leading_directions(lambda dot: power_derivative(a, dot, k), only(tangents), extra)


def pull_power_derivative(node: Apply, bar: Tensor, slot: int) -> Tensor:
    r"""Return the adjoint in E (the derivative at the transpose) or in A (a second derivative)."""
    (a, e), k = node.operands, _exponent(node)
    if slot == 1:
        return power_derivative(a.mT, bar, k)
    return _corner(a.mT, (bar, e.mT), k) + _corner(a.mT, (e.mT, bar), k)


def define_power_derivative(node: Apply) -> Tensor:
    r"""Return the upper right block of :math:`\begin{pmatrix} A & E \\ 0 & A \end{pmatrix}^k`.

    Source: R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996), theorem 2.1.
    """
    a, e = node.operands
    return _corner(a, (e,), _exponent(node))


def _corner(a: Tensor, above: tuple[Tensor, ...], k: sp.Expr) -> Tensor:
    """Return the upper right block of the k-th power of the block matrix with A and, above it, ``above``."""
    n, count = a.shape[-1], len(above) + 1
    zero = notation.zeros(*a.shape)
    rows = []
    for row in range(count):
        blocks = [
            a if column == row else above[row] if column == row + 1 else zero for column in range(count)
        ]
        rows.append(indexing.concat(blocks, axis=a.ndim - 1))
    power = matrix_functions.matrix_power(indexing.concat(rows, axis=a.ndim - 2), k)
    corner = indexing.getitem(power, (..., slice(0, n), slice((count - 1) * n, count * n)))
    assert isinstance(corner, Tensor)
    return corner


def _exponent(node: Apply) -> sp.Expr:
    k = node.param("k")
    assert isinstance(k, sp.Expr)
    return k


def _multiple_of_identity(t: Tensor) -> Tensor | None:
    """Return c if every matrix of ``t`` is visibly c times the identity."""
    if not isinstance(t, Lambda) or len(t.terms) != 1 or t.terms[0].bound or t.ndim < 2:
        return None
    if not same_size(t.shape[-1], t.shape[-2]):
        return None
    row, column = t.indices[-2:]
    delta = sp.KroneckerDelta(row, column)
    factors = sp.Mul.make_args(t.terms[0].expr)
    rest = [f for f in factors if f != delta]
    if len(rest) == len(factors) or any({row, column} & f.free_symbols for f in rest):
        return None
    return over_matrices(Lambda(t.shape[:-2], t.indices[:-2], (Term((), sp.Mul(*rest)),)))


_COOKBOOK = "Petersen, Pedersen, The Matrix Cookbook (2012)"
_POWERS = "N. J. Higham, Functions of Matrices (2008), section 3.2"

MATRIX_PULLBACKS: tuple[Pullback, ...] = (
    Pullback(
        "determinant",
        "det",
        pull_det,
        r"\bar A = \bar y \operatorname{adj}(A)^\top = \bar y \det(A) A^{-\top}",
        "everywhere (the second form for invertible A)",
        f"{_COOKBOOK}, eq. 49",
    ),
    Pullback(
        "cofactors",
        "cofactors",
        pull_cofactors,
        r"\bar A = \sum \bar Y \, \nabla^{k+1} \det(A)",
        "everywhere",
        "R. A. Horn, C. R. Johnson, Matrix Analysis (2013), section 0.8.10",
    ),
    Pullback(
        "log_determinant",
        "logdet",
        pull_logdet,
        r"\bar A = \bar y A^{-\top}",
        "det A > 0",
        f"{_COOKBOOK}, eq. 57",
    ),
    Pullback(
        "inverse",
        "inv",
        pull_inv,
        r"\bar A = -A^{-\top} \bar Y A^{-\top}",
        "A invertible",
        f"{_COOKBOOK}, eq. 40",
    ),
    Pullback(
        "linear_solve",
        "solve",
        pull_solve,
        r"\bar B = A^{-\top} \bar X, \quad \bar A = -\bar B X^\top",
        "A invertible",
        "M. B. Giles, An extended collection of matrix derivative results (2008)",
    ),
    Pullback(
        "pseudo_inverse",
        "pinv",
        pull_pinv,
        r"\bar A = -A^{+\top} \bar Y A^{+\top} + (I - A A^+) \bar Y^\top A^+ A^{+\top}"
        r" + A^{+\top} A^+ \bar Y^\top (I - A^+ A)",
        "the rank of A is constant around A",
        "G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10 (1973)",
    ),
    Pullback(
        "matrix_power",
        "matrix_power",
        pull_matrix_power,
        r"\bar A = \sum_{r=0}^{k-1} (A^\top)^r \bar Y (A^\top)^{k-1-r}",
        "A invertible for k < 0",
        _POWERS,
    ),
    Pullback(
        "derivative_of_a_matrix_power",
        "power_derivative",
        pull_power_derivative,
        r"\bar E = L_k(A^\top, \bar Y), \quad \bar A = \text{second derivative of } (A^\top)^k"
        r" \text{ in } \bar Y \text{ and } E^\top",
        "A invertible for k < 0",
        _POWERS,
    ),
)

MATRIX_PUSHFORWARDS: tuple[Pushforward, ...] = (
    Pushforward(
        "determinant_forward",
        "det",
        push_det,
        r"\dot y = \operatorname{tr}(\operatorname{adj}(A) \dot A)",
    ),
    Pushforward(
        "cofactors_forward", "cofactors", push_cofactors, r"\dot Y = \sum \nabla^{k+1} \det(A) \, \dot A"
    ),
    Pushforward(
        "log_determinant_forward", "logdet", push_logdet, r"\dot y = \operatorname{tr}(A^{-1} \dot A)"
    ),
    Pushforward("inverse_forward", "inv", push_inv, r"\dot Y = -A^{-1} \dot A A^{-1}"),
    Pushforward("linear_solve_forward", "solve", push_solve, r"\dot X = A^{-1} (\dot B - \dot A X)"),
    Pushforward(
        "pseudo_inverse_forward",
        "pinv",
        push_pinv,
        r"\dot Y = -A^+ \dot A A^+ + A^+ A^{+\top} \dot A^\top (I - A A^+)"
        r" + (I - A^+ A) \dot A^\top A^{+\top} A^+",
    ),
    Pushforward(
        "matrix_power_forward",
        "matrix_power",
        push_matrix_power,
        r"\dot Y = \sum_{r=0}^{k-1} A^r \dot A A^{k-1-r}",
    ),
)
