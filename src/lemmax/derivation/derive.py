r"""Derivations are built by applying the rules one by one, along the sweeps of the calculus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from lemmax.calculus.gradient import as_variables, reverse_sweep
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.split import Part, check_part
from lemmax.derivation.builder import Builder, check_variables
from lemmax.derivation.record import Derivation
from lemmax.derivation.rules import Context
from lemmax.derivation.second import derive_blocks, derive_product
from lemmax.errors import InvalidArgument
from lemmax.expr.tensor import Tensor


def derive(
    f: Tensor,
    wrt: Tensor | Sequence[Tensor | tuple[Tensor, Tensor]],
    nonsmooth: Smoothness = "raise",
    order: Literal[1, 2] = 1,
    part: Part = "total",
    through: Tensor | str | None = None,
    structured: Literal["raise", "ignore"] = "raise",
    direction: Tensor | Sequence[Tensor] | None = None,
) -> Derivation:
    r"""Return the derivation of the gradient of a scalar, or of blocks of its Hessian, step by step.

    Args:
        f: a scalar expression.
        wrt: a variable or several; see :func:`lemmax.gradient`.  For ``order=2`` the blocks of all
            unordered pairs of the variables are derived; or those of the pairs given, as in
            ``[(A, B)]``.
        nonsmooth: ``raise`` or ``subgradient``; see :func:`lemmax.gradient`.
        order: 1 for gradients, 2 for blocks of the Hessian.
        part: of a Hessian, the whole block (``total``) or its ``outer`` (Gauss-Newton) or ``functional``
            part; see :func:`lemmax.hessian_split`.
        through: the middle tensor of the split, for a part.
        structured: ``ignore`` derives in variables whose entries are not free as if they were.
        direction: for ``order=2``, a direction per variable: derive the product of the Hessian with it, as
            :func:`lemmax.hvp` gives it, instead of blocks.

    Returns:
        A :class:`Derivation`; its ``result`` is what ``lx.gradient``, ``lx.hessian`` or
        ``lx.hessian_split`` returns.

    Raises:
        InvalidArgument, NonSmooth, MissingRule: as these functions do.

    >>> import lemmax as lx
    >>> x = lx.tensor("x", lx.size("n"))
    >>> lx.derive(lx.sum(lx.exp(x)), x, order=2).replay()
    <Derivation of the Hessian in x (n), x (n): 14 steps>
    """
    if order not in (1, 2) or isinstance(order, bool):
        raise InvalidArgument(f"derive: order={order!r}: expected 1 or 2.")
    check_part("derive", part, through)
    if order == 1 and (part != "total" or through is not None):
        raise InvalidArgument("derive: parts and a middle tensor belong to a Hessian; pass order=2.")
    if direction is not None:
        if order != 2 or part != "total":
            raise InvalidArgument(
                "derive: a direction belongs to the whole Hessian; pass order=2 and no part."
            )
        return derive_product(f, wrt, direction, nonsmooth, structured)
    if order == 2:
        return derive_blocks(f, wrt, nonsmooth, part, through, structured)
    variables = as_variables(wrt)  # type: ignore[arg-type]
    sweep = reverse_sweep(f, variables, nonsmooth, "ignore")
    check_variables(f, variables, structured)
    variables = sweep.variables
    builder = Builder(Context(variables, nonsmooth))
    builder.reverse(f)
    results = tuple(builder.context.adjoints[v.digest] for v in variables)
    return Derivation(f, variables, nonsmooth, tuple(builder.steps), results)
