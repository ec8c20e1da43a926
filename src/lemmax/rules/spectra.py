r"""Derivatives of singular values, eigenvalues and the norms made of them.

They exist where the value in question is simple (for the nuclear norm: where A has full rank).  The
readings check that condition and name it, unless one subgradient was asked for.

Sources: A. S. Lewis, H. S. Sendov, Set-Valued Analysis 13 (2005); G. A. Watson, Linear Algebra Appl. 170
(1992); J. R. Magnus, Econometric Theory 1 (1985).
"""

from __future__ import annotations

from collections.abc import Callable

from lemmax.expr import functionals, linalg
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
        "eigen_projector_forward",
        "eigen_projector",
        push_projector,
        r"\dot P = R \operatorname{sym}(\dot A) P + P \operatorname{sym}(\dot A) R",
    ),
)
