r"""The logarithm of a positive sum of products of exponentials, in a form that stays in range.

:math:`\log \sum_k e^{u_k}` is logsumexp, :math:`\log(c + e^u)` is :math:`\log c` plus a softplus, and the
logarithms of a softmax and of a sigmoid are differences of logits.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.calculus.terms import entry_tensor, has_entries, indices_of, open_lambda
from lemmax.expr import reductions
from lemmax.expr.functions import sigmoid, softplus
from lemmax.expr.indexing import stack
from lemmax.expr.indices import fresh
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor


def is_entrywise(node: Lambda) -> bool:
    """Is a lambda one term without a sum?"""
    return len(node.terms) == 1 and not node.terms[0].bound


def log_of(argument: sp.Expr) -> sp.Expr | None:
    """Return the logarithm of a positive sum of products of exponentials in a stable form, else ``None``."""
    found = _log(argument)
    return found if found is not None and argument.has(sp.exp, sigmoid, sp.Indexed, sp.Symbol) else None


def _log(e: sp.Expr) -> sp.Expr | None:
    if isinstance(e, sp.exp):
        return e.args[0]
    if isinstance(e, sigmoid):
        return -softplus(-e.args[0])
    if isinstance(e, sp.cosh):
        return softplus(2 * e.args[0]) - e.args[0] - sp.log(2)
    if e.is_Mul:
        # positive constants may stand beside exponentials
        logs = [sp.log(f) if f.is_positive and not has_entries(f) else _log(f) for f in e.args]
        return sp.Add(*logs) if all(x is not None for x in logs) else None
    if e.is_Pow and e.exp.is_Rational:
        inner = _log(e.base)
        return None if inner is None else e.exp * inner
    if e.is_Add:
        return _log_of_sum(None, [Term((), a) for a in e.args])
    node, at = entry_tensor(e), indices_of(e)
    if isinstance(node, Apply) and node.function == "softmax":
        return _log_of_softmax(node, at)
    if isinstance(node, Lambda):
        if is_entrywise(node):
            return _log(open_lambda(node, at)[0].expr)
        return _log_of_sum(node, node.terms, at)
    return None


def _log_of_softmax(node: Apply, at: tuple[sp.Expr, ...]) -> sp.Expr:
    (logits,) = node.operands
    axis = node.param("axis")
    assert isinstance(axis, int)
    total = reductions.logsumexp(logits, axis=axis, keepdims=True)
    reduced = tuple(sp.S.Zero if p == axis else i for p, i in enumerate(at))
    difference: sp.Expr = logits.entry(*at) - total.entry(*reduced)
    return difference


def _log_of_sum(node: Lambda | None, terms: Sequence[Term], at: tuple[sp.Expr, ...] = ()) -> sp.Expr | None:
    """Return the logarithm of a sum of terms: those of ``node`` at indices ``at``, or a sum inside a body."""
    constants = [t.expr for t in terms if not t.bound and not has_entries(t.expr)]
    others = [t for t in terms if t.bound or has_entries(t.expr)]
    constant = sp.Add(*constants)
    if not others or (constants and not constant.is_positive):
        return None
    if node is None:
        rest = _log(others[0].expr) if len(others) == 1 else None
    else:
        rest = _log_of_exponentials(node, others, at)
    if rest is None or not constants:
        return rest
    return sp.log(constant) + softplus(rest - sp.log(constant))


def _log_of_exponentials(node: Lambda, terms: Sequence[Term], at: tuple[sp.Expr, ...]) -> sp.Expr | None:
    parts = []
    for term in terms:
        inner = _log(term.expr)
        if inner is None:
            return None
        if len(terms) == 1 and not term.bound:
            return inner.xreplace(dict(zip(node.indices, at, strict=True)))
        parts.append(_logsumexp(node, term, inner))
    # axes that no term varies along (kept with size 1) drop out
    if len(parts) == 1:
        total, used = parts[0]
        return total.entry(*[at[p] for p in used])
    whole = tuple(range(node.ndim))
    logits = [_along(node, total, used, whole) for total, used in parts]
    return reductions.logsumexp(stack(logits, axis=-1), axis=-1).entry(*at)


def _logsumexp(node: Lambda, term: Term, inner: sp.Expr) -> tuple[Tensor, tuple[int, ...]]:
    """Return the log of one term of ``node`` as a tensor over the axes that it varies along."""
    present = inner.atoms(sp.Symbol)
    used = tuple(p for p, i in enumerate(node.indices) if i in present)
    old = [node.indices[p] for p in used] + [i for i, _ in term.bound]
    new = fresh(len(old))
    shape = tuple(node.shape[p] for p in used) + tuple(s for _, s in term.bound)
    body = inner.xreplace(dict(zip(old, new, strict=True)))
    total: Tensor = Lambda(shape, new, tuple(Term((), a) for a in sp.Add.make_args(body)))
    for _ in term.bound:
        total = reductions.logsumexp(total, axis=-1)
    return total, used


def _along(node: Lambda, t: Tensor, used: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
    indices = fresh(len(axes))
    entry = t.entry(*[indices[p] for p in used])
    return Lambda(tuple(node.shape[p] for p in axes), indices, (Term((), entry),))
