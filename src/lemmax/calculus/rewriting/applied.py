r"""Identities of applied functions: softmax, log-sum-exp, products, inverses, determinants, merged axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import sympy as sp

from lemmax.calculus.rewriting.conditions import is_generic
from lemmax.calculus.rewriting.determinants import determinant
from lemmax.calculus.rewriting.inverses import only_word, polynomial_of
from lemmax.calculus.rewriting.kronecker import kronecker_factors, rank_one_parts
from lemmax.calculus.rewriting.merged import groups_of
from lemmax.calculus.rewriting.powers import rewrite_power
from lemmax.calculus.rewriting.slices import push_slice
from lemmax.calculus.rewriting.symmetry import is_symmetric
from lemmax.calculus.rewriting.words import P
from lemmax.calculus.terms import split_factors
from lemmax.expr import arithmetic, functions, linalg, reductions
from lemmax.expr.indexing import merge
from lemmax.expr.indices import free_indices, fresh
from lemmax.expr.matrix_functions import pinv
from lemmax.expr.nodes import Apply, Input, Lambda, Term
from lemmax.expr.sizes import product, same_size
from lemmax.expr.tensor import Tensor

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.engine import Engine

Rule: TypeAlias = "Callable[[Engine, Apply], Tensor | None]"


def rewrite_apply(engine: Engine, node: Apply) -> Tensor | None:
    """Return what an applied function is equal to, in simpler terms; ``None`` if no identity applies."""
    rule = RULES.get(node.function)
    return None if rule is None else rule(engine, node)


# -- along axes --------------------------------------------------------------------------------------
def _softmax(engine: Engine, node: Apply) -> Tensor:
    engine.ledger.note("softmax")
    axis = node.param("axis")
    weights = functions.of_tensor("exp", node.operands[0])
    return arithmetic.divide(weights, reductions.sum(weights, axis=axis, keepdims=True))


def _logsumexp(engine: Engine, node: Apply) -> Tensor:
    engine.ledger.note("log-sum-exp")
    weights = functions.of_tensor("exp", node.operands[0])
    axes, keep = node.param("axes"), bool(node.param("keepdims"))
    return functions.of_tensor("log", reductions.sum(weights, axis=axes, keepdims=keep))


def _prod(engine: Engine, node: Apply) -> Tensor | None:
    """Write the product of a product of entries as a product of products."""
    t = node.operands[0]
    axes, keep = node.param("axes"), bool(node.param("keepdims"))
    assert isinstance(axes, tuple)
    if not isinstance(t, Lambda) or len(t.terms) != 1 or t.terms[0].bound:
        return None
    but_one = _without_one_factor(engine, node, t)
    if but_one is not None:
        return but_one
    coefficient, factors = split_factors(t.terms[0].expr)
    running = {t.indices[a] for a in axes if isinstance(a, int)}
    count = product(tuple(t.shape[a] for a in axes if isinstance(a, int)))
    simple = len(factors) == 1 and coefficient == 1 and not isinstance(factors[0], sp.exp | sp.Pow)
    if simple and factors[0].free_symbols & running:
        return None
    result: Tensor = arithmetic.as_tensor(coefficient**count)
    for f in factors:
        base, exponent = f.as_base_exp()
        own = Lambda(t.shape, t.indices, (Term((), base),))
        if not base.free_symbols & running and not exponent.free_symbols & running:
            own = Lambda(t.shape, t.indices, (Term((), base ** (exponent * count)),))
            factor = reductions.sum(own, axis=axes, keepdims=keep) / count
        elif isinstance(f, sp.exp):
            exponents = Lambda(t.shape, t.indices, (Term((), f.args[0]),))
            factor = functions.of_tensor("exp", reductions.sum(exponents, axis=axes, keepdims=keep))
        elif exponent.is_Integer:
            factor = Apply("prod", (own,), node.shape, node.params) ** exponent
        else:
            return None
        result = result * factor
    engine.ledger.note("product")
    return result


def _without_one_factor(engine: Engine, node: Apply, t: Lambda) -> Tensor | None:
    r"""Write :math:`\prod_{j \ne i} x_j` as :math:`\prod_j x_j / x_i`; x must not vanish identically."""
    body, axes = t.terms[0].expr, node.param("axes")
    if not isinstance(axes, tuple) or not isinstance(body, sp.Piecewise):
        return None
    if len(body.args) != 2 or body.args[0][0] != 1:
        return None
    condition, (x, _) = body.args[0][1], body.args[1]
    running = [t.indices[cast(int, a)] for a in axes]
    left_out: dict[sp.Expr, sp.Expr] = {}
    for equation in sp.And.make_args(condition):
        pair = sorted(equation.args, key=lambda side: side not in running)
        if not isinstance(equation, sp.Eq) or pair[0] not in running or pair[1] in running:
            return None
        left_out[pair[0]] = pair[1]
    others = set(left_out.values())
    if set(left_out) != set(running) or len(others) != len(running) or not others <= set(t.indices):
        return None
    if not is_generic(x) or others & x.free_symbols:
        return None
    engine.ledger.note("product without one factor")
    sizes = dict(zip(t.indices, t.shape, strict=True))
    inner = tuple(i for i in t.indices if i not in others)
    factors = Lambda(tuple(sizes[i] for i in inner), inner, (Term((), x),))
    whole = reductions.prod(factors, axis=tuple(inner.index(i) for i in running))
    kept = [i for i in inner if i not in running]
    value = whole.entry(*kept) / x.xreplace(left_out)
    outer = t.indices if node.param("keepdims") else tuple(i for i in t.indices if i not in running)
    return Lambda(node.shape, outer, (Term((), value),))


def _pseudo_inverse(engine: Engine, node: Apply) -> Tensor | None:
    """Write the pseudo-inverse by an inverse of a Gram matrix that occurs, and so exists."""
    a = node.operands[0]
    if a.ndim != 2:
        return None
    if a.digest in engine.inverted:
        engine.ledger.note("pseudo-inverse of full rank")
        return linalg.inv(a)
    turned = linalg.matrix_transpose(a)
    for inner, back in ((a, False), (engine.tensor(turned), True)):
        if isinstance(inner, Apply) and inner.function == "pinv":
            engine.ledger.note("pseudo-inverse")
            return linalg.matrix_transpose(inner.operands[0]) if back else inner.operands[0]
    if isinstance(a, Lambda) and isinstance(engine.tensor(turned), Input):
        engine.ledger.note("pseudo-inverse of a transpose")
        return linalg.matrix_transpose(pinv(engine.tensor(turned)))
    for gram, left in ((turned @ a, True), (a @ turned, False)):
        if engine.tensor(gram).digest in engine.inverted:
            engine.ledger.note("pseudo-inverse of full rank")
            return linalg.inv(gram) @ turned if left else turned @ linalg.inv(gram)
    return _of_one_word(engine, a) if isinstance(a, Lambda) else None


def _of_one_word(engine: Engine, a: Lambda) -> Tensor | None:
    r"""Return the pseudo-inverse of a multiple, or of :math:`X^\top X`."""
    alphabet = engine.inverse_rules.alphabet
    only = only_word(polynomial_of(a, alphabet))
    if only is None:
        return None
    word, c = only
    if c != 1 and c.is_Rational:
        engine.ledger.note("pseudo-inverse")
        scaled: Tensor = pinv(engine.tensor(a / c)) / c
        return scaled
    if len(word) == 2 and word[0][0] == word[1][0] and word[0][1] != word[1][1]:
        engine.ledger.note("pseudo-inverse")
        x = alphabet.tensor_of((word[1][0], False))
        inverse = pinv(linalg.matrix_transpose(x) if word[1][1] else x)
        return inverse @ linalg.matrix_transpose(inverse)
    return None


# -- matrices -----------------------------------------------------------------------------------------
def _inverse(engine: Engine, node: Apply) -> Tensor | None:
    m = node.operands[0]
    if isinstance(m, Input) and "orthogonal" in m.assumptions:
        engine.ledger.note("orthogonal")
        return linalg.matrix_transpose(m)
    if isinstance(m, Apply) and m.function == "inv":
        engine.ledger.note("inverse of an inverse")
        return m.operands[0]
    if isinstance(m, Apply) and m.function == "merge":
        factors = kronecker_factors(m)
        if factors is not None:
            engine.ledger.note("Kronecker inverse")
            return _kron(linalg.inv(factors[0]), linalg.inv(factors[1]), m)
    if isinstance(m, Input) and "diagonal" in m.assumptions and m.ndim == 2:
        i, j = free_indices(2)
        m = Lambda(m.shape, (i, j), (Term((), sp.KroneckerDelta(i, j) * m.entry(i, i)),))
    if not isinstance(m, Lambda) or m.ndim != 2:
        return None
    alphabet = engine.inverse_rules.alphabet
    poly = polynomial_of(m, alphabet)
    if not poly:
        return _rank_one(engine, m)
    if all(alphabet.letters[name].diagonal for w in poly for name, _ in w):
        i, j = fresh(2)
        entries = sp.Add(
            *[c * sp.Mul(*[alphabet.letters[n].expr.xreplace({P: i}) for n, _ in w]) for w, c in poly.items()]
        )
        engine.ledger.note("inverse of a diagonal")
        return Lambda(m.shape, (i, j), (Term((), sp.KroneckerDelta(i, j) / entries),))
    if len(poly) > 1:
        scaled = _scaled_sum(engine, m)
        return scaled if scaled is not None else _orientated(engine, m)
    (word, c), *_ = poly.items()
    if len(word) == 1 and c == 1:
        name, flip = word[0]
        whole = alphabet.tensor_of((name, False))
        if not flip or whole.digest == m.digest:
            return None
        engine.ledger.note("inverse of a transpose")
        return linalg.matrix_transpose(linalg.inv(whole))
    square = all(alphabet.is_square(letter) for letter in word)
    if not square and c == 1:
        return _orientated(engine, m)
    if c != 1:
        engine.ledger.note("inverse of a multiple")
    if not square:
        i, j = fresh(2)
        term = alphabet.write(word, i, j)
        return linalg.inv(Lambda(m.shape, (i, j), (term,))) / arithmetic.as_tensor(c)
    engine.ledger.note("inverse of a product")
    result: Tensor | None = None
    for letter in reversed(word):
        factor = linalg.inv(alphabet.tensor_of(letter))
        result = factor if result is None else result @ factor
    return result if result is None or c == 1 else result / arithmetic.as_tensor(c)


def _scaled_sum(engine: Engine, m: Lambda) -> Tensor | None:
    """Take a common coefficient out of an inverse."""
    split = [split_factors(t.expr)[0] for t in m.terms]
    c = split[0]
    if c == 1 or (len({*split}) > 1 and c != -1 and not c.free_symbols and c.is_Rational is False):
        return None
    if c == 1:
        return None
    engine.ledger.note("inverse of a multiple")
    inner = Lambda(m.shape, m.indices, tuple(Term(t.bound, sp.expand_mul(t.expr / c)) for t in m.terms))
    return linalg.inv(inner) / arithmetic.as_tensor(c)


def _orientated(engine: Engine, m: Lambda) -> Tensor | None:
    """Write the inverse of a transpose as the transpose of an inverse, one of the two being preferred."""
    turned = engine.tensor(linalg.matrix_transpose(m))
    if is_symmetric(m) or not isinstance(turned, Lambda) or _text(m) <= _text(turned):
        return None
    engine.ledger.note("inverse of a transpose")
    return linalg.matrix_transpose(linalg.inv(turned))


def _text(m: Lambda) -> str:
    from lemmax.calculus.rewriting.dummies import text_of

    return "|".join(f"{text_of(t.expr, {})}{t.bound}" for t in m.terms)


def _rank_one(engine: Engine, m: Lambda) -> Tensor | None:
    """Write out the inverse of A plus an outer product."""
    parts = rank_one_parts(m)
    if parts is None:
        return None
    a, u, v = parts
    if not engine.may_invert(a):
        engine.ledger.miss("Sherman-Morrison")
        return None
    engine.ledger.note("Sherman-Morrison")
    inverse = linalg.inv(a)
    left, right = inverse @ u, v @ inverse
    return inverse - linalg.outer(left, right) / (1 + linalg.dot(v, left))


def _det(engine: Engine, node: Apply) -> Tensor | None:
    factors = determinant(engine, node.operands[0])
    if factors is None:
        return None
    result = arithmetic.as_tensor(1)
    for t, exponent in factors:
        result = result * t**exponent
    return result


def _logdet(engine: Engine, node: Apply) -> Tensor | None:
    m = node.operands[0]
    if m.ndim != 2:
        return None
    engine.ledger.note("log det")
    factors = determinant(engine, m)
    if factors is None:
        return functions.of_tensor("log", linalg.det(m))
    result = arithmetic.as_tensor(0)
    for t, exponent in factors:
        if isinstance(t, Apply) and t.function == "prod":
            logs = functions.of_tensor("log", functions.of_tensor("abs", t.operands[0]))
            result = result + exponent * reductions.sum(logs)
        elif isinstance(t, Apply) and t.function == "det":
            result = result + exponent * linalg.logdet(t.operands[0])
        else:
            result = result + exponent * functions.of_tensor("log", functions.of_tensor("abs", t))
    return result


# -- merged axes -----------------------------------------------------------------------------------------
def _split(engine: Engine, node: Apply) -> Tensor | None:
    inner = node.operands[0]
    if isinstance(inner, Apply) and inner.function == "merge" and groups_of(inner) == groups_of(node):
        whole = inner.operands[0]
        if all(same_size(a, b) for a, b in zip(whole.shape, node.shape, strict=True)):
            engine.ledger.note("merged axes")
            return whole
    return None


def _merge(engine: Engine, node: Apply) -> Tensor | None:
    inner = node.operands[0]
    if not isinstance(inner, Apply) or inner.function not in ("merge", "split"):
        return None
    if inner.function == "split":
        if groups_of(inner) == groups_of(node):
            engine.ledger.note("merged axes")
            return inner.operands[0]
        return None
    engine.ledger.note("merged axes")
    within = groups_of(inner)
    return merge(
        inner.operands[0], *[tuple(a for g in group for a in within[g]) for group in groups_of(node)]
    )


def _kron(a: Tensor, b: Tensor, like: Apply) -> Tensor:
    i, k, j, q = free_indices(4)
    inner = Lambda(like.operands[0].shape, (i, k, j, q), (Term((), a.entry(i, j) * b.entry(k, q)),))
    return Apply("merge", (inner,), like.shape, like.params)


def _slice(engine: Engine, node: Apply) -> Tensor | None:
    new = push_slice(node)
    if new is not None:
        engine.ledger.note("slice")
    return new


def _concat(engine: Engine, node: Apply) -> Tensor | None:
    """Write blocks of which some are zero as a sum of the others, each in its place."""
    axis = node.param("axis")
    assert isinstance(axis, int)
    is_zero = [isinstance(t, Lambda) and not t.terms for t in node.operands]
    if not any(is_zero):
        return None
    engine.ledger.note("blocks of zeros")
    total: Tensor = Lambda(node.shape, free_indices(node.ndim), ())
    at: sp.Expr = sp.S.Zero
    for t, zero in zip(node.operands, is_zero, strict=True):
        starts = tuple(at if a == axis else sp.S.Zero for a in range(node.ndim))
        total = total if zero else total + Apply("place", (t,), node.shape, {"starts": starts})
        at = sp.expand(at + t.shape[axis])
    return total


def _place(engine: Engine, node: Apply) -> Tensor | None:
    """Take the coefficient of the first summand out of what stands among zeros."""
    t = node.operands[0]
    if not isinstance(t, Lambda) or not t.terms:
        return None
    c, _ = split_factors(t.terms[0].expr)
    if c == 1 or not is_generic(c):
        return None
    engine.ledger.note("blocks of zeros")
    scaled: Tensor = Apply("place", (engine.tensor(t / c),), node.shape, node.params) * c
    return scaled


RULES: Mapping[str, Rule] = {
    "place": _place,
    "concat": _concat,
    "softmax": _softmax,
    "logsumexp": _logsumexp,
    "prod": _prod,
    "inv": _inverse,
    "pinv": _pseudo_inverse,
    "matrix_power": rewrite_power,
    "det": _det,
    "logdet": _logdet,
    "split": _split,
    "merge": _merge,
    "slice": _slice,
}
"""Functions with the rule that rewrites them."""
