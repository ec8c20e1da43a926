r"""Directional derivatives of functions that have no body in index notation, as a table of pushforwards.

For ``Y = f(X_1, ..., X_p)`` and tangents :math:`\dot X_q` a pushforward returns :math:`\dot Y`.  A tangent
has the axes of its tensor followed by any number of extra axes, one per direction, so that one
sweep gives a directional derivative (no extra axes) or a whole Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.expr import arithmetic, functions, indexing, notation, reductions
from lemmax.expr.indices import bound_index, free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.rules.pullbacks import axes_of, axis_of, product_of_others, restore_axes

Tangents = Sequence[Tensor | None]
"""The tangent of each operand; ``None`` where it does not depend on the variables."""


@dataclass(frozen=True, slots=True)
class Pushforward:
    r"""How the tangents of operands become the tangent of a function's value.

    Attributes:
        name: name of the rule.
        function: the function it belongs to, a key of ``Apply``.
        apply: ``(node, tangents, extra) -> tangent``, ``extra`` being the sizes of the extra axes.
        statement: LaTeX of the rule.
        smooth: whether the function is differentiable everywhere in its domain.
    """

    name: str
    function: str
    apply: Callable[[Apply, Tangents, tuple[Size, ...]], Tensor]
    statement: str
    smooth: bool = True


def lift(t: Tensor, extra: tuple[Size, ...]) -> Tensor:
    """Give a tensor as many trailing axes of size 1 as there are extra axes."""
    if not extra:
        return t
    lifted = indexing.getitem(t, (*(slice(None),) * t.ndim, *(None,) * len(extra)))
    assert isinstance(lifted, Tensor)
    return lifted


def only(tangents: Tangents) -> Tensor:
    """Return the tangent of a function's only operand."""
    (tangent,) = tangents
    assert tangent is not None
    return tangent


