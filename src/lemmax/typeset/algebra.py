r"""Constructors of matrix notation: each returns the simplest form of what it is asked for.

They apply only identities that hold for all values and sizes, such as
:math:`(AB)^\top = B^\top A^\top`, :math:`I A = A` and :math:`\mathrm{Diag}(v)\, w = v \odot w`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

from lemmax.expr.nodes import Input
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.typeset.node import ONE, Node, is_column, is_row, is_scalar, make

_SYMMETRIC = frozenset({"symmetric", "positive_definite", "diagonal"})
_KEEPS_SYMMETRY = frozenset({"inv", "pinv"})


# -- leaves ------------------------------------------------------------------------------------
def number(value: sp.Expr) -> Node:
    """Return a number, a size, or an index used as a number."""
    return make("number", (), (sp.sympify(value),), (ONE, ONE))


UNIT = number(ONE)


def eye(n: Size) -> Node:
    """Return the identity matrix."""
    return UNIT if n == ONE else make("eye", (), (), (n, n))


def ones(n: Size) -> Node:
    """Return the column of ones."""
    return UNIT if n == ONE else make("ones", (), (), (n, ONE))


def zeros(rows: Size, columns: Size) -> Node:
    """Return the zero matrix."""
    return number(sp.S.Zero) if rows == columns == ONE else make("zeros", (), (), (rows, columns))


def atom(t: Tensor, slots: tuple[sp.Expr | None, ...]) -> Node:
    """Return a slice of a named tensor: ``None`` keeps an axis, an index fixes it."""
    kept = [s for s, at in zip(t.shape, slots, strict=True) if at is None]
    rows, columns = (*kept, ONE, ONE)[:2]
    return make("atom", (), (t, slots), (rows, columns))


# -- one operand -------------------------------------------------------------------------------
def transpose(x: Node) -> Node:
    """Return the transpose, pushed into products, sums over families and factors."""
    if is_scalar(x) or x.op in ("eye", "diag"):
        return x
    if x.op == "transpose":
        return x.args[0]
    if x.op == "product":
        return product(*[transpose(a) for a in reversed(x.args)])
    if x.op == "hadamard" and not is_column(x) and not is_row(x):
        return hadamard(*[transpose(a) for a in x.args])
    if x.op == "sum" or x.op == "scale" or (x.op == "linear" and len(x.args) == 1):
        args = (*x.args[:-1], transpose(x.args[-1]))
        return make(x.op, args, x.data, (x.shape[1], x.shape[0]))
    if x.op == "zeros":
        return zeros(x.shape[1], x.shape[0])
    if x.op == "kron":
        return make("kron", tuple(transpose(a) for a in x.args), (), (x.shape[1], x.shape[0]))
    if x.op == "commutation":
        return make("commutation", (), x.data[::-1], x.shape)
    if x.op in ("power", "entrywise", "linear"):
        flipped = _flipped(x)
        if flipped.transposes <= x.transposes:
            return flipped
    if x.op == "call" and x.data[0] in _KEEPS_SYMMETRY and transpose(x.args[0]) == x.args[0]:
        return x
    if x.op == "atom" and isinstance(x.data[0], Input) and x.shape[1] != ONE:
        slots = x.data[1]
        if _SYMMETRIC.intersection(x.data[0].assumptions) and slots[-2] is None and slots[-1] is None:
            return x
    return make("transpose", (x,), (), (x.shape[1], x.shape[0]))


def _flipped(x: Node) -> Node:
    """Return the transpose of an entrywise operation: the operation on transposes."""
    args = tuple(a if is_scalar(a) else transpose(a) for a in x.args)
    return make(x.op, args, x.data, (x.shape[1], x.shape[0]))


def _with_fewest_transposes(x: Node) -> Node:
    """Return an entrywise operation, or the transpose of it on transposes if that is shorter."""
    if is_column(x) or not x.transposes:
        return x
    flipped = _flipped(x)
    if flipped.transposes + 1 < x.transposes or is_row(x):
        return make("transpose", (flipped,), (), x.shape)
    return x


def fewest_transposes(*xs: Node) -> Node:
    """Return the form with the fewest transposition signs; ties go by text."""
    return min(xs, key=lambda x: (x.transposes, x.key))


def diag(v: Node) -> Node:
    """Return the diagonal matrix of a column."""
    if is_scalar(v):
        return v
    if v.op == "ones":
        return eye(v.shape[0])
    return make("diag", (v,), (), (v.shape[0], v.shape[0]))


def diagonal(x: Node) -> Node:
    """Return the diagonal of a square matrix as a column."""
    if is_scalar(x):
        return x
    if x.op == "diag":
        return x.args[0]
    if x.op == "eye":
        return ones(x.shape[0])
    return make("diagonal", (fewest_transposes(x, transpose(x)),), (), (x.shape[0], ONE))


def base_and_exponent(x: Node) -> tuple[Node, sp.Expr]:
    """Return a node as an entrywise power."""
    return (x.args[0], x.data[0]) if x.op == "power" else (x, ONE)


def power(x: Node, exponent: sp.Expr) -> Node:
    """Return the entrywise power."""
    exponent = sp.sympify(exponent)
    if exponent == 1:
        return x
    if exponent == 0:
        return outer_ones(*x.shape)
    if x.op in ("ones", "number"):
        return number(x.data[0] ** exponent) if x.op == "number" else x
    if x.op == "transpose" and x.args[0].op != "atom":
        return transpose(power(x.args[0], exponent))
    if x.op == "scale" and all(_norm_power(a) for a in x.args):
        return scale([power(a, exponent) for a in x.args], UNIT)  # roots of products of norms
    if x.op == "power" and (exponent.is_Integer or x.args[0].op == "norm"):
        # (x^a)^b is x^(ab) for integer b, and for a norm, which is not negative
        return power(x.args[0], x.data[0] * exponent)
    return _with_fewest_transposes(make("power", (x,), (exponent,), x.shape))


def _norm_power(x: Node) -> bool:
    return x.op == "norm" or (x.op == "power" and x.args[0].op == "norm")


def outer_ones(rows: Size, columns: Size) -> Node:
    """Return the matrix of ones."""
    return product(ones(rows), transpose(ones(columns)))


def entrywise(function: str, *args: Node) -> Node:
    """Return a function of entries at the same place; scalar arguments broadcast."""
    shape = next((a.shape for a in args if not is_scalar(a)), (ONE, ONE))
    return _with_fewest_transposes(make("entrywise", args, (function,), shape))


def norm(x: Node) -> Node:
    """Return the Frobenius norm (of a column the Euclidean norm)."""
    bare = x.args[0] if x.op == "transpose" else transpose(x) if is_row(x) else x
    return make("norm", (bare,), (), (ONE, ONE))


# -- products ----------------------------------------------------------------------------------
def chain(x: Node) -> tuple[Node, ...]:
    """Return the factors of a product (the node itself if it is none)."""
    return x.args if x.op == "product" else (x,)


def product(*xs: Node) -> Node:
    """Return the matrix product; identities vanish, diagonal matrices act on their neighbours."""
    out: list[Node] = []
    for x in [factor for factors in map(chain, xs) for factor in factors]:
        if x.op == "eye" or x == UNIT:
            continue
        while out:
            last = out[-1]
            if last.op == "diag" and x.op == "diag":
                x = diag(hadamard(last.args[0], x.args[0]))
            elif last.op == "diag" and is_column(x):
                x = hadamard(last.args[0], x)
            elif x.op == "diag" and is_row(last):
                x = transpose(hadamard(transpose(last), x.args[0]))
            else:
                break
            out.pop()
        out.append(x)
    if not out:
        return xs[0]
    return out[0] if len(out) == 1 else make("product", tuple(out), (), (out[0].shape[0], out[-1].shape[1]))


def _hadamard_factors(x: Node) -> tuple[Node, ...]:
    if x.op == "hadamard":
        return x.args
    if x.op == "transpose" and x.args[0].op == "hadamard":
        return tuple(transpose(a) for a in x.args[0].args)
    return (x,)


def hadamard(*xs: Node) -> Node:
    """Return the entrywise product of matrices of one shape."""
    shape = xs[0].shape
    if is_row(xs[0]):
        return transpose(hadamard(*[transpose(x) for x in xs]))
    factors = [f for x in xs for f in _hadamard_factors(x)]
    if is_column(xs[0]):
        factors = [f for f in factors if f.op != "ones" and f != UNIT] or [ones(shape[0])]
    else:
        factors = [f for f in factors if f != outer_ones(*shape)] or [outer_ones(*shape)]
    if len(factors) == 1:
        return factors[0]
    if not is_column(xs[0]) and any(f.op in ("eye", "diag") for f in factors):
        return diag(hadamard(*[diagonal(f) for f in factors]))
    exponents: dict[Node, sp.Expr] = {}
    for f in factors:  # equal factors and powers of one base are one power
        base, e = (f.args[0], f.data[0]) if f.op == "power" else (f, ONE)
        if f.op == "transpose" and f.args[0].op == "power":
            base, e = transpose(f.args[0].args[0]), f.args[0].data[0]
        exponents[base] = exponents.get(base, sp.S.Zero) + e
    factors = [power(b, e) for b, e in exponents.items() if e != 0]
    if len(factors) < 2:
        return factors[0] if factors else outer_ones(*shape)
    factors.sort(key=_hadamard_order)
    if not is_column(xs[0]):
        flipped = sorted((transpose(f) for f in factors), key=_hadamard_order)
        if _transpose_load(flipped) < _transpose_load(factors):
            inner = make("hadamard", tuple(flipped), (), (shape[1], shape[0]))
            return make("transpose", (inner,), (), shape)
    return make("hadamard", tuple(factors), (), shape)


def _hadamard_order(x: Node) -> tuple[bool, bool, bool, str]:
    bare = x.args[0] if x.op == "transpose" else x
    inverse = bare.op == "power" and bool(bare.data[0].is_negative)
    return (inverse, bare.op == "linear", bare.op == "product", bare.key)


def _transpose_load(xs: Sequence[Node]) -> tuple[int, int, bool]:
    simple = sum(x.transposes for x in xs if x.op not in ("product", "linear"))
    return (simple, sum(x.transposes for x in xs), xs[0].op == "transpose")


# -- scalars of matrices -----------------------------------------------------------------------
def trace(x: Node) -> Node:
    r"""Return the trace: a squared norm if the factors are :math:`Y Y^\top`, else with few transposes."""
    if is_scalar(x):
        return x
    factors = chain(x)
    if len(factors) == 1 and x.op == "transpose":
        return trace(x.args[0])
    turned = [(*f[i:], *f[:i]) for f in (factors, chain(transpose(x))) for i in range(len(f))]
    if len(factors) % 2 == 0:
        half = len(factors) // 2
        squares = [f[:half] for f in turned if chain(transpose(product(*f[:half]))) == f[half:]]
        if squares:
            best = fewest_transposes(*[product(*half) for half in squares])
            return power(norm(best), sp.Integer(2))
    forms = [product(*f) for f in turned]
    best = min(forms, key=lambda y: (y.transposes, chain(y)[0].op != "transpose", y.key))
    return make("trace", (best,), (), (ONE, ONE))


def inner(x: Node, y: Node) -> Node:
    r"""Return the sum of products of entries: a squared norm, a trace, or :math:`\langle X, Y \rangle`."""
    if x == y:
        return power(norm(x), sp.Integer(2))
    if is_column(x):
        return quadratic(product(transpose(x), y))
    if "product" in (x.op, y.op) or "eye" in (x.op, y.op) or "diag" in (x.op, y.op):
        return trace(product(transpose(x), y))
    pairs = [sorted(p, key=lambda z: z.key) for p in ((x, y), (transpose(x), transpose(y)))]
    best = min(pairs, key=lambda p: (p[0].transposes + p[1].transposes, p[0].key, p[1].key))
    return make("inner", tuple(best), (), (ONE, ONE))


def quadratic(x: Node) -> Node:
    r"""Return a scalar product of a row, matrices and a column; :math:`y^\top y` is :math:`\|y\|^2`."""
    if not is_scalar(x) or x.op != "product":
        return x
    factors = chain(x)
    for at in range(1, len(factors)):
        left, right = transpose(product(*factors[:at])), product(*factors[at:])
        if not is_column(left) or left.op == "ones" or right.op == "ones":
            continue
        (base, e), (other, f) = map(base_and_exponent, (left, right))
        if base == other and e == f == 1:
            return power(norm(base), sp.Integer(2))
        if base == other:
            return product(transpose(ones(base.shape[0])), power(base, e + f))
    return fewest_transposes_of_scalar(x)


def fewest_transposes_of_scalar(x: Node) -> Node:
    r"""Return :math:`u^\top A v` or its equal :math:`v^\top A^\top u`, whichever is shorter."""
    back = product(*[transpose(f) for f in reversed(chain(x))])

    def rank(y: Node) -> tuple[int, bool, str]:
        first = y.args[0].args[0] if y.args[0].op == "transpose" else y.args[0]
        return y.transposes, first.op not in ("atom", "ones"), y.key

    return min((x, back), key=rank)


# -- sums --------------------------------------------------------------------------------------
def scale(scalars: Iterable[Node], x: Node) -> Node:
    """Return a matrix times scalars; equal scalars become powers."""
    scalars = list(scalars)
    if x.op == "scale":
        scalars, x = [*scalars, *x.args[:-1]], x.args[-1]
    if is_scalar(x) and x.op != "sum":
        scalars, x = [*scalars, x], UNIT
    exponents: dict[Node, sp.Expr] = {}
    for base, e in map(base_and_exponent, scalars):
        if base != UNIT:
            exponents[base] = exponents.get(base, sp.S.Zero) + e
    found = [power(b, e) for b, e in exponents.items() if e != 0]
    found.sort(key=_scalar_order)
    return _scaled(found, x)


def _scaled(scalars: list[Node], x: Node) -> Node:
    if x == UNIT and scalars:
        *scalars, x = scalars
    return make("scale", (*scalars, x), (), x.shape) if scalars else x


def _scalar_order(x: Node) -> tuple[bool, bool, bool]:
    """Factors as they came, but sums late, and what is defined elsewhere (the loss, say) last."""
    derived = x.op == "atom" and not isinstance(x.data[0], Input) and x.data[0].ndim == 0
    return derived, x.op == "sum", x.op == "linear"


def linear(parts: Sequence[tuple[sp.Expr, Node]], shape: tuple[Size, Size]) -> Node:
    """Return the sum of coefficients times nodes, in the order given."""
    parts = [(sp.sympify(c), x) for c, x in parts if c != 0]
    if not parts:
        return zeros(*shape)
    if len(parts) > 1:  # no brackets in A ⊗ B + (C ⊗ D + E)
        parts = [
            q for c, x in parts for q in (zip(x.data, x.args, strict=True) if _is_sum(c, x) else [(c, x)])
        ]
    from lemmax.typeset.expansion import merged

    parts = merged(parts)
    if not parts:
        return zeros(*shape)
    if len(parts) == 1 and parts[0][0] == 1:
        return parts[0][1]
    whole = make("linear", tuple(x for _, x in parts), tuple(c for c, _ in parts), shape)
    if len(parts) == 1 or any(_over_pairs(x) for _, x in parts):
        return whole
    return _with_fewest_transposes(whole)


def _is_sum(c: sp.Expr, x: Node) -> bool:
    return bool(c == 1 and x.op == "linear" and len(x.args) > 1) and any(_over_pairs(a) for a in x.args)


def _over_pairs(x: Node) -> bool:
    """Are rows and columns pairs of indices?  A transposition of the whole would hide which."""
    if x.op in ("sum", "scale", "linear", "product"):
        return any(_over_pairs(a) for a in x.args)
    return x.op in ("kron", "commutation")


def parts_of(x: Node) -> list[tuple[sp.Expr, Node]]:
    """Return the summands of a node with their coefficients."""
    return list(zip(x.data, x.args, strict=True)) if x.op == "linear" else [(ONE, x)]


def family_sum(x: Node, ranges: tuple[tuple[sp.Symbol, Size], ...]) -> Node:
    """Return the sum over subscripts."""
    if not ranges:
        return x
    if x.op == "sum":
        return make("sum", x.args, (*ranges, *x.data), x.shape)
    return make("sum", (x,), ranges, x.shape)


def bare(x: Node) -> tuple[sp.Expr, list[Node], Node]:
    """Return coefficient, scalar factors and the rest of a node."""
    if x.op == "linear" and len(x.args) == 1:
        c, scalars, rest = bare(x.args[0])
        return x.data[0] * c, scalars, rest
    if x.op == "scale":
        return ONE, list(x.args[:-1]), x.args[-1]
    if x.op == "transpose" and x.args[0].op in ("linear", "scale"):
        c, scalars, rest = bare(x.args[0])
        if rest != x.args[0]:
            return c, scalars, transpose(rest)
    return ONE, [], x
