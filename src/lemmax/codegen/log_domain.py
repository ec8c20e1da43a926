r"""Sums of exponentials in the log domain: forms that neither overflow nor underflow.

A loss is written as on paper, with :math:`e^x`, its sums, quotients and logarithms.  Entry by entry that
overflows from x = 710 on, where the value itself is harmless.  Rewritten are

* the logarithm of a positive sum of products of exponentials, to logsumexp and softplus;
* a quotient by such a sum, to softmax, sigmoid, or one exponential of a difference;
* the logarithm of a softmax or sigmoid, and a gradient through a softmax in which its inverse occurs.

Each is an identity for all finite arguments.  Source: N. J. Higham, P. Blanchard, D. J. Higham, *Accurately
computing the log-sum-exp and softmax functions*, IMA J. Numer. Anal. 41 (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from lemmax.calculus.terms import entry_tensor, has_entries, indices_of, open_lambda
from lemmax.codegen.logarithms import is_entrywise, log_of
from lemmax.expr import reductions
from lemmax.expr.functions import sigmoid, softplus
from lemmax.expr.graph import transform
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Lambda, Term
from lemmax.expr.tensor import Tensor

KEPT = (sp.exp, sp.sinh, sp.cosh, sigmoid)
"""Functions that are looked for behind the entries of unnamed tensors."""


def in_log_domain(roots: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors of the same values, with sums of exponentials in the log domain."""
    return transform(transform(roots, _rewritten), _recognised)


def _rewritten(node: Tensor) -> Tensor:
    if isinstance(node, Apply) and node.function == "softmax_pullback":
        found = _pullback_of_logarithm(node)
        return node if found is None else found
    if not isinstance(node, Lambda):
        return node
    terms = [Term(t.bound, part) for t in node.terms for part in _distributed(_opened_complements(t.expr))]
    unbound = [t.expr for t in terms if not t.bound]
    parts = _complements(unbound)
    if len(parts) < len(unbound):
        terms = [Term((), p) for p in parts] + [t for t in terms if t.bound]
    return _with_bodies(Lambda(node.shape, node.indices, tuple(terms), node.name), node, _stable)


def _opened_complements(expr: sp.Expr) -> sp.Expr:
    """Write ``1 - sigmoid(u)`` inside a body as ``sigmoid(-u)``."""
    swap = {}
    for total in expr.atoms(sp.Add):
        parts = _complements(list(total.args))
        if len(parts) < len(total.args):
            swap[total] = sp.Add(*parts)
    return expr.xreplace(swap) if swap else expr


def _complements(parts: list[sp.Expr]) -> list[sp.Expr]:
    r"""Write :math:`c - c\,\sigma(u)` as :math:`c\,\sigma(-u)`, which does not cancel."""
    parts = list(parts)
    for part in list(parts):
        if part not in parts:
            continue  # it is the other half of an earlier gate
        for factor in sp.Mul.make_args(part):
            gate = _open_factors(factor)
            if isinstance(gate, sigmoid) and -part / factor in parts:
                parts.remove(-part / factor)
                parts[parts.index(part)] = -part / factor * sigmoid(-gate.args[0])
                break
    return parts


def _distributed(expr: sp.Expr) -> list[sp.Expr]:
    """Multiply out over a sum in an unnamed lambda where denominators then cancel."""
    for factor in sp.Mul.make_args(expr):
        inner = entry_tensor(factor)
        if not isinstance(inner, Lambda) or inner.name is not None or len(inner.terms) < 2:
            continue
        terms = open_lambda(inner, indices_of(factor))
        if any(t.bound for t in terms):
            continue
        opened = [_open_factors(t.expr) for t in terms]
        products = [_open_factors(expr / factor) * t for t in opened]
        if sum(map(_count_below, products)) < sum(map(_count_below, opened)):
            return [q for p in products for q in _distributed(p)]
    return [expr]


def _count_below(expr: sp.Expr) -> int:
    return sum(1 for f in sp.Mul.make_args(expr) if _is_below(f) and has_entries(f))


