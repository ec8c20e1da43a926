r"""Blocks of the Hessian of a scalar, whole or one of their two parts."""

from __future__ import annotations

from lemmax.calculus.forward import hessian_block, with_guards
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.split import Part, check_part, hessian_split
from lemmax.calculus.structured import Structured
from lemmax.expr.tensor import Tensor


def hessian(
    f: Tensor,
    a: Tensor,
    b: Tensor | None = None,
    nonsmooth: Smoothness = "raise",
    structured: Structured = "raise",
    *,
    part: Part = "total",
    through: Tensor | str | None = None,
) -> Tensor:
    r"""Return a block of the Hessian of a scalar, of shape ``a.shape + b.shape`` (``b`` is ``a`` by default).

    ``H[i, ..., j, ...]`` is the second derivative of ``f`` in ``a[i, ...]`` and ``b[j, ...]``.

    Args:
        f: a scalar.
        a: weights of the first axes, an input or a named tensor inside ``f``.
        b: weights of the last axes.
        nonsmooth: ``raise`` or ``subgradient``; see :func:`lemmax.gradient`.
        structured: which derivatives are meant if entries of the weights are not free; see
            :func:`lemmax.gradient`.
        part: the whole block (``total``), or its ``outer`` (Gauss-Newton) or ``functional`` part, whose
            sum it is; :func:`lemmax.hessian_split` returns both, with what is known of them.
        through: for a part, the tensor through which ``f`` depends on the weights.

    Raises:
        InvalidArgument: ``f`` is no scalar; for a part, no tensor carries all dependence on the weights.
        NonSmooth, MissingRule: as :func:`lemmax.gradient` does.

    >>> import lemmax as lx
    >>> n, D = lx.sizes("n D")
    >>> X, w, y = lx.tensor("X", n, D), lx.tensor("w", D), lx.tensor("y", n)
    >>> lx.equal(lx.hessian(lx.sqnorm(X @ w - y) / 2, w), X.T @ X).name
    'proved'
    """
    check_part("hessian", part, through)
    b = a if b is None else b
    if part == "total":
        return hessian_block(f, a, b, nonsmooth, structured)
    split = hessian_split(f, a, b, through=through, nonsmooth=nonsmooth, structured=structured)
    return with_guards([split.outer if part == "outer" else split.functional], f, [a, b], nonsmooth)[0]
