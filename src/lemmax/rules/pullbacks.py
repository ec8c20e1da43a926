r"""Derivatives of functions that have no body in index notation, as a table of pullbacks.

For ``Y = f(X_1, ..., X_p)`` and the adjoint :math:`\bar Y = \partial L / \partial Y` a pullback
returns the contribution :math:`\bar X_q` of this use to the adjoint of one operand.  Each rule is
written with the public builders; each is tested against complex steps and mpmath.
"""

from __future__ import annotations

import sympy as sp

from lemmax.expr import arithmetic, functions, indexing, reductions
from lemmax.expr.indices import free_indices
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor
from lemmax.rules.matrices import MATRIX_PULLBACKS
from lemmax.rules.records import Pullback
from lemmax.rules.spectra import SPECTRAL_PULLBACKS


def axes_of(node: Apply) -> tuple[int, ...]:
    """Return the axes over which a reduction runs."""
    axes = node.param("axes")
    assert isinstance(axes, tuple)
    return axes


def axis_of(node: Apply) -> int:
    """Return the axis of a function that has one."""
    axis = node.param("axis")
    assert isinstance(axis, int)
    return axis


def restore_axes(node: Apply, t: Tensor) -> Tensor:
    """Give a reduced tensor its reduced axes back, with size 1, so that it broadcasts."""
    if node.param("keepdims"):
        return t
    axes = axes_of(node)
    key = tuple(None if p in axes else slice(None) for p in range(node.operands[0].ndim))
    result = indexing.getitem(t, key) if t.ndim else indexing.getitem(t, (None,) * len(axes))
    assert isinstance(result, Tensor)
    return result