def _recognised(node: Tensor) -> Tensor:
    """Return a tensor in which exponentials that are a softmax or a sigmoid are written as such."""
    if not isinstance(node, Lambda):
        return node
    exps = {e for term in node.terms for e in term.expr.atoms(sp.exp)}
    swap = {e: new for e in sorted(exps, key=str) if (new := exponential(e.args[0])) != e}
    return _with_bodies(node, node, lambda expr: expr.xreplace(swap)) if swap else node


def _with_bodies(node: Lambda, old: Lambda, change: Callable[[sp.Expr], sp.Expr]) -> Lambda:
    """Return ``node`` with changed bodies, or ``old`` if they are all those of ``old``."""
    terms: list[Term] = []
    for term in node.terms:
        expr = change(term.expr)
        if expr is not term.expr:
            expr = sp.expand_mul(expr, deep=False)
        terms += [Term(term.bound, part) for part in sp.Add.make_args(expr)]
    unchanged = len(terms) == len(old.terms) and all(
        a.expr is b.expr for a, b in zip(terms, old.terms, strict=True)
    )
    return old if unchanged else Lambda(node.shape, node.indices, tuple(terms), node.name)


def _stable(expr: sp.Expr) -> sp.Expr:
    """Return a scalar expression with its logarithms and quotients in the log domain."""
    if not has_entries(expr):
        return expr
    logs = sorted(expr.atoms(sp.log), key=str)
    swap = {log: new for log in logs if (new := log_of(log.args[0])) is not None}
    expr = expr.xreplace(swap) if swap else expr
    opened = _open_factors(expr)
    factors = sp.Mul.make_args(opened)
    below = [f for f in factors if _is_sum_below(f)]
    above = [f for f in factors if isinstance(f, sp.exp)]
    if not below and not (len(above) > 1 and any(_is_normalised(f) for f in above)):
        # what was opened pays only if a denominator cancelled
        each = sum(_count_below(_open_factors(f)) for f in sp.Mul.make_args(expr))
        return opened if _count_below(opened) < each else expr
    exponent = sp.Add(*[f.args[0] for f in above])
    for f in below:
        base, power = f.as_base_exp()
        exponent += power * _known_log(base)
    rest = [f for f in factors if f not in below and f not in above]
    return sp.Mul(*rest, sp.exp(exponent))


def _without_quotients_of_hyperbolic(expr: sp.Expr) -> sp.Expr:
    """Write sinh(u) / cosh(u) as tanh(u)."""
    swap = {
        sp.sinh(f.base.args[0]): f.base.args[0] for f in expr.atoms(sp.Pow) if isinstance(f.base, sp.cosh)
    }
    parts = sp.Mul.make_args(expr)
    for f in parts:
        if f in swap and 1 / sp.cosh(swap[f]) in parts:
            expr = expr / f * sp.cosh(swap[f]) * sp.tanh(swap[f])
    return expr


def _is_sum_below(factor: sp.Expr) -> bool:
    """Is the factor a negative power of a sum whose logarithm is known?"""
    base, power = factor.as_base_exp()
    if not (power.is_Rational and power < 0):
        return False
    inner = entry_tensor(base)
    is_sum = base.is_Add or (
        isinstance(inner, Lambda) and (len(inner.terms) > 1 or bool(inner.terms[0].bound))
    )
    return is_sum and log_of(base) is not None


def _is_normalised(factor: sp.exp) -> bool:
    """Is the factor an exponential over a sum of exponentials, in the log domain?"""
    for part in sp.Add.make_args(factor.args[0]):
        coefficient, inner = part.as_coeff_Mul()
        node = entry_tensor(inner)
        is_sum = isinstance(node, Apply) and node.function == "logsumexp"
        if coefficient.is_negative and (is_sum or isinstance(inner, softplus)):
            return True
    return False


