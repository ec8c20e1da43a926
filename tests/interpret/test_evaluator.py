"""Batches of instances, tensors held at given values, several roots, and what the interpreter is made of."""

from __future__ import annotations

import grimp
import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.nodes import Apply
from lemmax.interpret import ComplexArithmetic, Evaluator, FloatArithmetic, MpArithmetic, RoundingArithmetic
from tests.interpret import expressions

ARITHMETICS = [FloatArithmetic(), ComplexArithmetic(), MpArithmetic(30), RoundingArithmetic()]
ALL = pytest.mark.parametrize("arithmetic", ARITHMETICS, ids=lambda a: a.name)
WITH_INPUTS = [c for c in expressions.CASES if Evaluator([c.tensor]).inputs]
n, D = lx.sizes("n D")
X, a = lx.tensor("X", n, D), lx.tensor("a", n)


def numbers(value: object) -> np.ndarray:
    return np.asarray(getattr(value, "value", value), dtype=float)


@ALL
@pytest.mark.parametrize("case", WITH_INPUTS, ids=[c.name for c in WITH_INPUTS])
def test_batch_is_what_single_instances_are(case: expressions.Case, arithmetic: object) -> None:
    evaluator = Evaluator([case.tensor])
    sizes = {name: expressions.SIZES[name] for name in evaluator.sizes}
    instances = [expressions.draw(seed) for seed in range(4)]
    stacked = {name: np.stack([z[name] for z in instances]) for name in evaluator.inputs}
    (together,) = evaluator.run(stacked, sizes, arithmetic, batch=True)
    apart = [evaluator.run(z, sizes, arithmetic)[0] for z in instances]
    assert numbers(together).shape == (4, *numbers(apart[0]).shape)
    np.testing.assert_allclose(
        numbers(together), np.stack([numbers(v) for v in apart]), rtol=1e-12, atol=1e-12
    )
    if isinstance(arithmetic, RoundingArithmetic):
        assert together.radius.shape == together.value.shape


def test_arrays_may_be_shared_by_all_instances() -> None:
    (value,) = Evaluator([a @ X]).run({"a": np.ones(2), "X": np.arange(12.0).reshape(3, 2, 2)}, batch=True)
    np.testing.assert_array_equal(value, np.arange(12.0).reshape(3, 2, 2).sum(axis=1))
    (value,) = Evaluator([lx.ones(n), a]).run({"a": np.ones((3, 2))}, batch=True)[:1]
    assert value.shape == (3, 2)


def test_large_batch_of_large_products() -> None:
    x = np.random.default_rng(0).standard_normal((200, 20, 30))
    (value,) = Evaluator([lx.einsum("ij,ik,jk->", X, X, lx.tensor("C", D, D))]).run(
        {"X": x, "C": np.eye(30)}, batch=True
    )
    np.testing.assert_allclose(value, np.sum(x**2, axis=(1, 2)), rtol=1e-12)


def test_undefined_instances_do_not_stop_a_batch() -> None:
    (value,) = Evaluator([lx.sum(lx.log(a))]).run({"a": np.array([[1.0, 1.0], [1.0, -1.0]])}, batch=True)
    assert value[0] == 0
    assert np.isnan(value[1])
    C = lx.tensor("C", n, n)
    (value,) = Evaluator([lx.inv(C)]).run({"C": np.stack([np.eye(2), np.ones((2, 2))])}, batch=True)
    np.testing.assert_array_equal(value[0], np.eye(2))
    assert np.isnan(value[1]).all()


def test_batch_errors() -> None:
    evaluator = Evaluator([a @ X])
    with pytest.raises(lx.ShapeError, match="no array has a leading instance axis"):
        evaluator.run({"a": np.ones(2), "X": np.ones((2, 2))}, batch=True)
    with pytest.raises(lx.ShapeError, match="array a has 3 instances, array X has 4"):
        evaluator.run({"a": np.ones((3, 2)), "X": np.ones((4, 2, 2))}, batch=True)
    with pytest.raises(lx.ShapeError, match=r"expected shape \(n\) with a leading instance axis"):
        evaluator.run({"a": np.ones((3, 2, 1)), "X": np.ones((4, 2, 2))}, batch=True)


