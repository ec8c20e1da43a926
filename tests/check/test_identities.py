"""lx.equal: the identities of matrices and functions that it proves, with the conditions that they need."""

from __future__ import annotations

import pytest
import sympy as sp

import lemmax as lx
from lemmax.calculus.rewriting.prove import prove_zero
from lemmax.calculus.rewriting.records import REWRITES, Ledger
from lemmax.expr.arithmetic import as_tensor

n, k, m = lx.sizes("n k m")
A, B = lx.tensor("A", n, n), lx.tensor("B", n, n)
K, U, V = lx.tensor("K", k, k), lx.tensor("U", n, k), lx.tensor("V", k, n)
X = lx.tensor("X", n, m)
x, y, u, v = (lx.tensor(name, n) for name in "xyuv")
s = lx.tensor("s")
P = lx.tensor("P", n, n, positive_definite=True)
Q = lx.tensor("Q", n, n, orthogonal=True)
small = lx.tensor("w", 3)
eye, ones = lx.eye(n), lx.ones(n)

PROVED = {
    "inverse of a product": (lx.inv(A @ B), lx.inv(B) @ lx.inv(A)),
    "Woodbury": (
        lx.inv(A + U @ K @ V),
        lx.inv(A) - lx.inv(A) @ U @ lx.inv(lx.inv(K) + V @ lx.inv(A) @ U) @ V @ lx.inv(A),
    ),
    "push-through": (lx.inv(eye + U @ V) @ U, U @ lx.inv(lx.eye(k) + V @ U)),
    "Sherman-Morrison": (
        lx.inv(A + lx.outer(u, v)),
        lx.inv(A) - lx.outer(lx.inv(A) @ u, v @ lx.inv(A)) / (1 + v @ lx.inv(A) @ u),
    ),
    "Sylvester": (lx.det(eye + U @ V), lx.det(lx.eye(k) + V @ U)),
    "det lemma": (lx.det(A + U @ V), lx.det(A) * lx.det(lx.eye(k) + V @ lx.inv(A) @ U)),
    "det lemma, rank one": (lx.det(A + lx.outer(u, v)), lx.det(A) * (1 + v @ lx.inv(A) @ u)),
    "log det of a multiple": (lx.logdet(3 * P), n * sp.log(3) + lx.logdet(P)),
    "mixed product": (lx.kron(A, K) @ lx.kron(B, K), lx.kron(A @ B, K @ K)),
    "vec of a product": (lx.vec(A @ X), lx.kron(A, lx.eye(m)) @ lx.vec(X)),
    "Kronecker inverse": (lx.inv(lx.kron(A, K)), lx.kron(lx.inv(A), lx.inv(K))),
    "rows of a softmax": (lx.sum(lx.softmax(X), axis=-1), ones),
    "shift of a softmax": (lx.softmax(X + lx.outer(x, lx.ones(m))), lx.softmax(X)),
    "shift of a log-sum-exp": (lx.logsumexp(x + s), lx.logsumexp(x) + s),
    "log of a softmax": (lx.log(lx.softmax(x)), x - lx.logsumexp(x)),
    "sigmoid": (lx.sigmoid(x) + lx.sigmoid(-x), ones),
    "simplex": (lx.sum(lx.softmax(x) * (x - lx.sum(lx.softmax(x) * x))), 0 * s),
    "orthogonal": (lx.norm(Q @ x), lx.norm(x)),
    "slope of the det of a product": (lx.gradient(lx.det(A @ B @ A), B), lx.det(A @ B @ A) * lx.inv(B).T),
    "inverse of a product of three": (lx.inv(A @ B @ A), lx.inv(A) @ lx.inv(B) @ lx.inv(A)),
    "pseudo-inverse of full rank": (2 * lx.pinv(X).T, lx.gradient(lx.logdet(X.T @ X), X)),
    "pseudo-inverse of more columns": (lx.pinv(X), X.T @ lx.inv(X @ X.T)),
    "pseudo-inverse of a transpose": (lx.pinv(X.T), lx.pinv(X).T),
    "pseudo-inverse of an inverse": (lx.pinv(A) @ x, lx.inv(A) @ x),
    "norm of a multiple": (lx.norm(s * x), lx.abs(s) * lx.norm(x)),
}

