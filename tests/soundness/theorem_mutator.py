"""Mechanical changes of a theorem: factor, sign, transpose, singular value, relation, dropped hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import lemmax as lx
from lemmax.expr.arithmetic import constant_of, is_constant
from lemmax.expr.graph import topological_order, transform
from lemmax.expr.nodes import Apply, Input
from lemmax.expr.relation import Relation
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor
from lemmax.statement import Claim, Convergence, Mutant, Theorem

FLIPPED = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}


def with_mutants(theorem: Theorem, mutants: Iterable[Mutant]) -> Theorem:
    """Return a theorem with others in place of its own mutants; its own stay where these are too few."""
    found = tuple(mutants)
    return replace(theorem, mutants=found if len(found) >= 3 else (*found, *theorem.mutants))


def as_theorem(theorem: Theorem, variant: Mutant) -> Theorem:
    """Return a variant as a theorem of its own, to be checked without mutants.

    The claims of the theorem stay as mutants that are not run: with them, all inputs are drawn as before.
    """
    return replace(
        theorem,
        conclusion=variant.claims or theorem.claims,
        hypotheses=[h for h in theorem.hypotheses if h.name not in variant.dropped],
        sizes=[s for s in theorem.sizes if s not in variant.dropped],
        mutants=[Mutant(f"not run {k}", theorem.claims, "the theorem itself") for k in range(3)],
    )


def variants(theorem: Theorem) -> Iterator[Mutant]:
    """Return all mechanical variants of a theorem, named by what was changed."""
    for number, claim in enumerate(theorem.claims, start=1):
        label = claim.name or ("claim" if len(theorem.claims) == 1 else f"claim {number}")
        changes = relation_changes(claim) if isinstance(claim, Relation) else convergence_changes(claim)
        for kind, changed in changes:
            yield Mutant(f"{label}: {kind}", changed, f"seeded: {kind}")
    for hypothesis in theorem.hypotheses:
        yield Mutant(f"dropped: {hypothesis.name}", drop=str(hypothesis.name), reason="seeded: dropped")
    for constraint in theorem.sizes:
        yield Mutant(f"dropped: {constraint}", drop=(constraint,), reason="seeded: dropped")


def relation_changes(claim: Relation) -> Iterator[tuple[str, Claim]]:
    """Return the variants of a relation, each with its kind."""
    lhs, rhs = claim.lhs, claim.rhs
    trivial = is_zero(rhs)
    if not trivial:
        grows = claim.op in ("==", ">=", ">")
        yield "factor 2", replace(claim, rhs=2 * rhs) if grows else replace(claim, lhs=2 * lhs)
        yield "sign", replace(claim, rhs=-rhs)
    elif claim.op != "==":
        yield "sign", replace(claim, lhs=-lhs)
    if claim.op == "==":
        yield "off by 1", replace(claim, rhs=rhs + 1)
    if is_square(lhs) and not trivial:
        yield "transpose", replace(claim, lhs=lhs.mT)
    for name, change in input_transposes(lhs, rhs):
        yield f"transpose of {name}", replace(claim, lhs=change(lhs), rhs=change(rhs))
    for name, change in sigma_changes(lhs, rhs):
        yield name, replace(claim, lhs=change(lhs), rhs=change(rhs))
    if claim.op in FLIPPED:
        yield "flipped", replace(claim, op=FLIPPED[claim.op])


def convergence_changes(claim: Convergence) -> Iterator[tuple[str, Claim]]:
    """Return the variants of a convergence claim, each with its kind."""
    if claim.reaches is not None:
        yield "factor 2", replace(claim, reaches=claim.reaches / 2)
        return
    assert isinstance(claim.rate, Tensor)
    yield "factor 2", replace(claim, rate=claim.rate**2)
    yield "sign", replace(claim, rate=-claim.rate)
    parts = [t for t in (claim.rate, claim.step) if isinstance(t, Tensor)]
    for name, change in sigma_changes(*parts):
        step = change(claim.step) if isinstance(claim.step, Tensor) else claim.step
        yield name, replace(claim, rate=change(claim.rate), step=step)


def sigma_changes(*sides: Tensor) -> Iterator[tuple[str, Callable[[Tensor], Tensor]]]:
    """Return changes of the singular values below some sides: the next smaller one, and the largest."""
    found = {t.digest: t for t in topological_order(*sides) if isinstance(t, Apply)}
    for node in found.values():
        if node.function not in ("sigma", "sigma_min"):
            continue
        (matrix,) = node.operands
        what = matrix.name or f"a matrix {matrix.shape}"
        if node.function == "sigma":
            yield f"next singular value of {what}", swapping(node, lx.sigma(matrix, node.param("k") + 1))
        yield f"largest singular value of {what}", swapping(node, lx.spectral_norm(matrix))


def input_transposes(*sides: Tensor) -> Iterator[tuple[str, Callable[[Tensor], Tensor]]]:
    """Return changes that transpose a square input."""
    for t in topological_order(*sides):
        if isinstance(t, Input) and is_square(t):
            yield str(t.name), swapping(t, t.mT)


def swapping(old: Tensor, new: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function that puts one tensor in place of another wherever it occurs."""

    def change(side: Tensor) -> Tensor:
        (result,) = transform([side], lambda node: new if node == old else node)
        return result

    return change


def is_square(t: Tensor) -> bool:
    """Are the last two axes of one size, other than 1?"""
    return t.ndim >= 2 and same_size(t.shape[-1], t.shape[-2]) and t.shape[-1] != 1


def is_zero(t: Tensor) -> bool:
    """Is the tensor the number 0?"""
    return is_constant(t) and constant_of(t) == 0
