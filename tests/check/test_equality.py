"""lx.equal: proofs by normal form, refutations with witnesses, and unknown in between."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import lemmax as lx

n, m, D = lx.sizes("n m D")
A, B, C = (lx.tensor(name, n, n) for name in "ABC")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, m), lx.tensor("Y", n, m)
x = lx.tensor("x", n)

TRUE = {
    "cyclic trace": (lx.trace(A @ B @ C), lx.trace(C @ A @ B)),
    "trace of a transpose": (lx.trace(A @ B @ C), lx.trace(C.T @ B.T @ A.T)),
    "transpose of a product": ((A @ B).T, B.T @ A.T),
    "associativity": (A @ (B @ C), (A @ B) @ C),
    "distributivity": ((A + B) @ C, A @ C + B @ C),
    "squared norm as a trace": (lx.sqnorm(X @ W - Y), lx.trace((X @ W - Y).T @ (X @ W - Y))),
    "gradient of least squares": (lx.gradient(lx.sqnorm(X @ W - Y) / 2, W), X.T @ X @ W - X.T @ Y),
    "exponential of a sum": (lx.exp(A + B), lx.exp(A) * lx.exp(B)),
    "delta contraction": (lx.eye(n) @ A, A),
    "diagonal twice": (lx.diag(lx.diag(x)), x),
    "sum of a size": (lx.sum(lx.ones(n, m)), n * m),
    "quadratic form": (x @ A @ x, x @ A.T @ x),
}
FALSE = {
    "order of factors": (A @ B, B @ A),
    "wrong cyclic order": (lx.trace(A @ B @ C), lx.trace(B @ A @ C)),
    "lost transpose": (X.T @ (X @ W - Y), X.T @ X @ W + X.T @ Y),
    "factor": (lx.gradient(lx.sqnorm(A), A), A),
    "exponential of a product": (lx.exp(A * B), lx.exp(A) * lx.exp(B)),
    "softmax over the wrong axis": (lx.softmax(A, axis=-1), lx.softmax(A, axis=0)),
    "size": (lx.sum(lx.ones(n, m)), n + m),
}


@pytest.mark.parametrize("name", TRUE)
def test_identities_are_proved(name: str) -> None:
    assert lx.equal(*TRUE[name]).name == "proved"


@pytest.mark.parametrize("name", FALSE)
def test_false_claims_are_refuted_with_a_witness_that_can_be_checked(name: str) -> None:
    verdict = lx.equal(*FALSE[name])
    assert verdict.name == "refuted"
    assert verdict.witness is not None
    arrays = {
        key: np.vectorize(lambda s: float(Fraction(s)))(np.array(entries))
        for key, entries in verdict.witness.arrays.items()
    }
    sides = [
        np.asarray(
            lx.evaluate(
                side, {k: a for k, a in arrays.items() if k in used(side)}, sizes=sized(side, verdict)
            )
        )
        for side in FALSE[name]
    ]
    (numbers,) = verdict.witness.comparisons
    assert [side[numbers.index] for side in sides] == pytest.approx([float(numbers.lhs), float(numbers.rhs)])
    assert float(numbers.lhs) != float(numbers.rhs)


def used(side: object) -> set[str]:
    from lemmax.expr.graph import inputs_of

    return {str(t.name) for t in inputs_of(side)} if isinstance(side, lx.Tensor) else set()


def sized(side: object, verdict: lx.Verdict) -> dict[str, int]:
    from lemmax.expr.arithmetic import as_tensor
    from lemmax.interpret import Evaluator

    assert verdict.witness is not None
    return {k: v for k, v in verdict.witness.sizes.items() if k in Evaluator([as_tensor(side)]).sizes}


def test_what_the_normal_form_does_not_see_is_unknown_not_refuted() -> None:
    verdict = lx.equal(lx.spectral_norm(A.T), lx.spectral_norm(A))
    assert verdict.name == "unknown"
    assert "agree at 14 of 14 points" in verdict.reason


def test_a_difference_far_below_double_precision_is_still_found() -> None:
    tiny = lx.full(1, n, n) / 10**18
    assert lx.equal(A, A + tiny).name == "refuted"


ROUNDED = {  # true; a residual of rounding, taken at its word, would refute them
    "rank of a residual": (lx.rank(A @ lx.inv(A) @ A - A), 0),
    "sign of a residual": (lx.where(lx.sqrt(lx.sqnorm(x) + 2) ** 2 - lx.sqnorm(x) > 2, 1, 0), 0),
    "branch on a root": (lx.where(lx.exp(lx.log(x**2 + 3)) - x**2 > 3, x, 2 * x), 2 * x),
    "rotation": (lx.tensor("Q", n, n, orthogonal=True).T @ lx.tensor("Q", n, n, orthogonal=True), lx.eye(n)),
    "third root": (lx.sum(x**2) / 3 * 3, lx.sqnorm(x)),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_does_not_refute(name: str) -> None:
    assert lx.equal(*ROUNDED[name]).name != "refuted"


def test_entries_of_a_witness_obey_the_assumptions_exactly() -> None:
    Q = lx.tensor("Q", n, n, orthogonal=True)
    S = lx.tensor("S", n, n, symmetric=True)
    p = lx.tensor("p", n, positive=True)
    verdict = lx.equal(Q @ S @ p, S @ Q @ p)
    assert verdict.witness is not None
    q, s, positive = (
        np.vectorize(Fraction, otypes=[object])(np.array(verdict.witness.arrays[key])) for key in "QSp"
    )
    assert np.all(q.T @ q == np.eye(len(q), dtype=int)) and np.all(s == s.T) and np.all(positive > 0)


def test_different_shapes_are_an_error() -> None:
    with pytest.raises(lx.ShapeError, match="different shapes"):
        lx.equal(A, x)


def test_rounded_constants_neither_prove_nor_refute() -> None:
    y = lx.tensor("y", n)
    tenth = (0.1 * x).named("t")
    assert lx.equal(10**17 * tenth + x, 10**17 * tenth).name == "unknown"  # float sums would lose x
    for left, right in (
        (10 * tenth, x),
        (0.1 * x + 0.2 * x, 0.3 * x),
        (0.1 * x + 0.2 * x - 0.3 * x, 0 * x),
        ((0.1 + 0.2) * x, 0.3 * x),
        (lx.exp(0.1 * x) ** 10, lx.exp(x)),
    ):
        verdict = lx.equal(left, right)
        assert verdict.name == "unknown", str(verdict)
        assert "Fraction(1, 10)" in verdict.reason
    assert lx.equal(Fraction(1, 10) * x + Fraction(1, 5) * x, Fraction(3, 10) * x).name == "proved"
    assert lx.equal(0.1 * x + y, y + x * 0.1).name == "proved"
    assert lx.equal(0.1 * x, 0.100001 * x).name == "refuted"


CONDITIONS = {  # left, right, what must hold for one side to be defined and not for the other
    "quotient": (x / x, lx.ones(n), ("x != 0",)),
    "square over itself": (x**2 / x, x, ("x[i] != 0",)),
    "exp log": (lx.exp(lx.log(x)), x, ("x[i] >= 0",)),
    "log exp": (lx.log(lx.exp(x)), x, ()),
    "square of a root": (lx.sqrt(x) ** 2, x, ("x[i] >= 0",)),
    "root of a square": ((x**2) ** Fraction(1, 2), lx.abs(x), ()),
    "powers": (x ** Fraction(1, 2) * x ** Fraction(3, 2), x**2, ("x[i] >= 0",)),
    "cosine": (lx.cos(lx.arccos(x)), x, ("1 - x[i]**2 >= 0",)),
    "difference": (1 / x - 1 / x, 0 * x, ("x[i] != 0",)),
    "logarithms": (lx.log(x**2), 2 * lx.log(x), ("x[i] >= 0",)),
    "the same on both sides": (lx.log(x) + lx.log(x), 2 * lx.log(x), ()),
    "inverse": (lx.inv(A) @ A, lx.eye(n), ("A invertible",)),
    "positive": (
        lx.exp(lx.log(lx.tensor("p", n, positive=True))),
        lx.tensor("p", n, positive=True),
        (),
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_proof_says_what_it_takes(name: str) -> None:
    left, right, wanted = CONDITIONS[name]
    for one, other in ((left, right), (right, left)):
        verdict = lx.equal(one, other)
        assert verdict.name == "proved"
        assert verdict.conditions == wanted
        for condition in wanted:
            assert condition in verdict.reason and "wherever both sides are defined" in verdict.reason


def test_what_holds_for_one_sign_only_is_refuted() -> None:
    assert lx.equal((x**2) ** Fraction(1, 2), x).name == "refuted"
    assert lx.equal(lx.arcsin(lx.sin(x)), x).name == "refuted"


def test_unknown_says_what_was_tried() -> None:
    a, b = lx.tensor("a"), lx.tensor("b")
    verdict = lx.equal(x**a * x**b, x ** (a + b))
    assert verdict.name == "unknown"
    assert "the sides agree at 9 of 14 points; 5 decided nothing" in verdict.reason
    assert "the last one because the value of x[i]**a" in verdict.reason
    nowhere = lx.equal(lx.log(-1 - x**2), lx.loggamma(x))
    assert nowhere.name == "unknown"
    assert "nowhere could they be compared: the sides agree at 0 of 14 points" in nowhere.reason
    assert "14 decided nothing" in nowhere.reason


@pytest.mark.parametrize(("left", "right"), [(lx.log(-lx.exp(x)), x), (lx.sqrt(-1 - x**2) ** 2, -1 - x**2)])
def test_sides_that_are_nowhere_defined_are_not_proved_equal(left: lx.Tensor, right: lx.Tensor) -> None:
    verdict = lx.equal(left, right)
    assert verdict.name == "unknown"
    assert "at none of 14 points are both sides defined" in verdict.reason
