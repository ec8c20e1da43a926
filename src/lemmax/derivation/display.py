r"""Names for what a reader must be able to point at: unnamed tensors of a derivation, and deltas."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import sympy as sp

from lemmax.calculus.gradient import adjoint_name
from lemmax.derivation.line_rules import LINE_RULES, line_of
from lemmax.derivation.record import Derivation
from lemmax.derivation.split_rules import SPLIT_RULES
from lemmax.expr.graph import substitute, topological_order
from lemmax.expr.nodes import Derivative, Input, Lambda, Term
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor


class Display:
    r"""A derivation's tensors as they are shown: each that a step is about has a name.

    Unnamed tensors become ``T_1, T_2, ...`` and their adjoints ``\bar{T}_1, ...``; a loss without a
    name becomes ``f``.  Kronecker deltas become entries of a symbol, so that no reading contracts them.
    Tangents become the formal derivatives that they are: of the tensor, in the variable.
    """

    def __init__(self, derivation: Derivation) -> None:
        """Choose names that occur nowhere in the derivation."""
        sides = [side for step in derivation.steps for side in (step.before, step.after)]
        order = topological_order(*sides, *derivation.results)
        self._taken = {str(t.name) for t in order if t.name is not None}
        self._names: dict[str, str] = {}
        self._shown: dict[str, Tensor] = {}
        self._derivatives: dict[str, tuple[Tensor, Tensor]] = {}
        loss = derivation.loss
        if loss.name is None and not isinstance(loss, Input):
            self._names[loss.digest] = self._free("f")
        first = next(step for step in derivation.steps if step.rule == "inline_definitions")
        if first.place.name is None and not isinstance(first.place, Input):
            self._names.setdefault(first.place.digest, self._names.get(loss.digest) or str(loss.name))
        self._same: dict[str, Tensor] = {}
        finals = {step.place.digest: step.after for step in derivation.steps[1:] if step.along is None}
        for variable in derivation.variables if derivation.order == 2 else ():
            gradient = finals.get(variable.digest)
            if variable.name is not None and gradient is not None and _needs_name(gradient):
                self._names.setdefault(gradient.digest, self._free(adjoint_name(variable.name)))
        count = 0
        for step in derivation.steps:
            if step.rule == "write_out_definitions" and step.after != step.before:
                self._same[step.after.digest] = step.before
        places = [t for step in derivation.steps[1:] for t in (step.along, step.place) if t is not None]
        for place in places:
            if place.name is not None or place.digest in self._names or place.digest in self._same:
                continue
            count += 1
            self._names[place.digest] = self._free(f"T_{count}")
            final = finals.get(place.digest)
            if final is not None and _needs_name(final) and final.digest not in self._names:
                self._names[final.digest] = self._free(rf"\bar{{T}}_{count}")
        for moved, base in _on_the_line(derivation).items():
            self._names[moved] = self._free(rf"\hat{{{self._names.get(base.digest) or base.name}}}")
        self._derivatives = _tangents(derivation, set(self._names))

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
                self._shown[node.digest] = self._show(node)
        shown = self._shown[t.digest]
        return _with_visible_deltas(shown) if keep_deltas else shown

    def without_derivatives(self) -> Display:
        """Return one that shows tangents as what they were found to be."""
        other = copy.copy(self)
        other._derivatives, other._shown = {}, {}
        return other

    def body(self, t: Tensor, keep_deltas: bool = False) -> Tensor:
        """Return the tensor's own definition, without a name, over tensors with names in place."""
        self(t)
        shown = t.rebuild(*[self._shown[x.digest] for x in t.operands])
        if shown.name is not None and not isinstance(shown, Input):
            shown = shown.named(None)
        return _with_visible_deltas(shown) if keep_deltas else shown

    def _show(self, node: Tensor) -> Tensor:
        if node.digest in self._same:
            return self(self._same[node.digest])
        if node.digest in self._derivatives:
            of, wrt = self._derivatives[node.digest]
            return Derivative(self(of), self(wrt))
        new = node.rebuild(*[self._shown[x.digest] for x in node.operands])
        return new.named(self._names[node.digest]) if node.digest in self._names else new


def _on_the_line(derivation: Derivation) -> dict[str, Tensor]:
    """Return the tensors of which those at moved variables are versions, by digests of the latter."""
    if not derivation.directions:
        return {}
    line = line_of(derivation.f, derivation.variables, derivation.directions)
    gradients = [step.before for step in derivation.steps if step.rule == "move_along_direction"]
    found = {}
    for node in topological_order(*gradients):
        moved = substitute(node, dict(line.moved))
        if moved != node and node not in line.moved:
            found[moved.digest] = node
    return found


def _needs_name(t: Tensor) -> bool:
    return t.name is None and bool(t.operands)


def _tangents(derivation: Derivation, named: set[str]) -> dict[str, tuple[Tensor, Tensor]]:
    """Return of what, and in what, the tangents are derivatives that later steps are made of."""
    found = {}
    for step in derivation.steps:
        if step.along is None or step.rule in ("write_out_definitions", *SPLIT_RULES, *LINE_RULES):
            continue
        if _needs_name(step.after) and step.after.digest not in named:
            found[step.after.digest] = (step.place, step.along)
    return found


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
