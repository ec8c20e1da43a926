r"""Names for what a reader must be able to point at: unnamed tensors of a derivation, and deltas."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from lemmax.derivation.record import Derivation
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Input, Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor


class Display:
    r"""A derivation's tensors as they are shown: each that a step is about has a name.

    Unnamed tensors become ``T_1, T_2, ...`` and their adjoints ``\bar{T}_1, ...``; a loss without a
    name becomes ``f``.  Kronecker deltas become entries of a symbol, so that no reading contracts them.
    """

    def __init__(self, derivation: Derivation) -> None:
        """Choose names that occur nowhere in the derivation."""
        sides = [side for step in derivation.steps for side in (step.before, step.after)]
        order = topological_order(*sides, *derivation.results)
        self._taken = {str(t.name) for t in order if t.name is not None}
        self._names: dict[str, str] = {}
        self._shown: dict[str, Tensor] = {}
        loss = derivation.loss
        if loss.name is None and not isinstance(loss, Input):
            self._names[loss.digest] = self._free("f")
        finals = {step.place.digest: step.after for step in derivation.steps[1:]}
        count = 0
        for step in derivation.steps[1:]:
            place = step.place
            if place.name is not None or place.digest in self._names:
                continue
            count += 1
            self._names[place.digest] = self._free(f"T_{count}")
            final = finals[place.digest]
            if final.name is None and final.operands and final.digest not in self._names:
                self._names[final.digest] = self._free(rf"\bar{{T}}_{count}")

    def _free(self, name: str) -> str:
        while name in self._taken:
            name = rf"\tilde{{{name}}}"
        self._taken.add(name)
        return name

    @property
    def auxiliary(self) -> Mapping[str, str]:
        """The names given here, by digest of the tensor."""
        return self._names

    def __call__(self, t: Tensor, keep_deltas: bool = False) -> Tensor:
        """Return the tensor with names in place; with ``keep_deltas`` its own deltas stay visible."""
        for node in topological_order(t, stop=lambda x: x.digest in self._shown):
            if node.digest not in self._shown:
                new = node.rebuild(*[self._shown[x.digest] for x in node.operands])
                if node.digest in self._names:
                    new = new.named(self._names[node.digest])
                self._shown[node.digest] = new
        shown = self._shown[t.digest]
        return _with_visible_deltas(shown) if keep_deltas else shown


def _with_visible_deltas(t: Tensor) -> Tensor:
    if not isinstance(t, Lambda):
        return t
    ranges = dict(zip(t.indices, t.shape, strict=True))
    terms = tuple(Term(x.bound, _replace_deltas(x.expr, {**ranges, **dict(x.bound)})) for x in t.terms)
    return Lambda(t.shape, t.indices, terms, t.name)


def _replace_deltas(expr: sp.Expr, ranges: Mapping[sp.Symbol, Size]) -> sp.Expr:
    swap = {}
    for delta in expr.atoms(sp.KroneckerDelta):
        size = next((ranges[i] for i in delta.args if i in ranges), None)
        if size is not None:
            swap[delta] = delta_symbol(size).entry(*delta.args)
    return expr.xreplace(swap)


def delta_symbol(size: Size) -> Input:
    r"""Return the symbol whose entries stand for Kronecker deltas over a range: ``\delta^{n}``."""
    plain = "".join(c for c in str(size) if c.isalnum())
    return Input(rf"\delta^{{{plain}}}", (size, size))


def is_delta_symbol(t: Tensor) -> bool:
    """Is the tensor a symbol for Kronecker deltas?"""
    return isinstance(t, Input) and str(t.name).startswith(r"\delta^{")
