"""The reverse sweep: shapes, errors, zeros, named variables, names of adjoints, size of the result."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import numpy as np
import pytest

import lemmax as lx
from lemmax.calculus.gradient import adjoint_name, reverse_sweep
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.interpret import Evaluator
from lemmax.rules.pullbacks import PULLBACKS

n, D, k = lx.sizes("n D k")
X, W, V = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("V", k, k)
A, B = lx.tensor("A", n, n), lx.tensor("B", n, n)
x, y, s = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("s")


def agree(f: lx.Tensor, wrt: lx.Tensor, g: lx.Tensor, seed: int = 0) -> None:
    """Compare a gradient with complex steps, at random sizes and arrays."""
    rng = np.random.default_rng(seed)
    evaluator = Evaluator([g, lx.Derivative(f, wrt)])
    sizes = {name: int(rng.integers(2, 5)) for name in evaluator.sizes}
    symbols = {lx.size(name): value for name, value in sizes.items()}
    arrays = {
        name: rng.standard_normal([int(p.xreplace(symbols)) for p in t.shape])
        for name, t in evaluator.inputs.items()
    }
    found, expected = evaluator.run(arrays, sizes=sizes)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(np.max(np.abs(expected)), 1))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: lx.gradient(X, X), lx.InvalidArgument, "gradient of X (n, D): expected a scalar. Reduce it"),
        (lambda: lx.gradient(3, X), lx.InvalidArgument, "gradient of 3: expected a tensor expression"),
        (lambda: lx.gradient(lx.sum(X), "X"), lx.InvalidArgument, "derivative in 'X': expected an input"),
        (lambda: lx.gradient(lx.sum(X), ()), lx.InvalidArgument, "no variable was given"),
        (lambda: lx.gradient(lx.sum(X), n), lx.InvalidArgument, "derivative in n: expected an input"),
        (lambda: lx.gradient(lx.sum(X), X, nonsmooth="zero"), lx.InvalidArgument, "expected 'raise' or"),
        (lambda: lx.gradient(lx.rank(A), A), lx.MissingRule, "no rule for the derivative of 'rank'"),
        (lambda: lx.gradient(lx.Derivative(s, s), s), lx.MissingRule, "'Derivative'"),
        (lambda: lx.gradient(lx.sum(lx.abs(x)), x), lx.NonSmooth, "Abs of x (n) has a kink"),
        (lambda: lx.gradient(lx.max(x), x), lx.NonSmooth, "max in max(x) (scalar) has kinks"),
        (
            lambda: lx.gradient(lx.sum(lx.where(x > 0, x, 0)), x),
            lx.NonSmooth,
            "Piecewise of x (n) has a kink",
        ),
    ],
)
def test_refusals(use: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        use()


@pytest.mark.parametrize(
    "assumption", ["symmetric", "positive_definite", "orthogonal", "diagonal", "lower_triangular"]
)
def test_variables_whose_entries_are_not_free_are_refused(assumption: str) -> None:
    S = lx.tensor("S", n, n, **{assumption: True})
    for use in (lx.gradient, lx.hessian, lx.jacobian):
        with pytest.raises(lx.LemmaxError, match=r"its entries are not free|curvature term"):
            use(lx.trace(S @ S), S)
    assert lx.gradient(lx.trace(S @ A), A).shape == A.shape


def test_zero_keeps_the_shape_of_the_variable() -> None:
    g = lx.gradient(lx.sum(X), W)
    assert g.shape == W.shape and g.terms == ()
    g, h = lx.gradient(lx.sum(x), (X, x))
    assert g.shape == X.shape and h.shape == x.shape
    assert lx.evaluate(g, sizes={"n": 2, "D": 3}).tolist() == [[0.0] * 3] * 2
    assert lx.gradient(lx.sum(x) - lx.sum(x), x).shape == x.shape
    assert lx.jacobian(lx.stack([s, s**2]), X).shape == (2, n, D)


def test_one_variable_or_several() -> None:
    f = lx.sqnorm(X @ W)
    assert isinstance(lx.gradient(f, W), lx.Tensor)
    assert lx.gradient(f, (X, W)) == (lx.gradient(f, X), lx.gradient(f, W))
    assert lx.gradient(f, [W]) == (lx.gradient(f, W),)
    assert lx.gradient(f, (W, W)) == (lx.gradient(f, W),) * 2


def test_the_scalar_itself_as_variable() -> None:
    assert lx.evaluate(lx.gradient(s, s)) == 1
    f = lx.sum(x).named("f")
    assert lx.evaluate(lx.gradient(f, f)) == 1


def test_every_use_of_a_variable_counts() -> None:
    for f in (
        lx.sum(x * x[::1]),
        lx.dot(x, lx.concat([x[1:], x[:1]])),
        x @ lx.diag(x) @ x,
        lx.sum(lx.concat([x, x, 2 * x]) ** 2),
        lx.sum(lx.stack([x, x * x])),
        lx.einsum("i,i,i->", x, x, x),
        lx.sum(lx.softmax(x) * x),
    ):
        agree(f, x, lx.gradient(f, x))
    for f in (
        lx.trace(A @ A.T @ A),
        lx.sum(A * A.T),
        lx.trace(A) * lx.sum(lx.diag(A)),
        lx.sum(lx.kron(A, A)),
    ):
        agree(f, A, lx.gradient(f, A))


def test_named_tensors_are_variables_too() -> None:
    P = (X @ W).named("P")
    S = lx.softmax((P @ P.T).T / 2).named("S")
    f = lx.sum(lx.exp(S) * A) + lx.sqnorm(S @ X) + lx.sum(P)
    for t in (P, S):
        g = lx.gradient(f, t)
        assert g.shape == t.shape
        agree(f, t, g)
    for t, g in zip((S, W), lx.gradient(f, (S, W)), strict=True):
        agree(f, t, g)


def test_unnamed_tensors_are_variables_too() -> None:
    Z = X @ (2 * W + W)
    f = lx.sum(lx.exp(Z) * Z) + lx.sqnorm(lx.tanh(Z) @ V)
    agree(f, Z, lx.gradient(f, Z))


@pytest.mark.parametrize("name", ["softmax", "gaussian"])
def test_every_named_tensor_of_a_model_is_a_variable(name: str) -> None:
    model = lx.models.attention(name)
    for t in (model.S, model.logits, model.R):
        g = lx.gradient(model.loss, t)
        assert g.shape == t.shape
        agree(model.loss, t, g)


def test_adjoints_have_names() -> None:
    model = lx.models.attention("softmax")
    names = {t.name for t in topological_order(lx.gradient(model.loss, model.WQ)) if t.name}
    assert {r"\bar{S}", r"\bar{A}", "S", "R"} <= names
    assert adjoint_name("S") == r"\bar{S}"
    assert adjoint_name("S", {r"\bar{S}"}) == r"\bar{S}^{(2)}"


def test_adjoints_do_not_take_a_name_that_is_in_use() -> None:
    S = lx.softmax(A @ B).named("S")
    bar = lx.tensor(r"\bar{S}", n, n)
    f = lx.sum(lx.exp(S) * bar) + lx.sqnorm(S @ A)
    g = lx.gradient(f, A)
    assert r"\bar{S}^{(2)}" in {t.name for t in topological_order(g)}
    agree(f, A, g)


def test_gradient_of_a_function_of_a_gradient() -> None:
    S = lx.softmax(A @ B).named("S")
    f = lx.sqnorm(lx.gradient(lx.sqnorm(S @ A), B))
    agree(f, B, lx.gradient(f, B))


def test_two_gradients_in_one_expression_keep_their_adjoints_apart() -> None:
    S = lx.softmax(A @ B).named("S")
    losses = lx.sqnorm(S @ A), lx.sum(lx.exp(S) * A)
    total = lx.gradient(losses[0], B) + lx.gradient(losses[1], B)
    agree(losses[0] + losses[1], B, total)
    f = lx.sqnorm(total)
    agree(f, B, lx.gradient(f, B))
    text = lx.latex(total)
    assert r"\bar{S}^{(2)}" in text and text.count(r"\bar{S}") >= 4


def test_the_exponential_keeps_its_name_as_its_own_derivative() -> None:
    S = lx.exp(A).named("S")
    g = lx.gradient(lx.sum(S * B), A)
    assert [t.name for t in g.operands] == ["B", "S"]


def test_gradient_of_a_deep_composition_is_linear_in_its_depth() -> None:
    def chain(depth: int) -> lx.Tensor:
        t: lx.Tensor = x
        for _ in range(depth):
            t = lx.tanh(t) + t
        return lx.sum(t)

    counts = [len(topological_order(lx.gradient(chain(depth), x))) for depth in (6, 12)]
    assert counts[1] <= 2.2 * counts[0]
    agree(chain(6), x, lx.gradient(chain(6), x))


def test_a_sweep_visits_only_what_lies_between() -> None:
    expensive = lx.softmax(A @ A)
    sweep = reverse_sweep(lx.sum(lx.tanh(x) * y) + lx.sum(expensive), [x])
    assert all(expensive not in topological_order(t) for t in sweep.order if t is not sweep.loss)


def test_positive_variables_simplify() -> None:
    p = lx.tensor("p", n, positive=True)
    g = lx.gradient(lx.sum(lx.log(p) + lx.sqrt(p)), p)
    np.testing.assert_allclose(lx.evaluate(g, p=np.array([1.0, 4.0])), [1.5, 0.5])


def test_absolute_values_of_a_positive_variable_are_smooth() -> None:
    p = lx.tensor("p", n, positive=True)
    assert lx.evaluate(lx.gradient(lx.sum(lx.abs(p)), p), sizes={"n": 2}).tolist() == [1, 1]


@pytest.mark.parametrize("name", lx.models.MODELS)
def test_taylor_remainder_has_slope_two(name: str) -> None:
    model = lx.models.MODELS[name]()
    fn = lx.compile([model.loss, *lx.gradient(model.loss, model.weights)])
    rng = np.random.default_rng(3)
    sizes = dict(zip(model.sizes, (2, 3, 4, 3, 2, 2, 2), strict=False))
    arrays = {
        lx.identifier(t.name): rng.standard_normal([int(p.xreplace(sizes)) for p in t.shape]) / 2
        for t in inputs_of(model.loss)
    }
    f, *slopes = fn(**arrays)
    norm = np.sqrt(sum(float(np.sum(g * g)) for g in slopes))
    steps = [g / norm + 0.1 * rng.standard_normal(g.shape) for g in slopes]
    h = 2.0 ** -np.arange(6, 12)

    def order(gradients: list[np.ndarray]) -> float:
        predicted = sum(float(np.sum(g * step)) for g, step in zip(gradients, steps, strict=True))
        remainders = []
        for size in h:
            moved = dict(arrays)
            for weight, step in zip(model.weights, steps, strict=True):
                moved[lx.identifier(weight.name)] = arrays[lx.identifier(weight.name)] + size * step
            remainders.append(abs(fn(**moved)[0] - f - size * predicted))
        return float(np.polyfit(np.log2(h), np.log2(remainders), 1)[0])

    assert order(slopes) == pytest.approx(2, abs=0.1)
    assert order([1.03 * g for g in slopes]) < 1.5  # three per cent off are seen


def test_four_gradients_of_the_softmax_model_take_little_time() -> None:
    model = lx.models.attention("softmax")
    lx.gradient(model.loss, model.WQ)
    start = time.process_time()
    lx.gradient(model.loss, model.weights)
    assert time.process_time() - start < 2  # a coarse guard; benchmarks/symbolic_time.py measures


def test_every_rule_of_functions_is_reachable() -> None:
    assert len({rule.name for rule in PULLBACKS.values()}) == len(PULLBACKS)


def test_an_input_regrouped_and_back_under_a_name() -> None:
    """What merging and splitting give back is the input itself; the name that it was given is kept."""
    back = lx.split(lx.merge(X, (0, 1)), ((0, 1),), X.shape)
    for t in (back, back.named("S")):
        g = lx.gradient(lx.sum(t**3), X)
        at = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(lx.evaluate(g, X=at), 3 * at**2)
        np.testing.assert_array_equal(lx.compile(g)(X=at), 3 * at**2)
