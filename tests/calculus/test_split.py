"""The outer and the functional part of Hessian blocks: against complex steps, papers, and false claims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lemmax as lx
from lemmax.calculus.linearity import is_affine_in, is_linear_in
from lemmax.calculus.positivity import why_positive_semidefinite
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.nodes import Lambda, Term
from tests.calculus.test_forward import MODELS, draw, hessians, steps, value

n, D, k = lx.sizes("n D k")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
w, y, x, z = lx.tensor("w", D), lx.tensor("y", n), lx.tensor("x", n), lx.tensor("z", n)
A, s = lx.tensor("A", n, k), lx.tensor("s")


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_of_every_block_add_up_and_the_outer_one_is_what_it_is_called(name: str) -> None:
    model, arrays, blocks = hessians(name)
    parts = {}
    for p, a in enumerate(model.weights):
        for q, b in enumerate(model.weights[p:], p):
            found = lx.hessian_split(model.loss, a, b)
            assert found.outer.shape == found.functional.shape == a.shape + b.shape
            assert found.psd_reason is not None
            parts[p, q] = value(found.outer, arrays), value(found.functional, arrays)
    largest = max(float(np.abs(block).max()) for block in blocks.values())
    # the outer part again: Jacobians and curvature by complex steps through the interpreter
    rows = value(found.through, arrays).size
    jacobians = [steps(found.through, a, arrays).reshape(rows, -1) for a in model.weights]
    curvature = value(found.curvature, arrays).reshape(rows, rows)
    for (p, q), (outer, functional) in parts.items():
        wanted = jacobians[p].T @ curvature @ jacobians[q]
        assert outer.reshape(wanted.shape) == pytest.approx(wanted, rel=0, abs=1e-12 * largest)
        assert outer + functional == pytest.approx(blocks[p, q], rel=0, abs=1e-12 * largest)
    whole = np.hstack(jacobians)
    assert np.linalg.eigvalsh(whole.T @ curvature @ whole).min() >= -1e-12 * largest


def test_the_parts_are_those_of_the_paper() -> None:
    """Both kernels, one sample, one head: H_o(V,V), H_f(V,V) = 0, H_o(Q,Q), H_f(Q,Q), H_f(K,K), H_f(Q,K)."""
    for kernel in ("softmax", "gaussian"):
        model = lx.models.attention(kernel)
        rng = np.random.default_rng(5)
        shapes = {"X": (1, 4, 3), "Y": (1, 4, 2), "WQ": (1, 3, 2), "WK": (1, 3, 2), "WV": (1, 3, 2)}
        arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
        arrays["WO"] = np.eye(2)[None]
        x, Q, K, V = (arrays[name][0] for name in ("X", "WQ", "WK", "WV"))
        d = 2
        queries, keys = x @ Q, x @ K
        if kernel == "softmax":
            S = np.exp(queries @ keys.T / np.sqrt(d))
            S /= S.sum(axis=1, keepdims=True)
        else:
            S = np.exp(-((queries[:, None] - keys[None]) ** 2).sum(-1) / np.sqrt(d))
        R = S @ x @ V - arrays["Y"][0]
        P = R @ V.T @ x.T
        if kernel == "softmax":
            E = S * (P - (S * P).sum(1, keepdims=True))
            M = [np.diag(E[i]) - np.outer(E[i], S[i]) - np.outer(S[i], E[i]) for i in range(4)]
            inner = [K.T @ x.T @ M[i] @ x @ K for i in range(4)]
            wanted = {
                ("WQ", "WQ"): sum(np.kron(np.outer(x[i], x[i]), inner[i]) for i in range(4)) / d,
                ("WK", "WK"): sum(np.kron(x.T @ M[i] @ x, np.outer(queries[i], queries[i])) for i in range(4))
                / d,
                ("WQ", "WK"): sum(
                    np.kron(x[i][:, None], K.T @ x.T) @ M[i] @ np.kron(x, queries[i][None]) for i in range(4)
                )
                / d
                + np.kron(x.T @ E @ x, np.eye(d)) / np.sqrt(d),
            }
        else:
            E = S * P
            u = queries[:, None] - keys[None]
            B = E[..., None, None] * (4 * u[..., :, None] * u[..., None, :] / d - 2 * np.eye(d) / np.sqrt(d))
            wanted = {
                ("WQ", "WQ"): np.einsum("ia,ic,ijbd->abcd", x, x, B).reshape(6, 6),
                ("WK", "WK"): np.einsum("ja,jc,ijbd->abcd", x, x, B).reshape(6, 6),
                ("WQ", "WK"): -np.einsum("ia,jc,ijbd->abcd", x, x, B).reshape(6, 6),
            }
        wanted["WV", "WV"] = np.zeros((6, 6))
        by_name = {lx.identifier(str(t.name)): t for t in model.weights}
        for (a, b), matrix in wanted.items():
            part = lx.hessian(model.loss, by_name[a], by_name[b], part="functional")
            assert at(part, arrays) == pytest.approx(matrix, rel=1e-12, abs=1e-13)
        outer = at(lx.hessian(model.loss, model.WV, part="outer"), arrays)
        m1 = S @ x
        assert outer == pytest.approx(np.kron(m1.T @ m1, np.eye(2)), rel=1e-12, abs=1e-13)


def at(block: lx.Tensor, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The block as a 6 x 6 matrix, at sizes N = H = 1, n = 4, D = 3, d = v = m = 2."""
    used = {lx.identifier(str(t.name)) for t in inputs_of(block)}
    sizes = {str(s): c for s, c in zip(lx.sizes("N n D d v m H"), (1, 4, 3, 2, 2, 2, 1), strict=True)}
    inside = {str(x) for t in topological_order(block) for c in t.shape for x in c.free_symbols}
    got = lx.evaluate(
        block,
        {name: x for name, x in arrays.items() if name in used},
        sizes={name: c for name, c in sizes.items() if name in inside},
    )
    return np.asarray(got).reshape(6, 6)


