"""Tensors: identity, immutability, names, assumptions, operators, pickles."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.graph import depends_on, inputs_of, topological_order
from lemmax.expr.tensor import distinct_name

n, k = lx.sizes("n k")
A, B, a, s = lx.tensor("A", n, k), lx.tensor("B", n, k), lx.tensor("a", n), lx.tensor("s")


def test_equality_and_hash_are_structural() -> None:
    assert lx.tensor("A", n, k) == A and hash(A) == hash(lx.tensor("A", n, k))
    assert A + B == A + B and A + B != A - B
    assert lx.tensor("A", n, n) != A and lx.tensor("A", n, k, positive=True) != A
    assert lx.exp(A) != lx.exp(A).named("E") and lx.exp(A) == lx.exp(A).named("E").named(None)
    assert lx.softmax(A, axis=0) != lx.softmax(A, axis=1)
    assert lx.Derivative(s, s) != lx.Derivative(s, s, "local")
    assert len({A + B, A + B, B + A, A * B}) == 3 - (A + B == B + A)
    assert A != 3 and A != "A"


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (0.3, 0.1 + 0.2),
        (1e-17, 2e-17),
        (1.0000000000000002, 1),
        (1 / 3, sp.Rational(1, 3)),
        (0.1, sp.Rational(1, 10)),
    ],
)
def test_constants_that_print_alike_are_told_apart(x: object, y: object) -> None:
    assert A * x != A * y
    assert lx.evaluate(A * x - A * y, A=np.full((1, 1), 1.0)) == pytest.approx(float(x) - float(y), abs=0)


def test_short_binary_fractions_are_exact() -> None:
    assert A * 0.5 == A * sp.Rational(1, 2) == A / 2
    assert A * 2.0 == A * 2
    assert A * np.float64(0.25) == A * 0.25 and A * np.int32(3) == A * 3


def test_tensors_are_immutable() -> None:
    for attribute in ("name", "shape", "digest", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(A, attribute, None)


@pytest.mark.parametrize(
    "use",
    [
        lambda: bool(A),
        lambda: bool(A > 0),
        lambda: 0 < A < 1,
        lambda: list(A),
        lambda: max(a, s),
    ],
)
def test_no_truth_value_and_no_iteration(use: Callable[[], object]) -> None:
    with pytest.raises(lx.InvalidArgument, match=r"truth value|iterate"):
        use()


def test_labels_and_repr() -> None:
    assert repr(A) == "<A (n, k)>" and repr(s) == "<s (scalar)>"
    assert repr(lx.softmax(A)) == "<softmax(A) (n, k)>"
    assert repr(A @ A.T) == "<sum_{k} A[i, k]*A[j, k] (n, n)>"
    assert repr(lx.softmax(A + 1) * lx.det(A @ A.T)) == "<det(...)*softmax(...)[i, j] (n, k)>"
    assert lx.sqrt(lx.sqnorm(a)).label() == "sqrt(...) (scalar)"
    assert repr((A * 2).named("Z")) == "<Z (n, k)>"
    assert "..." in repr(lx.tensor_from(lambda i: sum(a[i] ** p for p in range(1, 30))))
    assert lx.Derivative(s, a).describe() == "d s / d a"


@pytest.mark.parametrize("name", ["", "1x", "_x", "x|y", "x{", "x$", None, 3, "x\n"])
def test_bad_names(name: object) -> None:
    with pytest.raises(lx.InvalidArgument, match="tensor name"):
        lx.tensor(name, n)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["X", "x_1", "W^Q", r"\bar{S}", r"\hat{y}'", "X^{(1)}"])
def test_good_names(name: str) -> None:
    assert lx.tensor(name, n).name == name
    assert lx.identifier(name).isidentifier()


@pytest.mark.parametrize(
    ("name", "taken", "variant"),
    [
        ("S", {"S"}, "S^{(2)}"),
        ("S", {"S", "S^{(2)}"}, "S^{(3)}"),
        (r"\bar{W^Q}", {r"\bar{W^Q}"}, r"\bar{W^Q}^{(2)}"),
        ("W^Q", {"W^Q"}, r"\tilde{W^Q}"),
        ("x_1", {"x_1", r"\tilde{x_1}"}, r"\tilde{\tilde{x_1}}"),
        ("S", set(), "S"),
    ],
)
def test_variants_of_a_name(name: str, taken: set[str], variant: str) -> None:
    assert distinct_name(name, taken) == variant


def test_one_name_means_one_tensor() -> None:
    other = lx.tensor("A", n, k, positive=True)
    with pytest.raises(lx.NameClash, match=r"two different tensors are called 'A'.*another name"):
        A + other
    with pytest.raises(lx.NameClash, match="two different tensors"):
        lx.concat([A, other])
    with pytest.raises(lx.NameClash, match="two different inputs"):
        lx.evaluate(lx.sum(A) + lx.sum(lx.exp(other)), A=np.ones((2, 2)))


@pytest.mark.parametrize(
    "assumption", ["symmetric", "positive_definite", "orthogonal", "diagonal", "lower_triangular"]
)
def test_assumptions_on_matrices_need_square_ones(assumption: str) -> None:
    assert lx.tensor("C", n, n, **{assumption: True}).assumptions == (assumption,)
    with pytest.raises(lx.ShapeError, match=f"{assumption} needs square matrices"):
        lx.tensor("C", n, k, **{assumption: True})
    with pytest.raises(lx.ShapeError, match=f"{assumption} needs square matrices"):
        lx.tensor("C", n, **{assumption: True})


def test_other_assumptions() -> None:
    assert lx.tensor("p", n, positive=True).entry_assumptions() == {"positive": True}
    with pytest.raises(lx.InvalidArgument, match="unknown assumption 'even'; known: positive"):
        lx.tensor("p", n, even=True)
    with pytest.raises(lx.InvalidArgument, match="assumptions are given as symmetric=True or left out"):
        lx.tensor("p", n, n, symmetric=False)
    with pytest.raises(lx.InvalidArgument, match="already has a name"):
        A.named("B")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: A + np.ones((2, 2)), "Arrays enter when an expression is evaluated"),
        (lambda: np.ones((2, 2)) * A, "Arrays enter when an expression is evaluated"),
        (lambda: np.ones((2, 2)) @ A, "needs two tensors"),
        (lambda: A @ 2, "use \\* for scalars"),
        (lambda: A + "1", "cannot be combined with a tensor"),
        (lambda: A + None, "cannot be combined with a tensor"),
        (lambda: A * True, "cannot be combined with a tensor"),
        (lambda: A * 1j, "cannot be combined with a tensor"),
        (lambda: A * sp.I, "no real number"),
        (lambda: A * float("nan"), "no real number"),
        (lambda: A + float("inf"), "not finite"),
        (lambda: A - sp.oo, "not finite"),
        (lambda: A / 0, "division by the number 0"),
        (lambda: A / 0.0, "division by the number 0"),
        (lambda: A / (n - n), "division by the number 0"),
        (lambda: A * sp.Symbol("c"), r"declare a scalar variable with lx.tensor\('c'\)"),
        (lambda: lx.exp(np.ones(2)), "Arrays enter when an expression is evaluated"),
        (lambda: lx.exp("1"), "cannot be combined with a tensor"),
        (lambda: lx.log(-1), r"log\(-1\) is no real number"),
        (lambda: lx.log(0), r"log\(0\) is no real number"),
    ],
)
def test_what_cannot_stand_beside_a_tensor(use: Callable[[], object], message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        use()


def test_the_other_side_of_an_operator() -> None:
    assert 2 * A == A * 2 and n * A == A * n and 2 + A == A + 2
    assert lx.evaluate(2 - a, a=np.array([1.0, 3.0])).tolist() == [1.0, -1.0]
    assert lx.evaluate(n / a, a=np.array([1.0, 4.0])).tolist() == [2.0, 0.5]
    assert lx.evaluate(2**a, a=np.array([1.0, 3.0])).tolist() == [2.0, 8.0]
    assert lx.evaluate(abs(-a), a=np.array([1.0, -3.0])).tolist() == [1.0, 3.0]
    assert +a is a


def test_numbers_and_sizes_stay_sympy() -> None:
    assert lx.sqrt(n) == sp.sqrt(n) and lx.exp(0) == 1 and lx.log(1) == 0
    assert (A / lx.sqrt(n)).shape == (n, k)


def build_large_set() -> list[lx.Tensor]:
    m = lx.models.attention("gaussian", "causal")
    c = lx.models.attention_classifier("separate")
    x = lx.tensor("x", n)
    return [
        *lx.gradient(m.loss, m.weights),
        *lx.gradient(c.loss, c.weights),
        lx.gradient(lx.logdet(lx.eye(n) + lx.outer(x, x)), x),
        lx.tensor_from(lambda i, j: lx.exp(lx.index_sum(lambda m: A[i, m] * A[j, m])) + a[i] - a[j]),
        m.B,
        m.C,
    ]


def test_identity_does_not_depend_on_the_hash_seed() -> None:
    code = "from tests.expr.test_tensor import build_large_set as b; print(*[t.digest for t in b()])"
    outputs = set()
    for seed in ("0", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        outputs.add(done.stdout)
    assert outputs == {" ".join(t.digest for t in build_large_set()) + "\n"}


def test_pickles_and_copies() -> None:
    for t in [A, *build_large_set(), lx.Derivative(s, a).named("D")]:
        again = pickle.loads(pickle.dumps(t))
        assert again == t and again.name == t.name and again.shape == t.shape and type(again) is type(t)
        assert copy.deepcopy(t) is t
    assert pickle.loads(pickle.dumps(A.symbol)) == A.symbol
    assert pickle.loads(pickle.dumps(A.gt(0))) == A.gt(0)


@pytest.mark.parametrize(
    ("layer", "layers"),
    [(lambda x: lx.tanh(x) + a, 600), (lambda x: lx.softmax(x), 3000)],
    ids=["residual", "softmax"],
)
def test_graphs_deeper_than_the_stack(layer: Callable[[lx.Tensor], lx.Tensor], layers: int) -> None:
    def chain() -> lx.Tensor:
        x: lx.Tensor = a
        for _ in range(layers):
            x = layer(x)
        return x

    x, other = chain(), chain()
    assert x == other and hash(x) == hash(other) and x is not other
    assert len(topological_order(x)) > 1200
    assert inputs_of(x) == (a,) and depends_on(x, a)
    assert pickle.loads(pickle.dumps(x)) == x
    assert repr(x)
