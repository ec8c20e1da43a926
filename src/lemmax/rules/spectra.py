r"""Derivatives of singular values, eigenvalues and the norms made of them.

They exist where the value in question is simple (for the nuclear norm: where A has full rank).  The
readings check that condition and name it, unless one subgradient was asked for.

Sources: A. S. Lewis, H. S. Sendov, Set-Valued Analysis 13 (2005); G. A. Watson, Linear Algebra Appl. 170
(1992); J. R. Magnus, Econometric Theory 1 (1985).
"""

from __future__ import annotations

from collections.abc import Callable

from lemmax.expr import functionals, linalg
from lemmax.expr.indexing import merge, split
from lemmax.expr.nodes import Apply, Param
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.rules.matrices import _contracted, only, over_matrices, with_leading_directions
from lemmax.rules.records import Pullback, Pushforward, Tangents


def singular_dyad(a: Tensor, k: Param) -> Tensor:
    r"""Return :math:`u_k v_k^\top`, the gradient of the k-th singular value (``"last"``: of the smallest)."""
    return Apply("singular_dyad", (a,), a.shape, {"k": k, "kink": "raise"})


def eigen_projector(a: Tensor, which: str) -> Tensor:
    r"""Return :math:`q q^\top`, q of the ``"min"`` or ``"max"`` eigenvalue of the symmetric part."""
    return Apply("eigen_projector", (a,), a.shape, {"which": which, "kink": "raise"})


def polar(a: Tensor) -> Tensor:
    r"""Return :math:`U V^\top` of the singular value decomposition, the gradient of the nuclear norm."""
    return Apply("polar", (a,), a.shape, {"kink": "raise"})


def slope_of(node: Apply) -> Tensor:
    """Return the gradient of a functional of one matrix."""
    (a,) = node.operands
    if node.function == "spectral_norm":
        return singular_dyad(a, 1)
    if node.function == "sigma_min":
        return singular_dyad(a, "last")
    if node.function == "sigma":
        return singular_dyad(a, node.param("k"))
    if node.function == "nuclear_norm":
        return polar(a)
    if node.function in ("lambda_min", "lambda_max"):
        return eigen_projector(a, node.function.removeprefix("lambda_"))
    assert node.function == "cond"
    largest, least = functionals.spectral_norm(a), functionals.sigma_min(a)
    return singular_dyad(a, 1) / over_matrices(least) - (
        over_matrices(largest / least**2) * singular_dyad(a, "last")
    )


