r"""Directional derivatives of functions that have no body in index notation, as a table of pushforwards.

For ``Y = f(X_1, ..., X_p)`` and tangents :math:`\dot X_q` a pushforward returns :math:`\dot Y`.  A tangent
has the axes of its tensor followed by any number of extra axes, one per direction, so that one
sweep gives a directional derivative (no extra axes) or a whole Jacobian.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from lemmax.expr import arithmetic, functions, indexing, notation, reductions
from lemmax.expr.nodes import Apply
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.rules.matrices import MATRIX_PUSHFORWARDS, only
from lemmax.rules.pullbacks import axes_of, axis_of, product_of_others, restore_axes
from lemmax.rules.records import Pushforward, Tangents
from lemmax.rules.spectra import SPECTRAL_PUSHFORWARDS


def lift(t: Tensor, extra: tuple[Size, ...]) -> Tensor:
    """Give a tensor as many trailing axes of size 1 as there are extra axes."""
    if not extra:
        return t
    lifted = indexing.getitem(t, (*(slice(None),) * t.ndim, *(None,) * len(extra)))
    assert isinstance(lifted, Tensor)
    return lifted


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
        Pushforward("concatenation_forward", "concat", push_concat, r"\dot Y = (\dot A_1, \dots, \dot A_p)"),
        Pushforward("slice_forward", "slice", push_window, r"\dot Y = \text{slice of } \dot A"),
        Pushforward("placement_forward", "place", push_window, r"\dot Y = \dot A \text{ in its place}"),
        Pushforward(
            "merged_axes_forward", "merge", push_regrouping, r"\dot Y = \operatorname{merge}(\dot A)"
        ),
        Pushforward("split_axes_forward", "split", push_regrouping, r"\dot Y = \operatorname{split}(\dot A)"),
        *MATRIX_PUSHFORWARDS,
        *SPECTRAL_PUSHFORWARDS,
    )
}
"""Pushforwards by function.  Functions with a definition (``rules.definitions``) need none."""
