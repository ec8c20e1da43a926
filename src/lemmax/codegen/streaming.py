r"""Which results are sums over samples, so that samples can be taken in chunks.

A tensor is *local* along an axis of size N if each of its entries depends on one sample only, that of its own
index; it is *additive* if it is a sum over samples of such values; it is *free* if no sample occurs in it.
Losses and gradients of independent samples are additive.  A mean is not: its divisor is N itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.errors import UnsupportedYet
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.tensor import Tensor

FREE, ADDITIVE = "free", "additive"
Standing = str | int
"""``FREE``, ``ADDITIVE``, or the axis along which a tensor is local."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """How a function goes through one axis of its arguments in parts.

    Attributes:
        size: name of the size of that axis, in the expression.
        length: most positions taken at once.
        axes: the axis by argument; arguments without one are passed whole.
        combine: ``sum`` or ``concatenate``, what is done with the results.
    """

    size: str
    length: int
    axes: tuple[tuple[str, int], ...]
    combine: str


def sample_axes(roots: Sequence[Tensor], samples: sp.Symbol) -> dict[str, int]:
    """Return the axis of each input along which samples lie.

    Raises:
        UnsupportedYet: an output is no sum over samples of what depends on one sample each.
    """
    standing: dict[str, Standing] = {}
    for node in topological_order(*roots):
        standing[node.digest] = _standing(node, samples, standing)
    for root in roots:
        if standing[root.digest] != ADDITIVE:
            raise _refused(root, samples, "it is no sum over samples")
    inputs = [t for t in topological_order(*roots) if isinstance(t, Input)]
    return {str(t.name): axis for t in inputs if isinstance(axis := standing[t.digest], int)}


def _refused(t: Tensor, samples: sp.Symbol, why: str) -> UnsupportedYet:
    return UnsupportedYet(
        f"stream={str(samples)!r}: {t.label()} cannot be added up in chunks of {samples}: {why}. Only sums "
        "over samples of terms that depend on one sample each can; take constants and divisors out and apply "
        "them to the result."
    )


def _standing(node: Tensor, samples: sp.Symbol, known: dict[str, Standing]) -> Standing:
    axes = [p for p, s in enumerate(node.shape) if samples in s.free_symbols]
    if len(axes) > 1 or any(node.shape[a] != samples for a in axes):
        raise _refused(node, samples, f"its shape is ({', '.join(map(str, node.shape))})")
    axis = axes[0] if axes else None
    if isinstance(node, Input):
        return FREE if axis is None else axis
    if isinstance(node, Lambda):
        return _of_lambda(node, axis, samples, known)
    if isinstance(node, Apply):
        return _of_function(node, axis, samples, known)
    raise _refused(node, samples, f"nothing is known about {type(node).__name__}")


def _of_lambda(node: Lambda, axis: int | None, samples: sp.Symbol, known: dict[str, Standing]) -> Standing:
    own = None if axis is None else node.indices[axis]
    found = {_of_term(node, term, own, samples, known) for term in node.terms}
    if axis is not None:
        if ADDITIVE in found:
            raise _refused(node, samples, "each of its entries depends on all samples")
        return axis
    if len(found) > 1:
        raise _refused(node, samples, "a part of it depends on no sample, and would count once per chunk")
    return found.pop() if found else FREE


def _of_term(
    node: Lambda, term: Term, own: sp.Symbol | None, samples: sp.Symbol, known: dict[str, Standing]
) -> Standing:
    """Return how a term stands; a term at the index ``own`` of the sample counts as free."""
    summed = [i for i, size in term.bound if samples in size.free_symbols]
    if any(size != samples for _, size in term.bound if samples in size.free_symbols):
        raise _refused(node, samples, "it sums over an axis in which samples are merged with others")
    if len(summed) > 1 or (summed and own is not None):
        raise _refused(node, samples, "a term of it joins two samples")
    index = summed[0] if summed else own
    if samples in term.expr.free_symbols:
        raise _refused(node, samples, f"the number {samples} occurs in it")
    additive = []
    entries = [e for e in term.expr.atoms(sp.Indexed, sp.Symbol) if entry_tensor(e) is not None]
    outside = term.expr
    for entry in entries:
        t = entry_tensor(entry)
        assert t is not None
        if len(indices_of(entry)) != t.ndim:
            continue  # the label inside an entry
        outside = outside.xreplace({entry: sp.S.One})
        stands = known[t.digest]
        if stands == ADDITIVE:
            additive.append(entry)
        for position, at in enumerate(indices_of(entry)):
            if position == stands and at != index:
                raise _refused(
                    node, samples, "a term of it takes a fixed sample, or another one than its own"
                )
            if position != stands and index is not None and index in at.free_symbols:
                raise _refused(node, samples, f"it uses the number of a sample as an index of {t.label()}")
    if index is not None and index in outside.free_symbols:
        raise _refused(node, samples, "it depends on the number of a sample")
    if additive:
        factors = sp.Mul.make_args(term.expr)
        linear = len(additive) == 1 and factors.count(additive[0]) == 1
        linear = linear and not any(f.has(additive[0]) for f in factors if f != additive[0])
        if not linear or summed:
            raise _refused(node, samples, "a sum over samples enters it other than as a factor")
        return ADDITIVE
    return ADDITIVE if summed else FREE


_ALONG = ("softmax", "softmax_pullback")
_REDUCING = ("logsumexp", "max", "min", "prod")


def _of_function(node: Apply, axis: int | None, samples: sp.Symbol, known: dict[str, Standing]) -> Standing:
    stands = [known[t.digest] for t in node.operands]
    if _mentions(node.params, samples):
        raise _refused(node, samples, f"the number {samples} occurs in it")
    if axis is None and all(s == FREE for s in stands):
        return FREE
    if ADDITIVE in stands or axis is None:
        raise _refused(node, samples, f"{node.function} of it needs all samples at once")
    if node.function in _ALONG and node.param("axis") != axis and all(s == axis for s in stands):
        return axis
    if node.function in _REDUCING and isinstance(stands[0], int):
        gone: tuple[int, ...] = node.param("axes")  # type: ignore[assignment]
        shift = 0 if node.param("keepdims") else sum(a < stands[0] for a in gone)
        if stands[0] not in gone and stands[0] - shift == axis:
            return axis
    raise _refused(node, samples, f"nothing is known about {node.function} along the samples")


def _mentions(params: object, samples: sp.Symbol) -> bool:
    if isinstance(params, sp.Basic):
        return samples in params.free_symbols
    return isinstance(params, tuple) and any(_mentions(p, samples) for p in params)
