"""What a compiled function takes, and what it says to what it does not take."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.codegen.records import Plan
from lemmax.codegen.target import NUMPY

N, n, D, k = lx.sizes("N n D k")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
FN = lx.compile((X @ W - Y).named("R"))
GOOD = {"X": np.ones((2, 3)), "W": np.ones((3, 4)), "Y": np.zeros((2, 4))}


def test_by_keyword_and_by_position() -> None:
    expected = np.full((2, 4), 3.0)
    np.testing.assert_array_equal(FN(**GOOD), expected)
    np.testing.assert_array_equal(FN(*[GOOD[name] for name in FN.inputs]), expected)
    first, *rest = FN.inputs
    np.testing.assert_array_equal(FN(GOOD[first], **{name: GOOD[name] for name in rest}), expected)


@pytest.mark.parametrize(
    ("positional", "named", "text"),
    [
        ((), {"X": GOOD["X"]}, "missing: "),
        ((), {**GOOD, "V": 1}, "there is no argument 'V'"),
        ((1, 2, 3, 4), {}, "4 arrays were given by position"),
        (tuple(GOOD.values()), {"X": GOOD["X"]}, "'X' is given by position and by name"),
    ],
)
def test_wrong_arguments(positional: tuple[object, ...], named: dict[str, object], text: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=text) as caught:
        FN(*positional, **named)
    assert "compute_R takes" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"X": np.ones(3)}, r"X must have shape \(n, D\).*got \(3,\)"),
        ({"X": np.ones((2, 4))}, r"D = [34], got"),
        ({"W": np.ones((3, 5))}, r"k = [45], got"),
        ({"Y": np.ones((3, 4))}, r"n = [23], .*got"),
        ({"X": np.ones((2, 0)), "W": np.ones((0, 4))}, r"all sizes must be at least 1, got .*D = 0"),
    ],
)
def test_wrong_shapes(change: dict[str, np.ndarray], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        FN(**{**GOOD, **change})


def test_derived_sizes() -> None:
    B = lx.tensor("B", N * n, D)
    fn = lx.compile([lx.sum(lx.tensor("T", N, n, D)), lx.sum(B)])
    assert fn(T=np.ones((2, 3, 4)), B=np.ones((6, 4))) == (24.0, 24.0)
    with pytest.raises(
        ValueError, match=r"B must have shape \(N\*n, D\) with N = 2, n = 3, D = 4, got \(5, 4\)"
    ):
        fn(T=np.ones((2, 3, 4)), B=np.ones((5, 4)))


def test_sizes_that_are_worked_out() -> None:
    wide, tall = lx.tensor("wide", 2 * n + 1, D), lx.tensor("tall", D * k, D)
    fn = lx.compile([lx.sum(wide) / n, lx.sum(tall) / k])
    assert fn(wide=np.ones((7, 2)), tall=np.ones((8, 2))) == (14 / 3, 4.0)
    with pytest.raises(ValueError, match=r"axis 0 of wide must have size 2\*n \+ 1, got 6"):
        fn(wide=np.ones((6, 2)), tall=np.ones((8, 2)))
    with pytest.raises(ValueError, match=r"axis 0 of tall must have size D\*k, got 7"):
        fn(wide=np.ones((7, 2)), tall=np.ones((7, 2)))


def test_sizes_that_cannot_be_worked_out() -> None:
    with pytest.raises(lx.InvalidArgument, match=r"sizes in the shape of A \(N\*n\) cannot be worked out"):
        lx.compile(lx.tensor("A", N * n))
    with pytest.raises(
        lx.InvalidArgument, match="the size k occurs in the expression but in the shape of no input"
    ):
        lx.compile(lx.sum(X) * lx.sum(lx.ones(k)) + lx.ones(k))


def test_given_inputs_are_the_arguments_and_give_sizes() -> None:
    A, x = lx.tensor("A", n, n), lx.tensor("x", n)
    hessian = lx.hessian(lx.dot(x, A @ x) + lx.sqnorm(A), A)  # 2 I, whatever A and x are
    with pytest.raises(lx.InvalidArgument, match=r"add a variable that has it: lx.compile\(..., inputs="):
        lx.compile(hessian)
    fn = lx.compile(hessian, inputs=[x, A])
    assert fn.inputs == ("x", "A")
    np.testing.assert_array_equal(fn(np.ones(3), np.ones((3, 3))).reshape(9, 9), 2 * np.eye(9))
    with pytest.raises(ValueError, match=r"A must have shape \(n, n\) with n = 3"):
        fn(np.ones(3), np.ones((3, 4)))
    batched = lx.compile(lx.dot(x, x), inputs=[A, x], batch=True)
    np.testing.assert_array_equal(batched(A=np.ones((2, 3, 3)), x=np.ones((2, 3))), [3, 3])


@pytest.mark.parametrize(
    ("inputs", "said"),
    [(["X"], "expected a list of variables"), ([X, Y], "W occurs in"), ([X, W, Y, X], "given twice")],
)
def test_wrong_inputs_are_refused(inputs: list[lx.Input], said: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=said):
        lx.compile(X @ W - Y, inputs=inputs)


def test_concrete_sizes() -> None:
    fn = lx.compile(lx.sum(lx.tensor("A", n, 3)))
    assert fn(np.ones((2, 3))) == 6
    with pytest.raises(ValueError, match=r"A must have shape \(n, 3\), got \(2, 4\)"):
        fn(np.ones((2, 4)))


def test_lists_and_integers() -> None:
    value = FN(X=[[1, 2]], W=[[1], [2]], Y=[[3]])
    assert value.dtype == np.float64
    assert value.tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (sp.Matrix([[1, 2, 3], [4, 5, 6]]), "entries of type object.*Convert symbolic matrices"),
        ([["a", "b", "c"]] * 2, "expected an array of numbers"),
        ([[1, 2, 3], [4, 5]], "nested lists of numbers of equal lengths"),
        (None, "of type NoneType"),
        (np.eye(2, 3) > 0, r"holds truth values.*np.where\(keep, 0.0, -np.inf\)"),
        ({"a": 1}, "of type dict"),
        (np.array([["2020-01-01"] * 3] * 2, dtype="datetime64[D]"), "entries of type datetime64"),
    ],
)
def test_no_arrays(value: object, text: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=text) as caught:
        FN(**{**GOOD, "X": value})
    assert "compute_R: X" in str(caught.value)


def test_precision() -> None:
    single = {name: a.astype(np.float32) for name, a in GOOD.items()}
    assert FN(**single).dtype == np.float32
    assert FN(**{**single, "X": GOOD["X"]}).dtype == np.float64
    assert FN(**{**single, "X": np.ones((2, 3), dtype=np.int8)}).dtype == np.float64
    assert FN(**{**single, "X": GOOD["X"].astype(np.float16)}).dtype == np.float64
    assert FN(**{**GOOD, "X": GOOD["X"] + 1j}).dtype == np.complex128


def test_complex_arrays_where_they_would_mislead() -> None:
    fn = lx.compile(lx.abs(X))
    assert fn(np.ones((1, 1))) == 1
    with pytest.raises(ValueError, match=r"expected arrays of real numbers, got .*complex128"):
        fn(np.ones((1, 1)) * 1j)


def test_scalars() -> None:
    s = lx.tensor("s")
    fn = lx.compile([s * lx.sqnorm(X), s**2])
    assert fn(s=2, X=[[3.0]]) == (18.0, 4.0)
    assert all(type(value) is float for value in fn(s=2, X=[[3.0]]))
    assert type(lx.compile([s])(s=1)) is tuple
    with pytest.raises(ValueError, match=r"s must have shape \(\), got \(1,\)"):
        fn(s=[2.0], X=[[3.0]])


def test_constants() -> None:
    assert lx.compile(lx.full(2))() == 2.0
    assert lx.compile(lx.eye(2))().tolist() == [[1, 0], [0, 1]]
    assert lx.compile([lx.zeros(2), lx.full(sp.Rational(1, 3), 1)])()[1].tolist() == [1 / 3]


def test_an_input_that_cancels_is_still_an_argument() -> None:
    fn = lx.compile(X - X)
    assert fn.inputs == ("X",)
    assert fn(np.ones((2, 2))).tolist() == [[0, 0], [0, 0]]
    batch = lx.compile(X - X, batch=True)
    assert batch(np.ones((5, 2, 2))).shape == (5, 2, 2)


def test_what_cannot_be_compiled() -> None:
    for bad in (3, "X", [], [X, 3], None):
        with pytest.raises(lx.InvalidArgument, match="expected a tensor or a list of tensors"):
            lx.compile(bad)  # type: ignore[arg-type]
    with pytest.raises(lx.UnsupportedYet, match="work it out first"):
        lx.compile(lx.Derivative(lx.sqnorm(X), X))
    points, target = lx.tensor("P", N, n, D), lx.tensor("t", D)
    with pytest.raises(lx.UnsupportedYet, match=r"'hull_distance'.*lx\.evaluate"):
        lx.compile(lx.hull_distance(points, target))
    with pytest.raises(lx.UnsupportedYet, match="neither an index symbol nor fixed"):
        lx.compile(lx.tensor_from(lambda i: lx.tensor("v", n)[n - 1 - i], shape=(n,)))
    with pytest.raises(lx.UnsupportedYet, match="code for polylog"):
        lx.compile(lx.tensor_from(lambda i: sp.polylog(3, lx.tensor("v", n)[i])))


def test_wrong_batch() -> None:
    for batch in (["V"], [], "X", [3], 1.5):
        with pytest.raises(lx.InvalidArgument, match="expected True, False or a list of names out of"):
            lx.compile(X @ W, batch=batch)  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="no input that could carry"):
        lx.compile(lx.eye(3), batch=True)


def test_batch_axis_is_checked() -> None:
    fn = lx.compile(X @ W, batch=True)
    with pytest.raises(ValueError, match=r"must have shape \(batch, "):
        fn(X=np.ones((5, 2, 3)), W=np.ones((4, 3, 4)))


def test_outputs_that_do_not_depend_on_the_batch() -> None:
    first, second = lx.compile([X @ W, lx.sqnorm(W)], batch=["X"])(X=np.ones((5, 2, 3)), W=np.ones((3, 4)))
    assert first.shape == (5, 2, 4)
    assert second.tolist() == [12.0] * 5


def test_wrong_sizes() -> None:
    for sizes in ({"m": 3}, {"n": 0}, {"n": 2.5}, {"n": True}):
        with pytest.raises(lx.InvalidArgument, match="expected a positive integer for one of the sizes"):
            lx.compile(X @ W, sizes=sizes)  # type: ignore[arg-type]


def test_traceback_shows_the_generated_line() -> None:
    try:
        FN(**{**GOOD, "W": np.ones((1, 1))})
    except ValueError:
        shown = traceback.format_exc()
    assert "raise ValueError" in shown
    assert "<lemmax compute_R" in shown


def test_description() -> None:
    assert repr(FN) == f"<CompiledFunction compute_R({', '.join(FN.inputs)})>"
    assert "X: (n, D)" in str(FN.__doc__)


def test_pickle() -> None:
    model = lx.models.attention("softmax", "causal")
    for fn in (FN, lx.compile([model.loss, *lx.gradient(model.loss, model.weights)])):
        again = pickle.loads(pickle.dumps(fn))
        assert again.source == fn.source
        assert again.inputs == fn.inputs
        assert str(again.plan) == str(fn.plan)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(FN))(**GOOD), FN(**GOOD))


@pytest.mark.parametrize(
    ("expression", "least"),
    [
        (lx.sum(lx.tensor("X", n, D)[3:]), 4),
        (lx.tensor("X", n, D)[:5], 5),
        (lx.tensor("X", n, D)[-5], 5),
        (lx.tensor("X", n, D)[-5:], 5),
        (lx.tensor("X", n, D)[:-3], 4),
        (lx.tensor("X", n, D)[2] * lx.tensor("X", n, D)[-2], 3),
        (lx.gradient(lx.sqnorm(lx.tensor("X", n, D)[-4]), lx.tensor("X", n, D)), 4),
        (lx.gradient(lx.sqnorm(lx.tensor("X", n, D)[1:4]), lx.tensor("X", n, D)), 4),
    ],
)
def test_slices_and_indices_that_do_not_fit_are_refused(expression: lx.Tensor, least: int) -> None:
    fn = lx.compile(expression)
    for size in range(1, 8):
        X = np.arange(2.0 * size).reshape(size, 2)
        if size >= least:
            np.testing.assert_array_equal(fn(X), lx.evaluate(expression, X=X))
            continue
        with pytest.raises(
            ValueError, match=rf"compute.*: slices and indices need n >= {least}, got n = {size}"
        ):
            fn(X)
        with pytest.raises(lx.EvaluationError, match=r"out of range|does not fit"):
            lx.evaluate(expression, X=X)


def test_what_always_fits_is_not_checked() -> None:
    X = lx.tensor("X", n, D + 1)
    assert "slices" not in lx.compile(X[0] + X[-1] + lx.sum(X[:, 1:])).source


@pytest.mark.parametrize("length", [80, 90, 98, 300])
def test_long_names(length: int) -> None:
    x = lx.tensor("x" * length, n)
    assert lx.compile(2 * x)(np.ones(2)).tolist() == [2, 2]


S = lx.tensor("S", n, n, symmetric=True)
STRUCTURED = {
    "symmetric": (S, np.array([[1.0, 2], [2, 3]]), np.array([[1.0, 2], [3, 4]])),
    "positive definite": (lx.tensor("K", n, n, positive_definite=True), 2 * np.eye(2), -np.eye(2)),
    "orthogonal": (lx.tensor("Q", n, n, orthogonal=True), np.eye(2), 2 * np.eye(2)),
    "diagonal": (lx.tensor("E", n, n, diagonal=True), np.eye(2), np.ones((2, 2))),
    "lower triangular": (lx.tensor("L", n, n, lower_triangular=True), np.tri(2), np.ones((2, 2))),
    "positive": (lx.tensor("p", n, positive=True), np.ones(2), np.array([1.0, 0.0])),
}


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_declared_structure_is_checked(name: str, dtype: type) -> None:
    t, good, bad = STRUCTURED[name]
    total = lx.sum(t)
    assert lx.compile(total)(good.astype(dtype)) == lx.evaluate(total, {str(t.name): good})
    for call in (lx.compile(total), pickle.loads(pickle.dumps(lx.compile(total)))):
        with pytest.raises(lx.EvaluationError, match=f"{t.name} was declared {name}, but the array is not"):
            call(bad.astype(dtype))
    with pytest.raises(lx.EvaluationError, match=f"{t.name} was declared {name}"):
        lx.evaluate(total, {str(t.name): bad})
    assert lx.compile(total, check=False)(bad) == bad.sum()


def test_structure_of_instances_is_checked() -> None:
    fn = lx.compile(lx.trace(S), batch=True)
    np.testing.assert_array_equal(fn(np.ones((4, 2, 2))), np.full(4, 2.0))
    with pytest.raises(lx.EvaluationError, match="S was declared symmetric"):
        fn(np.arange(8.0).reshape(2, 2, 2))
    with pytest.raises(lx.EvaluationError, match="S must have shape"):
        fn(np.ones((2, 2)))


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    with pytest.raises(lx.InvalidArgument, match="X: a masked array was given, whose mask would be lost"):
        lx.compile(X)(masked)
    with pytest.raises(lx.EvaluationError, match="array X: a masked array was given"):
        lx.evaluate(X, X=masked)
    assert lx.compile(lx.sum(X))(masked.filled(0.0)) == 8.0


def test_matrices_of_numpy_multiply_entry_by_entry() -> None:
    square = [[1.0, 4.0], [9.0, 16.0]]
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(lx.evaluate(X * X, X=matrix), square)
    np.testing.assert_array_equal(lx.compile(X * X)(matrix), square)


def test_no_two_results_share_memory() -> None:
    for outputs in ([X, X, X], [2 * X, 2 * X, 2 * X, (2 * X).T], [X.T, X, X.T, X[:1]]):
        given = np.arange(6.0).reshape(2, 3)
        arrays = [given, *lx.compile(outputs)(given)]
        for p, a in enumerate(arrays):
            assert not any(np.shares_memory(a, b) for b in arrays[:p])


@pytest.mark.parametrize(
    "logits", [X, 2 * X, X / lx.tensor("t"), lx.log(X), X + lx.tensor("b", D), X[:, None] * 3]
)
def test_rows_of_minus_infinity_are_refused(logits: lx.Tensor) -> None:
    """As masked rows are: there is no softmax of a row that is -inf throughout."""
    low = 0.0 if logits == lx.log(X) else -np.inf
    given = {"X": np.array([[1.0, 2.0], [low, low]]), "t": 2.0, "b": np.zeros(2)}
    for t in (lx.softmax(logits), lx.gradient(lx.sum(lx.softmax(logits) ** 2), X)):
        fn = lx.compile(t)
        own = {name: given[name] for name in fn.inputs}
        with pytest.raises(lx.EvaluationError, match=r"-inf throughout"), np.errstate(all="ignore"):
            fn(**own)
        with pytest.raises(lx.EvaluationError, match=r"-inf throughout"):
            lx.evaluate(t, own)


class Doubling:
    """A target of one's own: its functions return twice what NumPy's do."""

    name = "doubling"

    def emit(self, plan: Plan) -> str:
        return NUMPY.emit(plan)

    def load(self, source: str, function: str) -> Callable[..., Any]:
        whole = NUMPY.load(source, function)
        return lambda *arrays: 2 * whole(*arrays)


def test_a_pickled_function_is_loaded_by_its_own_target() -> None:
    fn = lx.compile(lx.sum(lx.tensor("x", lx.size("n"))), target=Doubling())
    assert fn(x=[1.0, 2.0]) == pickle.loads(pickle.dumps(fn))(x=[1.0, 2.0]) == 6
