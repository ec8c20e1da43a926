"""Claims as theorems: sampled on instances with the structure that they speak of; false ones are refuted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.check.generators import GENERATORS
from lemmax.statement import Instances
from tests.cases.registry import covers

n = lx.size("n")
z = lx.tensor("z", n)
p = lx.softmax(z)
J = lx.diag(p) - lx.outer(p, p)


def holds(claim: lx.Relation, false: list[lx.Relation], hypotheses: Any = ()) -> None:
    """Check a claim on random instances: it survives, and each of three false variants is refuted."""
    assert len(false) == 3
    theorem = lx.Theorem(
        name="claim_of_structure",
        statement="A claim.",
        hypotheses=list(hypotheses),
        conclusion=claim,
        mutants=[lx.Mutant(f"variant {k}", variant, "it is false") for k, variant in enumerate(false)],
        expected="holds",
        reference="none",
        instances=Instances(sizes={n: 5}),
    )
    report = lx.check(theorem, instances=100, seed=0)
    assert report.verdict.name == "survived", report
    assert report.as_expected, report


@covers("L01")
def test_softmax_is_lipschitz_with_constant_one_half() -> None:
    norm = lx.spectral_norm(J)
    holds(2 * norm <= 1, [norm >= sp.Rational(1, 2), 2.5 * norm <= 1, 2 * lx.norm(J) <= lx.sum(p * p)])
    for at in ([0.0, 0.0], [0.0, 0.0, -np.inf]):  # attained where two entries are 1/2
        assert lx.evaluate(norm, z=np.array(at)) == pytest.approx(0.5, rel=1e-15)


@covers("L02")
def test_two_sided_bound_on_the_softmax_jacobian() -> None:
    norm, largest = lx.spectral_norm(J), lx.max(p)
    lower = largest * (1 - largest)
    dominant = [(2 * largest >= 1).named("a dominant entry")]
    holds(norm >= lower, [norm >= 2.1 * lower, norm >= largest, norm >= 1 - largest / 2], dominant)
    holds(norm <= 2 * lower, [norm <= lower, norm <= lower / 2, norm <= lower**2], dominant)


@covers("I05")
@pytest.mark.parametrize(
    "kind", ["orthogonal", "positive_definite", "symmetric", "diagonal", "lower_triangular"]
)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_random_matrices_with_structure(kind: str, size: int) -> None:
    """Variables are drawn with the structure that they were declared with, and claims about them shrink."""
    for seed in range(5):
        a = GENERATORS[kind](np.random.default_rng(seed), (size, size))
        assert {
            "orthogonal": np.allclose(a.T @ a, np.eye(size), rtol=0, atol=1e-15),
            "positive_definite": np.array_equal(a, a.T) and np.linalg.eigvalsh(a).min() > 0,
            "symmetric": np.array_equal(a, a.T),
            "diagonal": np.array_equal(a, np.diag(np.diag(a))),
            "lower_triangular": np.array_equal(a, np.tril(a)),
        }[kind]


@covers("I05")
def test_claims_about_structured_matrices() -> None:
    Q, S = lx.tensor("Q", n, n, orthogonal=True), lx.tensor("S", n, n, positive_definite=True)
    free = lx.tensor("F", n, n)
    rotated = lx.norm(Q @ z)
    holds(rotated.eq(lx.norm(z)), [rotated >= 2 * lx.norm(z), rotated.eq(lx.norm(free @ z)), (Q @ z).eq(z)])
    least = lx.lambda_min(S)
    holds(least > 0, [least > 2, lx.lambda_min(free) > 0, lx.lambda_min(-S) > 0])
    rows = lx.softmax(free, axis=1)  # stochastic rows
    ones = lx.ones(n)
    holds(
        lx.sum(rows, axis=1).eq(ones),
        [lx.sum(rows, axis=0).eq(ones), lx.sum(free, axis=1).eq(ones), lx.sum(rows * rows, axis=1).eq(ones)],
    )