def pull_softmax(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Return the softmax Jacobian at the node applied to ``bar`` (it is symmetric)."""
    return Apply("softmax_pullback", (node, bar), node.shape, node.params)


def pull_softmax_pullback(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Differentiate ``S * G - S * sum(S * G)`` in S (slot 0) or in G (slot 1)."""
    s, g = node.operands
    if slot == 1:
        return Apply("softmax_pullback", (s, bar), node.shape, node.params)
    axis = axis_of(node)
    inner = reductions.sum(s * g, axis=axis, keepdims=True)
    return bar * g - bar * inner - g * reductions.sum(bar * s, axis=axis, keepdims=True)


def pull_logsumexp(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Return softmax weights times the adjoint."""
    (t,) = node.operands
    axes = axes_of(node)
    if len(axes) == 1:
        return reductions.softmax(t, axis=axes[0]) * restore_axes(node, bar)
    weights = functions.exp(t - restore_axes(node, node))
    assert isinstance(weights, Tensor)
    return weights * restore_axes(node, bar)


def pull_extremum(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Send the adjoint to the first entry at which the maximum (minimum) is attained."""
    (t,) = node.operands
    mask = Apply(f"arg{node.function}_mask", (t,), t.shape, {"axes": axes_of(node)})
    return mask * restore_axes(node, bar)


def pull_mask(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Return zero: the mask of an argmax is locally constant."""
    return arithmetic.multiply(0, node.operands[0])


def product_of_others(node: Apply) -> Tensor:
    r"""Return, for each entry, the product of the others in its slice: the derivative of the product.

    Along one axis it is :math:`\prod_l (l = j \,?\, 1 : x_l)`, which is right at zeros too, where
    dividing the product by the entry is not.  Several axes are taken one after the other.
    """
    (t,) = node.operands
    factors: list[Tensor] = []
    for axis in axes_of(node):
        indices = free_indices(t.ndim + 1)
        own, other = indices[:-1], indices[-1]
        at = (*own[:axis], other, *own[axis + 1 :])
        body = sp.Piecewise((sp.S.One, sp.Eq(own[axis], other)), (arithmetic.broadcast_entry(t, at), True))
        rest = Lambda((*t.shape, t.shape[axis]), indices, (Term((), body),))
        factors.append(reductions.prod(rest, axis=t.ndim))
        t = reductions.prod(t, axis=axis, keepdims=True)
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def pull_prod(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Return the adjoint times the product of the other entries."""
    return restore_axes(node, bar) * product_of_others(node)


def pull_concat(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Return the block of the adjoint that belongs to the operand."""
    axis = axis_of(node)
    start = sp.expand(sp.Add(*[t.shape[axis] for t in node.operands[:slot]]))
    starts = tuple(start if p == axis else sp.S.Zero for p in range(node.ndim))
    return Apply("slice", (bar,), node.operands[slot].shape, {"starts": starts})


def pull_slice(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Put the adjoint into zeros at the place of the slice."""
    return Apply("place", (bar,), node.operands[0].shape, node.params)


def pull_place(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Cut the adjoint at the place where the operand was put."""
    return Apply("slice", (bar,), node.operands[0].shape, node.params)


def pull_merge(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Split the merged axes again."""
    return Apply("split", (bar,), node.operands[0].shape, node.params)


def pull_split(node: Apply, bar: Tensor, slot: int) -> Tensor:
    """Merge the axes again."""
    return Apply("merge", (bar,), node.operands[0].shape, node.params)


PULLBACKS: dict[str, Pullback] = {
    rule.function: rule
    for rule in (
        Pullback(
            "softmax_jacobian",
            "softmax",
            pull_softmax,
            r"\bar A = S \odot \bar S - \operatorname{Diag}((S \odot \bar S) \mathbf 1)\, S",
            "finite logits or -inf, one finite per row",
            "C. M. Bishop, Pattern Recognition and Machine Learning (2006), eq. 4.106",
        ),
        Pullback(
            "softmax_jacobian_again",
            "softmax_pullback",
            pull_softmax_pullback,
            r"\bar G = J_S \bar Y, \quad \bar S = \bar Y \odot G - \bar Y \,(s^\top g) - G \,(s^\top \bar y)",
            "everywhere",
            "product rule",
        ),
        Pullback(
            "logsumexp",
            "logsumexp",
            pull_logsumexp,
            r"\bar a = \bar y \,\operatorname{softmax}(a)",
            "one finite entry per reduced slice",
            "S. Boyd, L. Vandenberghe, Convex Optimization (2004), section 3.1.5",
        ),
        Pullback(
            "maximum",
            "max",
            pull_extremum,
            r"\bar a = \bar y \, e_{\arg\max a}",
            "a unique maximum (else one subgradient)",
            "Danskin's theorem",
            smooth=False,
        ),
        Pullback(
            "minimum",
            "min",
            pull_extremum,
            r"\bar a = \bar y \, e_{\arg\min a}",
            "a unique minimum (else one supergradient)",
            "Danskin's theorem",
            smooth=False,
        ),
        Pullback(
            "argmax_is_locally_constant",
            "argmax_mask",
            pull_mask,
            r"\bar a = 0",
            "a unique maximum",
            "locally constant",
            smooth=False,
        ),
        Pullback(
            "argmin_is_locally_constant",
            "argmin_mask",
            pull_mask,
            r"\bar a = 0",
            "a unique minimum",
            "locally constant",
            smooth=False,
        ),
        Pullback(
            "product_of_entries",
            "prod",
            pull_prod,
            r"\bar a_j = \bar y \prod_{l \ne j} a_l",
            "everywhere, zeros included",
            "product rule",
        ),
        Pullback(
            "concatenation",
            "concat",
            pull_concat,
            r"\bar A_p = \text{block } p \text{ of } \bar Y",
            "always",
            "linear",
        ),
        Pullback(
            "slice",
            "slice",
            pull_slice,
            r"\bar A = \bar Y \text{ in its place, } 0 \text{ elsewhere}",
            "always",
            "linear",
        ),
        Pullback("placement", "place", pull_place, r"\bar A = \text{slice of } \bar Y", "always", "linear"),
        Pullback(
            "merged_axes", "merge", pull_merge, r"\bar A = \operatorname{split}(\bar Y)", "always", "linear"
        ),
        Pullback(
            "split_axes", "split", pull_split, r"\bar A = \operatorname{merge}(\bar Y)", "always", "linear"
        ),
        *MATRIX_PULLBACKS,
        *SPECTRAL_PULLBACKS,
    )
}
"""Pullbacks by function.  A new function is differentiable as soon as it has a row here."""
