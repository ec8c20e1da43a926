"""True identities by family, as pairs of formulas (see :mod:`tests.soundness.formulas`)."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from tests.soundness.formulas import VARIABLES, Formula

_V = {name: ("var", name) for name in VARIABLES}
A, B, C, K, L, U, V, X, Y, W = (_V[x] for x in "ABCKLUVXYW")
x, y, u, v, z, w, s, t, S, P, Q, G, R, c = (_V[x] for x in "xyuvzwstSPQGRc")
eye, Ik, Im = ("eye", "n"), ("eye", "k"), ("eye", "m")
one, zero = ("number", 1), ("number", 0)
HALF = Fraction(1, 2)


def mul(*f: Formula) -> Formula:
    """Return a product, bracketed from the left."""
    return reduce(lambda a, b: ("mul", a, b), f)


def add(*f: Formula) -> Formula:
    """Return a sum, bracketed from the left."""
    return reduce(lambda a, b: ("add", a, b), f)


def T(f: Formula) -> Formula:
    """Return a transpose."""
    return ("T", f)


def inv(f: Formula) -> Formula:
    """Return an inverse."""
    return ("inv", f)


def sub(f: Formula, g: Formula) -> Formula:
    """Return a difference."""
    return ("sub", f, g)


def sc(q: object, f: Formula) -> Formula:
    """Return a multiple by a number."""
    return ("scale", Fraction(q), f)  # type: ignore[arg-type]


def had(f: Formula, g: Formula) -> Formula:
    """Return an entrywise product (or a multiple by a scalar formula)."""
    return ("had", f, g)


def f1(name: str, *f: Formula) -> Formula:
    """Return an operation applied to formulas."""
    return (name, *f)


def softmax(f: Formula, axis: int = -1) -> Formula:
    """Return a softmax."""
    return ("softmax", axis, f)


def lse(f: Formula, axis: int = -1) -> Formula:
    """Return a log-sum-exp."""
    return ("lse", axis, f)


def total(f: Formula, axis: int | None = None) -> Formula:
    """Return a sum."""
    return ("sum", axis, f)


def tr(f: Formula) -> Formula:
    """Return a trace."""
    return ("tr", f)


def kron(f: Formula, g: Formula) -> Formula:
    """Return a Kronecker product."""
    return ("kron", f, g)


def vec(f: Formula) -> Formula:
    """Return the rows of a matrix, one after the other."""
    return ("vec", f)


_Ai, _Bi, _Ki = inv(A), inv(B), inv(K)
_ones_m = ("ones", "m")
_gauss = ("size", "m", -HALF)
_sm = softmax(x)
_scores = had(_gauss, mul(X, T(Y)))
_vAiu = mul(v, _Ai, u)

FAMILIES: dict[str, list[tuple[Formula, Formula]]] = {
    "cyclic trace": [
        (tr(mul(A, B, C)), tr(mul(B, C, A))),
        (tr(mul(U, V)), tr(mul(V, U))),
        (tr(mul(A, B, T(A))), tr(mul(T(A), A, B))),
        (tr(mul(X, T(Y))), total(had(X, Y))),
        (mul(u, A, v), tr(mul(A, ("outer", v, u)))),
    ],
    "transposes": [
        (T(mul(A, B, C)), mul(T(C), T(B), T(A))),
        (T(add(A, T(B))), add(T(A), B)),
        (mul(x, A, y), mul(y, T(A), x)),
        (tr(T(A)), tr(A)),
        (T(inv(A)), inv(T(A))),
    ],
    "inverse of a product": [
        (inv(mul(A, B)), mul(_Bi, _Ai)),
        (inv(mul(A, B, C)), mul(inv(C), _Bi, _Ai)),
        (inv(sc(3, A)), sc("1/3", _Ai)),
        (mul(inv(mul(A, B)), A), _Bi),
        (inv(inv(A)), A),
        (sub(_Ai, _Bi), mul(_Ai, sub(B, A), _Bi)),
    ],
    "Woodbury": [
        (inv(add(A, mul(U, K, V))), sub(_Ai, mul(_Ai, U, inv(add(_Ki, mul(V, _Ai, U))), V, _Ai))),
        (inv(add(eye, mul(U, V))), sub(eye, mul(U, inv(add(Ik, mul(V, U))), V))),
        (
            inv(add(A, ("outer", u, v))),
            sub(_Ai, ("div", ("outer", mul(_Ai, u), mul(v, _Ai)), add(one, _vAiu))),
        ),
        (inv(add(_Ai, _Bi)), mul(A, inv(add(A, B)), B)),
    ],
    "push-through": [
        (mul(inv(add(eye, mul(U, V))), U), mul(U, inv(add(Ik, mul(V, U))))),
        (
            mul(inv(add(mul(T(X), X), had(s, Im))), T(X)),
            mul(T(X), inv(add(mul(X, T(X)), had(s, eye)))),
        ),
        (mul(A, inv(add(eye, mul(B, A)))), mul(inv(add(eye, mul(A, B))), A)),
        (sub(eye, inv(add(eye, A))), mul(A, inv(add(eye, A)))),
    ],
    "determinants": [
        (("det", mul(A, B)), had(("det", A), ("det", B))),
        (("det", add(eye, mul(U, V))), ("det", add(Ik, mul(V, U)))),
        (("det", add(A, mul(U, V))), had(("det", A), ("det", add(Ik, mul(V, _Ai, U))))),
        (("det", add(A, ("outer", u, v))), had(("det", A), add(one, _vAiu))),
        (("det", sc(2, A)), had(("power", ("number", 2), "n"), ("det", A))),
        (("det", T(A)), ("det", A)),
        (had(("det", inv(A)), ("det", A)), one),
        (("det", R), ("prod", ("diag", R))),
    ],
    "log det": [
        (("logdet", mul(A, B)), add(("logdet", A), ("logdet", B))),
        (("logdet", inv(P)), sc(-1, ("logdet", P))),
        (("logdet", sc(3, P)), add(had(("size", "n", Fraction(1)), ("log", ("number", 3))), ("logdet", P))),
        (("logdet", mul(A, P, T(A))), add(sc(2, ("log", ("abs", ("det", A)))), ("logdet", P))),
        (("logdet", ("diag", c)), total(("log", c))),
    ],
    "Kronecker": [
        (vec(mul(A, X, W)), mul(kron(A, T(W)), vec(X))),
        (vec(T(mul(A, X, W))), mul(kron(T(W), A), vec(T(X)))),
        (mul(kron(A, K), kron(B, L)), kron(mul(A, B), mul(K, L))),
        (T(kron(A, K)), kron(T(A), T(K))),
        (tr(kron(A, K)), had(tr(A), tr(K))),
        (inv(kron(A, K)), kron(_Ai, _Ki)),
        (("det", kron(A, K)), had(("power", ("det", A), "k"), ("power", ("det", K), "n"))),
        (mul(kron(A, K), kron(x, z)), kron(mul(A, x), mul(K, z))),
        (mul(vec(A), vec(B)), tr(mul(T(A), B))),
    ],
    "softmax rows": [
        (total(softmax(X), -1), ("ones", "n")),
        (mul(softmax(X), _ones_m), ("ones", "n")),
        (total(softmax(X)), ("size", "n", Fraction(1))),
        (total(softmax(_scores), -1), ("ones", "n")),
    ],
    "shift invariance": [
        (softmax(add(X, ("outer", x, _ones_m))), softmax(X)),
        (softmax(add(x, s)), softmax(x)),
        (lse(add(x, s)), add(lse(x), s)),
        (softmax(sub(x, lse(x))), softmax(x)),
        (softmax(add(_scores, ("outer", x, ("ones", "n")))), softmax(_scores)),
    ],
    "simplex": [
        (mul(sub(("diag", _sm), ("outer", _sm, _sm)), ("ones", "n")), had(zero, x)),
        (total(had(_sm, sub(x, mul(_sm, x)))), zero),
        (
            mul(_sm, mul(sub(("diag", _sm), ("outer", _sm, _sm)), x)),
            sub(mul(had(_sm, _sm), x), had(mul(_sm, _sm), mul(_sm, x))),
        ),
        (sub(mul(had(_sm, x), x), ("power", mul(_sm, x), 2)), mul(_sm, ("power", sub(x, mul(_sm, x)), 2))),
    ],
    "log-sum-exp and sigmoid": [
        (("log", softmax(x)), sub(x, lse(x))),
        (softmax(X), ("exp", sub(X, ("outer", lse(X), _ones_m)))),
        (add(("sigmoid", x), ("sigmoid", sc(-1, x))), ("ones", "n")),
        (sub(("softplus", x), ("softplus", sc(-1, x))), x),
        (("tanh", x), sub(sc(2, ("sigmoid", sc(2, x))), one)),
        (("log", ("sigmoid", x)), sc(-1, ("softplus", sc(-1, x)))),
        (had(("sigmoid", x), sub(one, ("sigmoid", x))), sub(("sigmoid", x), ("power", ("sigmoid", x), 2))),
        (sub(("power", ("cosh", x), 2), ("power", ("sinh", x), 2)), ("ones", "n")),
    ],
    "delta contraction": [
        (mul(eye, A), A),
        (("diag", ("diag", x)), x),
        (mul(("diag", x), y), had(x, y)),
        (mul(("diag", x), A, ("diag", y)), had(A, ("outer", x, y))),
        (("tail", mul(A, x)), mul(("tail", A), x)),
        (("row", 1, mul(A, B)), mul(("row", 1, A), B)),
    ],
    "sizes": [
        (total(("ones", "n", "m")), had(("size", "n", Fraction(1)), ("size", "m", Fraction(1)))),
        (tr(eye), ("size", "n", Fraction(1))),
        (softmax(had(zero, x)), had(("size", "n", Fraction(-1)), ("ones", "n"))),
        (lse(had(zero, x)), ("log", ("size", "n", Fraction(1)))),
        (had(_gauss, had(_gauss, mul(X, T(X)))), had(("size", "m", Fraction(-1)), mul(X, T(X)))),
        (("sqnorm", had(("size", "n", -HALF), x)), had(("size", "n", Fraction(-1)), mul(x, x))),
    ],
    "structured variables": [
        (T(S), S),
        (mul(x, S, y), mul(y, S, x)),
        (tr(mul(S, sub(A, T(A)))), zero),
        (mul(T(Q), Q), eye),
        (inv(Q), T(Q)),
        (tr(mul(T(Q), A, Q)), tr(A)),
        (("det", mul(T(Q), A, Q)), ("det", A)),
        (T(inv(P)), inv(P)),
        (mul(G, x), had(("diag", G), x)),
        (mul(G, inv(G)), eye),
    ],
    "norms": [
        (("power", ("norm", x), 2), mul(x, x)),
        (("norm", sc(-2, x)), sc(2, ("norm", x))),
        (("norm", mul(Q, x)), ("norm", x)),
        (("sqnorm", sub(mul(A, x), y)), add(sub(mul(x, T(A), A, x), sc(2, mul(y, A, x))), mul(y, y))),
        (mul(x, y), sc("1/4", sub(("sqnorm", add(x, y)), ("sqnorm", sub(x, y))))),
        (("sqnorm", mul(X, W)), tr(mul(T(W), T(X), X, W))),
        (("norm", had(s, x)), had(("abs", s), ("norm", x))),
    ],
}
