r"""Where derivatives exist: conditions that their formulas do not tell.

A formula such as :math:`1/x` for :math:`\log x`, :math:`A^{-\top}` for :math:`\log\det A` or that of Golub
and Pereyra for :math:`A^+` has values where the function has none, or jumps.  For each function of that kind
on the way from the variables to the result a guard is made, unless its condition is seen to hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from lemmax.calculus.definedness import (
    always_used,
    ends_of_domain,
    entries_in,
    guard_of,
    lost_conditions,
    needs_of_body,
    short,
)
from lemmax.calculus.signs import has_positive_determinant, learn_signs
from lemmax.expr import functionals
from lemmax.expr.domains import DEFINED, FULL_RANK, Guard, collect_guards, on_domain, without_domains
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor


def on_their_domains(
    derivatives: Sequence[Tensor], of: Tensor, flat: Tensor, variables: Sequence[Tensor], nonsmooth: str
) -> list[Tensor]:
    """Return derivatives that are undefined where what was differentiated is not differentiable.

    Args:
        derivatives: the formulas.
        of: what was differentiated.
        flat: the same, flattened.
        variables: in which, as they occur in ``flat``.
        nonsmooth: with ``subgradient`` the formula at constant rank is taken for pseudo-inverses.
    """
    lost = lost_conditions(without_domains([of]), [flat])
    found = [*collect_guards([of]), *lost, *_guards(flat, variables, nonsmooth)]
    unique = {(g.tensor.digest, g.condition): g for g in found}
    return [on_domain(without_domains([t])[0], list(unique.values())) for t in derivatives]


def _guards(flat: Tensor, variables: Sequence[Tensor], nonsmooth: str) -> list[Guard]:
    moving = {v.digest for v in variables}
    found: list[Guard] = []
    used = {t.digest for t in always_used(flat)}
    learn_signs(topological_order(flat))
    for node in topological_order(flat):
        if node.digest in moving or not any(t.digest in moving for t in node.operands):
            continue
        moving.add(node.digest)
        if node.digest not in used:
            continue
        if isinstance(node, Lambda):
            found += [guard for term in node.terms for guard in _of_term(node, term, moving)]
        elif isinstance(node, Apply) and node.function == "logdet":
            if not has_positive_determinant(node.operands[0]):
                told = f"the determinant of {short(node.operands[0])} must be positive (logdet)"
                found.append(Guard(node.named(None), DEFINED, told))
        elif isinstance(node, Apply) and node.function == "pinv" and nonsmooth == "raise":
            (a,) = node.operands
            told = (
                f"pinv of {short(a)} jumps where the rank changes, so the matrix must have full rank; pass"
                " nonsmooth='subgradient' if the variables never change its rank"
            )
            found.append(Guard(functionals.rank(a), FULL_RANK, told))
    return found


# -- functions in bodies -----------------------------------------------------------------------------
def _of_term(node: Lambda, term: Term, moving: set[str]) -> list[Guard]:
    sizes = {**dict(zip(node.indices, node.shape, strict=True)), **dict(term.bound)}
    return [
        guard_of(need, sizes)
        for need in needs_of_body(term.expr, ends_of_domain)
        if any(t.digest in moving for t in entries_in(need[2]))
    ]
