r"""The tensor Z through which a scalar depends on its weights: :math:`f(\theta) = \ell(Z(\theta))`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lemmax.calculus.forward import hessian_block
from lemmax.calculus.linearity import is_affine_in
from lemmax.calculus.normal_form import TooLarge, is_zero, normal_form
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.positivity import why_positive_semidefinite
from lemmax.errors import InvalidArgument
from lemmax.expr.graph import substitute, topological_order
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor, distinct_name

_MOST_CANDIDATES = 4  # so many tensors are looked at for one in which the loss is convex


def middle_tensor(
    f: Tensor, weights: Sequence[Tensor], through: Tensor | str | None, nonsmooth: Smoothness
) -> Tensor:
    """Return the tensor inside ``f`` that is meant by ``through``, or the one to take by default.

    Raises:
        InvalidArgument: there is none, or more than one of the name.
    """
    if through is None:
        return _default(f, weights, nonsmooth)
    inside = topological_order(f)
    if isinstance(through, str):
        found = [t for t in inside if t.name == through]
    elif isinstance(through, Tensor):
        # a tensor may carry a name outside that it does not have inside: F = X.named("F")
        bare = through if isinstance(through, Input) else through.named(None)
        found = [t for t in inside if t == through] or [t for t in inside if t == bare]
    else:
        raise InvalidArgument(f"hessian_split through {through!r}: expected a tensor inside f, or its name.")
    if len(found) == 1:
        return found[0]
    wanted = repr(through) if isinstance(through, str) else through.label()
    inner = [t for t in inside if t != f and not isinstance(t, Input)]
    names = ", ".join(sorted({str(t.name) for t in inner if t.name is not None}))
    if found:
        raise InvalidArgument(f"hessian_split through {wanted}: several tensors have that name; give one.")
    raise InvalidArgument(
        f"hessian_split through {wanted}: there is no such tensor in {f.label()}. "
        + (f"The named ones are {names}." if names else "None has a name; give it one with .named(...).")
    )


def loss_of_middle(f: Tensor, weights: Sequence[Tensor], middle: Tensor) -> tuple[Tensor, Input]:
    r"""Return :math:`\ell` as a function of an input that stands for Z, and that input.

    Raises:
        InvalidArgument: ``f`` depends on a weight other than through Z.
    """
    rest = topological_order(f, stop=lambda t: t == middle)
    for weight in weights:
        if weight != middle and weight in rest:
            raise InvalidArgument(
                f"hessian_split through {middle.label()}: {f.label()} depends on {weight.label()} in other"
                " ways too (a penalty on the weights, say). Split the part that does not and add the"
                " Hessian of the rest."
            )
    held = Input(distinct_name("Z", {t.name for t in topological_order(f)}), middle.shape)
    return substitute(f, {middle: held}), held


def bottlenecks(f: Tensor, weights: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the tensors that every path from ``f`` to a weight goes through, ``f`` first."""
    targets = {w.digest for w in weights}
    order = topological_order(f, stop=lambda t: t.digest in targets)
    below: set[str] = set()
    for node in order:
        if node.digest in targets or any(t.digest in below for t in node.operands):
            below.add(node.digest)
    # walk from f downwards: a tensor is a bottleneck if no other one is open when its turn comes
    open_: set[str] = {f.digest} & below
    for node in reversed(order):
        if node.digest not in open_:
            continue
        if len(open_) == 1:
            yield node
        if node.digest in targets:
            return
        open_.remove(node.digest)
        open_ |= {t.digest for t in node.operands if t.digest in below}


def _default(f: Tensor, weights: Sequence[Tensor], nonsmooth: Smoothness) -> Tensor:
    """Take the first bottleneck in which ``f`` is convex, else the first in which it is not linear."""
    candidates: list[Tensor] = []
    order = list(bottlenecks(f, weights))
    for node in order[1:]:
        curvature = _curvature(f, weights, node, nonsmooth)
        if not candidates and _is_zero(curvature):
            continue
        candidates.append(node)
        if why_positive_semidefinite(curvature) is not None:
            return _first_named(node, order[order.index(node) :], weights)
        if len(candidates) == _MOST_CANDIDATES:
            break
    if candidates:
        return _first_named(candidates[0], order[order.index(candidates[0]) :], weights)
    raise InvalidArgument(
        f"hessian_split of {f.label()}: there is no tensor through which all dependence on"
        f" {' and '.join(w.label() for w in dict.fromkeys(weights))} goes and in which it is not linear. Name"
        " the model's output with through=, or split the part of the scalar that depends on it."
    )


def _first_named(node: Tensor, below: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """Return the first named tensor that ``node`` is an affine function of, or ``node``."""
    for other in below:
        if other in weights or not is_affine_in(node, other):
            break
        if other.name is not None:
            return other
    return node


def _curvature(f: Tensor, weights: Sequence[Tensor], node: Tensor, nonsmooth: Smoothness) -> Tensor:
    loss, held = loss_of_middle(f, weights, node)
    return hessian_block(loss, held, held, nonsmooth)


def _is_zero(t: Tensor) -> bool:
    try:
        return is_zero(normal_form(t))
    except TooLarge:
        return False
