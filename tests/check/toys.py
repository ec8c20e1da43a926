"""Small theorems for tests: true, false, vacuous, tight, saturated, nearly dependent."""

from __future__ import annotations

import sympy as sp

import lemmax as lx
from lemmax.statement import Convergence, Generic, Instances, Structure

n, D, k = lx.sizes("n D k")
A, B = lx.tensor("A", n, D), lx.tensor("B", n, D)
C = lx.tensor("C", D, k)
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
x, y = lx.tensor("x", n), lx.tensor("y", n)

inner = lx.dot(A, B)
bound = lx.sqnorm(A) * lx.sqnorm(B)


def theorem(name: str, conclusion: object, **more: object) -> lx.Theorem:
    """Return a theorem of the tests; without mutants it is expected to be refuted."""
    more.setdefault("expected", "holds" if "mutants" in more else "refuted")
    return lx.Theorem(name=name, conclusion=conclusion, reference="test", **more)


CAUCHY_SCHWARZ = theorem(
    "cauchy_schwarz_of_matrices",
    inner**2 <= bound,
    hypotheses=[(lx.sqnorm(A) > 0).named("A is not zero")],
    bound="tight",
    mutants=[
        lx.Mutant("half the bound", inner**2 <= bound / 2, "equality holds for n = D = 1"),
        lx.Mutant("reversed", inner**2 >= bound, "orthogonal matrices"),
        lx.Mutant("no square", inner <= bound, "degrees 2 and 4 differ"),
    ],
)

SUBMULTIPLICATIVE = theorem(
    "submultiplicativity_of_frobenius_norm",
    lx.norm(A @ C) <= lx.norm(A) * lx.norm(C),
    mutants=[
        lx.Mutant("half", lx.norm(A @ C) <= lx.norm(A) * lx.norm(C) / 2, "equality for numbers"),
        lx.Mutant("reversed", lx.norm(A @ C) >= lx.norm(A) * lx.norm(C), "A C may be 0"),
        lx.Mutant("smallest", lx.norm(A @ C) <= lx.norm(A) * lx.sigma_min(C), "C = diag(1, 0)"),
    ],
)

FALSE_BOUND = theorem("false_bound_of_products", lx.norm(A @ C) <= lx.norm(A) * lx.spectral_norm(C) / 2)

VACUOUS = theorem(
    "vacuous_claim_of_negative_norms",
    inner**2 <= bound,
    hypotheses=[(lx.sqnorm(A) < 0).named("negative square")],
    expected="refuted",
)

IDLE = theorem(
    "idle_hypothesis_of_squares",
    inner**2 <= bound,
    hypotheses=[(lx.sqnorm(A) >= 0).named("squares are not negative")],
    mutants=CAUCHY_SCHWARZ.mutants,
)

CYCLIC_TRACE = theorem(
    "cyclic_trace_of_products",
    lx.trace(A @ B.T).eq(lx.trace(B.T @ A)),
    bound="tight",
    mutants=[
        lx.Mutant("sign", lx.trace(A @ B.T).eq(-lx.trace(B.T @ A)), "n = D = 1"),
        lx.Mutant("factor", lx.trace(A @ B.T).eq(2 * lx.trace(B.T @ A)), "n = D = 1"),
        lx.Mutant("square", lx.trace(A @ B.T).eq(lx.sqnorm(A)), "B is free"),
    ],
)

soft = lx.softmax(10_000 * A, axis=1)
SATURATED = theorem(
    "unit_row_sums_of_saturated_softmax",
    [lx.sum(soft, axis=1).eq(1), soft >= 0, lx.sqnorm(soft) <= n],
    mutants=[
        lx.Mutant("columns", lx.sum(soft, axis=0).eq(1), "only rows are normalised"),
        lx.Mutant("one half", soft >= sp.Rational(1, 2), "D = 2 gives entries close to 0"),
        lx.Mutant("all in all", lx.sqnorm(soft) <= n / sp.Integer(2), "saturated rows have norm 1"),
    ],
)

GRAM_RANK = theorem(
    "full_rank_of_gram_matrix",
    lx.rank(X @ X.T).eq(n),
    sizes=[n <= D],
    hypotheses=[lx.rank(X).eq(n).named("independent rows")],
    mutants=[
        lx.Mutant("dependent rows", drop="independent rows", reason="duplicate rows give a singular matrix"),
        lx.Mutant("the other Gram matrix", lx.rank(X.T @ X).eq(D), "it has rank n < D"),
        lx.Mutant(
            "more rows than columns", drop=("independent rows", n <= D), reason="the rank is at most D"
        ),
    ],
    instances=Instances(sizes={n: 3, D: 4}, mutations=("duplicate", "near_duplicate", "scale", "zero_row")),
)

GENERIC_RANK = theorem(
    "full_rank_of_generic_matrix",
    lx.rank(X).eq(n),
    sizes=[n <= D],
    hypotheses=[Generic(X).named("X is generic")],
    mutants=[
        lx.Mutant("any X", drop="X is generic", reason="X may be 0"),
        lx.Mutant("column rank", lx.rank(X).eq(D), "n < D"),
        lx.Mutant("one more", lx.rank(X) >= n + 1, "the rank is at most n"),
    ],
)

TIED = theorem(
    "symmetry_of_tied_factors",
    (A @ B.T).eq(B @ A.T),
    hypotheses=[A.eq(B).named("A equals B")],
    instances=Instances(structure=[Structure("tied", (A, B))]),
    mutants=[
        lx.Mutant("not tied", drop="A equals B", reason="A B^T is not symmetric in general"),
        lx.Mutant("zero", (A @ B.T).eq(0), "A A^T is 0 for A = 0 only"),
        lx.Mutant("antisymmetric", (A @ B.T).eq(-(B @ A.T)), "A A^T has a positive diagonal"),
    ],
)

_half = lx.sqnorm(X @ W - Y) / 2
_lipschitz = lx.spectral_norm(X) ** 2
_mu = lx.sigma(X, n) ** 2


def _least_squares(rate: object) -> Convergence:
    return Convergence(_half, (W,), step=1 / _lipschitz, steps=12, rate=rate)


DESCENT = theorem(
    "linear_rate_of_least_squares",
    _least_squares((1 - _mu / _lipschitz) ** 2),
    sizes=[n <= D],
    hypotheses=[lx.rank(X).eq(n).named("independent rows")],
    instances=Instances(sizes={n: 2, D: 3, k: 2}),
    mutants=[
        lx.Mutant("too fast", _least_squares((1 - _mu / _lipschitz) ** 2 / 2), "n = 2 has two modes"),
        lx.Mutant(
            "fourth power", _least_squares((1 - _mu / _lipschitz) ** 4), "the weakest mode is attained"
        ),
        lx.Mutant(
            "too long a step",
            Convergence(_half, (W,), step=3 / _lipschitz, steps=12, rate=1.0),
            "a step beyond 2 / L diverges",
        ),
    ],
)

HOLDING = (
    CAUCHY_SCHWARZ,
    SUBMULTIPLICATIVE,
    CYCLIC_TRACE,
    SATURATED,
    GRAM_RANK,
    GENERIC_RANK,
    TIED,
    DESCENT,
)

FALSE_RANK = theorem(
    "false_rank_of_all_matrices", lx.rank(X).eq(n), sizes=[n <= D], instances=Instances(sizes={n: 3, D: 4})
)
