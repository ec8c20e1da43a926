"""Functions along all axes, of inputs and of expressions, whole, sliced and inside products."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import sympy as sp

import lemmax as lx
from lemmax.expr.graph import substitute, topological_order
from lemmax.expr.nodes import Apply
from lemmax.expr.special import SPECIAL
from lemmax.expr.tensor import Tensor
from lemmax.rules import spectra
from lemmax.rules.matrices import power_derivative
from lemmax.typeset.functions import TABLE
from tests.expr.test_special import ORDERS
from tests.typeset.values import check_printed

N, H, n, m, k = lx.sizes("N H n m k")
BASES = (lx.tensor("x", n), lx.tensor("A", n, m), lx.tensor("Y", N, n, m), lx.tensor("X", N, H, n, m))
ALONG = ("softmax", "softmax_pullback", "concat", "stack", "place", "slice")
REDUCTIONS = ("max", "min", "prod", "logsumexp")
OF_MATRICES = ("rank", "sigma", "sigma_min", "spectral_norm", "nuclear_norm")
TO_MATRICES = ("pinv", "polar")
TO_SQUARES = ("matrix_power", "cofactors", "eigen_projector", "power_derivative", "solve", "singular_dyad")
OF_SQUARES = ("inv", "det", "logdet", "lambda_min", "lambda_max", "cond")


def operands(t: Tensor) -> Iterator[Tensor]:
    """Yield an input, a sum, and an expression with a product inside."""
    yield t
    if t.ndim < 3:
        yield t * t + t
    if t.ndim >= 2:
        W, B = lx.tensor("W", t.shape[-1], k), lx.tensor("B", t.shape[-2], k)
        yield lx.exp(t @ W / 2) - B


def uses(t: Tensor) -> Iterator[Tensor]:
    """Yield the tensor whole, inside products, and its rows, columns and entries."""
    yield t
    if t.ndim >= 1:
        yield (t * lx.tensor("v", t.shape[-1])).sum(axis=-1)
        yield t[(0,) * t.ndim]
    if t.ndim >= 2:
        yield t[..., 0, :]
        yield t[..., :, 0]
    if t.ndim == 2:
        yield lx.einsum("ij,i->j", t, lx.tensor("u", t.shape[0]))
    if t.ndim == 3:
        yield lx.einsum("abc,a->bc", t, lx.tensor("w", t.shape[0]))


def along(function: str, t: Tensor, axis: int) -> Tensor:
    """Apply a function along an axis."""
    if function == "softmax":
        return lx.softmax(t, axis=axis)
    if function == "softmax_pullback":
        S, G = lx.softmax(t, axis=axis).named("S"), lx.tensor("G", *t.shape)
        return lx.Apply("softmax_pullback", (S, 2 * G), t.shape, {"axis": axis})
    if function == "concat":
        return lx.concat([t, 2 * t], axis=axis)
    if function == "stack":
        return lx.stack([t, 2 * t], axis=axis)
    starts = tuple(sp.Integer(p == axis) for p in range(t.ndim))
    if function == "place":
        shape = tuple(s + 3 if p == axis else s for p, s in enumerate(t.shape))
        return lx.Apply("place", (t,), shape, {"starts": starts})
    return t[tuple(slice(1, None) if p == axis else slice(None) for p in range(t.ndim))]  # type: ignore[no-any-return]


def check_all(t: Tensor) -> None:
    for use in uses(t):
        for by_entries in (False, True):
            check_printed(use, by_entries=by_entries)


WITH_TWO_FAMILIES = ("softmax", "concat")  # of the others that would be more of the same
CASES = [(f, ndim) for f in ALONG for ndim in (1, 2, 3)] + [(f, 4) for f in WITH_TWO_FAMILIES]


@pytest.mark.parametrize(("function", "ndim"), CASES)
def test_along_an_axis(function: str, ndim: int) -> None:
    for t in operands(BASES[ndim - 1]):
        for axis in range(ndim):
            check_all(along(function, t, axis))


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("function", ["max", "prod", "logsumexp", "argmax_mask"])
def test_over_axes(function: str, ndim: int) -> None:
    for t in operands(BASES[ndim - 1]):
        for count in range(1, ndim + 1):
            for axes in itertools.combinations(range(ndim), count):
                if function in REDUCTIONS:
                    check_all(getattr(lx, function)(t, axis=axes))
                    check_printed(getattr(lx, function)(t, axis=axes, keepdims=True))
                else:
                    check_all(lx.Apply(function, (t,), t.shape, {"axes": axes}))


@pytest.mark.parametrize("function", ["min", "argmin_mask"])
def test_of_minima(function: str) -> None:
    A = BASES[1]
    if function == "min":
        check_all(lx.min(A, axis=0))
    else:
        check_all(lx.Apply(function, (A,), A.shape, {"axes": (0,)}))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("function", [*OF_MATRICES, *OF_SQUARES])
def test_of_matrices(function: str, ndim: int) -> None:
    for t in operands(BASES[ndim - 1]):
        if function in OF_SQUARES:
            t = lx.matmul(t, t.mT) + 3 * lx.eye(t.shape[-2])
        check_all(lx.sigma(t, 2) if function == "sigma" else getattr(lx, function)(t))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("function", [*TO_MATRICES, *TO_SQUARES])
def test_to_matrices(function: str, ndim: int) -> None:
    for t in operands(BASES[ndim - 1]):
        if function in TO_SQUARES:
            t = lx.matmul(t, t.mT) + 3 * lx.eye(t.shape[-2])
        made = {
            "pinv": lambda t: lx.pinv(t),
            "polar": spectra.polar,
            "matrix_power": lambda t: lx.matrix_power(t, 1 - n),
            "cofactors": lx.adjugate,
            "eigen_projector": lambda t: spectra.eigen_projector(t, "max"),
            "power_derivative": lambda t: power_derivative(t, t.mT, sp.Integer(3)),
            "solve": lambda t: lx.solve(t, lx.exp(-t)),
            "singular_dyad": lambda t: spectra.singular_dyad(t, 2),
        }[function](t)
        check_all(made / 10)


@pytest.mark.parametrize("name", sorted(set(SPECIAL) - {"erfcinv"}))  # of which SymPy has no numbers
def test_special_functions(name: str) -> None:
    t = (lx.tanh(BASES[1]) + 2) / 4  # between 1/4 and 3/4
    function = getattr(lx, name)
    check_printed(function(*ORDERS.get(name, [2] * SPECIAL[name].orders), t))


GROUPS = {
    2: [((0, 1),)],
    3: [((0, 1), (2,)), ((0,), (1, 2)), ((0, 1, 2),)],
    4: [((0, 1), (2, 3)), ((0, 1, 2), (3,)), ((0,), (1, 2), (3,)), ((0, 1, 2, 3),)],
}


@pytest.mark.parametrize("ndim", [2, 3, 4])
def test_merge_and_split(ndim: int) -> None:
    for t in operands(BASES[ndim - 1]):
        for groups in GROUPS[ndim]:
            merged = lx.merge(t, *groups)
            check_all(merged)
            check_all(lx.split(lx.tensor("C", *merged.shape), groups, t.shape))


def test_hull_distance() -> None:
    P = lx.tensor("P", N, n, H, n, m)
    for by_entries in (False, True):
        check_printed(lx.hull_distance(lx.exp(P), 2 * BASES[2]), rtol=1e-7, by_entries=by_entries)


def test_a_domain_is_not_printed() -> None:
    x = lx.tensor("x", n)
    for t in (lx.gradient(lx.sum(lx.log(x)), x), x / x, (2 * lx.gradient(lx.sum(lx.log(x)), x)).named("G")):
        assert any(isinstance(p, Apply) and p.function == "on_domain" for p in topological_order(t))
        for by_entries in (False, True):
            positive = lx.tensor("x", n, positive=True)
            assert "domain" not in check_printed(substitute(t, {x: positive}), by_entries=by_entries).text


def test_every_function_of_the_table_is_tried() -> None:
    tried = {
        *ALONG,
        *REDUCTIONS,
        *OF_MATRICES,
        *OF_SQUARES,
        *TO_MATRICES,
        *TO_SQUARES,
        "argmax_mask",
        "argmin_mask",
    }
    tried |= {"merge", "split", "hull_distance", "on_domain"}
    assert set(TABLE) == tried - {"stack"}


def test_functions_that_the_interpreter_knows_can_be_typeset() -> None:
    from lemmax.interpret.applications import APPLICATIONS

    assert set(APPLICATIONS) <= set(TABLE)


def test_a_free_index_is_a_leading_axis() -> None:
    n = lx.size("n")
    A, y = lx.tensor("A", n, n), lx.tensor("y", n)
    g = lx.gradient(lx.dot(y, lx.prod(A, axis=1)), A)
    text = lx.latex(g)
    assert text.startswith("y_i ")  # not a column over i for each j, which would read as the transpose
    back = lx.parse_latex(text, like=g, indices="ij", A=A, y=y)
    assert lx.equal(back, g).name != "refuted"
    assert lx.equal(back, g.T).name == "refuted"


def test_inverses_of_symmetric_matrices_need_no_transpose() -> None:
    X, y, S = lx.tensor("X", n, m), lx.tensor("y", n), lx.tensor("S", n, n, positive_definite=True)
    s, gram = lx.tensor("s"), X.T @ X
    for t, printed in [
        (lx.gradient(lx.logdet(gram), X), r"2 X (X^\top X)^{-1}"),
        (lx.gradient(lx.logdet(gram + s * lx.eye(m)), X), r"2 X (X^\top X + s \, I_m)^{-1}"),
        (lx.inv(S).T @ y, r"S^{-1} y"),
        (
            lx.gradient(lx.dot(y, lx.inv(X @ X.T + S) @ y), X),
            r"-2 (X X^\top + S)^{-1} y y^\top (X X^\top + S)^{-1} X",
        ),
        (
            lx.gradient(lx.logdet(X @ X.T + S) - lx.dot(y, lx.inv(X @ X.T + S) @ y), X),
            r"2 (X X^\top + S)^{-1} (y y^\top (X X^\top + S)^{-1} + I_n) X",
        ),
        (lx.pinv(S).T @ y, r"S^{+} y"),
        (lx.inv(X @ X.T + S).T, r"(X X^\top + S)^{-1}"),
        (lx.inv(S @ lx.diag(y)).T @ y, r"(S \operatorname{Diag}(y))^{-\top} y"),
    ]:
        assert lx.latex(t) == printed
        check_printed(t)


def test_equal_factors_are_a_power() -> None:
    X, A, S = lx.tensor("X", n, m), lx.tensor("A", n, n), lx.tensor("S", N, n, n)
    gram = X.T @ X
    for t, printed in [
        (lx.gradient(lx.trace(A @ A @ A @ A), A), r"4 (A^3)^\top"),
        (A.T @ A.T @ X, r"(A^\top)^2 X"),
        (lx.gradient(lx.trace(lx.inv(gram)), X), r"-2 X (X^\top X)^{-2}"),
        (lx.inv(A).T @ lx.inv(A).T, r"(A^{-\top})^2"),
        (S @ S @ X, r"(S_i)^2 X"),
        (A @ A * A, r"A \odot A^2"),
    ]:
        assert lx.latex(t) == printed
        check_printed(t)
        assert lx.equal(lx.parse_latex(printed, [A, X, S], like=t), t).name == "proved"
