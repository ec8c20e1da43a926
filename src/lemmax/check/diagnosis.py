r"""What is wrong with a claimed formula: the search for one repair that makes it right.

A repair changes the claim in one place: the whole is transposed, scaled or summed, or one summand,
one factor or one function inside it is changed.  Candidates are compared with the right formula on
random arrays; one that agrees is then put to :func:`lemmax.equal`, and only a proof makes it a
diagnosis.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp

from lemmax.calculus.flatten import flatten
from lemmax.calculus.terms import entry_tensor, indices_of
from lemmax.check.equality import equal
from lemmax.check.points import AGREE, Point, agrees, points, same_shape, value_of
from lemmax.expr import reductions
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor
from lemmax.interpret import Evaluator
from lemmax.statement.verdict import Verdict

_MOST_CANDIDATES = 400
_RANK_ONE = "the rank-one term of diag(s) - s s^T is missing"


@dataclass(frozen=True, slots=True)
class Repair:
    """One change of a claim.

    Attributes:
        kind: what kind of change.
        text: what to change, in words.
        result: the claim after the change.
        formula: the changed claim as LaTeX, if it was given so.
    """

    kind: str
    text: str
    result: Tensor
    formula: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found out about a claim.

    Attributes:
        verdict: is the claim equal to the right formula?
        repair: the one change that makes it right, if one was found and proved.
    """

    verdict: Verdict
    repair: Repair | None = None

    def __str__(self) -> str:
        """Show the verdict and the repair."""
        return f"{self.verdict}\n{self.repair.kind}: {self.repair.text}" if self.repair else str(self.verdict)


def diagnose(claim: Tensor, right: Tensor, seed: int = 0) -> Diagnosis:
    """Compare a claimed formula with the right one; if it is wrong, look for one repair.

    Args:
        claim: the formula that somebody wrote.
        right: the formula that was derived.
        seed: from which arrays are drawn.
    """
    if same_shape(claim, right):
        verdict = equal(claim, right, seed=seed)
        if verdict.name != "refuted":
            return Diagnosis(verdict)
    else:
        shapes = [f"({', '.join(map(str, t.shape))})" for t in (claim, right)]
        verdict = Verdict("unknown", f"the claim has shape {shapes[0]}, the right formula {shapes[1]}")
    at = points(right, [claim], seed)
    candidates = itertools.islice(
        itertools.chain(_scalings(claim, right, at), repairs(claim, right)), _MOST_CANDIDATES
    )
    for candidate in candidates:
        if not same_shape(candidate.result, right) or not agrees(candidate.result, at):
            continue
        if equal(candidate.result, right, seed=seed).name == "proved":
            return Diagnosis(verdict, candidate)
    return Diagnosis(verdict)


# -- scalings of the whole ----------------------------------------------------------------------
def _scalings(claim: Tensor, right: Tensor, at: list[Point]) -> Iterator[Repair]:
    """Yield the factor by which the whole claim is off, read off the numbers, if there is one."""
    if not same_shape(claim, right):
        return
    evaluator = Evaluator([claim])
    ratios = []
    for point in at:
        value = value_of(evaluator, point.arrays, point.sizes)
        if value is None:
            return
        place = np.unravel_index(np.argmax(np.abs(value)), value.shape)
        if value[place] == 0:
            return
        ratio = float(point.value[place] / value[place])
        if np.max(np.abs(ratio * value - point.value)) > AGREE * np.max(np.abs(point.value), initial=1e-300):
            return
        ratios.append(ratio)
    names = sorted(
        {x for t in (claim, right) for n in topological_order(t) for s in n.shape for x in s.free_symbols},
        key=str,
    )
    for number in (
        1,
        -1,
        2,
        -2,
        sp.Rational(1, 2),
        -sp.Rational(1, 2),
        4,
        sp.Rational(1, 4),
        -4,
        3,
        sp.Rational(1, 3),
    ):
        for scale in _size_factors(names):
            factor = sp.sympify(number) * scale
            if factor != 1 and all(
                abs(float(factor.subs({s: p.sizes[str(s)] for s in names})) - r) <= AGREE * abs(r)
                for p, r in zip(at, ratios, strict=True)
            ):
                kind = "sign" if factor == -1 else "factor"
                yield Repair(kind, f"multiply the claim by {factor}", claim * factor)


def _size_factors(names: list[sp.Symbol]) -> Iterator[sp.Expr]:
    yield sp.S.One
    for power in (sp.Rational(-1, 2), sp.Rational(1, 2), -1, 1):
        for name in names:
            yield name**power