def push_softmax(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Apply the softmax Jacobian, diag(s) - s s^T, along the axis."""
    s = lift(node, extra)
    weighted = s * only(tangents)
    return weighted - s * reductions.sum(weighted, axis=axis_of(node), keepdims=True)


def push_logsumexp(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Average the tangent with the softmax weights."""
    weights = functions.exp(node.operands[0] - restore_axes(node, node))
    assert isinstance(weights, Tensor)
    return _reduce(node, lift(weights, extra) * only(tangents))


def push_extremum(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Take the tangent at the first entry at which the extremum is attained."""
    (t,) = node.operands
    mask = Apply(f"arg{node.function}_mask", (t,), t.shape, {"axes": axes_of(node)})
    return _reduce(node, lift(mask, extra) * only(tangents))


def push_prod(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Add up the tangents of the entries, each times the product of the others."""
    return _reduce(node, lift(product_of_others(node), extra) * only(tangents))


def _reduce(node: Apply, t: Tensor) -> Tensor:
    return reductions.sum(t, axis=axes_of(node), keepdims=bool(node.param("keepdims")))


def push_inv(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`-A^{-1} \dot A A^{-1}`."""
    dot = only(tangents)
    n = node.shape[-1]
    indices = free_indices(dot.ndim)
    family, (i, j), rest = indices[: node.ndim - 2], indices[node.ndim - 2 : node.ndim], indices[node.ndim :]
    k, m = bound_index(0), bound_index(1)
    expr = -node.entry(*family, i, k) * dot.entry(*family, k, m, *rest) * node.entry(*family, m, j)
    return Lambda(dot.shape, indices, (Term(((k, n), (m, n)), expr),))


def _trace_with_inverse(node: Apply, tangents: Tangents) -> Tensor:
    from lemmax.expr.linalg import inv

    dot, (a,) = only(tangents), node.operands
    n, lead = a.shape[-1], a.ndim - 2
    shape = dot.shape[:lead] + dot.shape[a.ndim :]
    indices = free_indices(len(shape))
    family, rest = indices[:lead], indices[lead:]
    k, m = bound_index(0), bound_index(1)
    expr = inv(a).entry(*family, m, k) * dot.entry(*family, k, m, *rest)
    return Lambda(shape, indices, (Term(((k, n), (m, n)), expr),))


def push_det(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`\det(A) \operatorname{tr}(A^{-1} \dot A)`, for invertible A."""
    return lift(node, extra) * _trace_with_inverse(node, tangents)


def push_logdet(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    r"""Return :math:`\operatorname{tr}(A^{-1} \dot A)`."""
    return _trace_with_inverse(node, tangents)


def push_concat(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Join the tangents; operands that do not move contribute zeros."""
    parts = [
        notation.zeros(*t.shape, *extra) if dot is None else dot
        for t, dot in zip(node.operands, tangents, strict=True)
    ]
    return indexing.concat(parts, axis=axis_of(node))


def push_window(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Slice (or place) the tangent; the extra axes are kept whole."""
    starts = node.param("starts")
    assert isinstance(starts, tuple)
    return Apply(
        node.function, (only(tangents),), node.shape + extra, {"starts": starts + (sp.S.Zero,) * len(extra)}
    )


def push_regrouping(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Merge (or split) the axes of the tangent; the extra axes stay single."""
    groups = node.param("groups")
    assert isinstance(groups, tuple)
    first = node.operands[0].ndim if node.function == "merge" else node.ndim
    single = tuple((first + p,) for p in range(len(extra)))
    return Apply(node.function, (only(tangents),), node.shape + extra, {"groups": groups + single})


def push_mask(node: Apply, tangents: Tangents, extra: tuple[Size, ...]) -> Tensor:
    """Return zero: the mask of an extremum is locally constant."""
    return arithmetic.multiply(0, only(tangents))


PUSHFORWARDS: Mapping[str, Pushforward] = {
    rule.function: rule
    for rule in (
        Pushforward(
            "softmax_jacobian_forward",
            "softmax",
            push_softmax,
            r"\dot s = (\operatorname{Diag}(s) - s s^\top) \dot a",
        ),
        Pushforward("logsumexp_forward", "logsumexp", push_logsumexp, r"\dot y = s^\top \dot a"),
        Pushforward("maximum_forward", "max", push_extremum, r"\dot y = \dot a_{\arg\max a}", smooth=False),
        Pushforward("minimum_forward", "min", push_extremum, r"\dot y = \dot a_{\arg\min a}", smooth=False),
        Pushforward("argmax_forward", "argmax_mask", push_mask, r"\dot y = 0", smooth=False),
        Pushforward("argmin_forward", "argmin_mask", push_mask, r"\dot y = 0", smooth=False),
        Pushforward(
            "product_of_entries_forward",
            "prod",
            push_prod,
            r"\dot y = \sum_j \dot a_j \prod_{l \ne j} a_l",
        ),
        Pushforward("inverse_forward", "inv", push_inv, r"\dot Y = -A^{-1} \dot A A^{-1}"),
        Pushforward(
            "determinant_forward", "det", push_det, r"\dot y = \det(A) \operatorname{tr}(A^{-1} \dot A)"
        ),
        Pushforward(
            "log_determinant_forward", "logdet", push_logdet, r"\dot y = \operatorname{tr}(A^{-1} \dot A)"
        ),
        Pushforward("concatenation_forward", "concat", push_concat, r"\dot Y = (\dot A_1, \dots, \dot A_p)"),
        Pushforward("slice_forward", "slice", push_window, r"\dot Y = \text{slice of } \dot A"),
        Pushforward("placement_forward", "place", push_window, r"\dot Y = \dot A \text{ in its place}"),
        Pushforward(
            "merged_axes_forward", "merge", push_regrouping, r"\dot Y = \operatorname{merge}(\dot A)"
        ),
        Pushforward("split_axes_forward", "split", push_regrouping, r"\dot Y = \operatorname{split}(\dot A)"),
    )
}
"""Pushforwards by function.  Functions with a definition (``rules.definitions``) need none."""
