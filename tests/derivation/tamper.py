"""Ways to tamper with a derivation; its replay must refuse every one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

import lemmax as lx
from lemmax.derivation.following import is_start
from lemmax.derivation.forward_rules import FORWARD_RULES
from lemmax.derivation.line_rules import LINE_RULES
from lemmax.derivation.record import Derivation, Step
from lemmax.derivation.rules import RULES
from lemmax.derivation.split_rules import SPLIT_RULES
from lemmax.expr.nodes import Apply, Derivative, Lambda, Term
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor

Tampered = tuple[str, Derivation]


def altered(t: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield tensors of the same shape that differ from ``t`` by one slip."""
    if isinstance(t, Lambda):
        terms = t.terms

        def with_terms(*new: Term) -> Tensor:
            return Lambda(t.shape, t.indices, tuple(new), t.name)

        if terms:
            yield "coefficient", with_terms(Term(terms[0].bound, 2 * terms[0].expr), *terms[1:])
            yield "sign", with_terms(Term(terms[0].bound, -terms[0].expr), *terms[1:])
            yield "dropped term", with_terms(*terms[1:])
        for p, term in enumerate(terms):
            swapped = swap_indices(term, dict(zip(t.indices, t.shape, strict=True)))
            if swapped is not None:
                yield "swapped index", with_terms(*terms[:p], swapped, *terms[p + 1 :])
                break
        one = sp.Mul(*[sp.KroneckerDelta(i, 0) for i in t.indices])
        yield "added term", with_terms(*terms, Term((), one))
    elif isinstance(t, Apply | Derivative):
        i = tuple(sp.Symbol(f"_t{p}", integer=True) for p in range(t.ndim))
        yield "coefficient", Lambda(t.shape, i, (Term((), 2 * t.entry(*i)),), None)
        if isinstance(t, Apply):
            reordered = tuple(reversed(t.operands))
            if reordered != t.operands and len({x.shape for x in reordered}) == 1:
                yield "operands exchanged", Apply(t.function, reordered, t.shape, t.params, t.name)


def swap_indices(term: Term, free: dict[sp.Symbol, sp.Expr]) -> Term | None:
    """Exchange two indices of one range in one entry, if that makes a difference."""
    sizes = {**free, **dict(term.bound)}
    for entry in sorted(term.expr.atoms(sp.Indexed), key=str):
        for p in range(len(entry.indices)):
            for q in range(p):
                i, j = entry.indices[p], entry.indices[q]
                if i in sizes and j in sizes and i != j and same_size(sizes[i], sizes[j]):
                    changed = list(entry.indices)
                    changed[p], changed[q] = j, i
                    new = term.expr.xreplace({entry: sp.Indexed(entry.base, *changed)})
                    if new != term.expr:
                        return Term(term.bound, new)
    return None


def tampered_with(d: Derivation) -> Iterator[Tampered]:
    """Yield derivations that must be refused, each with what was done."""
    steps = d.steps

    def at(p: int, **changes: object) -> tuple[Step, ...]:
        return (*steps[:p], replace(steps[p], **changes), *steps[p + 1 :])  # type: ignore[arg-type]

    for p, step in enumerate(steps):
        what = f"step {p + 1} ({step.rule})"
        yield f"{what} removed", d.without(p)
        if p + 1 < len(steps) and not is_start(steps[p + 1]):
            exchanged = (*steps[:p], steps[p + 1], step, *steps[p + 2 :])
            yield f"{what} exchanged with the next", replace(d, steps=exchanged)
        for slip, wrong in altered(step.after):
            yield f"{what}: after, {slip}", replace(d, steps=at(p, after=wrong))
            if p + 1 < len(steps):
                joined = at(p, after=wrong)
                following = replace(joined[p + 1], before=wrong)
                yield (
                    f"{what}: after and the next before, {slip}",
                    replace(d, steps=(*joined[: p + 1], following, *joined[p + 2 :])),
                )
        for slip, wrong in altered(step.before):
            yield f"{what}: before, {slip}", replace(d, steps=at(p, before=wrong))
        rules = RULES if step.along is None else FORWARD_RULES
        for rule in ("no such rule", *rules, *SPLIT_RULES, *LINE_RULES):
            if rule != step.rule:
                yield f"{what}: rule {rule}", replace(d, steps=at(p, rule=rule))
        for other in (d.f, d.variables[0], d.loss):
            if other != step.place:
                yield f"{what}: place {other!r}", replace(d, steps=at(p, place=other))
            if other != step.focus:
                yield f"{what}: focus {other!r}", replace(d, steps=at(p, focus=other))
        if step.focus is not None:
            yield f"{what}: focus removed", replace(d, steps=at(p, focus=None))
        for other in (None, d.f, *(b for _, b in d.blocks)):
            if other != step.along:
                yield f"{what}: along {other!r}", replace(d, steps=at(p, along=other))
    yield from tampered_as_a_whole(d)


def tampered_as_a_whole(d: Derivation) -> Iterator[Tampered]:
    """Yield derivations of which no step but something else was changed."""
    for slip, wrong in altered(d.results[-1]):
        yield f"result, {slip}", replace(d, results=(*d.results[:-1], wrong))
    yield "no results", replace(d, results=())
    yield "no steps", replace(d, steps=())
    yield "another scalar", replace(d, f=2 * d.f)
    yield (
        "another variable",
        replace(d, variables=(lx.tensor("other", *d.variables[0].shape), *d.variables[1:])),
    )
    if len(d.results) > 1:
        yield "results exchanged", replace(d, results=tuple(reversed(d.results)))
    for part in ("total", "outer", "functional"):
        if part != d.part:
            yield f"as the {part} part", replace(d, part=part)  # type: ignore[arg-type]
    if d.directions:
        yield "no directions", replace(d, directions=())
        yield "the variable as direction", replace(d, directions=d.variables)
        yield "another shape as direction", replace(d, directions=(d.f, *d.directions[1:]))
    if d.blocks:
        yield "no blocks", replace(d, blocks=())
        yield "block repeated", replace(d, blocks=(*d.blocks, d.blocks[0]))
    if d.part == "outer":
        for reason in (None, "the curvature is the identity, or so they say"):
            if reason != d.psd_reason:
                yield f"positive semidefinite because {reason}", replace(d, psd_reason=reason)
    else:
        yield "positive semidefinite for no reason", replace(d, psd_reason="the curvature is the identity")
    for claimed in (None, d.f, d.variables[0]):
        if claimed != d.linear_in:
            yield f"linear in {claimed!r}", replace(d, linear_in=claimed)
    if d.middle is not None:
        yield "no middle tensor", replace(d, middle=None)
        yield "another middle tensor", replace(d, middle=d.variables[0])
