"""Single parts: values, number texts, canonical keys, contraction orders, targets, loading."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx
from lemmax.codegen import compile as compile_tensor
from lemmax.codegen.contract import contract
from lemmax.codegen.labels import Frame, Labelled
from lemmax.codegen.load import load
from lemmax.codegen.order import cheapest
from lemmax.codegen.pytext import number_text
from lemmax.codegen.records import Plan
from lemmax.codegen.render import Renderer
from lemmax.codegen.shared import canonical
from lemmax.codegen.target import NUMPY, Target
from lemmax.codegen.values import Pool, Value
from lemmax.codegen.views import without_idle_pins
from lemmax.errors import InvalidArgument

n, D = lx.sizes("n D")


def leaf(pool: Pool, name: str, *shape: sp.Expr) -> Value:
    return pool.make("input", (), (name,), tuple(shape))


def test_equal_operations_are_one_value() -> None:
    pool = Pool()
    a = leaf(pool, "a", n, D)
    assert pool.transpose(a, (1, 0)) is pool.transpose(a, (1, 0))
    assert pool.transpose(pool.transpose(a, (1, 0)), (1, 0)) is a
    assert pool.reshape(pool.reshape(a, (n * D,)), (n, D)) is a
    assert pool.scale(sp.Integer(1), a) is a
    assert pool.scale(sp.Integer(2), pool.scale(sp.Rational(1, 2), a)) is a
    assert pool.expand(pool.take(pool.expand(a, (1,)), [(1, sp.S.Zero)]), (1,)) is pool.expand(a, (1,))
    assert pool.reduce("sum", a, ()) is a


@pytest.mark.parametrize("c", [0.1, 1.0, 0.1 / lx.sqrt(n), 49.0])
def test_a_common_factor_that_is_a_float_is_taken_out_once(c: sp.Expr) -> None:
    A, B = lx.tensor("A", n, D), lx.tensor("B", n, D)
    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    factor = float(sp.sympify(c).subs(n, 2))
    for sign in (1, -1):
        got = lx.compile(sign * (c * lx.exp(A) + c * B))(a, b)
        np.testing.assert_allclose(got, sign * factor * (np.exp(a) + b), rtol=1e-14)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "softplus", "arcsinh", "tanh"])
def test_functions_of_sizes_and_numbers(name: str) -> None:
    A, function = lx.tensor("A", n), getattr(lx, name)
    for t in (function(n - 3) * A, function(-40 - n) * A, function(0 * A) + A, function(lx.zeros(n) - 2) + A):
        for size in (2, 5):
            a = np.arange(1.0, size + 1)
            np.testing.assert_allclose(lx.compile(t)(a), lx.evaluate(t, A=a), rtol=1e-14)


def test_numbers_move_outwards() -> None:
    pool = Pool()
    a, b = leaf(pool, "a", n), leaf(pool, "b", n)
    double = pool.scale(sp.Integer(2), a)
    assert pool.expand(double, (0,)) is pool.scale(sp.Integer(2), pool.expand(a, (0,)))
    assert pool.multiply([double, b]) is pool.scale(sp.Integer(2), pool.multiply([a, b]))
    assert pool.add([double, pool.scale(sp.Integer(-2), b)]) is pool.scale(
        sp.Integer(2), pool.add([a, pool.scale(sp.Integer(-1), b)])
    )
    assert pool.multiply([a, pool.divide(pool.number(1), b)]) is pool.divide(a, b)


def test_views_of_views_are_one_view_unless_the_first_is_used_again() -> None:
    pool = Pool()
    a = leaf(pool, "a", n, D)
    pinned = pool.pin(pool.transpose(pool.make("call", (a,), ("exp",)), (1, 0)))
    twice = pool.transpose(pinned, (1, 0))
    assert without_idle_pins(pool, [twice])[twice.number] is pool.make("call", (a,), ("exp",))
    kept = without_idle_pins(pool, [twice, pinned])
    assert kept[twice.number].op == "transpose"
    assert kept[twice.number].args[0].op == "pin"


def expression(v: Value) -> str:
    return Renderer({}, {n: "n", D: "D"}).expression(v).text


def test_parentheses() -> None:
    pool = Pool()
    a, b, c = (leaf(pool, name, n, n) for name in "abc")
    total = pool.add([a, b])
    assert expression(pool.multiply([total, c])) == "(a + b) * c"
    assert expression(pool.divide(a, pool.multiply([b, c]))) == "a / (b * c)"
    assert expression(pool.divide(pool.multiply([a, b]), c)) == "a * b / c"
    assert expression(pool.matmul(a, pool.matmul(b, c))) == "a @ (b @ c)"
    assert expression(pool.matmul(pool.matmul(a, b), c)) == "a @ b @ c"
    assert expression(pool.matmul(pool.multiply([a, b]), c)) == "(a * b) @ c"
    assert expression(pool.multiply([a, pool.matmul(b, c)])) == "a * (b @ c)"
    assert expression(pool.scale(sp.Integer(-1), total)) == "-(a + b)"
    assert expression(pool.add([a, pool.scale(sp.Integer(-1), pool.add([b, c]))])) == "a - (b + c)"
    assert expression(pool.make("power", (pool.scale(sp.Integer(-1), a), pool.number(2)))) == "(-a) ** 2"
    assert expression(pool.scale(sp.sqrt(n) / 2, a)) == "(n ** 0.5 / 2) * a"
    assert expression(pool.scale(-1 / sp.sqrt(n), total)) == "-(a + b) / n ** 0.5"
    assert expression(pool.add([pool.number(-1), a])) == "a - 1"


@given(
    st.recursive(
        st.sampled_from([n, D, sp.Integer(2), sp.Integer(-3), sp.Rational(1, 3), sp.Rational(-2, 5)]),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
            inner.map(lambda p: sp.sqrt(p**2 + 1)),
            inner.map(lambda p: 1 / (p**2 + 1)),
            inner.map(lambda p: p**3),
        ),
        max_leaves=8,
    )
)
def test_number_texts_mean_what_they_say(expr: sp.Expr) -> None:
    text = number_text(expr, {n: "n", D: "D"})
    exact = expr.xreplace({n: sp.Integer(3), D: sp.Integer(5)})
    value = eval(text.text, {}, {"n": 3, "D": 5})  # our own text
    assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-9)
    doubled = eval(f"2 * {text.at(80)} ** 1", {}, {"n": 3, "D": 5})
    assert doubled == pytest.approx(2 * float(exact), rel=1e-12, abs=1e-9)


def test_special_numbers() -> None:
    assert [number_text(e, {}).text for e in (sp.oo, -sp.oo, sp.pi, sp.Float(0.1), sp.sqrt(2))] == [
        "np.inf", "-np.inf", "np.pi", "0.1", "2 ** 0.5",
    ]  # fmt: skip
    with pytest.raises(lx.UnsupportedYet, match="code for the number"):
        number_text(sp.polylog(3, sp.Rational(1, 3)), {})


def test_keys_of_products_do_not_depend_on_names() -> None:
    pool = Pool()
    i, j, k, p = (sp.Symbol(c, integer=True) for c in "ijkp")
    a, b = leaf(pool, "a", n, n), leaf(pool, "b", n, n)
    one = [Labelled(a, (i, j)), Labelled(b, (j, k))]
    renamed = [Labelled(b, (p, i)), Labelled(a, (k, p))]
    assert canonical(one, {i, k})[0] == canonical(renamed, {k, i})[0]
    assert canonical(one, {i, k})[0] != canonical(one, {i, j, k})[0]
    assert canonical(one, {i, k})[0] != canonical([Labelled(a, (j, i)), Labelled(b, (j, k))], {i, k})[0]
    twice = [Labelled(a, (i, j)), Labelled(a, (j, k))]
    assert canonical(twice, {i, k})[0] == canonical(list(reversed(twice)), {i, k})[0]


LABELS = tuple(sp.Symbol(c, integer=True) for c in "ijkpq")
EXTENTS = dict(zip(LABELS, (2, 3, 4, 1, 2), strict=True))


@st.composite
def two_operands(
    draw: st.DrawFn,
) -> tuple[tuple[sp.Symbol, ...], tuple[sp.Symbol, ...], tuple[sp.Symbol, ...]]:
    """Draw the labels of two operands and of the result, in any order."""
    left = draw(st.permutations(LABELS))[: draw(st.integers(0, 4))]
    right = draw(st.permutations(LABELS))[: draw(st.integers(0, 4))]
    every = sorted({*left, *right}, key=str)
    result = draw(st.permutations(every))[: draw(st.integers(0, len(every)))]
    return tuple(left), tuple(right), tuple(result)


@given(two_operands(), st.integers(0, 2**32 - 1))
def test_every_contraction_of_two_operands(labels: tuple[tuple[sp.Symbol, ...], ...], seed: int) -> None:
    """Any pattern of batch, row, column, inner and one-sided labels, against einsum."""
    left, right, result = labels
    pool = Pool()
    sizes = {x: lx.size(f"n{x}") for x in LABELS}
    a = leaf(pool, "a", *[sizes[x] for x in left])
    b = leaf(pool, "b", *[sizes[x] for x in right])
    found = contract(pool, Frame(sizes, LABELS), Labelled(a, left), Labelled(b, right), set(result))
    assert set(found.labels) == set(result)
    text = Renderer({}, {s: str(s) for s in sizes.values()}).expression(found.value).text
    assert "einsum" not in text
    rng = np.random.default_rng(seed)
    arrays = {
        "a": rng.standard_normal([EXTENTS[x] for x in left]),
        "b": rng.standard_normal([EXTENTS[x] for x in right]),
    }
    value = eval(text, {"np": np}, {**arrays, **{str(sizes[x]): EXTENTS[x] for x in LABELS}})  # our own text
    names = ["".join(map(str, group)) for group in (left, right, found.labels)]
    expected = np.einsum(f"{names[0]},{names[1]}->{names[2]}", arrays["a"], arrays["b"])
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


def test_the_best_order_is_the_best() -> None:
    """Dynamic programming against all orders of four factors."""
    rng = np.random.default_rng(0)
    i, j, k, p, q = LABELS
    pool = Pool()
    factors = [
        Labelled(leaf(pool, name, *[n] * len(at)), at)
        for name, at in (("a", (i, j)), ("b", (j, k)), ("c", (k, p)), ("d", (p, q)))
    ]
    for _ in range(20):
        extents = dict(zip(LABELS, map(float, rng.integers(1, 50, 5)), strict=True))
        labels = [frozenset(f.labels) for f in factors]
        order = cheapest(labels, frozenset({i, q}), extents.__getitem__, lambda _: False)
        assert order.cost == pytest.approx(min(_costs(factors, {i, q}, extents)))


def _costs(factors: list[Labelled], keep: set[sp.Symbol], extents: dict[sp.Symbol, float]) -> list[float]:
    """Return the costs of all ways to contract, pair by pair."""
    from lemmax.codegen.order import step_cost

    def go(parts: list[frozenset[sp.Symbol]]) -> list[float]:
        if len(parts) == 1:
            return [0.0]
        found = []
        for a, b in itertools.combinations(range(len(parts)), 2):
            rest = [part for p, part in enumerate(parts) if p not in (a, b)]
            outside = keep.union(*rest)
            result = (parts[a] | parts[b]) & outside
            step = step_cost(parts[a], parts[b], result, extents.__getitem__)
            found += [step + cost for cost in go([*rest, result])]
        return found

    return go([frozenset(f.labels) for f in factors])


def test_another_target_takes_the_same_plan() -> None:
    class Counting:
        """A target that says how many statements it was given."""

        name = "counting"

        def emit(self, plan: Plan) -> str:
            return f"def {plan.name}(*arrays):\n    return {len(plan.statements)}.0\n"

        def load(self, source: str, function: str) -> Callable[..., Any]:
            return load(source, function)

    target: Target = Counting()
    X = lx.tensor("X", n, D)
    fn = compile_tensor(lx.sum(lx.softmax(X).named("S")), target=target)
    assert fn([[1.0]]) == 2.0
    assert NUMPY.name == "numpy"


def test_a_target_is_given_by_its_name() -> None:
    f = lx.sqnorm(lx.tensor("X", n, D))
    named, given = compile_tensor(f, target="numpy"), compile_tensor(f, target=NUMPY)
    assert named.source == given.source
    assert named([[3.0, 4.0]]) == 25.0


@pytest.mark.parametrize("target", ["fortran", "NumPy", "", None, 3])
def test_what_is_no_target_is_refused(target: Any) -> None:
    with pytest.raises(InvalidArgument, match="target="):
        compile_tensor(lx.sqnorm(lx.tensor("X", n, D)), target=target)


def test_loaded_text_is_known_to_tracebacks() -> None:
    fn = load("def f():\n    return 1\n", "f")
    assert fn() == 1
    assert linecache.getline(fn.__code__.co_filename, 2) == "    return 1\n"
    assert fn.__globals__["__name__"].startswith("lemmax_generated_")