def _open_factors(expr: sp.Expr) -> sp.Expr:
    """Open entries of unnamed lambdas of one term that are quotients or exponentials; powers combine."""
    done = []
    for factor in sp.Mul.make_args(expr):
        base, power = factor.as_base_exp()
        inner = entry_tensor(base)
        if isinstance(inner, Lambda) and inner.name is None and is_entrywise(inner):
            (term,) = open_lambda(inner, indices_of(base))
            opened = _open_factors(term.expr)
            if any(isinstance(p, KEPT) or _is_below(p) for p in sp.Mul.make_args(opened)):
                factor = opened**power
        done.append(factor)
    return _without_quotients_of_hyperbolic(sp.Mul(*done))


def _is_below(factor: sp.Expr) -> bool:
    power = factor.as_base_exp()[1]
    return bool(power.is_Rational and power < 0)


def exponential(exponent: sp.Expr) -> sp.Expr:
    """Return :math:`e^u`, as softmax and sigmoid as far as u holds the logarithms of these."""
    factors: list[sp.Expr] = []
    for part in sp.Add.make_args(exponent):
        if part not in sp.Add.make_args(exponent):
            continue  # used up by an earlier part
        coefficient, inner = part.as_coeff_Mul()
        if isinstance(inner, softplus) and coefficient.is_Integer and coefficient < 0:
            (v,) = inner.args
            matched = min(-coefficient, max(0, _count(exponent, v)))
            if matched == 0 and exponent != part:
                continue  # the rest may be as large as v
            exponent += -part - matched * v
            factors += [sigmoid(v) ** matched, sigmoid(-v) ** (-coefficient - matched)]
        elif coefficient == -1:
            found = _softmax_entry(exponent, inner)
            if found is not None:
                entry, logit = found
                exponent += inner - logit
                factors.append(entry)
    return sp.Mul(*factors, sp.exp(exponent))


def _count(total: sp.Expr, v: sp.Expr) -> int:
    """Return how often ``v`` is a summand of ``total``."""
    here = {rest: c for c, rest in (p.as_coeff_Mul() for p in sp.Add.make_args(total))}
    counts = [here.get(rest, sp.S.Zero) / c for c, rest in (p.as_coeff_Mul() for p in sp.Add.make_args(v))]
    least = min(counts)
    return int(sp.floor(least)) if all(c.is_Rational for c in counts) else 0


def _softmax_entry(total: sp.Expr, lse: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
    """Return the entry of a softmax that a summand of ``total`` makes with ``-lse``, and its logit."""
    node = entry_tensor(lse)
    if not (isinstance(node, Apply) and node.function == "logsumexp" and node.param("keepdims") is False):
        return None
    (logits,) = node.operands
    if not isinstance(logits, Lambda) or node.param("axes") != (logits.ndim - 1,):
        return None
    parts = set(sp.Add.make_args(total))
    for i in sorted((s for s in total.atoms(sp.Symbol) if is_index(s)), key=str):
        at = (*indices_of(lse), i)
        terms = open_lambda(logits, at)
        if any(t.bound for t in terms):
            return None
        logit = sp.Add(*[t.expr for t in terms])
        if set(sp.Add.make_args(logit)) <= parts:
            return reductions.softmax(logits, axis=-1).entry(*at), logit
    return None


def _known_log(argument: sp.Expr) -> sp.Expr:
    found = log_of(argument)
    assert found is not None
    return found


def _pullback_of_logarithm(node: Apply) -> Tensor | None:
    r"""Return :math:`H - S\, (H \mathbf 1)` with :math:`H = S \odot G` if 1/S occurs in G and cancels."""
    weights, adjoint = node.operands
    if not isinstance(adjoint, Lambda) or adjoint.name is not None:
        return None
    entry = weights.entry(*adjoint.indices)
    opened = [(_open_factors(t.expr), t.bound) for t in adjoint.terms]
    if not all(1 / entry in sp.Mul.make_args(expr) for expr, _ in opened):
        return None
    terms = tuple(Term(bound, expr * entry) for expr, bound in opened)
    cancelled = Lambda(adjoint.shape, adjoint.indices, terms)
    total = reductions.sum(cancelled, axis=_axis(node), keepdims=True)
    return (cancelled - weights * total).named(node.name)


def _axis(node: Apply) -> int:
    axis = node.param("axis")
    assert isinstance(axis, int)
    return axis