# -- changes inside ------------------------------------------------------------------------------
def repairs(claim: Tensor, right: Tensor) -> Iterator[Repair]:
    """Yield changes of the claim in one place."""
    if claim.ndim >= 2:
        yield Repair("layout", "transpose the claim: a gradient has the shape of its variable", claim.mT)
    for axis in range(claim.ndim):
        if claim.ndim == right.ndim + 1:
            yield Repair(
                "missing sum",
                f"sum over the axis of size {claim.shape[axis]}",
                reductions.sum(claim, axis=axis),
            )
    (flat,) = flatten([claim])
    for node in reversed(topological_order(flat)):
        for kind, text, new in _changes(node):
            yield Repair(kind, text, _replace(flat, node, new))
    for node in reversed(
        topological_order(claim)
    ):  # as it was written: flattening joins S * P with what follows
        whole = _missing_rank_one(node) if isinstance(node, Lambda) else None
        if whole is not None:
            yield Repair("softmax Jacobian", _RANK_ONE, _replace(claim, node, whole))


def _replace(root: Tensor, old: Tensor, new: Tensor) -> Tensor:
    from lemmax.expr.graph import transform

    (result,) = transform([root], lambda t: new if t == old else t)
    return result


def _changes(node: Tensor) -> Iterator[tuple[str, str, Tensor]]:
    if isinstance(node, Lambda):
        for position in range(len(node.terms)):
            yield from _changes_of_term(node, position)
    elif isinstance(node, Apply) and node.function == "softmax" and node.ndim >= 2:
        axis = dict(node.params)["axis"]
        other = node.ndim - 1 if axis != node.ndim - 1 else node.ndim - 2
        yield (
            "axis",
            "take the softmax over the other axis",
            Apply("softmax", node.operands, node.shape, {"axis": other}),
        )


def _with_term(node: Lambda, position: int, expr: sp.Expr) -> Lambda:
    terms = list(node.terms)
    terms[position] = Term(terms[position].bound, expr)
    return Lambda(node.shape, node.indices, tuple(terms), node.name)


def _changes_of_term(node: Lambda, position: int) -> Iterator[tuple[str, str, Tensor]]:
    term = node.terms[position]
    if len(node.terms) > 1:
        yield "sign", f"change the sign of summand {position + 1}", _with_term(node, position, -term.expr)
        for factor in (sp.Integer(2), sp.Rational(1, 2)):
            yield (
                "factor",
                f"multiply summand {position + 1} by {factor}",
                _with_term(node, position, factor * term.expr),
            )
        rest = node.terms[:position] + node.terms[position + 1 :]
        yield (
            "extra term",
            f"leave out summand {position + 1}",
            Lambda(node.shape, node.indices, rest, node.name),
        )
    yield from _whole_jacobians(node, position)
    for entry in sorted(term.expr.atoms(sp.Indexed), key=str):
        t = entry_tensor(entry)
        if t is None or t.ndim < 2 or not same_size(t.shape[-1], t.shape[-2]):
            continue
        at = indices_of(entry)
        swapped = t.entry(*at[:-2], at[-1], at[-2])
        if swapped != entry:
            name = t.name or "a factor"
            yield (
                "transpose",
                f"transpose {name}",
                _with_term(node, position, term.expr.xreplace({entry: swapped})),
            )


def _whole_jacobians(node: Lambda, position: int) -> Iterator[tuple[str, str, Tensor]]:
    """Read a softmax times a tensor at the same place as the diagonal part of its Jacobian."""
    factors = sp.Mul.make_args(node.terms[position].expr)
    entries = [(f, t) for f in factors if (t := entry_tensor(f)) is not None and t.ndim]
    for at, s in entries:
        if not isinstance(s, Apply) or s.function != "softmax":
            continue
        for other, g in entries:
            if other is not at and g.shape == s.shape and indices_of(other) == indices_of(at):
                whole = Apply("softmax_pullback", (s, g), s.shape, s.params).entry(*indices_of(at))
                rest = sp.Mul(*[f for f in factors if f is not at and f is not other])
                yield "softmax Jacobian", _RANK_ONE, _with_term(node, position, rest * whole)


def _missing_rank_one(node: Lambda) -> Tensor | None:
    """Read ``S * G`` with a softmax S as the diagonal part of its Jacobian; return the whole."""
    if len(node.terms) != 1 or node.terms[0].bound:
        return None
    factors = sp.Mul.make_args(node.terms[0].expr)
    for factor in factors:
        s = entry_tensor(factor)
        if (
            isinstance(s, Apply)
            and s.function == "softmax"
            and s.shape == node.shape
            and indices_of(factor) == node.indices
        ):
            others = sp.Mul(*[f for f in factors if f is not factor])
            g = Lambda(node.shape, node.indices, (Term((), others),))
            return Apply("softmax_pullback", (s, g), node.shape, s.params, node.name)
    return None