def pull_functional(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Return the gradient of the functional times the adjoint."""
    return over_matrices(bar) * slope_of(node)


def push_functional(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Contract the gradient of the functional with the tangent."""
    return _contracted(slope_of(node), only(tangents), node.ndim, extra)


def _resolvent(matrix: Tensor, value: Tensor, projector: Tensor, weight: Tensor | int) -> Tensor:
    r"""Return the pseudo-inverse of :math:`\lambda I - M`, whose kernel has the projector P.

    It is :math:`(\lambda I - M + w P)^{-1} - P / w` for any w other than 0: no rank is decided.
    """
    shifted = value * linalg.eye(matrix.shape[-1]) - matrix
    return linalg.inv(shifted + weight * projector) - projector / weight


def _turn_of_dyad(node: Apply) -> Callable[[Tensor], Tensor]:
    """Return the derivative of a dyad as a linear map: the Hessian of the singular value, symmetric."""
    (a,), k = node.operands, node.param("k")
    value = functionals.sigma_min(a) if k == "last" else functionals.sigma(a, k)
    sigma = over_matrices(value)
    left, right = node @ node.mT, node.mT @ node  # the projections on u and on v
    rows = _resolvent(a @ a.mT, sigma**2, left, sigma**2)
    columns = _resolvent(a.mT @ a, sigma**2, right, sigma**2)

    def turn(dot: Tensor) -> Tensor:
        of_u = rows @ (sigma * (dot @ right) + a @ dot.mT @ node)
        of_v = (sigma * (left @ dot) + node @ dot.mT @ a) @ columns
        return of_u + of_v

    return turn


def _turn_of_projector(node: Apply) -> Callable[[Tensor], Tensor]:
    """Return the derivative of an eigenprojector as a linear map, symmetric as that of a dyad."""
    (a,), which = node.operands, node.param("which")
    symmetric = (a + a.mT) / 2
    value = over_matrices((functionals.lambda_max if which == "max" else functionals.lambda_min)(a))
    resolvent = _resolvent(symmetric, value, node, 1)

    def turn(dot: Tensor) -> Tensor:
        moved = (dot + dot.mT) / 2
        return resolvent @ moved @ node + node @ moved @ resolvent

    return turn


def _turn_of_polar(node: Apply) -> Callable[[Tensor], Tensor]:
    r"""Return the derivative of the polar factor P as a linear map, symmetric as that of a dyad.

    It is the X with :math:`A P^\top X + X P^\top A = \dot A - P \dot A^\top P`, for wide and for tall
    matrices alike: in the bases of singular vectors the left side is :math:`(\sigma_i + \sigma_j) X_{ij}`.
    """
    (a,) = node.operands
    rows, columns = a.shape[-2:]
    left, right = a @ node.mT, node.mT @ a  # both symmetric
    lead = (slice(None),) * (a.ndim - 2)
    of_left = left[(*lead, slice(None), None, slice(None), None)] * linalg.eye(columns)[:, None, :]
    of_right = right[(*lead, None, slice(None), None, slice(None))] * linalg.eye(rows)[:, None, :, None]
    inverse = linalg.inv(_last_merged(of_left + of_right, (2, 2)))  # once for all directions

    def turn(dot: Tensor) -> Tensor:
        moved = _last_merged(dot - node @ dot.mT @ node, (2,))
        axis = (slice(None),) * (moved.ndim - 1)
        solution = (inverse @ moved[(*axis, slice(None), None)])[(*axis, slice(None), 0)]
        return split(solution, _groups(moved.ndim - 1, (2,)), (*moved.shape[:-1], rows, columns))

    return turn


def _groups(lead: int, counts: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return groups of consecutive axes: single ones, then groups of these lengths."""
    axes = iter(range(lead + sum(counts)))
    return tuple(tuple(next(axes) for _ in range(count)) for count in ((1,) * lead + counts))


def _last_merged(t: Tensor, counts: tuple[int, ...]) -> Tensor:
    """Merge the last axes in groups of these lengths, row-major."""
    return merge(t, *_groups(t.ndim - sum(counts), counts))


def pull_polar(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Apply the Hessian of the nuclear norm to the adjoint."""
    return _turn_of_polar(node)(bar)


def push_polar(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Apply the Hessian of the nuclear norm to the tangent."""
    return with_leading_directions(_turn_of_polar(node), only(tangents), extra)


def pull_dyad(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Apply the Hessian of the singular value to the adjoint."""
    return _turn_of_dyad(node)(bar)


def push_dyad(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Apply the Hessian of the singular value to the tangent."""
    return with_leading_directions(_turn_of_dyad(node), only(tangents), extra)


def pull_projector(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Apply the Hessian of the eigenvalue to the adjoint."""
    return _turn_of_projector(node)(bar)


def push_projector(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Apply the Hessian of the eigenvalue to the tangent."""
    return with_leading_directions(_turn_of_projector(node), only(tangents), extra)


_SINGULAR = "A. S. Lewis, H. S. Sendov, Set-Valued Analysis 13 (2005)"
_EIGEN = "J. R. Magnus, Econometric Theory 1 (1985), theorem 1"
_FUNCTIONALS = {
    "spectral_norm": (
        "spectral_norm",
        r"\bar A = \bar y \, u_1 v_1^\top",
        "the largest singular value is simple",
        "G. A. Watson, Linear Algebra Appl. 170 (1992)",
    ),
    "nuclear_norm": (
        "nuclear_norm",
        r"\bar A = \bar y \, U V^\top",
        "A has full rank",
        "G. A. Watson, Linear Algebra Appl. 170 (1992)",
    ),
    "sigma": (
        "singular_value",
        r"\bar A = \bar y \, u_k v_k^\top",
        "the k-th singular value is simple and positive",
        _SINGULAR,
    ),
    "sigma_min": (
        "smallest_singular_value",
        r"\bar A = \bar y \, u_m v_m^\top",
        "the smallest singular value is simple and positive",
        _SINGULAR,
    ),
    "cond": (
        "condition_number",
        r"\bar A = \bar y (u_1 v_1^\top / \sigma_m - \sigma_1 u_m v_m^\top / \sigma_m^2)",
        "the largest and the smallest singular value are simple and positive",
        _SINGULAR,
    ),
    "lambda_max": (
        "largest_eigenvalue",
        r"\bar A = \bar y \, q_1 q_1^\top",
        "the largest eigenvalue of the symmetric part is simple",
        _EIGEN,
    ),
    "lambda_min": (
        "smallest_eigenvalue",
        r"\bar A = \bar y \, q_n q_n^\top",
        "the smallest eigenvalue of the symmetric part is simple",
        _EIGEN,
    ),
}

SPECTRAL_PULLBACKS: tuple[Pullback, ...] = (
    *[
        Pullback(name, function, pull_functional, statement, conditions, reference)
        for function, (name, statement, conditions, reference) in _FUNCTIONALS.items()
    ],
    Pullback(
        "singular_dyad",
        "singular_dyad",
        pull_dyad,
        r"\bar A = R_u (\sigma \bar Y v v^\top + A \bar Y^\top u v^\top) + (\sigma u u^\top \bar Y"
        r" + u v^\top \bar Y^\top A) R_v",
        "the singular value is simple and positive",
        "J. R. Magnus, H. Neudecker, Matrix Differential Calculus (2019)",
    ),
    Pullback(
        "polar_factor",
        "polar",
        pull_polar,
        r"A P^\top \bar A + \bar A P^\top A = \bar Y - P \bar Y^\top P",
        "A has full rank",
        "N. J. Higham, Functions of Matrices (2008), chapter 8",
    ),
    Pullback(
        "eigen_projector",
        "eigen_projector",
        pull_projector,
        r"\bar A = R \operatorname{sym}(\bar Y) P + P \operatorname{sym}(\bar Y) R",
        "the eigenvalue of the symmetric part is simple",
        _EIGEN,
    ),
)

SPECTRAL_PUSHFORWARDS: tuple[Pushforward, ...] = (
    *[
        Pushforward(
            f"{name}_forward",
            function,
            push_functional,
            rf"\dot y = \langle \nabla \mathrm{{{name.split('_')[0]}}}, \dot A \rangle",
        )
        for function, (name, _, _, _) in _FUNCTIONALS.items()
    ],
    Pushforward(
        "singular_dyad_forward", "singular_dyad", push_dyad, r"\dot Y = \dot u v^\top + u \dot v^\top"
    ),
    Pushforward(
        "polar_factor_forward",
        "polar",
        push_polar,
        r"A P^\top \dot P + \dot P P^\top A = \dot A - P \dot A^\top P",
    ),
    Pushforward(
        "eigen_projector_forward",
        "eigen_projector",
        push_projector,
        r"\dot P = R \operatorname{sym}(\dot A) P + P \operatorname{sym}(\dot A) R",
    ),
)
