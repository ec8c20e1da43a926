"""Names of arguments, variables, sizes, functions and outputs."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import lemmax as lx
from lemmax.codegen.naming import Names

n, D = lx.sizes("n D")
X = lx.tensor("X", n, D)


def variables_of(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def test_identifiers() -> None:
    W, b = lx.tensor("W^{Q}_1", D, D), lx.tensor(r"\beta", D)
    fn = lx.compile(X @ W + b)
    assert set(fn.inputs) == {"X", "WQ_1", "beta"}
    x = np.ones((2, 3))
    assert fn(X=x, WQ_1=np.eye(3), beta=np.zeros(3)).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lambda", "a keyword of Python"),
        (r"\^", "no name in Python"),
        (r"\2", "no name in Python"),
        ("np", "needs"),
    ],
)
def test_names_that_cannot_be_used(name: str, text: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=f"{text}.*Rename the input"):
        lx.compile(X + lx.tensor(name, n, D))


@pytest.mark.parametrize("name", ["max", "float", "dtype", "arrays", "print"])
def test_names_that_the_code_needs(name: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=r"needs\. Rename"):
        lx.compile(X + lx.tensor(name, n, D))


def test_colliding_inputs() -> None:
    with pytest.raises(lx.NameClash, match=r"W\^Q \(n, D\) and WQ \(n, D\) both become 'WQ'"):
        lx.compile(lx.tensor("W^Q", n, D) + lx.tensor("WQ", n, D))


def test_two_inputs_of_one_name() -> None:
    with pytest.raises(lx.NameClash, match="two different inputs are called 'X'"):
        lx.compile([X, lx.tensor("X", D, n)])


def test_two_inner_tensors_of_one_name() -> None:
    Y = lx.tensor("Y", n, D)
    first, second = lx.tanh(X).named(r"\bar{S}"), lx.tanh(Y).named(r"\bar{S}")
    fn = lx.compile([first @ X.T, second @ Y.T])
    assert {"barS", "barS2"} <= variables_of(fn.source)
    x, y = np.random.default_rng(0).standard_normal((2, 2, 3))
    a, b = fn(X=x, Y=y)
    np.testing.assert_allclose(a, np.tanh(x) @ x.T)
    np.testing.assert_allclose(b, np.tanh(y) @ y.T)


def test_two_losses_in_one_function() -> None:
    W, V = lx.tensor("W", D, D), lx.tensor("V", D, D)
    losses = [lx.sqnorm((X @ w - X).named("R")).named("f") for w in (W, V)]
    gradients = [lx.gradient(f, w) for f, w in zip(losses, (W, V), strict=True)]
    fn = lx.compile([*losses, *gradients])
    rng = np.random.default_rng(1)
    x, w, v = rng.standard_normal((4, 3)), rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    f1, f2, g1, g2 = fn(X=x, W=w, V=v)
    assert (f1, f2) == pytest.approx([((x @ u - x) ** 2).sum() for u in (w, v)])
    for g, u in ((g1, w), (g2, v)):
        np.testing.assert_allclose(g, 2 * x.T @ (x @ u - x))


def test_inner_tensor_with_the_name_of_an_input() -> None:
    Z, W = lx.tensor("Z", n, D), lx.tensor("W", D, D)
    fn = lx.compile([lx.tanh(Z).named("W") + 1, Z @ W])
    z, w = np.ones((2, 3)), 2 * np.eye(3)
    first, second = fn(Z=z, W=w)
    np.testing.assert_allclose(first, np.tanh(z) + 1)
    np.testing.assert_allclose(second, 2 * z)


def test_inner_tensor_named_like_a_keyword() -> None:
    fn = lx.compile(lx.tanh(X).named("lambda") @ X.T)
    assert "lambda_" in variables_of(fn.source)


def test_size_with_the_name_of_an_input() -> None:
    small = lx.tensor("n", n)  # a vector called like its size
    fn = lx.compile(lx.sum(small) / n)
    assert fn(n=[1.0, 2.0, 6.0]) == 3.0


def test_sizes_with_special_characters() -> None:
    d1, d2 = lx.size("d^{1}"), lx.size("d_2")
    fn = lx.compile(lx.tensor("A", d1, d2) @ lx.tensor("B", d2, d1))
    assert fn(A=np.ones((2, 3)), B=np.ones((3, 2))).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(
        ValueError, match=r"B must have shape \(d_2, d\^\{1\}\) with d_2 = 3, d\^\{1\} = 2, got \(3, 4\)"
    ):
        fn(A=np.ones((2, 3)), B=np.ones((3, 4)))


def test_name_of_the_function() -> None:
    assert lx.compile(X, name="identity_map").__name__ == "identity_map"
    assert lx.compile(lx.sqnorm(X).named(r"\mathcal{L}")).__name__ == "compute_mathcalL"
    assert lx.compile(lx.sqnorm(X)).__name__ == "compute"
    assert lx.compile([lx.sqnorm(X).named("f")]).__name__ == "compute"
    for name in ("X", "two words", "class", "np", "1f", ""):
        with pytest.raises(lx.InvalidArgument, match="expected a name that Python allows"):
            lx.compile(lx.sqnorm(X), name=name)


def test_names_of_outputs() -> None:
    source = lx.compile([lx.sqnorm(X), X + 1], outputs=["loss", "shifted"]).source
    assert "return loss, shifted" in source
    assert "return result1, result2" in lx.compile([lx.sqnorm(X), X + 1]).source
    assert "return f, result" in lx.compile([lx.sqnorm(X).named("f"), X + 1]).source
    for outputs in (["loss"], "ab", ["loss", "not this"], ["loss", 3]):
        with pytest.raises(lx.InvalidArgument, match=r"outputs=.*expected 2 names"):
            lx.compile([lx.sqnorm(X), X + 1], outputs=outputs)  # type: ignore[arg-type]


def test_output_named_like_an_input() -> None:
    fn = lx.compile([X + 1, X + 2], outputs=["X", "X"])
    a, b = fn(X=[[0.0]])
    assert (a.item(), b.item()) == (1.0, 2.0)


def test_one_output_twice() -> None:
    a, b = lx.compile([X @ X.T, X @ X.T])(X=[[1.0, 2.0]])
    assert a == b == 5.0
    assert not np.shares_memory(a, b)


def test_names_are_given_once() -> None:
    names = Names(["t"])
    assert [names.take("t"), names.take("t"), names.take("class"), names.take("2x")] == [
        "t_2",
        "t_3",
        "class_",
        "t_4",
    ]