UNPROVABLE = {  # false somewhere that both sides are defined, each by a condition that is easily overlooked
    "inverse of a product of rectangles": (lx.inv(U @ V) @ U @ V, 2 * eye),
    "pseudo-inverse of the other Gram matrix": (lx.pinv(X), X.T @ lx.inv(X @ X.T + lx.eye(n))),
    "sum over some rows of an orthogonal matrix": (
        lx.tensor("Q", 3, 3, orthogonal=True)[:2].T @ lx.tensor("Q", 3, 3, orthogonal=True)[:2],
        lx.eye(3),
    ),
    "sum over some columns of an inverse": (
        lx.inv(lx.tensor("A", 3, 3))[:, :2] @ lx.tensor("A", 3, 3)[:2],
        lx.eye(3),
    ),
    "inverse of a block": (
        lx.inv(lx.tensor("A", 3, 3)[:2, :2]),
        lx.inv(lx.tensor("A", 3, 3))[:2, :2],
    ),
    "root of a square": (lx.sqrt(x**2), x),
    "root of a negated square": (lx.sqrt((-s) ** 2), -s),
    "log of a square": (lx.log(s**2), 2 * lx.log(lx.abs(s)) + s - lx.abs(s)),
    "a logarithm of one entry says nothing of the others": (
        lx.log(small)[0] + lx.abs(small[1]),
        lx.log(small)[0] + small[1],
    ),
    "a logarithm of a slice says nothing of the rest": (
        lx.sum(lx.log(small[:2])) + lx.abs(small[2]),
        lx.sum(lx.log(small[:2])) + small[2],
    ),
    "a slice of a logarithm says nothing of the rest": (
        lx.sum(lx.log(small)[:2]) + lx.abs(small[2]),
        lx.sum(lx.log(small)[:2]) + small[2],
    ),
    "a logarithm in a branch says nothing outside it": (
        lx.where(s > 0, lx.log(s), lx.abs(s)),
        lx.where(s > 0, lx.log(s), s),
    ),
    "softmax along the other axis": (lx.sum(lx.softmax(X, axis=0), axis=-1), ones),
    "Kronecker factors swapped": (lx.kron(A, B), lx.kron(B, A)),
    "determinant of a multiple": (lx.det(2 * A), 2 * lx.det(A)),
    "determinant of an orthogonal matrix": (lx.det(Q), 1 + 0 * s),
    "larger of two": (lx.maximum(s, 0), s),
    # the sum over j must not meet the one over l: sum_j exp(sum_l A_lj B_il) against n exp(sum_l A_ll B_il)
    "sums in each other": (
        lx.parse_latex(r"\log \sum_j \exp((B A)_{ij})", A=A, B=B),
        lx.log(n) + B @ lx.diag(A),
    ),
}


@pytest.mark.parametrize("name", PROVED)
def test_identities_are_proved_and_listed(name: str) -> None:
    verdict = lx.equal(*PROVED[name])
    assert verdict.name == "proved", str(verdict)
    assert set(verdict.rewrites) <= REWRITES.keys()
    for rewrite in verdict.rewrites:
        if REWRITES[rewrite].conditions:
            assert REWRITES[rewrite].conditions in verdict.reason


@pytest.mark.parametrize("name", UNPROVABLE)
def test_what_fails_somewhere_is_refuted_and_would_not_be_proved(name: str) -> None:
    left, right = (as_tensor(t) for t in UNPROVABLE[name])
    assert lx.equal(left, right).name == "refuted"
    assert not prove_zero(left - right, Ledger())  # without the points that refute it


def test_a_condition_that_is_not_known_is_named() -> None:
    low_rank = lx.outer(x, y) + lx.outer(u, v)  # the det lemma would need the inverse of an outer product
    verdict = lx.equal(lx.det(low_rank), lx.det(low_rank.T))
    assert verdict.name == "unknown"
    assert "not used: det lemma (if A invertible): not known to hold" in verdict.reason
    assert lx.equal(lx.det(A + low_rank), lx.det((A + low_rank).T)).name == "proved"


def test_the_rewrites_of_a_failed_attempt_are_not_listed() -> None:
    ledger = Ledger()
    ledger.note("inverse")
    mark = ledger.mark()
    ledger.note("fraction")
    ledger.reset(mark)
    assert [r.name for r in ledger.used] == ["inverse"]