def test_the_functional_part_of_a_squared_loss_is_linear_in_the_residual() -> None:
    """With targets moved so that the residual is tripled, the functional part is, and the outer one stays."""
    for name in ("softmax-causal", "gaussian"):
        model = MODELS[name]()
        found = lx.hessian_split(model.loss, *model.weights[:2])
        assert found.linear_in == model.R and found.factor == 1
        arrays = draw(model.loss)
        moved = dict(arrays)
        moved["Y"] = arrays["Y"] - 2 * value(model.R, arrays)
        assert value(model.R, moved) == pytest.approx(3 * value(model.R, arrays), rel=1e-13)
        functional, outer = (value(t, arrays) for t in (found.functional, found.outer))
        assert value(found.functional, moved) == pytest.approx(3 * functional, rel=1e-12, abs=1e-13)
        assert value(found.outer, moved) == pytest.approx(outer, rel=1e-12, abs=1e-13)
        assert np.abs(functional).max() > 1e-3


LOSSES: dict[str, tuple[lx.Tensor, lx.Tensor, str]] = {
    "cross entropy": (
        lx.sum(lx.logsumexp(lx.tanh(X @ W), axis=1) - lx.sum(Y * lx.tanh(X @ W), axis=1)) / n,
        W,
        "the curvature is a covariance under softmax weights",
    ),
    "logistic": (
        lx.sum(lx.log(1 + lx.exp(-y * lx.tanh(X @ w)))),
        w,
        "the curvature is a diagonal with entries that are not negative (once written as one fraction)",
    ),
    "Poisson": (
        lx.sum(lx.exp(X @ w) - y * (X @ w)),
        w,
        "the curvature is a diagonal with positive entries (exponentials)",
    ),
    "fourth powers": (
        lx.sum((lx.sin(X @ w) - y) ** 4),
        w,
        "the curvature is a diagonal with entries that are not negative (even powers)",
    ),
    "mean squared error": (lx.sqnorm(lx.tanh(X @ W) - Y) / n, W, "the curvature is 2/n times the identity"),
    "squared average": (
        lx.sum(lx.tanh(X @ w).named("T")) ** 2 + lx.sqnorm(lx.tanh(X @ w).named("T")),
        w,
        "the curvature is a sum: a Gram matrix; 2 times the identity",
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_reasons_of_everyday_losses(name: str) -> None:
    f, wrt, reason = LOSSES[name]
    through = "T" if name == "squared average" else None
    found = lx.hessian_split(f, wrt, through=through)
    assert found.psd_reason == reason
    arrays = draw(f)
    outer, functional = value(found.outer, arrays), value(found.functional, arrays)
    reference = steps(lx.gradient(f, wrt), wrt, arrays)
    largest = np.abs(reference).max()
    assert outer + functional == pytest.approx(reference, rel=0, abs=1e-12 * largest)
    size = arrays[str(wrt.name)].size
    assert np.linalg.eigvalsh(outer.reshape(size, size)).min() >= -1e-13 * largest


# -- false claims ---------------------------------------------------------------------------------
def matrix(body: Callable[..., object], *shape: object) -> lx.Tensor:
    return lx.tensor_from(body, shape)


def delta(i: object, j: object) -> object:
    import sympy as sp

    return sp.KroneckerDelta(i, j)


S, Srow = lx.softmax(x), lx.softmax(A, axis=0)
G, B = lx.tensor("G", n, k), lx.tensor("B", k, k)
PSD = {
    "identity": matrix(lambda i, j: delta(i, j), n, n),
    "even powers": matrix(lambda i, j: delta(i, j) * x[i] ** 4, n, n),
    "Gram": matrix(lambda i, j: lx.index_sum(lambda a: G[i, a] * G[j, a], k), n, n),
    "weighted Gram": matrix(lambda i, j: lx.index_sum(lambda a: s**2 * G[i, a] * G[j, a], k), n, n),
    "Gram of products": matrix(
        lambda i, j: lx.index_sum(
            lambda c: (
                lx.index_sum(lambda a: G[i, a] * B[a, c], k) * lx.index_sum(lambda b: G[j, b] * B[b, c], k)
            ),
            k,
        ),
        n,
        n,
    ),
    "rank one": matrix(lambda i, j: x[i] * x[j], n, n),
    "covariance": matrix(lambda i, j: S[i] * delta(i, j) - S[i] * S[j], n, n),
    "blocks of covariances": matrix(
        lambda i, a, j, b: delta(a, b) * (Srow[i, a] * delta(i, j) - Srow[i, a] * Srow[j, a]), n, k, n, k
    ),
}
NOT_PSD = {
    "minus the identity": matrix(lambda i, j: -delta(i, j), n, n),
    "odd powers": matrix(lambda i, j: delta(i, j) * x[i] ** 3, n, n),
    "difference of diagonals": matrix(lambda i, j: delta(i, j) * (x[i] ** 4 - 3 * x[i] ** 2), n, n),
    "minus Gram": matrix(lambda i, j: -lx.index_sum(lambda a: G[i, a] * G[j, a], k), n, n),
    "weights of any sign": matrix(lambda i, j: lx.index_sum(lambda a: y[0] * G[i, a] * G[j, a], k), n, n),
    "two factors": matrix(lambda i, j: x[i] * z[j] + z[i] * x[j], n, n),
    "one side transposed": matrix(
        lambda i, j: lx.index_sum(lambda a: B[i, a] * B[a, j] + B[j, a] * B[a, i], k), k, k
    ),
    "captured index": matrix(
        lambda i, j: lx.index_sum(
            lambda c: (
                x[0] ** 2
                * (
                    lx.index_sum(lambda a: G[i, a] * B[a, c], k)
                    * lx.index_sum(lambda b: G[j, b] * B[b, b], k)
                    + lx.index_sum(lambda a: G[j, a] * B[a, c], k)
                    * lx.index_sum(lambda b: G[i, b] * B[b, b], k)
                )
            ),
            k,
        ),
        n,
        n,
    ),
    "covariance off by a factor": matrix(lambda i, j: S[i] * delta(i, j) - 2 * S[i] * S[j], n, n),
    "covariance with its sign lost": matrix(lambda i, j: S[i] * S[j] - S[i] * delta(i, j), n, n),
    "covariance over the wrong axis": matrix(
        lambda i, a, j, b: delta(i, j) * (Srow[i, a] * delta(a, b) - Srow[i, a] * Srow[i, b]), n, k, n, k
    ),
    "covariance of what are no weights": matrix(
        lambda i, j: lx.exp(x)[i] * delta(i, j) - lx.exp(x)[i] * lx.exp(x)[j], n, n
    ),
    "blocks tied by the wrong delta": matrix(
        lambda i, a, j, b: x[i] * x[j] * (B[a, b] + B[b, a]), n, k, n, k
    ),
}


@pytest.mark.parametrize("name", PSD)
def test_curvatures_that_are_positive_semidefinite(name: str) -> None:
    assert why_positive_semidefinite(PSD[name]) is not None
    assert lowest(PSD[name]) >= -1e-12


@pytest.mark.parametrize("name", NOT_PSD)
def test_false_claims_of_positivity_are_refused(name: str) -> None:
    assert why_positive_semidefinite(NOT_PSD[name]) is None
    assert lowest(NOT_PSD[name]) < -1e-3  # it is false indeed


@pytest.mark.parametrize("name", PSD)
def test_what_makes_a_curvature_indefinite_is_refused(name: str) -> None:
    """Each summand of a positive semidefinite matrix with its sign changed, dropped, or doubled."""
    from lemmax.calculus.normal_form import normal_form

    form = normal_form(PSD[name])
    assert isinstance(form, Lambda)
    for p, term in enumerate(form.terms):
        for factor in (-1, 0, 3):
            terms = (*form.terms[:p], Term(term.bound, factor * term.expr), *form.terms[p + 1 :])
            changed = Lambda(form.shape, form.indices, tuple(t for t in terms if t.expr != 0))
            if why_positive_semidefinite(changed) is not None:
                assert lowest(changed) >= -1e-12


def lowest(t: lx.Tensor) -> float:
    """The lowest eigenvalue found at a few points, over the largest entry."""
    found = []
    for seed in range(4):
        arrays = draw(t, seed=seed)
        got = value(t, arrays)
        half = int(np.prod(got.shape[: got.ndim // 2]))
        square = got.reshape(half, half)
        assert square == pytest.approx(square.T, abs=1e-12)
        found.append(np.linalg.eigvalsh(square).min() / max(np.abs(square).max(), 1e-300))
    return float(min(found))


C = lx.tensor("C", n, k)
LINEAR = {
    "product": C @ B,
    "weighted": lx.exp(A) * C * 3 - C,
    "sum of entries": lx.sum(C, axis=0) + C[0],
    "softmax pulled back": lx.gradient(lx.dot(lx.softmax(A), C), A),
    "pieces": lx.concat([C[:1], 2 * C], axis=0),
    "merged": lx.merge(C, (0, 1)),
    "divided": C / (1 + A**2),
}
AFFINE = {"shifted": C + A, "pieces of both": lx.concat([C, A], axis=0), "constant": A @ B}
NEITHER = {
    "square": C * C,
    "product with itself": C.T @ C,
    "function": lx.exp(C),
    "softmax": lx.softmax(C),
    "in the softmax that is pulled back": lx.gradient(lx.dot(lx.softmax(C), A), C),
    "quotient": A / C,
    "factor that holds it": (C + A) * C,
    "power": (C @ B) ** 2,
}


def test_linearity() -> None:
    for name, t in LINEAR.items():
        assert is_linear_in(t, C) and is_affine_in(t, C), name
    for name, t in AFFINE.items():
        assert is_affine_in(t, C) and not is_linear_in(t, C), name
    for name, t in NEITHER.items():
        assert not is_affine_in(t, C) and not is_linear_in(t, C), name
    assert is_linear_in(C - C, C) and not is_linear_in(A, C)


def test_linear_functions_are_linear_in_numbers() -> None:
    rng = np.random.default_rng(3)
    for kinds, power in ((LINEAR, 0.0), (AFFINE, 1.0)):
        for name, t in kinds.items():
            arrays = draw(t, C)
            other, (a, b) = rng.standard_normal(arrays["C"].shape), (0.7, -1.3)
            at = lambda c, t=t, arrays=arrays: value(t, {**arrays, "C": c})  # noqa: E731
            constant = at(0 * other)
            assert at(a * arrays["C"] + b * other) - constant == pytest.approx(
                a * (at(arrays["C"]) - constant) + b * (at(other) - constant), rel=1e-12, abs=1e-12
            ), name
            assert bool(np.any(constant)) == bool(power), name


# -- what there is no split of --------------------------------------------------------------------
def test_without_a_split_the_message_says_why() -> None:
    for f, wrt, message in [
        (lx.sum(w), w, "no tensor through which all dependence on"),
        (lx.dot(X @ w, y), w, "no tensor through which all dependence on"),
    ]:
        with pytest.raises(lx.InvalidArgument, match=message):
            lx.hessian(f, wrt, part="outer")
        with pytest.raises(lx.InvalidArgument, match="Name the model's output with through="):
            lx.hessian_split(f, wrt)
    residual = (lx.tanh(X @ w) - y).named("r")
    penalised = lx.sqnorm(residual) / 2 + lx.sqnorm(w)
    with pytest.raises(lx.InvalidArgument, match=r"depends on w \(D\) in other ways too"):
        lx.hessian(penalised, w, part="functional", through="r")
    with pytest.raises(lx.InvalidArgument, match="The named ones are r"):
        lx.hessian_split(penalised, w, through="q")
    with pytest.raises(lx.InvalidArgument, match="expected a tensor inside f, or its name"):
        lx.hessian_split(penalised, w, through=3)  # type: ignore[arg-type]
    twice = lx.sqnorm(lx.tanh((X @ w).named("r")) - lx.softmax(lx.sin(X @ w).named("r")))
    with pytest.raises(lx.InvalidArgument, match="several tensors have that name"):
        lx.hessian_split(twice, w, through="r")


def test_bad_parts_and_tensors_are_refused() -> None:
    f = lx.sqnorm(X @ W - Y)
    with pytest.raises(lx.InvalidArgument, match="expected 'total', 'outer' or 'functional'"):
        lx.hessian(f, W, part="gauss-newton")  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="through= belongs to a part"):
        lx.hessian(f, W, through="R")
    for take in (lx.hessian, lx.hessian_split):
        with pytest.raises(lx.InvalidArgument, match=r"expected a scalar.*lx\.jacobian\(f, a\)"):
            take(X @ W, W)
        with pytest.raises(lx.InvalidArgument, match="expected tensors, got 'W'"):
            take(f, "W")  # type: ignore[arg-type]
    with pytest.raises(lx.NonSmooth):
        lx.hessian_split(lx.sqnorm(lx.relu(X @ W) - Y), W)


def test_the_middle_tensor_may_be_chosen() -> None:
    model = lx.models.attention("softmax")
    by_residual = lx.hessian_split(model.loss, model.WQ)
    by_output = lx.hessian_split(model.loss, model.WQ, through=model.F)
    by_matrix = lx.hessian_split(model.loss, model.WQ, through="S")
    arrays = draw(model.loss)
    assert by_residual.through == model.R and by_output.through.named("F") == model.F
    assert value(by_output.outer, arrays) == pytest.approx(value(by_residual.outer, arrays), abs=1e-13)
    assert np.abs(value(by_matrix.outer, arrays) - value(by_residual.outer, arrays)).max() < 1e-12
    assert by_matrix.psd_reason is not None and "Gram" in by_matrix.psd_reason
    by_logits = lx.hessian_split(model.loss, model.WQ, through=model.logits)
    total = value(lx.hessian(model.loss, model.WQ), arrays)
    parts = value(by_logits.outer, arrays), value(by_logits.functional, arrays)
    assert sum(parts) == pytest.approx(total, abs=1e-12)
    assert not np.any(parts[1])  # the logits are linear in W^Q
    assert by_logits.psd_reason is None
    assert by_logits.total == lx.hessian(model.loss, model.WQ)
    assert "sign of the outer part not shown" in repr(by_logits)
    assert "functional part linear in R" in repr(by_residual)


def test_structured_weights() -> None:
    """The maps onto what is meant are linear, so the parts add up; orthogonal weights are refused."""
    P = lx.tensor("P", k, k, symmetric=True)
    f = lx.sqnorm(lx.tanh(A @ P) - C) / 2
    arrays = draw(f)
    arrays["P"] = arrays["P"] + arrays["P"].T
    with pytest.raises(lx.InvalidArgument, match="its entries are not free"):
        lx.hessian(f, P, part="outer")
    for which in ("subspace", "entries"):
        found = lx.hessian_split(f, P, structured=which)
        outer, functional = value(found.outer, arrays), value(found.functional, arrays)
        assert outer + functional == pytest.approx(value(found.total, arrays), rel=1e-12, abs=1e-12)
        for axes in ((0, 1), (2, 3)):
            assert outer == pytest.approx(outer.swapaxes(*axes), rel=1e-12)
        assert np.linalg.eigvalsh(outer.reshape(4, 4)).min() >= -1e-13
        assert lx.hessian(f, P, structured=which, part="outer") == found.outer
    Q = lx.tensor("Q", k, k, orthogonal=True)
    with pytest.raises(lx.UnsupportedYet, match="curvature term"):
        lx.hessian(lx.sqnorm(A @ Q - C), Q, structured="subspace", part="outer")