@ALL
def test_override_holds_a_tensor(arithmetic: object) -> None:
    S = lx.softmax(X).named("S")
    F = (S * X).named("F")
    evaluator = Evaluator([lx.sum(F), lx.sum(S), lx.sum(X)])
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    f, s, total = evaluator.run({"X": x}, arithmetic=arithmetic, override={S: np.full((2, 2), 2.0)})
    assert (numbers(f), numbers(s), numbers(total)) == (20.0, 8.0, 10.0)


def test_what_lies_below_an_override_is_not_needed() -> None:
    F = (lx.log(X) @ lx.tensor("W", D, D)).named("F")
    (value,) = Evaluator([lx.sqnorm(F)]).run({}, override={F: [[3.0, 4.0]]})
    assert value == 25.0
    with pytest.raises(lx.ShapeError, match=r"override of F \(n, D\) has 1 axis"):
        Evaluator([lx.sqnorm(F)]).run({}, override={F: [3.0, 4.0]})
    with pytest.raises(lx.EvaluationError, match=r"override of F .* holds NaN"):
        lx.evaluate(lx.sqnorm(F), override={F: [[np.nan]]})


def test_an_override_may_be_an_input() -> None:
    assert lx.evaluate(lx.sqnorm(a), override={a: [3.0, 4.0]}) == 25.0


def test_pullback_of_a_held_softmax_is_its_definition() -> None:
    """A held S need not have rows that sum to 1; the formula for softmax rows must then not be used."""
    S = lx.softmax(X).named("S")
    G = Apply("softmax_pullback", (S, X), X.shape, {"axis": 1})
    s, x = np.array([[2.0, 3.0]]), np.array([[5.0, 7.0]])
    held = lx.evaluate(G, X=x, override={S: s})
    np.testing.assert_allclose(held, s * x - s * np.sum(s * x), rtol=1e-15)


def test_pullback_of_a_saturated_softmax_is_exact() -> None:
    S = lx.softmax(X).named("S")
    G = lx.tensor("G", n, D)
    pulled = Apply("softmax_pullback", (S, G), X.shape, {"axis": 1})
    arrays = {"X": [[0.0, -60.0, -70.0]], "G": [[1.0, 3.0, -2.0]]}
    exact = lx.evaluate(pulled, arrays, arithmetic="mpmath").astype(float)
    np.testing.assert_allclose(lx.evaluate(pulled, arrays), exact, rtol=1e-14)
    assert abs(exact[0, 0]) < 1e-25


def test_shared_parts_are_computed_once() -> None:
    value = lx.tensor("x")
    for _ in range(60):  # 2^60 paths
        value = (value + value) / 2
    assert lx.evaluate(value, x=3.0) == 3.0


def test_deep_graphs_do_not_overflow_the_stack() -> None:
    value = lx.tensor("x")
    for _ in range(3000):
        value = lx.sin(value)
    assert 0 < lx.evaluate(value, x=1.0) < 1


def test_global_precision_of_mpmath_is_left_alone() -> None:
    import mpmath

    before = mpmath.mp.dps
    third = lx.evaluate(lx.tensor("x") / 3, x=1, arithmetic="mpmath", digits=80)
    assert mpmath.mp.dps == before
    assert abs(third * 3 - 1) < third.context.mpf(10) ** -79


def test_digits_are_those_asked_for() -> None:
    e = lx.evaluate(lx.exp(lx.tensor("x")), x=1, arithmetic="mpmath", digits=30)
    assert str(e) == "2.71828182845904523536028747135"


def test_floats_in_expressions_are_exact_binary_numbers() -> None:
    value = lx.evaluate(lx.tensor("x") * 0.1, x=1, arithmetic="mpmath", digits=60)
    assert value == value.context.mpf(0.1)
    assert value != value.context.mpf(1) / 10


def test_symbolic_products_of_sizes_are_exact() -> None:
    result = lx.evaluate(lx.full(n * D + n, 1) / sp.Integer(1), sizes={"n": 3, "D": 5}, arithmetic="rounding")
    assert result.value == 18.0
    assert result.radius == 0.0


def test_interpreter_is_independent() -> None:
    graph = grimp.build_graph("lemmax", include_external_packages=False)
    allowed = ("lemmax.errors", "lemmax.validation", "lemmax.expr", "lemmax.interpret")
    modules = {"lemmax.interpret"} | graph.find_descendants("lemmax.interpret")
    assert len(modules) > 10
    for module in sorted(modules):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            assert imported.startswith(allowed), f"{module} imports {imported}"
